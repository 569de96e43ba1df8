"""Nothing that announces itself as a secret is kept of a call, in whatever column."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError
from lessons_kb.model import Check, Command, Edit, Event, Evidence
from lessons_kb.postcheck.item_states import format_request
from lessons_kb.service.hook_event import answer_event, log_failure
from lessons_kb.store.error_log import LOG_NAME
from lessons_kb.store.locations import state_home
from lessons_kb.store.server_backoff import note_failure
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trash import new_entry, trash_dir
from tests.kit import make_brain, write
from tests.text.secret_formats import CHANNELS, FORMATS, PART, left_of, made


def kept(project):
    """Return every value of every table of the journal."""
    path = os.path.join(state_dir(str(project)), "journal.db")
    with contextlib.closing(sqlite3.connect(path)) as db:
        return "\n".join(db.iterdump())


def test_what_a_command_touches_is_kept_beside_its_secret(project):
    command = (
        "deploy --password Ab3xY7kQ9zT && sed -i s/a/b/ bot/run.py 'bot/it has.py' && cat bot/x.py"
    )
    call = {"session_id": "s", "cwd": str(project), "hook_event_name": "PostToolUse"}
    call |= {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": command}}
    answer_event("claude-code", json.dumps(call | {"tool_response": {"stdout": ""}}), {})
    journal = kept(project)
    assert '"bot/run.py", "bot/it has.py"' in journal
    assert '"bot/x.py"' in journal
    assert "Ab3xY7" not in journal


def by_hooks(texts, project):
    """Let an agent's hooks see each text as a prompt, a path, a change or a call."""
    for number, (channel, text) in enumerate(texts):
        call = {"session_id": f"s{number % 9}", "cwd": str(project), "tool_use_id": f"t{number}"}
        if channel == "prompt":
            call |= {"hook_event_name": "UserPromptSubmit", "prompt": text}
        elif channel in ("path", "path made shorter", "diff removed", "diff added"):
            path = f"{text}.py" if "path" in channel else "x.py"
            change = {"old_string": text, "new_string": "x", "file_path": str(project / path)}
            call |= {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": change}
            call |= {"tool_response": {}}
            before = {**call, "hook_event_name": "PreToolUse"}
            answer_event("claude-code", json.dumps(before), {})
        else:
            call |= {"hook_event_name": "PostToolUse", "tool_name": "Bash"}
            call |= {"tool_input": {"command": text}}
            call |= {"tool_response": {"stdout": text, "stderr": text}}
        answer_event("claude-code", json.dumps(call), {})
    for number in range(9):
        for name in ("PreCompact", "Stop", "SessionEnd"):
            call = {"session_id": f"s{number}", "cwd": str(project), "hook_event_name": name}
            answer_event("claude-code", json.dumps(call), {})


def by_drafts(texts, project):
    with Brain.open(str(project)) as brain:
        for number, (channel, text) in enumerate(texts):
            # A title of its own for each, or it is the same draft.
            title = f"Number {number} went wrong"
            if "path" in channel:
                brain.drafts.propose(title, paths=(text,))
            else:
                brain.drafts.propose(f"{title}: {text}", symptoms=(text,), example=text)
            if number % 100 == 99:  # a new draft is compared with all that there are
                folder = os.path.join(state_dir(str(project)), "drafts")
                shutil.move(folder, project / f"drafts {number}")


def by_hook_log(texts, project):
    for number, (_, text) in enumerate(texts):
        log_failure("claude-code", "PostToolUse", ValueError(text))
        if number % 50 == 0 or number == len(texts) - 1:  # before its first half is forgotten
            copy_state(LOG_NAME, project / f"{number}.txt")


def by_trash(texts, project):
    for _, text in texts:
        new_entry(trash_dir(str(project)), f"lessons/{text}.md", text)


def by_backoff(texts, project):
    for number, (_, text) in enumerate(texts):
        note_failure("https://x.io", text)
        copy_state("server-backoff.json", project / f"{number}.txt")


def by_runs(texts, project):
    """Keep what the journal holds of a command while it runs, and end it: each holds a lock."""
    journal = os.path.join(state_dir(str(project)), "journal.db")
    with Brain.open(str(project)) as brain, (project / "runs.txt").open("w") as file:
        runs = brain.members[0].journal.runs
        with contextlib.closing(sqlite3.connect(journal)) as db:
            for _, text in texts:
                event = Event(kind="tool", at=1.0, tool=text, targets=(text,), text=text)
                event = replace(event, scope=text, record={text: [text]})
                number = runs.begin(event)
                file.write(f"{db.execute('SELECT event FROM runs').fetchone()}\n")
                runs.end(number, event)


def by_export(texts, project):
    """Export and report cards that somebody wrote by hand, in a brain beside the project."""
    folder = project.parent / "written"
    make_brain(str(folder))
    for number in range(0, len(texts), 20):
        name, body = f"lessons/n{number}.md", "\n\n".join(t for _, t in texts[number : number + 20])
        write(folder, name, f"---\ntitle: Number {number} went wrong\n---\n## Cause\n\n{body}\n")
    with Brain.open(str(folder)) as brain:
        with pytest.raises(InputError, match="json, jsonl, markdown"):  # there is no other
            list(brain.exchange.export(""))
        for form in ("json", "jsonl", "markdown"):
            (project / f"{form}.txt").write_text("\n".join(brain.exchange.export(form)))


def by_judge(texts, project):
    """Ask the program that the user named."""
    for number, (_, text) in enumerate(texts):
        edits = (Edit(path=text, text=text, before=text),)
        evidence = Evidence(edits=edits, commands=(Command(line=text),))
        told = format_request(Check(items=()), text, evidence)
        (project / f"{number}.txt").write_text(told)


def copy_state(name, to):
    to.write_bytes(pathlib.Path(state_home(), name).read_bytes())


PLACES = {
    place.__name__: place
    for place in (
        *(by_hooks, by_drafts, by_hook_log, by_trash, by_backoff, by_runs, by_export, by_judge),
    )
}


def files_of(*folders):
    """Return all that lies in folders: names and bytes, databases as text, too."""
    parts = []
    for folder in folders:
        for path in folder.rglob("*"):
            parts.append(str(path))
            if path.is_file():
                parts.append(path.read_bytes().decode("utf-8", "replace"))
            if path.suffix == ".db":
                with contextlib.closing(sqlite3.connect(path)) as db:
                    parts += db.iterdump()
    return "\n".join(parts)


def left_in(kept, secrets):
    """Return which secrets are in a text, by all its pieces."""
    known = {kept[i : i + PART] for i in range(len(kept) - PART + 1)}
    left = {}
    for name, secret in secrets.items():
        if part := left_of(secret, known):
            left[name] = part
    return left


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_no_format_is_kept_in_any_place(place, project, detached_processes):
    check(place, [(name, channel) for name in FORMATS for channel in CHANNELS], project)


def check(place, names, project):
    texts, secrets = [], {}
    for name, channel in names:
        text, secret = made(name, len(texts))
        texts.append((channel, CHANNELS[channel](text)))
        secrets[name, channel] = secret
    PLACES[place](texts, project)
    kept = files_of(project, pathlib.Path.home())
    assert kept.count("[redacted ") >= len(names)
    assert not left_in(kept, secrets)
