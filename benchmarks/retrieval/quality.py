"""Compares our ranking with plain tools, on every set, in the same run."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import read_sets
from benchmarks.ours import open_ours
from benchmarks.retrieval.references import LEXICAL, SEMANTIC

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    from benchmarks.data import Doc, Prompt, RetrievalSet
    from benchmarks.retrieval.references import Search

OURS = "lessons_kb"
REFERENCE_ENGINE = "lessons_kb, rank-bm25 engine"
DEPTH = 10
QUICK_QUERIES = 50
MARGIN = 0.01
"""Required average lead over the best lexical tool of each set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One tool on one set: a figure for each query, in the order of the queries."""

    ndcg: tuple[float, ...]
    recall: tuple[float, ...]
    hit: tuple[float, ...]
    reciprocal: tuple[float, ...]
    first: tuple[str, ...]
    """The document ranked first, "" for none."""
    milliseconds: float
    """Mean time of a query, as it came; ``speed`` measures with care."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every tool on every set, print the tables, return all figures."""
    tools = {**LEXICAL} if options.no_semantic or options.quick else {**LEXICAL, **SEMANTIC}
    names = [OURS, REFERENCE_ENGINE, *tools]
    outcomes: dict[str, dict[str, Outcome]] = {}
    for given in read_sets(options.sets):
        queries = _sample(given, options)
        found = outcomes[given.name] = {}
        for name in tuple(names):
            try:
                with _open_tool(name, given.docs, tools) as search:
                    found[name] = measure(given, queries, search)
            except ImportError as error:
                names.remove(name)
                report.tell(f"{name} is left out: {error}")
            else:
                report.tell(f"{given.name}: {name} {_cell(found[name])}")
    comparison = compare(outcomes, seed=options.seed)
    _print(outcomes, comparison)
    return {"sets": {name: _as_dict(found) for name, found in outcomes.items()}} | comparison


def measure(given: RetrievalSet, queries: Sequence[Prompt], search: Search) -> Outcome:
    """Run the queries of a set through one search function."""
    began = time.perf_counter()
    ranked = [search(query.text, DEPTH) for query in queries]
    seconds = time.perf_counter() - began
    pairs = [(found, given.relevant[q.id]) for found, q in zip(ranked, queries, strict=True)]
    return Outcome(
        ndcg=tuple(metrics.compute_ndcg(found, grades, DEPTH) for found, grades in pairs),
        recall=tuple(metrics.compute_recall(found, grades, 5) for found, grades in pairs),
        hit=tuple(metrics.compute_hit(found, grades, 3) for found, grades in pairs),
        reciprocal=tuple(metrics.compute_reciprocal_rank(found, grades) for found, grades in pairs),
        first=tuple(found[0] if found else "" for found in ranked),
        milliseconds=seconds / max(len(queries), 1) * 1000,
    )


def compare(outcomes: dict[str, dict[str, Outcome]], *, seed: int) -> dict[str, Any]:
    """Hold ours against the best lexical tool of each set by nDCG@10, query by query."""
    rows: dict[str, dict[str, Any]] = {}
    for name, found in outcomes.items():
        lexical = {tool: found[tool] for tool in LEXICAL if tool in found}
        if OURS not in found or not lexical:
            continue
        best = max(lexical, key=lambda tool: metrics.mean(lexical[tool].ndcg))
        pairs = zip(found[OURS].ndcg, lexical[best].ndcg, strict=True)
        differences = [ours - theirs for ours, theirs in pairs]
        low, high = metrics.compute_interval(differences, seed=seed)
        rows[name] = {
            "best_lexical": best,
            "difference": metrics.mean(differences),
            "low": low,
            "high": high,
            "reached": high >= 0,
            "same_first_as_reference_engine": _same_first(found),
        }
    average = metrics.mean([row["difference"] for row in rows.values()])
    return {"against_best_lexical": rows, "average_difference": average}


@contextmanager
def _open_tool(name: str, docs: Sequence[Doc], tools: dict[str, Any]) -> Iterator[Search]:
    with ExitStack() as stack:
        if name in tools:
            yield tools[name](docs)
        else:
            engine = "rank-bm25" if name == REFERENCE_ENGINE else "tantivy"
            yield stack.enter_context(open_ours(docs, engine=engine)).search


def _sample(given: RetrievalSet, options: argparse.Namespace) -> Sequence[Prompt]:
    if not options.quick or len(given.queries) <= QUICK_QUERIES:
        return given.queries
    return random.Random(options.seed).sample(given.queries, QUICK_QUERIES)


def _same_first(found: dict[str, Outcome]) -> float | None:
    if REFERENCE_ENGINE not in found:
        return None
    pairs = zip(found[OURS].first, found[REFERENCE_ENGINE].first, strict=True)
    return metrics.mean([float(one == other) for one, other in pairs])


def _print(outcomes: dict[str, dict[str, Outcome]], comparison: dict[str, Any]) -> None:
    tools = list(dict.fromkeys(tool for found in outcomes.values() for tool in found))
    rows = [
        [f"{name} ({len(next(iter(found.values())).ndcg)})"]
        + [_cell(found[tool]) if tool in found else "-" for tool in tools]
        for name, found in outcomes.items()
    ]
    averages = ["average"]
    for tool in tools:
        measured = [found[tool] for found in outcomes.values() if tool in found]
        ndcg = metrics.mean([metrics.mean(outcome.ndcg) for outcome in measured])
        recall = metrics.mean([metrics.mean(outcome.recall) for outcome in measured])
        averages.append(f"{ndcg:.3f}/{recall:.3f}")
    report.print_table("nDCG@10 / recall@5", ["set (queries)", *tools], [*rows, averages])
    if not comparison["against_best_lexical"]:
        return
    rows = []
    for name, row in comparison["against_best_lexical"].items():
        same = row["same_first_as_reference_engine"]
        rows.append(
            [
                name,
                row["best_lexical"],
                f"{row['difference']:+.3f}",
                f"{row['low']:+.3f} … {row['high']:+.3f}",
                "yes" if row["reached"] else "NO",
                "-" if same is None else f"{same:.0%}",
            ]
        )
    average = comparison["average_difference"]
    reached = "yes" if average >= MARGIN else "NO"
    rows.append(["average", f"target: +{MARGIN}", f"{average:+.3f}", "", reached, ""])
    headers = ["set", "best lexical", "nDCG, ours - best", "95 % interval", "reached"]
    report.print_table("Ours against the best lexical tool", [*headers, "engines agree"], rows)


def _cell(outcome: Outcome) -> str:
    return f"{metrics.mean(outcome.ndcg):.3f}/{metrics.mean(outcome.recall):.3f}"


def _as_dict(found: dict[str, Outcome]) -> dict[str, Any]:
    return {
        tool: {
            "queries": len(outcome.ndcg),
            "ndcg@10": metrics.mean(outcome.ndcg),
            "recall@5": metrics.mean(outcome.recall),
            "hit@3": metrics.mean(outcome.hit),
            "mrr": metrics.mean(outcome.reciprocal),
            "ms": outcome.milliseconds,
        }
        for tool, outcome in found.items()
    }
