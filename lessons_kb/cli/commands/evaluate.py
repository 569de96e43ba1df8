"""`lessons eval`: measure retrieval on labelled prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb.cli.options import open_brain, read_file
from lessons_kb.cli.output import (
    options,
    print_json,
    print_table,
    print_wrapped,
    say,
    terminal_width,
)
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.outcome.evaluation import MISS, Fault, Report
from lessons_kb.outcome.evaluation import evaluate as measure
from lessons_kb.relevance.evaluation_measures import parse_labelled
from lessons_kb.text.sanitize import clean_line, counted, shorten

COLUMNS = {
    "recall5": "recall@5",
    "hit3": "hit@3",
    "mrr": "mrr",
    "ndcg10": "ndcg@10",
    "injected3": "injected@3",
    "kept": "kept",
    "offered": "offered",
    "openable": "openable",
    "false_injection": "false-injection",
    "false_offer": "false-offer",
    "tokens": "tokens",
    "milliseconds": "ms",
}
"""Maps a field of the report to a column of the table."""


_LESS_IS_BETTER = ("false_injection", "false_offer", "tokens", "milliseconds")


_ROOM = 100
"""A terminal with this number of columns shows all figures side by side."""


_DIGITS = {"tokens": 1, "milliseconds": 1}


_SHOWN = 5


_KINDS = {
    "miss": "not injected",
    "false-injection": "injected, though nothing should be",
    "extra": "injected beside what is expected",
}


_MAX_QUERY = 200
"""The maximum number of characters of a prompt that are shown."""


def evaluate(
    file: Annotated[
        str, Argument(metavar="FILE", help='JSON lines: {"query": "…", "expected": ["id"]}.')
    ],
    fail_under: Annotated[
        list[str] | None,
        Option(
            "--fail-under",
            metavar="METRIC=VALUE",
            help="Exit 1 if a figure is worse, such as recall@5=0.8; repeatable.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        Option(
            "--engine",
            metavar="ENGINE",
            help="tantivy, rank-bm25, qdrant or all; default: the engine of the brain.",
        ),
    ] = None,
) -> None:
    """Measure retrieval on labelled prompts, and list the errors.

    Each line of FILE is {"query": "…", "expected": ["id", …]}; an empty list means that nothing
    should be injected. recall@5, hit@3, mrr and ndcg@10 measure the ranking without the
    threshold. injected@3 measures what reaches it; kept is the ratio of the two. offered also
    counts cards that are offered by title; openable also counts cards that a session lists at its
    start. false injection is the share of prompts without an expected card for which a card was
    injected; false offer is the share for which a title was offered. tokens is the mean size of
    what is injected; ms is the median time of a prompt. For the last four, less is better, so
    --fail-under false-injection=0.05 fails above that value.

    Example: lessons eval prompts.jsonl --fail-under recall@5=0.8 --fail-under false-injection=0.05
    """
    bounds = dict(map(_read_bound, fail_under or ()))
    labelled = parse_labelled(read_file(file), name=file)
    report = measure(open_brain(), labelled, engine=engine)
    failed = []
    for (name, scores), (figure, bound) in product(report.engines.items(), bounds.items()):
        value = getattr(scores, figure)
        label = f"{name}: {COLUMNS[figure]}"
        if value is None:
            kind = "without a card" if figure.startswith("false") else "with a card"
            failed.append(f"{label} is undefined: the file has no prompt {kind}")
        elif figure in _LESS_IS_BETTER and value > bound:
            failed.append(f"{label} {value:.3f} is above {bound:g}")
        elif figure not in _LESS_IS_BETTER and value < bound:
            failed.append(f"{label} {value:.3f} is below {bound:g}")
    if options().json:
        print_json({**as_data(report), "failed": failed})
    else:
        _print_evaluation(report)
    for line in failed:
        say(line)
    if failed:
        raise typer.Exit(1)


def _read_bound(text: str) -> tuple[str, float]:
    """Return the figure in METRIC=VALUE, and its bound. Raises InputError."""
    name, _, value = text.rpartition("=")
    figures = {column: figure for figure, column in COLUMNS.items()}
    figures |= {figure: figure for figure in COLUMNS}
    figure = figures.get(name.strip().casefold().replace(" ", "-"))
    try:
        bound = float(value)
    except ValueError:
        bound = math.nan
    if figure is None or not math.isfinite(bound):
        metrics = ", ".join(COLUMNS.values())
        raise InputError(f"--fail-under {text!r}: write METRIC=VALUE; the metrics are {metrics}")
    return figure, bound


def _print_evaluation(report: Report) -> None:
    table = [("engine", *COLUMNS.values())]
    for name, scores in report.engines.items():
        cells = [_format_figure(figure, getattr(scores, figure)) for figure in COLUMNS]
        table.append((name, *cells))
    if (terminal_width() or _ROOM) < _ROOM:
        table = list(zip(*table, strict=True))  # one figure per line
    print_table(table[0], table[1:], right=" ".join(table[0][1:]))
    for name, faults in report.faults.items():
        _print_faults(faults, f" ({name})" if len(report.faults) > 1 else "")
    first = next(iter(report.engines.values()))
    say(f"{counted(first.positive, 'prompt')} with cards, {first.negative} without")
    if count := len(report.inactive):
        shown = ", ".join(report.inactive[:_SHOWN]) + (" …" if count > _SHOWN else "")
        say(f"{count} expected cards are not active, so they cannot be found: {shown}")


def _format_figure(figure: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.{_DIGITS.get(figure, 3)}f}"


def _print_faults(faults: Sequence[Fault], engine: str) -> None:
    """Print each prompt with a fault, followed by the cards and the reasons."""
    line = 0
    for fault in faults:
        if fault.line != line:
            line = fault.line
            query = shorten(clean_line(fault.query), _MAX_QUERY)
            print()
            print_wrapped(f"line {line}{engine}: {query}")
        place = "" if fault.rank is None else f", rank {fault.rank}"
        mark = "✗" if fault.kind == MISS else "+"
        print_wrapped(f"  {mark} {_KINDS[fault.kind]}: {clean_line(fault.card)}{place}")
        reason = clean_line(fault.reason).removeprefix("suppressed: ")
        print_wrapped(f"    {reason}")
