"""The relevance gate: is this card about this prompt, or do they merely share words?"""

from __future__ import annotations

from math import log

from lessons_kb.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lessons_kb.config import Gate
    from lessons_kb.model import Hit


class Evidence(Value):
    """What the gate is told about a query and the cards found for it."""

    terms: Mapping[str, float]
    """Term of the query → its weight there."""
    frequencies: Mapping[str, int]
    """Term → in how many cards' ``body`` it stands."""
    size: int
    """Number of cards in the brain."""
    found: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Id of a card → field → terms of the query that stand in it."""


def judge(hits: Sequence[Hit], evidence: Evidence, gate: Gate) -> list[Hit]:
    """Return the hits, in their order, with ``matched``, ``confidence``, ``passed``, ``reason``."""
    mass = {term: _idf(evidence.frequencies.get(term, 0), evidence.size) for term in evidence.terms}
    total = sum(mass.values()) or 1.0
    judged = []
    for hit in hits:
        fields = evidence.found.get(hit.card.id, {})
        matched = sorted({t for terms in fields.values() for t in terms}, key=lambda t: -mass[t])
        covered = sum(mass[term] for term in matched) / total
        passed = covered >= gate.min_confidence
        share = f"covers {covered:.0%} of the prompt's information"
        words = ", ".join(matched[:3])
        judged.append(
            hit.replace(
                matched=tuple(matched),
                confidence=covered,
                passed=passed,
                reason=f"{share}: {words}" if passed else f"held back: {share} ({words})",
            )
        )
    return judged


def _idf(n: int, size: int) -> float:
    return log(1 + (max(size - n, 0) + 0.5) / (n + 0.5))
