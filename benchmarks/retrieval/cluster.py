"""Compares the ranking of a cluster's engine with the reference, card by card, without ties.

The cluster is embedded: pure Python, so that its times say nothing of a server's.
"""

from __future__ import annotations

import random
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.brains import write_brain
from benchmarks.data import EXAMPLE, read_sets
from benchmarks.ours import open_indexed, private_state
from benchmarks.retrieval.quality import QUICK_QUERIES
from lessons_kb.brain.cluster_search import open_cluster, sync
from lessons_kb.brain.write_index import digest_files
from lessons_kb.config import DEFAULTS
from lessons_kb.model import FIELDS
from lessons_kb.search.engine_registry import open_engine
from lessons_kb.search.ranking import reduce_terms
from lessons_kb.text.analyzer import analyze

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from lessons_kb.brain.brain import Brain

DEPTH = 10
CLOSE = 1e-4
"""Relative difference of scores that counts as equal: vectors have 32-bit floats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """The cluster beside the reference on one brain; one figure for each query."""

    cards: int
    same: tuple[bool, ...]
    """The ten best are the reference's, in its order, but for cards of equal score."""
    identical: tuple[bool, ...]
    """They are so even among equal scores."""
    deviations: tuple[float, ...]
    """Largest relative difference of a score."""
    push_seconds: float
    query_seconds: float
    """Mean."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Compare on the example brain and on every set, print the table, return all figures."""
    found: dict[str, Agreement] = {}
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        found["brain-example"] = _compare(EXAMPLE, Path(name) / "example", ())
        for given in read_sets(options.sets):
            folder = Path(name) / given.name
            write_brain(folder, given.docs)
            texts = [query.text for query in given.queries]
            if options.quick and len(texts) > QUICK_QUERIES:
                texts = random.Random(options.seed).sample(texts, QUICK_QUERIES)
            found[given.name] = _compare(folder, Path(name) / f"{given.name}-cluster", texts)
            report.tell(f"{given.name}: {metrics.mean(found[given.name].same):.1%}")
    rows = [
        [
            f"{name} ({one.cards})",
            str(len(one.same)),
            f"{metrics.mean([float(same) for same in one.same]):.1%}",
            f"{metrics.mean([float(same) for same in one.identical]):.1%}",
            f"{max(one.deviations, default=0.0):.1e}",
            f"{one.push_seconds:.0f} s",
            f"{one.query_seconds * 1000:.0f} ms",
        ]
        for name, one in found.items()
    ]
    headers = ["brain (cards)", "queries", "same order", "ties too", "scores within", "push"]
    report.print_table("qdrant, embedded, beside rank-bm25", [*headers, "query"], rows)
    return {"brains": {name: _as_dict(one) for name, one in found.items()}}


def _compare(root: Path, place: Path, texts: Sequence[str]) -> Agreement:
    with ExitStack() as stack:
        layer = stack.enter_context(open_indexed(root)).members[0]
        reference = stack.enter_context(
            closing(open_engine("rank-bm25", str(place / "reference"), create=True))
        )
        cluster = stack.enter_context(
            closing(open_cluster(layer, str(place / "cluster"), create=True))
        )
        began = time.perf_counter()
        sync(layer, cluster)
        pushed = time.perf_counter() - began
        ids = {number: labels["id"] for number, labels in cluster.labels().items()}
        numbers = {card: number for number, card in ids.items()}
        entries = _read(layer)
        reference.update((numbers[entry.path], entry.terms) for entry in entries if entry.card)
        if not texts:
            texts = [words for e in entries if e.card for words in (e.card.title, *e.card.symptoms)]
        weights = {field: getattr(DEFAULTS.ranking, field) for field in FIELDS}
        same, identical, deviations, seconds = [], [], [], 0.0
        for text in texts:
            terms = analyze(text)
            frequencies = reference.document_frequencies(dict.fromkeys(terms))
            asked = reduce_terms(terms, frequencies, reference.size(), DEFAULTS.ranking.max_terms)
            expected = dict(reference.search(asked, weights, reference.size()))
            began = time.perf_counter()
            hits = cluster.search(asked, weights, DEPTH)
            seconds += time.perf_counter() - began
            best = list(expected.items())[:DEPTH]
            gaps = [abs(score / expected.get(n, 1e-9) - 1) for n, score in hits]
            deviations.append(max(gaps, default=0.0))
            same.append(
                len(hits) == len(best)
                and all(
                    abs(expected.get(n, 0.0) / score - 1) < CLOSE
                    for (n, _), (_, score) in zip(hits, best, strict=True)
                )
            )
            identical.append([n for n, _ in hits] == [n for n, _ in best])
    return Agreement(
        cards=len(ids),
        same=tuple(same),
        identical=tuple(identical),
        deviations=tuple(deviations),
        push_seconds=pushed,
        query_seconds=seconds / max(len(texts), 1),
    )


def _read(layer: Brain) -> Sequence[Any]:
    paths = list(layer.read(lambda one: one.catalogue.numbers()))
    return digest_files(layer.root, paths, layer.settings)


def _as_dict(one: Agreement) -> dict[str, Any]:
    return {
        "cards": one.cards,
        "queries": len(one.same),
        "same_order": metrics.mean([float(same) for same in one.same]),
        "same_order_ties_too": metrics.mean([float(same) for same in one.identical]),
        "largest_deviation": max(one.deviations, default=0.0),
        "push_seconds": one.push_seconds,
        "query_ms": one.query_seconds * 1000,
    }
