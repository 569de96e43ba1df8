"""The trial's material: repositories, tasks, hidden checks, solutions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lessons_kb.trial.runs import last_line, shell
from lessons_kb.trial.tasks import Task, read_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
BRAIN = HERE / "brain"
REPOSITORIES = ("parcelhub", "ledgerline", "shiftboard")
PLAIN, TRAP, CONVENTION = "plain", "trap", "convention"
"""Kinds: no card is of use, a card looks alike and is wrong, a card says what cannot be guessed."""
_CHECK_SECONDS = 60
_EDIT = re.compile(r"^@ (\S+)\n<<<\n(.*?)===\n(.*?)>>>$", re.MULTILINE | re.DOTALL)
_PART = re.compile(r"^# (\S+) (first|then)$", re.MULTILINE)


def read_material() -> list[tuple[str, Task]]:
    """Return all tasks, each with its repository."""
    return [
        (name, task)
        for name in REPOSITORIES
        for task in read_tasks((HERE / name / "tasks.toml").read_text("utf-8"), "tasks.toml")
    ]


def find_kind(task: str) -> str:
    """Return which kind a task is, as the beginning of its name says."""
    return next((kind for kind in (PLAIN, TRAP) if task.startswith(f"{kind}-")), CONVENTION)


def copy_files(repository: str, folder: Path) -> None:
    """Write the files of a repository, without checks and cards."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE / repository / "files", folder, ignore=ignored, dirs_exist_ok=True)


def run_check(repository: str, task: Task, folder: Path) -> tuple[bool, str]:
    """Bring a task's check into a folder and run it; return whether it passes, and what it said."""
    for path in task.check_files:
        source = HERE / repository / path
        (folder / path).parent.mkdir(exist_ok=True)
        shutil.copyfile(
            source if source.exists() else HERE / repository / "files" / path, folder / path
        )
    command = re.sub(r"^python\b", lambda _match: sys.executable, task.check)
    try:
        done = subprocess.run(
            shell(command),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"the check did not end within {_CHECK_SECONDS} seconds"
    failed = re.findall(r"^(?:FAIL|ERROR): (\S+)", done.stderr, re.MULTILINE)
    return done.returncode == 0, " ".join(failed) or last_line(done.stderr)


def read_solutions(repository: str) -> dict[tuple[str, str], Sequence[tuple[str, str, str]]]:
    """Return (task, "first" or "then") → edits: path, text, what takes its place.

    "first" is what somebody does who knows of no lesson, "then" obeys one on top of it: what a
    convention asks for, what is wrong for a trap. A file that is new has an empty text.
    """
    text = (HERE / repository / "solutions.txt").read_text("utf-8")
    _, *parts = _PART.split(text)
    return {
        (parts[at], parts[at + 1]): [edit.groups() for edit in _EDIT.finditer(parts[at + 2])]
        for at in range(0, len(parts), 3)
    }


def solve(repository: str, task: str, *, obey: bool) -> Iterator[tuple[str, str]]:
    """Yield path and new content of each file that a solution changes."""
    solutions = read_solutions(repository)
    done: dict[str, str] = {}
    for part in ("first", "then") if obey else ("first",):
        for path, old, new in solutions.get((task, part), ()):
            file = HERE / repository / "files" / path
            text = done.get(path, file.read_text("utf-8") if file.exists() else "")
            before, after = old.removesuffix("\n"), new.removesuffix("\n")
            if text.count(before) != 1 and text:
                message = f"{task} {part}: {before!r} stands {text.count(before)} times in {path}"
                raise ValueError(message)
            done[path] = text.replace(before, after, 1) if text else f"{after}\n"
    yield from done.items()
