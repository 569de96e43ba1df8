"""The processor time of `lessons mine` on a history, beside that of a bare ``git log -p -U0``.

Both run in turn, as whole processes with their children, so that other work on the machine counts
little. The second run of ``mine`` finds its results in the state folder.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

RUNS = 3
_BARE = ("git", "log", "-p", "-U0", "--no-merges")


class Cost(NamedTuple):
    """Processor seconds of one round."""

    bare: float
    first: float
    second: float


def run(clones: Sequence[str], builds: Sequence[str]) -> dict[str, Any]:
    """Print, for each clone and each build, the median ratios of ``RUNS`` rounds."""
    rows = []
    figures: dict[str, Any] = {}
    for clone in clones:
        name = Path(clone).resolve().name
        for build in builds:
            costs = measure(clone, build)
            bare = median(cost.bare for cost in costs)
            first = median(cost.first / cost.bare for cost in costs)
            second = median(cost.second / cost.bare for cost in costs)
            rows.append([name, build, f"{bare:.2f}", f"{first:.2f}", f"{second:.2f}"])
            figures[f"{name} {build}"] = {"git": bare, "first": first, "second": second}
    columns = ("history", "build", "git log, s", "first run, ×", "second run, ×")
    report.print_table("processor time of `lessons mine`", columns, rows)
    return figures


def measure(clone: str, build: str) -> list[Cost]:
    """Return the costs of some rounds of a build's ``lessons mine`` in a copy of a clone."""
    lessons = str(Path(build) / ".venv" / "bin" / "lessons")
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory() as place:
        copy = os.path.join(place, "clone")
        state = os.path.join(place, "state")
        home = {"HOME": place, "LESSONS_STATE_HOME": state}
        _spend("git", "clone", "-q", "--shared", "--no-checkout", os.path.abspath(clone), copy)
        _spend(lessons, "init", cwd=copy, **home)
        for _ in range(RUNS):
            bare = _spend(*_BARE, cwd=copy)
            for stored in Path(state).rglob("mined.db*"):
                stored.unlink()
            first = _spend(lessons, "mine", cwd=copy, **home)
            second = _spend(lessons, "mine", cwd=copy, **home)
            costs.append(Cost(bare=bare, first=first, second=second))
    return costs


def _spend(*command: str, cwd: str | None = None, **environment: str) -> float:
    """Run a command, and return the processor seconds of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
