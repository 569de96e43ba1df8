"""Two builds of the package with homes and projects of their own, so that both run in turn."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_WRITE_LAUNCHER = "from lessons_kb.agents.install.launcher import write_launcher; write_launcher()"


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """A build of the package, with a home and a project of its own."""

    name: str
    source: Path
    python: str
    home: Path
    project: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its processes."""
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    @property
    def state(self) -> Path:
        """The folder of its user state."""
        return self.home / ".local/state/lessons-kb"

    @property
    def launcher(self) -> Path:
        """The program that an agent starts for an event."""
        return self.state / "lessons-hook"

    def run(self, *words: str) -> str:
        """Run a command of ``lessons`` in the project."""
        return self.run_python("-m", "lessons_kb.cli.main", *words)

    def run_python(self, *words: str) -> str:
        """Run its interpreter in the project and return what it prints."""
        return self._start([self.python, "-I", *words])

    def fire(self, event: dict[str, Any]) -> str:
        """Fire one event of Claude Code and return what is printed."""
        return self._start([str(self.launcher), "claude-code"], json.dumps(event))

    def _start(self, command: list[str], text: str = "") -> str:
        done = subprocess.run(
            command,
            input=text,
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout


def make_builds(folder: Path, against: str | None, write: Callable[[Build], None]) -> list[Build]:
    """Return this build and, before it, the build in the folder ``against`` if one is named.

    ``write`` writes the project of a build, which is then trusted and indexed. Raises DataError if
    a build cannot index its project.
    """
    sources = [("new", _ROOT, sys.executable)]
    if against:
        other = Path(against).resolve()
        python = other / ".venv/bin/python"
        if not python.is_file():
            raise DataError(f"{python} does not exist; make a build there with `uv sync`")
        sources.insert(0, ("before", other, str(python)))
    builds = []
    for name, source, python in sources:
        place = folder / name
        build = Build(
            name=name,
            source=source,
            python=str(python),
            home=place / "home",
            project=place / "project",
        )
        build.home.mkdir(parents=True)
        write(build)
        build.run("trust", ".")
        if "cards" not in build.run("index"):
            raise DataError(f"{python} cannot index {build.project}")
        build.run_python("-c", _WRITE_LAUNCHER)
        builds.append(build)
    return builds


def prepare(build: Build, prompt: str, *, is_warm: bool) -> None:
    """Stop the daemon of a build, or let it run with its brain open."""
    if not is_warm:
        build.run("daemon", "stop")
        time.sleep(0.5)
        (build.state / "daemon.json").unlink(missing_ok=True)
        return
    for number in range(30):
        status = build.run("daemon", "status", "--json").strip()
        if status.startswith("{") and json.loads(status).get("answered"):
            return
        (build.state / "daemon.json").unlink(missing_ok=True)
        event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
        common = {"session_id": f"warm-{time.time()}-{number}", "cwd": str(build.project)}
        build.fire({**common, **event})
        time.sleep(0.5)
    raise DataError(f"the daemon of {build.name} does not start")


_SETTLE_SECONDS = 0.02
"""Time for the daemon's other threads to finish their work after an answer."""


class ProcessorClock:
    """Measures the processor time of the daemon of a build and of the processes started here.

    Unlike the time on a clock, it hardly depends on what else the machine does.
    """

    def __init__(self, build: Build) -> None:
        """Find the running daemon of a build. It is on Linux only that its time can be read."""
        daemon = json.loads(build.run("daemon", "status", "--json"))["pid"]
        self._tasks = Path(f"/proc/{daemon}/task")

    def measure(self, work: Callable[[], object]) -> float:
        """Do some work, and return the milliseconds of processor time that it took."""
        before = self._read_daemon() + read_children_time()
        work()
        time.sleep(_SETTLE_SECONDS)
        return self._read_daemon() + read_children_time() - before

    def _read_daemon(self) -> float:
        stats = (
            (task / "schedstat").read_text("ascii").split()[0] for task in self._tasks.iterdir()
        )
        return sum(map(int, stats)) / 1e6


def read_children_time() -> float:
    """Return the milliseconds of processor time of all processes that were started and waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000
