"""Folders in which agents that have only a shell do a task, with the real hooks of an arm.

An agent reads ``PROMPT.md`` in its folder and changes files by ``./propose``. What the hooks need
lies in a *state* folder elsewhere: a copy of the project with the cards, a home, and the journal.
"""

from __future__ import annotations

import json
import os
import py_compile
import random
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.trial import propose
from lessons_kb.hook_client import DEADLINE_VARIABLE
from lessons_kb.store.locations import STATE_HOME_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

STATES = "-state"
"""What the name of the folder with the states adds to the name of the folder with the folders."""
OURS = (
    "propose",
    "run",
    "done",
    "PROMPT.md",
    "lessons",
    ".lessons",
    "__pycache__",
    ".pytest_cache",
)
"""Names in a folder that are not the agent's work."""
_TOOL = """\
#!/bin/sh
exec {python} -P {tool} "$(dirname "$0")" {first}"$@"
"""
PROPOSE = {"propose": ""}
"""The tool with which an agent changes files: its name, and its first word for ``propose.main``."""
ALL_TOOLS = {**PROPOSE, "run": f"{propose.RUN} ", "done": f"{propose.DONE} "}
_REMINDER = "\n<system-reminder>\n{}\n</system-reminder>\n"


class Place(NamedTuple):
    """The folders of one run."""

    folder: Path
    """What the agent sees."""
    state: Path
    project: Path
    """The copy of the project in which the hooks run, in ``state``."""


class Context(NamedTuple):
    """What our hooks add before the agent begins."""

    start: str = ""
    prompt: str = ""


def compile_tool(states: Path) -> str:
    """Return the path of the tool, compiled, so that an agent that looks reads nothing of cards."""
    states.mkdir(parents=True, exist_ok=True)
    target = str(states / "propose.pyc")
    return str(py_compile.compile(propose.__file__, cfile=target, doraise=True))


def clear_place(place: Place) -> None:
    """Remove what an earlier preparation left of a run, and make its home."""
    for old in (place.folder, place.state):
        shutil.rmtree(old, ignore_errors=True)
    (place.state / "home").mkdir(parents=True)


def make_setup(place: Place, *, hooks: bool) -> dict[str, Any]:
    """Return what ``propose`` has to know about a run."""
    seed = random.Random(place.folder.name)
    return {
        "folder": str(place.folder),
        "state": str(place.state),
        "project": str(place.project),
        "session": str(uuid.UUID(int=seed.getrandbits(128), version=4)),
        "hooks": hooks,
        "command": [str(Path(sys.executable).with_name("lessons-hook")), "claude-code"],
        "environment": make_environment(place.state),
    }


def make_environment(state: Path) -> dict[str, str]:
    """Return the environment of our own commands and hooks: nothing of this user's state."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(state / "home"),
        STATE_HOME_VARIABLE: str(state / "journal"),
        "LESSONS_DAEMON": "0",
        DEADLINE_VARIABLE.decode(): "120",  # a busy machine must not silence an arm
    }


def run_lessons(
    project: Path, environment: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """Run our own command in a project. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-P", "-m", "lessons_kb.cli.main", *words]
    return subprocess.run(
        command,
        cwd=project,
        env=environment,
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def open_session(setup: dict[str, Any], prompt: str) -> Context:
    """Return what the hooks answer when a session starts and its first prompt comes in."""
    start = propose.call_hook(setup, "SessionStart", source="startup")
    answer = propose.call_hook(setup, "UserPromptSubmit", prompt=prompt)
    return Context(start.get("additionalContext", ""), answer.get("additionalContext", ""))


def write_folder(
    place: Place,
    setup: Mapping[str, Any],
    tool: str,
    *,
    text: str,
    prompt: str,
    context: Context,
    tools: Mapping[str, str] = PROPOSE,
) -> None:
    """Write the prompt, the tools and the setup of a run.

    ``text`` is the form of ``PROMPT.md``, with the fields ``start``, ``prompt`` and ``context``.
    """
    start, block = (part and _REMINDER.format(part) for part in context)
    filled = text.format(start=start, prompt=prompt, context=block)
    (place.folder / "PROMPT.md").write_text(filled, "utf-8")
    for name, first in tools.items():
        starter = place.folder / name
        starter.write_text(_TOOL.format(python=sys.executable, tool=tool, first=first), "utf-8")
        starter.chmod(0o755)
    (place.state / "setup.json").write_text(json.dumps(setup, indent=1), "utf-8")


def read_calls(state: Path) -> list[dict[str, Any]]:
    """Return what was noted of a run: events with the hooks' answers, and proposals."""
    calls = state / "calls.jsonl"
    lines = calls.read_text("utf-8").splitlines() if calls.exists() else []
    return [json.loads(line) for line in lines]


def copy_work(folder: Path, target: Path) -> None:
    """Copy what an agent left in its folder, without our own files."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns(*OURS))


def find_outside(place: Place, work: Path) -> list[str]:
    """Return the files of the work that were changed without the tool."""
    files = sorted(path.relative_to(work) for path in work.rglob("*") if path.is_file())
    return [path.as_posix() for path in files if _read(work / path) != _read(place.project / path)]


def make_diff(parent: Path, before: str, after: str) -> str:
    """Return the differences between two folders below ``parent``."""
    command = ("git", "diff", "--no-index", "--no-prefix", "--no-color", before, after)
    done = subprocess.run(command, cwd=parent, capture_output=True, text=True, check=False)
    return done.stdout


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
