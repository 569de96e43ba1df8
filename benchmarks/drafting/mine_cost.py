"""The time of `lessons mine` on a history, beside that of a bare ``git log -p -U0``.

Both run in turn, as whole processes with their children. Processor time depends little on other
work on the machine. The second run of ``mine`` finds its results in the state folder.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

RUNS = 3
_BARE = ("git", "log", "-p", "-U0", "--no-merges")


class Seconds(NamedTuple):
    """The time of a command."""

    processor: float
    wall: float


class Cost(NamedTuple):
    """The times of one round."""

    bare: Seconds
    first: Seconds
    second: Seconds


def run(clones: Sequence[str], builds: Sequence[str]) -> dict[str, Any]:
    """Print, for each clone and each build, the median ratios of ``RUNS`` rounds."""
    rows = []
    figures: dict[str, Any] = {}
    for clone in clones:
        name = Path(clone).resolve().name
        for build in builds:
            costs = measure(clone, build)
            for kind in Seconds._fields:
                bare = [getattr(cost.bare, kind) for cost in costs]
                ratios = {
                    "first": _compare([getattr(cost.first, kind) for cost in costs], bare),
                    "second": _compare([getattr(cost.second, kind) for cost in costs], bare),
                }
                shown = [f"{ratio:.2f}" for ratio in ratios.values()]
                rows.append([name, build, kind, f"{median(bare):.2f}", *shown])
                figures[f"{name} {build} {kind}"] = {"git": median(bare), **ratios}
    columns = ("history", "build", "time", "git log, s", "first run, ×", "second run, ×")
    report.print_table("time of `lessons mine`", columns, rows)
    return figures


def _compare(times: Sequence[float], bare: Sequence[float]) -> float:
    """Return the median of the ratios of the rounds."""
    return median(spent / other for spent, other in zip(times, bare, strict=True))


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


def _spend(*command: str, cwd: str | None = None, **environment: str) -> Seconds:
    """Run a command, and return the time of its processes."""
    start = time.perf_counter()
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
    wall = time.perf_counter() - start
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(processor=processor, wall=wall)
