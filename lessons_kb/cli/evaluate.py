"""The command that measures retrieval on labelled prompts: eval."""

from __future__ import annotations

import math
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.line_wrapping import print_wrapped
from lessons_kb.cli.options import open_brain, options, print_json, print_table, read_file, say
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.relevance.evaluation_measures import parse_labelled
from lessons_kb.text.plurals import counted
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lessons_kb.brain.evaluation import Fault, Report
    from lessons_kb.relevance.evaluation_measures import Evaluation

COLUMNS = {
    "recall5": "recall@5",
    "hit3": "hit@3",
    "mrr": "mrr",
    "ndcg10": "ndcg@10",
    "injected3": "injected@3",
    "kept": "kept",
    "false_injection": "false-injection",
    "tokens": "tokens",
    "milliseconds": "ms",
}
"""Figure → its column."""
_ROOM = 100
"""Columns of a terminal from which on all figures stand side by side."""
_DIGITS = {"tokens": 1, "milliseconds": 1}
_SHOWN = 5
_KINDS = {
    "miss": "not injected",
    "false-injection": "injected, though nothing should be",
    "extra": "injected beside what is expected",
}
_MAX_QUERY = 200
"""Characters of a prompt that are shown."""


def _share(told: str) -> Any:
    return typer.Option(min=0, max=1, metavar="SHARE", help=told)


def evaluate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help='JSON lines: {"query": "…", "expected": ["id"]}.')
    ],
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="METRIC=VALUE",
            help="Exit 1 if a figure is worse than this, as recall@5=0.8; repeatable.",
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="tantivy, rank-bm25, qdrant or all; default: the brain's.")
    ] = None,
    min_recall5: Annotated[float | None, _share("Exit 1 if recall@5 is below this.")] = None,
    min_hit3: Annotated[float | None, _share("Exit 1 if hit@3 is below this.")] = None,
    min_mrr: Annotated[float | None, _share("Exit 1 if mrr is below this.")] = None,
    min_ndcg10: Annotated[float | None, _share("Exit 1 if ndcg@10 is below this.")] = None,
    min_kept: Annotated[float | None, _share("Exit 1 if kept is below this.")] = None,
    max_false_injection: Annotated[
        float | None, _share("Exit 1 if false injection is above this.")
    ] = None,
    max_tokens: Annotated[
        float | None,
        typer.Option(min=0, metavar="TOKENS", help="Exit 1 if the mean size is above this."),
    ] = None,
    max_ms: Annotated[
        float | None,
        typer.Option(min=0, metavar="MS", help="Exit 1 if the median time is above this."),
    ] = None,
) -> None:
    """Measure retrieval on labelled prompts; name what went wrong.

    Each line of FILE is {"query": "…", "expected": ["id", …]}; an empty list means that nothing
    should be injected. recall@5, hit@3, mrr and ndcg@10 measure the ranking without the gate.
    injected@3 measures what the gate lets through; kept is the ratio of the two. false injection
    is the share of prompts without a card that drew one, tokens the mean size of what is
    injected, ms the median time of a prompt. Less is better of the last three, so --fail-under
    false-injection=0.05 fails above that.

    Example: lessons eval prompts.jsonl --fail-under recall@5=0.8 --fail-under false-injection=0.05
    """
    from lessons_kb.brain.evaluation import evaluate as measure

    least: dict[str, float | None] = {"recall5": min_recall5, "hit3": min_hit3, "mrr": min_mrr}
    least |= {"ndcg10": min_ndcg10, "kept": min_kept}
    most: dict[str, float | None] = {"false_injection": max_false_injection}
    most |= {"tokens": max_tokens, "milliseconds": max_ms}
    for name, bound in map(_read_bound, fail_under or ()):
        (most if name in most else least)[name] = bound
    labelled = parse_labelled(read_file(file), name=file)
    report = measure(open_brain(), labelled, engine=engine)
    failed = [
        f"{name}: {line}"
        for name, found in report.engines.items()
        for line in _find_failed(found, least, most)
    ]
    if options().json:
        print_json({**as_data(report), "failed": failed})
    else:
        _print(report)
    for line in failed:
        say(line)
    if failed:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    rows = [(name, *_cells(found)) for name, found in report.engines.items()]
    table = [("engine", *COLUMNS.values()), *rows]
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < _ROOM:
        table = list(zip(*table, strict=True))  # a figure a line
    print_table(table[0], table[1:], right=" ".join(table[0][1:]))
    for name, faults in report.faults.items():
        _print_faults(faults, f" ({name})" if len(report.faults) > 1 else "")
    first = next(iter(report.engines.values()))
    say(f"{counted(first.positive, 'prompt')} with cards, {first.negative} without")
    if count := len(report.inactive):
        shown = ", ".join(report.inactive[:_SHOWN]) + (" …" if count > _SHOWN else "")
        say(f"{count} expected cards are not active, so they cannot be found: {shown}")


def _print_faults(faults: Sequence[Fault], engine: str) -> None:
    """Print each prompt of which something is wrong, below it the cards and the reasons."""
    from lessons_kb.brain.evaluation import MISS

    line = 0
    for fault in faults:
        if fault.line != line:
            print()
            print_wrapped(
                f"line {fault.line}{engine}: {_shortened(clean_line(fault.query))}", hang=2
            )
            line = fault.line
        place = "" if fault.rank is None else f", rank {fault.rank}"
        mark = "✗" if fault.kind == MISS else "+"
        words = _KINDS[fault.kind]
        print_wrapped(f"  {mark} {words}: {clean_line(fault.card)}{place}", hang=2)
        reason = clean_line(fault.reason).removeprefix("suppressed: ")
        print_wrapped(f"    {reason}", hang=2)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_QUERY else text[: _MAX_QUERY - 1] + "…"


def _read_bound(text: str) -> tuple[str, float]:
    """Return the figure that METRIC=VALUE names, and its bound; raise InputError."""
    name, _, value = text.rpartition("=")
    figures = {column: figure for figure, column in COLUMNS.items()}
    figures |= {figure: figure for figure in COLUMNS}
    figure = figures.get(name.strip().casefold().replace(" ", "-"))
    try:
        bound = float(value)
    except ValueError:
        bound = math.nan
    if figure is None or not math.isfinite(bound):
        known = ", ".join(COLUMNS.values())
        raise InputError(f"--fail-under {text!r}: write METRIC=VALUE; the metrics are {known}")
    return figure, bound


def _find_failed(
    found: Evaluation, least: Mapping[str, float | None], most: Mapping[str, float | None]
) -> Iterator[str]:
    for bounds, is_wrong, word in (
        (least, float.__lt__, "below"),
        (most, float.__gt__, "above"),
    ):
        for name, bound in bounds.items():
            value = getattr(found, name)
            if bound is None:
                continue
            if value is None:
                kind = "without a card" if name == "false_injection" else "with a card"
                yield f"{COLUMNS[name]} is undefined: the file has no prompt {kind}"
            elif is_wrong(float(value), float(bound)):
                yield f"{COLUMNS[name]} {value:.3f} is {word} {bound:g}"


def _cells(found: Evaluation) -> Iterator[str]:
    for name in COLUMNS:
        value = getattr(found, name)
        yield "-" if value is None else f"{value:.{_DIGITS.get(name, 3)}f}"
