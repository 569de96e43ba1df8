"""remem's coding bench: its tasks, and the score of a change by its own rules.

The bench is ``eval/coding-bench/fixtures/tasks.json`` of github.com/majiayu000/remem (MIT). It is
read from a clone and never stored in this repository.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.data import git

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

COMMIT = "886e6eda"
"""The commit of remem whose tasks the plan is about."""
_PATH = "eval/coding-bench/fixtures/tasks.json"
_CHECK_SECONDS = 120
STALE_KINDS = ("stale_memory_avoidance", "conflict_ambiguity_handling")
"""Kinds of tasks in which an outdated or conflicting memory could be followed."""


class Memory(NamedTuple):
    """A gold memory: what remem is expected to remember of an episode."""

    title: str
    text: str
    topic: str
    files: tuple[str, ...]
    at: float


class Event(NamedTuple):
    """A raw event of an episode, which is a message of the user in all episodes of this version."""

    id: str
    at: float
    text: str


class BenchTask(NamedTuple):
    """One task with its history and its score."""

    id: str
    kind: str
    prompt: str
    allowed_paths: tuple[str, ...]
    forbidden_paths: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    required: tuple[str, ...]
    forbidden: tuple[str, ...]
    hidden_files: Mapping[str, str]
    events: tuple[Event, ...]
    memories: tuple[Memory, ...]


class Bench(NamedTuple):
    """The repository that all tasks share, and the tasks."""

    files: Mapping[str, str]
    tasks: tuple[BenchTask, ...]


class Score(NamedTuple):
    """What came of a change. By the bench's rule it is right if all four are true."""

    tests: bool
    """Whether the hidden tests pass."""
    required: bool
    """Whether all required patterns were added."""
    clean: bool
    """Whether no forbidden pattern was added."""
    paths: bool
    """Whether only allowed files were changed."""

    @property
    def right(self) -> bool:
        """Whether the task is solved."""
        return all(self)


def read_fixture(clone: Path, commit: str = COMMIT) -> dict[str, Any]:
    """Return the file of tasks in a clone of remem."""
    fixture: dict[str, Any] = json.loads(git(clone, "show", f"{commit}:{_PATH}"))
    return fixture


def parse_fixture(fixture: Mapping[str, Any]) -> Bench:
    """Return the tasks. Raises ValueError if they need what this adapter cannot express."""
    tasks = tuple(map(_parse_task, fixture["tasks"]))
    topics = [memory.topic for task in tasks for memory in task.memories]
    if len(topics) != len(set(topics)):
        message = "two memories have one topic: decide first how a card shows that it was replaced"
        raise ValueError(message)
    return Bench(files=fixture["repo"]["files"], tasks=tasks)


def _parse_task(task: Mapping[str, Any]) -> BenchTask:
    events: list[Event] = []
    memories: list[Memory] = []
    for episode in task["history_episodes"]:
        events += map(_parse_event, episode["raw_events"])
        for memory in episode["memories"]:
            fields = memory["title"], memory["text"], memory["topic_key"], tuple(memory["files"])
            memories.append(Memory(*fields, at=episode["reference_time_epoch"]))
    score = task["score"]
    return BenchTask(
        id=task["id"],
        kind=task["category"],
        prompt=task["prompt"],
        allowed_paths=tuple(task["allowed_paths"]),
        forbidden_paths=tuple(task["forbidden_paths"]),
        commands=tuple(map(tuple, score["commands"])),
        required=tuple(score["required_patch_patterns"]),
        forbidden=tuple(score["forbidden_patch_patterns"]),
        hidden_files=score["hidden_files"],
        events=tuple(events),
        memories=tuple(memories),
    )


def _parse_event(event: Mapping[str, Any]) -> Event:
    if event["role"] != "user" or event["tool_name"]:
        message = f"{event['event_id']} is not a user's message: add its kind to the session"
        raise ValueError(message)
    return Event(event["event_id"], event["timestamp_epoch"], event["sanitized_content"])


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write files below a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())


def find_changed(files: Mapping[str, str], work: Path) -> list[str]:
    """Return the files of a work that were added, changed or removed."""
    present = {
        path.relative_to(work).as_posix(): path.read_bytes()
        for path in work.rglob("*")
        if path.is_file()
    }
    original = {path: text.encode() for path, text in files.items()}
    paths = sorted({*present, *original})
    return [path for path in paths if present.get(path) != original.get(path)]


def score_work(task: BenchTask, files: Mapping[str, str], work: Path, diff: str) -> Score:
    """Score a change by the bench's rules. The hidden tests are written into the work.

    As in remem's runner, patterns are searched in the lines that were added to files of the
    repository; a new file counts for its path alone.
    """
    changed = find_changed(files, work)
    added = "\n".join(_list_added(diff, files))
    write_files(task.hidden_files, work)
    return Score(
        tests=all(_passes(command, work) for command in task.commands),
        required=all(pattern in added for pattern in task.required),
        clean=not any(pattern in added for pattern in task.forbidden),
        paths=all(_may_change(path, task) for path in changed),
    )


def _list_added(diff: str, files: Mapping[str, str]) -> Iterable[str]:
    is_counted = False
    for line in diff.splitlines():
        if line.startswith("+++ "):
            # The name is `+++ b/memory_demo/api.py`, where b is the folder of the work.
            is_counted = line.removeprefix("+++ ").partition("/")[2].strip() in files
        elif line.startswith("+") and is_counted:
            yield line[1:]


def _may_change(path: str, task: BenchTask) -> bool:
    def matches(names: Sequence[str]) -> bool:
        return any(path == name or path.startswith(f"{name.rstrip('/')}/") for name in names)

    return matches(task.allowed_paths) and not matches(task.forbidden_paths)


def _passes(command: Sequence[str], work: Path) -> bool:
    program, *words = command
    own = sys.executable if program.startswith("python") else program
    try:
        done = subprocess.run(
            [own, *words], cwd=work, capture_output=True, timeout=_CHECK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
