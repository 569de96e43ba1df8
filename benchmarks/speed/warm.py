"""Calls in a process that has the brain open, beside the references on the same cards."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import Doc
from benchmarks.generate import make_card
from benchmarks.ours import open_indexed
from benchmarks.retrieval import references
from benchmarks.speed import clock
from benchmarks.speed.bench import Row, edit_one, make_row
from benchmarks.speed.entries import bare_python
from lessons_kb.brain.changes import is_leased

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.speed.bench import Bench

_PLAIN = "preflight"
_WATCHED = "preflight, watched"
_TARGETS = {1_000: 1.5, 12_000: 2.0, 100_000: 5.0}
"""Cards → milliseconds."""


def measure_warm(bench: Bench) -> list[Row]:
    """Warm search, preflight and references, prompt by prompt in turn."""
    rows: list[Row] = []
    medians: dict[str, list[float]] = {}
    for size in bench.sizes:
        times = _time_size(bench, size)
        for name, found in times.items():
            target = _TARGETS.get(size) if name == _WATCHED else None
            row = make_row(f"warm {name}, {size:,} cards", found, "ms", target=target)
            medians.setdefault(name, []).append(row.value)
            rows.append(row)
    shown = f"{bench.sizes[0]:,} … {bench.sizes[-1]:,} cards"
    for name, values in medians.items():
        if len(values) == len(bench.sizes):
            exponent = metrics.compute_exponent(bench.sizes, values)
            rows.append(make_row(f"growth of {name}, {shown}", [exponent], "exponent"))
    return rows


def measure_refresh(bench: Bench) -> list[Row]:
    """Refresh after one edit, in a process that has the brain open."""
    folder = bench.indexed(bench.large)
    edit = partial(edit_one, folder)
    with open_indexed(folder) as brain:
        bare, times = [], []
        for number in range(bench.rounds):
            bare.append(clock.start(bare_python()))
            edit(number)
            times += clock.time_calls({"r": lambda _p: brain.refresh()}, ["x"], warm_up=0)["r"]
        pairs = zip(times, bare, strict=True)
        shares = [spent / 1000 / run.seconds for spent, run in pairs]
    note = f"{metrics.compute_spread(times).median:.0f} ms"
    return [
        make_row(
            f"refresh after one edit, {bench.large:,} files", shares, "py", target=20, note=note
        )
    ]


def _reference_calls(bench: Bench, size: int) -> dict[str, Callable[[str], object]]:
    docs = []
    for number in range(size):
        path, text = make_card(bench.statistics, number, seed=bench.seed, real_size=False)
        docs.append(Doc(id=path, title=text.split("title: '", 1)[1].split("'", 1)[0], text=text))
    names = ["tantivy en_stem", "FTS5 porter, title x3", "bm25s + identifier split, title x3"]
    if size <= 12_000:
        names.append("rank-bm25 stem+stop")
    calls: dict[str, Callable[[str], object]] = {}
    for name in names:
        try:
            search = references.LEXICAL[name](docs)
        except ImportError as error:
            report.tell(f"  {name} is left out: {error}")
        else:
            calls[name] = partial(_ten, search)
    return calls


def _ten(search: references.Search, prompt: str) -> list[str]:
    return search(prompt, 10)


def _time_size(bench: Bench, size: int) -> dict[str, list[float]]:
    prompts = [bench.prompt(number) for number in range(30 if bench.quick else 100)]
    folder = bench.indexed(size)
    with open_indexed(folder) as brain:
        preflight = partial(brain.preflight, context=False)
        calls: dict[str, Callable[[str], object]] = {
            _PLAIN: preflight,
            "refresh, nothing changed": lambda _prompt: brain.refresh(),
        }
        times = clock.time_calls(calls | _reference_calls(bench, size), prompts)
        brain.watch()  # a search trusts only a watcher of its own process
        while not all(is_leased(member.cache) for member in brain.members):
            time.sleep(0.1)
        times |= clock.time_calls({_WATCHED: preflight}, prompts)
    return times
