"""Folders in which agents that have only a shell do the trial's tasks, and what came of them.

``python -m benchmarks.trial.rehearse prepare OUT`` writes a folder for each task and arm, and
``OUT/INDEX.json`` with all of them in random order. An agent reads ``PROMPT.md`` there and changes
files by ``./propose``, which starts the real hooks of its arm. ``score OUT`` brings the hidden
checks and adds a line for each run to ``results.jsonl``. ``repositories OUT`` makes git
repositories and files of tasks of the same material, for `lessons trial`.

What hooks need lies in ``OUT-state``. Folders hold no card but those that were named there, or all
in the arms with a catalogue.
"""

from __future__ import annotations

import argparse
import json
import os
import py_compile
import random
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.trial import material, propose
from benchmarks.trial.results import read_results, write_results
from lessons_kb.hook_client import DEADLINE_VARIABLE
from lessons_kb.process.git import ask_git
from lessons_kb.store.journal import read_injected
from lessons_kb.store.locations import STATE_HOME_VARIABLE
from lessons_kb.trial.place import make_placebo
from lessons_kb.trial.runs import RIGHT, WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lessons_kb.trial.tasks import Task

WITHOUT, PLACEBO, PROMPT, CATALOGUE = "without", "placebo", "prompt", "catalogue"
ARMS: Mapping[str, str] = {
    WITHOUT: "",
    PLACEBO: "",
    PROMPT: "[hooks]\ncatalogue_tokens = 0\noffers = false\nduring_turn = false\n",
    "act": "[hooks]\ncatalogue_tokens = 0\noffers = false\n",
    "offers": "[hooks]\ncatalogue_tokens = 0\n",
    CATALOGUE: "",
}
"""Arm → what its brain's settings add to the defaults."""
RUNS = {WITHOUT: 2}
_STATES, _JOBS = "-state", 4
_LISTED, _NO_ACT = (PLACEBO, CATALOGUE), (WITHOUT, PROMPT)
_OFFER = re.compile(r"\[LESSON_OFFER\](.*?)\[/LESSON_OFFER\]", re.DOTALL)
_OURS = ("propose", "PROMPT.md", "lessons", "__pycache__", ".pytest_cache")
_TOOL = """\
#!/bin/sh
exec {python} -P {tool} "$(dirname "$0")" "$@"
"""
_PROMPT = """\
You work on the repository in this folder. Read files and run the tests as you like
(`python -m unittest`); files are changed with `./propose` and in no other way:

    ./propose PATH            the whole new content of the file on stdin; PATH may be new
    ./propose PATH --patch    a unified diff of this one file on stdin
    ./propose PATH --delete

Here is what you see when your session begins and the user's prompt comes in.
{start}
User: {prompt}
{context}"""
_REMINDER = "\n<system-reminder>\n{}\n</system-reminder>\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare folders, score them, or make repositories."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trial.rehearse", description=__doc__
    )
    parser.add_argument("what", choices=("prepare", "score", "repositories"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", default="", help="only these, with commas")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=material.HERE)
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    if options.what == "prepare":
        prepare(out, set(filter(None, options.tasks.split(","))), options.arms, options.seed)
    elif options.what == "score":
        score(out, options.results)
    else:
        make_repositories(out)
    return 0


def prepare(out: Path, tasks: set[str], arms: str, seed: int) -> None:
    """Write a folder for each task, arm and run, and their index in random order."""
    order = random.Random(seed)
    todo = [
        (repository, task, arm, run)
        for repository, task in material.read_material()
        for arm in arms.split(",")
        for run in range(1, RUNS.get(arm, 1) + 1)
        if not tasks or task.name in tasks
    ]
    order.shuffle(todo)
    states = out.with_name(f"{out.name}{_STATES}")
    states.mkdir(parents=True, exist_ok=True)
    # Compiled, so that whoever looks at the tool reads nothing of cards.
    tool = py_compile.compile(propose.__file__, cfile=str(states / "propose.pyc"), doraise=True)
    index = []
    with ThreadPoolExecutor(_JOBS) as pool:
        futures = []
        for repository, task, arm, run in todo:
            name = f"{order.getrandbits(32):08x}"
            place = out / name, states / name
            futures.append(pool.submit(_write_folder, *place, str(tool), repository, task, arm))
            index.append({"dir": str(out / name), "task": task.name, "arm": arm, "run": run})
        for future in futures:
            future.result()
    (out / "INDEX.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")


def _write_folder(
    folder: Path, state: Path, tool: str, repository: str, task: Task, arm: str
) -> None:
    for old in (folder, state):
        shutil.rmtree(old, ignore_errors=True)
    project = state / repository
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(state / "home"),
        STATE_HOME_VARIABLE: str(state / "journal"),
        "LESSONS_DAEMON": "0",
        DEADLINE_VARIABLE.decode(): "120",  # a busy machine must not silence an arm
    }
    setup = {
        "folder": str(folder),
        "state": str(state),
        "project": str(project),
        "session": str(uuid.UUID(int=random.Random(folder.name).getrandbits(128), version=4)),
        "hooks": arm not in _NO_ACT,
        "command": [str(Path(sys.executable).with_name("lessons-hook")), "claude-code"],
        "environment": environment,
    }
    for place in (folder, project):
        material.copy_files(repository, place)
    Path(environment["HOME"]).mkdir()
    context = {"start": "", "prompt": ""}
    if arm != WITHOUT:
        _bring_brain(project, arm, environment)
        if arm in _LISTED:
            for card in sorted((project / "lessons").iterdir()):
                propose.bring_card(setup, f"lessons/{card.name}")
        start = propose.call_hook(setup, "SessionStart", source="startup")
        context["start"] = start.get("additionalContext", "")
        if bool(context["start"]) != (arm in _LISTED):
            message = f"{folder}: the session of the arm {arm} starts with {context['start']!r}"
            raise RuntimeError(message)
        given = propose.call_hook(setup, "UserPromptSubmit", prompt=task.prompt)
        context["prompt"] = given.get("additionalContext", "")
    start_text, prompt_text = (text and _REMINDER.format(text) for text in context.values())
    text = _PROMPT.format(start=start_text, prompt=task.prompt, context=prompt_text)
    (folder / "PROMPT.md").write_text(text, "utf-8")
    (folder / "propose").write_text(_TOOL.format(python=sys.executable, tool=tool), "utf-8")
    (folder / "propose").chmod(0o755)
    (state / "setup.json").write_text(json.dumps(setup, indent=1), "utf-8")


def _bring_brain(project: Path, arm: str, environment: Mapping[str, str]) -> None:
    """Put cards and settings into a project, and have it trusted, as `init` and `trust` do."""
    cards = project / "lessons"
    cards.mkdir()
    for number, source in enumerate(sorted((material.BRAIN / "lessons").iterdir()), 1):
        text, name = source.read_text("utf-8"), source.name
        if arm == PLACEBO:  # the file's name would tell what the card is about
            text, name = make_placebo(text), f"advice-{number:02}.md"
        (cards / name).write_text(text, "utf-8")
    settings = (material.BRAIN / "lessons.toml").read_text("utf-8")
    (project / "lessons.toml").write_text(settings + ARMS[arm], "utf-8")
    ask_git(str(project), "init", "-q")
    command = [sys.executable, "-P", "-m", "lessons_kb.cli.main"]
    command += ["trust", str(project)]
    subprocess.run(command, cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL)


def score(out: Path, results: Path) -> None:
    """Check each folder in which something was proposed; keep what came of it."""
    tasks = {task.name: (repository, task) for repository, task in material.read_material()}
    rows = {(row["task"], row["arm"], row["run"]): row for row in read_results(results)}
    untouched = 0
    for entry in json.loads((out / "INDEX.json").read_text("utf-8")):
        folder = Path(entry.pop("dir"))
        state = out.with_name(f"{out.name}{_STATES}") / folder.name
        calls = state / "calls.jsonl"
        lines = calls.read_text("utf-8").splitlines() if calls.exists() else ()
        said = [json.loads(line) for line in lines]
        proposals = sum("path" in one for one in said)
        if not proposals:
            untouched += 1
            continue
        repository, task = tasks[entry["task"]]
        rows[tuple(entry.values())] = entry | _score(folder, state, said, repository, task)
    write_results(results, list(rows.values()))
    print(f"{len(rows)} results; {untouched} folders in which nothing was proposed yet")


def _score(
    folder: Path, state: Path, said: Sequence[dict[str, Any]], repository: str, task: Task
) -> dict[str, Any]:
    answers = [one["answer"].get("additionalContext", "") for one in said if "answer" in one]
    opened = [
        f"lessons/{card.name}"
        for card in sorted((folder / "lessons").glob("*.md"))
        if card.stat().st_atime > 1  # it was put there with 0
    ]
    with tempfile.TemporaryDirectory() as place:
        before, work = Path(place, "a"), Path(place, "b")
        material.copy_files(repository, before)
        shutil.copytree(folder, work, ignore=shutil.ignore_patterns(*_OURS))
        command = ("git", "diff", "--no-index", "--no-prefix", "--no-color", "a", "b")
        diff = subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=False
        ).stdout
        changed = {path.relative_to(work) for path in work.rglob("*") if path.is_file()}
        outside = [
            path.as_posix()
            for path in sorted(changed)
            if _read(work / path) != _read(state / repository / path)
        ]
        passed, note = material.run_check(repository, task, work)
    return {
        "outcome": RIGHT if passed else WRONG,
        "note": "" if passed else note,
        "lessons": read_injected(str(state)),
        "offered": sorted({card for text in answers for offer in _OFFER.findall(text)
                           for card in propose.NAMED.findall(offer)}),
        "opened": opened,
        "proposals": sum("path" in one for one in said),
        "refused": sum(one.get("answer", {}).get("permissionDecision") == "deny" for one in said),
        "outside": outside,
        "diff": diff,
    }  # fmt: skip


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


_AS = ("-c", "user.name=trial", "-c", "user.email=trial@localhost", "-c", "commit.gpgSign=false")


def make_repositories(out: Path) -> None:
    """Make a git repository of each, its checks on a branch of their own, and its file of tasks."""
    for name in material.REPOSITORIES:
        place = out / name
        material.copy_files(name, place)
        shutil.copytree(material.BRAIN, place, dirs_exist_ok=True)
        ask_git(str(place), "init", "-q", "-b", "main")
        for branch in ("main", "checks"):
            if branch == "checks":
                ask_git(str(place), "switch", "-q", "-c", branch)
                shutil.copytree(material.HERE / name / "checks", place / "checks")
            ask_git(str(place), "add", "-A")
            ask_git(str(place), *_AS, "commit", "-q", "-m", branch)
        ask_git(str(place), "switch", "-q", "main")
        shutil.copyfile(material.HERE / name / "tasks.toml", out / f"{name}.toml")


if __name__ == "__main__":
    sys.exit(main())
