"""Is this the mistake that a card warns of? Failures and complaints beside the card's own words.

Careful rather than complete: a recurrence that is missed makes a card look a little better, one
that is made up has a good card archived.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lessons_kb.learn.failure_output import error_excerpt
from lessons_kb.learn.feedback_phrases import find_phrase
from lessons_kb.model import CALLS, FAILURES, Card, Event
from lessons_kb.text.analyzer import analyze

TOLD = ("prompt", "feedback", "interrupt", "rollback", "stage")
"""Events among which signs are, beside calls that failed."""
COVERED = 0.6
"""Part of a title's or a symptom's terms that must stand in the text of one sign."""
MIN_TERMS = 3
"""Terms that must: shorter phrases fit too much. Two characters of Hangul or Han are one term."""
_SPOKEN = ("prompt", "feedback")
_MAX_TEXT = 2_000

Phrase = frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sign:
    """Something went wrong, and what was said about it."""

    at: float
    terms: frozenset[str]
    spoken: bool
    """By the user; else it is the failure of a call."""


def find_signs(events: Iterable[Event]) -> list[Sign]:
    """Return failed calls and stages, complaints, interrupts and rollbacks with their words."""
    signs = []
    for event in events:
        if text := _told(event):
            spoken = event.kind not in CALLS
            signs.append(Sign(at=event.at, terms=frozenset(analyze(text)), spoken=spoken))
    return signs


def phrases_of(card: Card) -> tuple[Phrase, ...]:
    """Return what a card says of its mistake: the terms of its title and of each symptom."""
    found = (frozenset(analyze(text)) for text in (card.title, *card.symptoms))
    return tuple(phrase for phrase in found if _weight(phrase) >= MIN_TERMS)


def is_about(sign: Sign, phrases: Sequence[Phrase]) -> bool:
    """Return whether a sign shows most of one of the phrases."""
    for phrase in phrases:
        shown = _weight(phrase & sign.terms)
        if shown >= MIN_TERMS and shown >= COVERED * _weight(phrase):
            return True
    return False


def _told(event: Event) -> str:
    if event.kind in CALLS:
        if event.outcome not in FAILURES or event.outcome == "permission_denied":
            return ""
        return f"{event.text[:_MAX_TEXT]}\n{error_excerpt(event.output, limit=_MAX_TEXT)}"
    if event.kind in _SPOKEN:
        return event.text[:_MAX_TEXT] if find_phrase(event.text) else ""
    if event.kind not in TOLD or (event.kind == "stage" and event.outcome not in FAILURES):
        return ""
    return event.text[:_MAX_TEXT]


def _weight(terms: Iterable[str]) -> float:
    return sum(0.5 if term[0] >= "\u1100" else 1.0 for term in terms)
