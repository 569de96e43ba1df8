"""The cards of a server: data that others wrote, bounded, and no file here.

They are kept as they were told, in the session's state; what puts them into a block makes them
harmless, as it does any card.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from lessons_kb.detect.added_code import Change
from lessons_kb.detect.matcher import Match, Matcher, Rule
from lessons_kb.errors import InputError
from lessons_kb.model import KINDS, SERVED, SEVERITIES, Card, Hit, Pattern, as_data
from lessons_kb.text.globs import compile_globs, match_globs
from lessons_kb.text.sanitize import clean_line

Told = dict[str, Any]
"""A lesson as a server told it, bounded: what ``read_card`` takes."""
_MAX_ITEMS = 30
_MAX_CHARS = 500
"""Of a title, a reason or an item."""
_USED = (
    *("id", "kind", "title", "severity", "occurrences", "why", "checklist", "shown_by"),
    *("conditional", "paths", "gate", "detect", "score", "confidence"),
)


def take_card(lesson: Mapping[str, Any], *, name: str, gate: bool, detect: bool) -> Told:
    """Return what is used of a lesson of a server's brain called ``name``.

    The user says whether it may ask for permission (``gate``), and whether its patterns are
    looked for (``detect``). ValueError, TypeError, KeyError, OverflowError for what is no lesson.
    """
    named = {**lesson, "id": f"{name}{SERVED}{_line(lesson['id'])}", "detect": ()}
    hit = read_hit(named)
    told: Told = {**as_data(hit.card), "score": hit.score, "confidence": hit.confidence}
    if not gate or not _is_usable(hit.card.paths):
        told.update(gate="none", paths=[])
    if detect:
        patterns = lesson.get("detect")
        told["detect"] = [data for data, _pattern in _patterns(patterns)]
    return {key: told[key] for key in _USED}


def read_card(told: Told) -> Card:
    """Return the card that was told; raises as ``take_card`` does."""
    checklist = _lines(told["checklist"])
    shown_by = tuple(str(one) for one in told.get("shown_by", ()))
    usable = len(shown_by) == len(checklist) and all(len(one) <= _MAX_CHARS for one in shown_by)
    return Card(
        id=_line(told["id"]),
        kind=told["kind"] if told["kind"] in KINDS else KINDS[0],
        title=_line(told["title"]),
        severity=told["severity"] if told["severity"] in SEVERITIES else "medium",
        occurrences=min(max(int(told["occurrences"]), 1), 1_000_000),
        why=_line(told["why"]),
        checklist=checklist,
        shown_by=shown_by if usable else (),
        conditional=told.get("conditional") is True,
        paths=_lines(told.get("paths", ())),
        gate="ask" if told.get("gate") == "ask" else "none",
        detect=tuple(pattern for _data, pattern in _patterns(told.get("detect", ()))),
    )


def read_hit(told: Told) -> Hit:
    """Return the card that was told as one that passed the gate; raises as ``take_card`` does."""
    score, confidence = float(told["score"]), float(told["confidence"])
    if not (math.isfinite(score) and score >= 0 and 0 <= confidence <= 1):
        raise ValueError("no score")
    return Hit(
        card=read_card(told),
        score=score,
        bm25=score,
        confidence=confidence,
        passed=True,
        reason="the server gives it",
    )


def _line(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return clean_line(value[: 4 * _MAX_CHARS])[:_MAX_CHARS]


def _lines(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("no list")
    return tuple(map(_line, value[:_MAX_ITEMS]))


def _patterns(value: object) -> Iterator[tuple[object, Pattern]]:
    """Yield the usable ones of a card's patterns, as they were told and as they are."""
    if not value or not isinstance(value, list):
        return
    from lessons_kb.cards.detect_key import parse_pattern  # loads RE2

    for one in value[:_MAX_ITEMS]:
        with suppress(InputError, AttributeError):
            yield one, parse_pattern(one)


def _is_usable(globs: Sequence[str]) -> bool:
    try:
        compile_globs(globs)
    except InputError:
        return False
    return True


def find_in_call(
    cards: Sequence[Card], files: Sequence[str], changes: Iterable[Change], commands: Sequence[str]
) -> tuple[list[tuple[Card, tuple[str, ...]]], list[tuple[Card, tuple[Match, ...]]]]:
    """Return the cards that ask about files of a call, and those whose mistake is in it.

    ``files`` are relative to the project root; each card comes with its files, or its matches.
    """
    globs = [(card, compile_globs(card.paths)) for card in cards if card.gate == "ask"]
    guarded = [
        (card, found)
        for card, compiled in globs
        if (found := tuple(file for file in files if match_globs(compiled, file)))
    ]
    rules = [
        Rule(card=card.id, pattern=pattern, globs=compile_globs(pattern.files))
        for card in cards
        for pattern in card.detect
    ]
    seen: list[Match] = []
    with suppress(InputError):  # patterns that are too large together
        matcher = Matcher(rules)
        seen += [match for change in changes for match in matcher.find_added(change)]
        seen += matcher.find_in_commands(commands)
    matches = [(card, tuple(one for one in seen if one.rule.card == card.id)) for card in cards]
    return guarded, [(card, its) for card, its in matches if its]
