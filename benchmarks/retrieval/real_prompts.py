"""The gate and prompts as people type them to an agent.

*False* is the share of recorded prompts, typed in other projects, that draw a lesson of a brain
they are not about. *In real manner* is asked twice: with prompts that an author wrote for single
cards without the words of their titles, and with a set's queries put at the start, into the middle
or at the end of recorded prompts. Small brains are drawn from the real ones, for most brains are.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import EXAMPLE, HERE, data_folder, read_rows
from benchmarks.ours import open_indexed, private_state

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from benchmarks.data import RetrievalSet

BRAINS = ("brain-example", "plate", "compound", "kitcn")
_LONGEST = 1_500
"""Characters of a recorded prompt that a query is put into."""
_FEWEST_WORDS = 6
_PUT = 150
"""Queries of a set that are put into prompts."""
_TRIALS = {3: 6, 6: 5, 30: 2}
"""Cards of a small brain → how many are drawn from each real one."""
_RECORDED = 120
"""Recorded prompts that each small brain is asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What came of one prompt that some card is about."""

    first: bool
    """The right card is among the first three of the ranking."""
    right: bool
    lessons: int
    in_reach: bool
    """The right card was given, or its title was offered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """What a prompt about something else drew."""

    lessons: int
    titles: int
    tokens: int


def run(*, quick: bool) -> dict[str, Any]:
    """Ask each public brain, and small ones made of its cards; print the table, return figures."""
    prompts = read_real()[:: 10 if quick else 1]
    written = read_rows(HERE / "labelled" / "real_manner.jsonl")
    figures, rows, every = {}, [], []
    for name in BRAINS:
        own = [case for case in written if case["brain"] == name]
        drew, given = _ask(name, prompts, own)
        every += given
        figures[name] = _summarise_drawn(drew) | summarise(given)
        rows.append([name, *_cells(drew, given)])
    figures["all"] = summarise(every)
    rows.append(["all", *_cells([], every)])
    rng = random.Random(1)
    for size, trials in _TRIALS.items():
        drew, given = _ask_small(size, 1 if quick else trials, prompts, written, rng)
        figures[f"{size} cards"] = _summarise_drawn(drew) | summarise(given)
        rows.append([f"{size} cards of each", *_cells(drew, given)])
    headers = (
        "brain", "false: real", "a title", "tokens", "in real manner", "hit@3", "right card given",
        "or offered", "right",
    )  # fmt: skip
    report.print_table("Prompts that people typed", headers, rows)
    return figures


def read_real() -> list[str]:
    """Return the recorded prompts, in order."""
    return [row["text"] for row in read_rows(data_folder() / "prompts" / "real.jsonl")]


def put_into(given: RetrievalSet, seed: int) -> list[tuple[str, str]]:
    """Return (query id, recorded prompt with the query at its start, in its middle, at its end)."""
    rng = random.Random(seed)
    around = [text[:_LONGEST] for text in read_real() if len(text.split()) >= _FEWEST_WORDS]
    queries = rng.sample(given.queries, min(_PUT, len(given.queries)))
    return [
        (query.id, _put(query.text, rng.choice(around), place % 3))
        for place, query in enumerate(queries)
    ]


def summarise(given: Sequence[Given]) -> dict[str, float]:
    """Return the shares of prompts with the right card, and of lessons that are right."""
    lessons = sum(one.lessons for one in given)
    return {
        "prompts": len(given),
        "hit@3": metrics.mean([float(one.first) for one in given]),
        "right_given": metrics.mean([float(one.right) for one in given]),
        "in_reach": metrics.mean([float(one.in_reach) for one in given]),
        "right_of_given": sum(one.right for one in given) / lessons if lessons else 1.0,
    }


def _summarise_drawn(drew: Sequence[Drawn]) -> dict[str, float]:
    """Return what prompts about other things draw, and the tokens that a mean one is given."""
    return {
        "false_real": metrics.mean([float(one.lessons > 0) for one in drew]),
        "false_title": metrics.mean([float(one.titles > 0) for one in drew]),
        "tokens": metrics.mean([float(one.tokens) for one in drew]),
    }


def _ask_small(
    size: int,
    trials: int,
    prompts: Sequence[str],
    written: Sequence[dict[str, Any]],
    rng: random.Random,
) -> tuple[list[Drawn], list[Given]]:
    """Ask brains of ``size`` cards drawn from each real one; half of these have a prompt."""
    drew: list[Drawn] = []
    given: list[Given] = []
    for name in BRAINS:
        own = [case for case in written if case["brain"] == name]
        cards = sorted({case["card"] for case in own})
        others = sorted(_cards_of(_source(name)).difference(cards))
        if len(cards) + len(others) < size:
            continue
        for _ in range(trials):
            asked = rng.sample(cards, min(max(1, size // 2), len(cards)))
            rest = rng.sample(others, min(size - len(asked), len(others)))
            ours = [case for case in own if case["card"] in asked]
            some = rng.sample(prompts, min(_RECORDED, len(prompts)))
            more_drew, more_given = _ask(name, some, ours, only={*asked, *rest})
            drew += more_drew
            given += more_given
    return drew, given


def _source(name: str) -> Path:
    return EXAMPLE if name == "brain-example" else data_folder() / "brains" / name


def _cards_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}


def _ask(
    name: str,
    prompts: Sequence[str],
    own: Sequence[dict[str, Any]],
    *,
    only: Collection[str] | None = None,
) -> tuple[list[Drawn], list[Given]]:
    """Return what each recorded prompt and each of its own prompts drew.

    ``only``: the files that the brain is made of; None = all.
    """
    with (
        tempfile.TemporaryDirectory(prefix="lessons-bench-") as folder,
        private_state(Path(folder)),
    ):
        copy = Path(folder) / name
        shutil.copytree(_source(name), copy)
        for file in () if only is None else _cards_of(copy).difference(only):
            (copy / file).unlink()
        with open_indexed(copy) as brain:
            blocks = [brain.preflight(text, context=False) for text in prompts]
            drew = [
                Drawn(lessons=len(one.lessons), titles=len(one.offered), tokens=one.tokens)
                for one in blocks
            ]
            given = []
            for case in own:
                ranked = [hit.card.id for hit in brain.search(case["prompt"], limit=3)]
                block = brain.preflight(case["prompt"], context=False)
                lessons = [hit.card.id for hit in block.lessons]
                offered = [hit.card.id for hit in block.offered]
                given.append(
                    Given(
                        first=case["card"] in ranked,
                        right=case["card"] in lessons,
                        lessons=len(lessons),
                        in_reach=case["card"] in [*lessons, *offered],
                    )
                )
    return drew, given


def _put(query: str, prompt: str, place: int) -> str:
    if place == 0:
        return f"{query}\n\n{prompt}"
    if place == 1:
        return f"{prompt}\n{query}"
    words = prompt.split(" ")
    half = len(words) // 2
    return f"{' '.join(words[:half])}\n{query}\n{' '.join(words[half:])}"


def _cells(drew: Sequence[Drawn], given: Sequence[Given]) -> list[str]:
    row, wrong = summarise(given), _summarise_drawn(drew)
    shares = [f"{row[name]:.0%}" for name in ("hit@3", "right_given", "in_reach", "right_of_given")]
    false = [f"{wrong[name]:.1%}" for name in ("false_real", "false_title")]
    false.append(f"{wrong['tokens']:.1f}")
    return [*(false if drew else "---"), str(row["prompts"]), *shares]
