"""Shared parts of the rows of the speed table: brains, prompts, rounds, and the row itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import metrics
from benchmarks.generate import learn_statistics, make_card, make_prompt, open_brain_folder
from benchmarks.ours import own_brain
from benchmarks.speed import clock
from benchmarks.speed.entries import bare_python, run_code

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.speed.clock import Command

WORDS = 25
"""Words of the prompt of the warm rows."""
BLOCK = "ACTIVE LESSONS"
"""What a block that was given contains."""
INDEX = (
    "import sys; from lessons_kb import Brain;"
    " print(Brain.open(sys.argv[1]).refresh(workers=2)[0].files, 'indexed')"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One figure with its target."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    target: float | None = None
    note: str = ""


class Bench:
    """What the rows share: brains, prompts, rounds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.quick: bool = options.quick
        self.seed: int = options.seed
        self.statistics = learn_statistics()
        self.rounds = 7 if self.quick else 25
        self.large = 2_000 if self.quick else 12_000
        self.sizes = (1_000, 2_000) if self.quick else (1_000, 12_000, 100_000)

    def brain(self, size: int, *, real_size: bool = False) -> Path:
        """Return a generated brain of this user; it may have no index yet."""
        folder = open_brain_folder(size, seed=self.seed, real_size=real_size)
        own_brain(folder)
        return folder

    def indexed(self, size: int, *, real_size: bool = False) -> Path:
        """Return a generated brain with its index up to date."""
        folder = self.brain(size, real_size=real_size)
        clock.start(run_code(INDEX, str(folder), must_print="indexed"))
        return folder

    def prompt(self, number: int, words: int = WORDS) -> str:
        return make_prompt(self.statistics, number, seed=self.seed, words=words)

    def title(self, number: int) -> str:
        """Return a prompt that names one card of every brain, so that a block is due."""
        text = make_card(self.statistics, number, seed=self.seed, real_size=False)[1]
        return "Please look after this: " + text.split("title: '", 1)[1].split("'", 1)[0]


def make_row(
    name: str, values: Sequence[float], unit: str, *, target: float | None = None, note: str = ""
) -> Row:
    spread = metrics.compute_spread(values)
    return Row(
        name=name,
        value=spread.median,
        low=spread.low,
        high=spread.high,
        unit=unit,
        target=target,
        note=note,
    )


def time_fresh(
    bench: Bench, prefix: str, commands: Mapping[str, Command], targets: Mapping[str, float]
) -> list[Row]:
    runs = clock.time_in_turn({"py": bare_python(), **commands}, bench.rounds)
    rows = []
    for name in commands:
        spread = clock.ratios(runs[name], runs["py"])
        note = f"{metrics.compute_spread([run.seconds for run in runs[name]]).median * 1000:.0f} ms"
        rows.append(
            Row(
                name=prefix + name,
                value=spread.median,
                low=spread.low,
                high=spread.high,
                unit="py",
                target=targets.get(name),
                note=note,
            )
        )
    return rows


def edit_one(folder: Path, number: int) -> None:
    path = next(iter(sorted((folder / "lessons").rglob("*.md"))))
    text = path.read_text(encoding="utf-8").split("\nEdited ", 1)[0].rstrip("\n")
    path.write_text(f"{text}\nEdited {number} times.\n", encoding="utf-8")
