"""The cards of each arm of remem's coding bench."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.trial import folders, propose, reader
from benchmarks.trial.remem_bench import Bench, write_files
from lessons_kb.process.git import ask_git
from lessons_kb.text.sentences import split_sentences
from lessons_kb.trial.place import make_placebo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from benchmarks.trial.remem_bench import BenchTask, Event, Memory

NONE, PLACEBO, GOLD = "none", "placebo", "gold"
HISTORY, ASKED = "history", "history-asked"
ARMS = (NONE, PLACEBO, GOLD, HISTORY, ASKED)
ASKS = "Record this as a lesson."
"""What the person of the arm ``history-asked`` types after each message of the history."""
_AS = ("-c", "user.name=trial", "-c", "user.email=trial@localhost", "-c", "commit.gpgSign=false")
_MOST = 100
_TITLE = re.compile(r"^title: *(.+)$", re.MULTILINE)
_SHOWN = re.compile(r"^##### (\S+)\n\n", re.MULTILINE)


class ArmCard(NamedTuple):
    """A card of an arm."""

    name: str
    text: str
    task: str
    """The id of the task whose history it is from."""


def make_arm_cards(arm: str, bench: Bench, kept: Path | None) -> list[ArmCard]:
    """Return the cards of an arm. ``kept`` is the folder that ``make_history_cards`` wrote."""
    if arm == NONE:
        return []
    if arm in (HISTORY, ASKED):
        if kept is None:
            message = f"the arm {arm} needs --cards, the folder that `remem history` wrote"
            raise ValueError(message)
        rows = json.loads((kept / arm / "cards.json").read_text("utf-8"))
        return [ArmCard(**row) for row in rows]
    cards = _import_memories(bench)
    if arm == GOLD:
        return cards
    return [
        ArmCard(f"advice-{number:02}.md", make_placebo(card.text), card.task)
        for number, card in enumerate(cards, 1)
    ]


def _import_memories(bench: Bench) -> list[ArmCard]:
    """Return the gold memories as `lessons import` writes them, by one rule for all."""
    task_of = {memory.title: task.id for task in bench.tasks for memory in task.memories}
    rows = [describe_memory(memory) for task in bench.tasks for memory in task.memories]
    with tempfile.TemporaryDirectory() as name:
        state, project = Path(name), Path(name, "project")
        environment = open_project(bench, state, project)
        source = state / "memories.jsonl"
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        words = ("import", "jsonl", str(source), "--near", "new", "--yes")
        folders.run_lessons(project, environment, *words)
        texts = {
            path.name: path.read_text("utf-8")
            for path in sorted((project / "lessons").glob("*.md"))
        }
    return [ArmCard(name, text, task_of[_read_title(text)]) for name, text in texts.items()]


def describe_memory(memory: Memory) -> dict[str, Any]:
    """Return a memory in the form of `lessons import`.

    The first sentence of its text is the cause, the others are the items of the checklist.
    """
    cause, *others = split_sentences(memory.text)
    day = dt.datetime.fromtimestamp(memory.at, dt.UTC).date().isoformat()
    row = {"title": memory.title, "why": cause, "paths": list(memory.files), "created": day}
    return {**row, "checklist": others} if others else row


def _read_title(text: str) -> str:
    match = _TITLE.search(text)
    title = match[1] if match else ""
    return str(json.loads(title)) if title.startswith('"') else title.strip("'")


def open_project(bench: Bench, state: Path, project: Path) -> dict[str, str]:
    """Make the repository of the bench with an empty, trusted brain; return its environment."""
    environment = folders.make_environment(state)
    (state / "home").mkdir(parents=True, exist_ok=True)
    write_files(bench.files, project)
    ask_git(str(project), "init", "-q")
    ask_git(str(project), "add", "-A")
    ask_git(str(project), *_AS, "commit", "-q", "-m", "Start")
    folders.run_lessons(project, environment, "init", str(project))
    folders.run_lessons(project, environment, "trust", str(project))
    return environment


class HistoryReport(NamedTuple):
    """What our own path made of a history."""

    sessions: int
    """The number of sessions that `lessons mine` read."""
    candidates: int
    """The number of candidates that it listed."""
    drafts: Mapping[str, list[str]]
    """Task → ids of its drafts."""
    open_requests: list[str]
    """The folders of requests that wait for an answer."""
    cards: list[ArmCard]


def make_history_cards(bench: Bench, kept: Path, arm: str) -> HistoryReport:
    """Play the history of all tasks through our hooks, mine it, and accept each draft unread.

    Each call starts from nothing, so it can be repeated until no request waits for an answer.
    """
    place, requests = kept / arm, kept / "with"
    shutil.rmtree(place, ignore_errors=True)
    project = place / "memory-demo"
    environment = open_project(bench, place, project)
    for task in bench.tasks:
        _play_session(task, place, project, environment, asked=arm == ASKED)

    def lessons(*words: str) -> str:
        return folders.run_lessons(project, environment, *words).stdout

    mined = json.loads(lessons("--json", "mine", "--draft", str(_MOST)))
    drafts = json.loads(lessons("--json", "review", "--list"))
    tasks = {draft["id"]: _find_task(draft["text"], bench) for draft in drafts}
    waiting: list[Path] = []
    for request in _split_requests(lessons("review", "--show-prompt")) if drafts else ():
        answer = reader.store(requests, request)
        if not (answer / "answer.txt").exists():
            waiting.append(answer)
    cards: list[ArmCard] = []
    if drafts and not waiting:
        command = f"{sys.executable} -P {reader.__file__} {requests}"
        lessons("review", "--with", command, "--yes")
        waiting = [path.parent for path in sorted(requests.glob("*/request.txt"))
                   if not (path.parent / "answer.txt").exists()]  # fmt: skip
        cards = _accept_all(project, environment, tasks)
    (place / "cards.json").write_text(
        json.dumps([card._asdict() for card in cards], indent=1) + "\n", "utf-8"
    )
    by_task: dict[str, list[str]] = {task.id: [] for task in bench.tasks}
    for draft, task_id in tasks.items():
        by_task[task_id].append(draft)
    return HistoryReport(
        sessions=mined["sessions"],
        candidates=len(mined["candidates"]),
        drafts=by_task,
        open_requests=list(map(str, waiting)),
        cards=cards,
    )


def _play_session(
    task: BenchTask, place: Path, project: Path, environment: dict[str, str], *, asked: bool
) -> None:
    """Play the session of a task's episode through the hooks, and write its transcript."""
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, task.id))
    setup = {
        "folder": str(place / "unused"),
        "state": str(place),
        "project": str(project),
        "session": session,
        "command": [str(Path(sys.executable).with_name("lessons-hook")), "claude-code"],
        "environment": environment,
    }
    lines: list[dict[str, Any]] = []
    propose.call_hook(setup, "SessionStart", source="startup")
    for event in task.events:
        for text in (event.text, ASKS) if asked else (event.text,):
            propose.call_hook(setup, "UserPromptSubmit", prompt=text)
            propose.call_hook(setup, "Stop", stop_hook_active=False)
            lines += _record(event, text, session, project)
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(project.resolve()))
    transcript = place / "home" / ".claude" / "projects" / folder / f"{session}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def _record(event: Event, text: str, session: str, project: Path) -> list[dict[str, Any]]:
    """Return a user's message and the agent's answer as Claude Code records them."""
    at = dt.datetime.fromtimestamp(event.at, dt.UTC).isoformat().replace("+00:00", "Z")
    common = {"sessionId": session, "cwd": str(project.resolve()), "timestamp": at}
    names = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{event.id} {role} {text}"))
             for role in ("user", "assistant")]  # fmt: skip
    answer = [{"type": "text", "text": "Understood."}]
    return [
        {**common, "type": "user", "uuid": names[0], "message": {"role": "user", "content": text}},
        {
            **common,
            "type": "assistant",
            "uuid": names[1],
            "parentUuid": names[0],
            "message": {"role": "assistant", "content": answer},
        },
    ]


def _find_task(draft: str, bench: Bench) -> str:
    """Return the task whose history a draft quotes."""
    flat = " ".join(re.sub(r"(?m)^> ?", "", draft).split())
    for task in bench.tasks:
        for event in task.events:
            if " ".join(event.text.split())[:60] in flat:
                return task.id
    message = f"a draft quotes no event of the history: {draft[:200]!r}"
    raise ValueError(message)


def _split_requests(shown: str) -> list[str]:
    """Return the requests that `--show-prompt` printed."""
    _head, *parts = _SHOWN.split(shown)
    return [text.rstrip("\n") + "\n" for text in parts[1::2]]


def _accept_all(
    project: Path, environment: Mapping[str, str], tasks: Mapping[str, str]
) -> list[ArmCard]:
    """Accept every complete draft, unread, and return the cards."""
    cards: list[ArmCard] = []
    drafts = json.loads(
        folders.run_lessons(project, environment, "--json", "review", "--list").stdout
    )
    for draft in drafts:
        if draft["missing"]:
            continue
        before = set((project / "lessons").glob("*.md"))
        words = ("review", "--accept", draft["id"], "--on-duplicate", "new")
        folders.run_lessons(project, environment, *words)
        new = sorted(set((project / "lessons").glob("*.md")) - before)
        task = tasks[draft["id"]]
        cards += [ArmCard(path.name, path.read_text("utf-8"), task) for path in new]
    return cards
