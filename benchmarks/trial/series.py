"""A series of runs with agents: their names, their folders in random order, and their shares."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.data import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any

_KEY = "key.json.gz"


class RunName(NamedTuple):
    """Which task is done, in which arm, for which time."""

    task: str
    arm: str
    run: int

    def find_code(self, seed: int) -> str:
        """Return the name of the run's folder, which says nothing of the run."""
        text = f"{seed} {self.task} {self.arm} {self.run}"
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the scored runs; there is no file before the first."""
    return read_rows(path) if path.exists() else []


def name_run(entry: Mapping[str, Any]) -> RunName:
    return RunName(entry["task"], entry["arm"], entry["run"])


def read_key(states: Path) -> dict[str, Any]:
    path = states / _KEY
    if not path.exists():
        return {}
    key: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return key


def write_key(states: Path, key: Mapping[str, Any]) -> None:
    """Write which folder is which run, compressed, so that a search of an agent finds nothing."""
    partial = states / f"{_KEY}.partial"
    partial.write_bytes(gzip.compress(json.dumps(key).encode()))
    partial.replace(states / _KEY)


def write_index(out: Path, codes: Iterable[str]) -> int:
    """Write the list of folders that wait for an agent, and return their number.

    A code is a hash, so the order of codes is a random order in which runs can be added.
    """
    index = [{"dir": str(out / code)} for code in sorted(codes)]
    (out / "INDEX.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")
    return len(index)


def clopper_pearson(times: int, of: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of the share ``times`` / ``of``."""
    tail = (1 - level) / 2

    def at_most(most: int, share: float) -> float:
        terms = (math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(most + 1))
        return sum(terms)

    low, high = 0.0, 1.0
    if times:
        low = _bisect(lambda share: 1 - at_most(times - 1, share) < tail)
    if times < of:
        high = _bisect(lambda share: at_most(times, share) > tail)
    return low, high


def _bisect(is_below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _step in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def show_interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{low:.0%} to {high:.0%}"
