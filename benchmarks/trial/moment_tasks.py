"""The tasks of the trial of moments: each has a repository, a card, a check and two solutions.

A folder below ``moment/`` is a task: ``files/`` is the repository, ``card.md`` states the fact,
``check.py`` decides, and ``task.toml`` has the prompt, the kind and the steps of the solutions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lessons_kb.process.git import ask_git
from lessons_kb.trial.tasks import Task, write_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

TASKS = Path(__file__).with_name("moment")
IRREVERSIBLE = "command"
"""The kind of tasks in which a run is wrong as soon as the mistake is made."""
_CHECK_SECONDS = 60
AS_TRIAL = (
    *("-c", "user.name=trial", "-c", "user.email=trial@localhost"),
    *("-c", "commit.gpgSign=false"),
)
"""Options of git for a commit by nobody in particular."""


class Step(NamedTuple):
    """A step of a solution: a command, or an edit of a file."""

    run: str = ""
    path: str = ""
    old: str = ""
    """The text to replace, or "" for a new file."""
    new: str = ""


class MomentTask(NamedTuple):
    """A task in whose repository a trap waits for those who do not know a fact."""

    name: str
    kind: str
    prompt: str
    right: tuple[Step, ...]
    """The steps of somebody who knows the fact."""
    trap: tuple[Step, ...]
    """The natural steps of somebody who does not."""

    @property
    def folder(self) -> Path:
        """The folder with its files."""
        return TASKS / self.name

    @property
    def card_name(self) -> str:
        """The path of its card in a brain."""
        return f"lessons/{self.name}.md"

    @property
    def card(self) -> str:
        """The text of its card."""
        return (self.folder / "card.md").read_text("utf-8")


def read_tasks() -> list[MomentTask]:
    """Return all tasks, sorted by name."""
    return [_read_task(path.parent) for path in sorted(TASKS.glob("*/task.toml"))]


def _read_task(folder: Path) -> MomentTask:
    data = tomllib.loads((folder / "task.toml").read_text("utf-8"))
    right, trap = (tuple(Step(**step) for step in data[name]) for name in ("right", "trap"))
    return MomentTask(folder.name, data["kind"], data["prompt"].strip(), right, trap)


def copy_files(task: MomentTask, folder: Path) -> None:
    """Write the repository of a task, without its card and its check."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(task.folder / "files", folder, ignore=ignored, dirs_exist_ok=True)


def edit(step: Step, text: str) -> str:
    """Return the text of a file after a step. Raises ValueError if the step does not fit."""
    if not step.old:
        return step.new
    if text.count(step.old) != 1:
        message = f"{step.path} has {step.old!r} {text.count(step.old)} times"
        raise ValueError(message)
    return text.replace(step.old, step.new)


def run_check(task: MomentTask, work: Path, commands: Sequence[str]) -> tuple[bool, str]:
    """Return whether a work is right, and the last line that the check printed.

    ``commands`` are the commands that were run, in their order.
    """
    environment = {**os.environ, "PYTHONPATH": str(work), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "commands.txt")
        log.write_text("".join(f"{command}\n" for command in commands), "utf-8")
        words = [sys.executable, str(task.folder / "check.py"), str(log)]
        try:
            done = subprocess.run(
                words,
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False, f"the check did not end within {_CHECK_SECONDS} seconds"
    lines = done.stderr.strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else ""


def make_repository(out: Path) -> None:
    """Write ``out/project`` and ``out/tasks.toml``, for `lessons trial`.

    The repository has a branch of its own for the files and the check of each task. The branch
    ``main`` has the cards. Without a log of commands, a check sees only what a command left behind.
    """
    project = out / "project"
    project.mkdir(parents=True)
    ask_git(str(project), "init", "-q")
    tasks = []
    for task in read_tasks():
        ask_git(str(project), "switch", "-q", "--orphan", task.name)
        copy_files(task, project)
        start = _commit(project, "Start")
        shutil.copyfile(task.folder / "check.py", project / "check.py")
        tasks.append(
            Task(
                name=task.name,
                prompt=task.prompt,
                commit=start,
                check=f"PYTHONPATH=. python3 check.py {os.devnull}",
                check_from=_commit(project, "Check"),
                check_files=("check.py",),
                lesson=task.card_name,
            )
        )
    ask_git(str(project), "switch", "-q", "--orphan", "main")
    (project / "lessons").mkdir()
    for task in read_tasks():
        (project / task.card_name).write_text(task.card, "utf-8")
    (project / "lessons.toml").write_text("", "utf-8")
    _commit(project, "Cards")
    (out / "tasks.toml").write_text(write_tasks(tasks), "utf-8")


def _commit(project: Path, subject: str) -> str:
    """Commit all files of a project, and return the hash of the commit."""
    ask_git(str(project), "add", "-A")
    ask_git(str(project), *AS_TRIAL, "commit", "-q", "-m", subject)
    return ask_git(str(project), "rev-parse", "HEAD").decode().strip()
