"""Which part of a session a mistake that somebody names belongs to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log

from lessons_kb.model import Event
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.document_frequencies import get_share

_RARE = 0.0005
"""Share of texts that hold a term which is not listed."""
_LEAST = 4.0
"""Nats of shared words below which a turn has nothing to do with a title."""
_MAX_CHARS = 4_000
"""Of one event that are looked at."""
_RUNS = ("test", "command")


def pick_turns(events: Sequence[Event], title: str) -> list[Event]:
    """Return the events that belong to the mistake of a title; all where none shows that.

    That is the turn (a prompt and what follows it) that shares most with the title, the later one
    of two alike, and those after it until what failed in it has passed.
    """
    turns = _split(events)
    title_terms = {*analyze(title)}
    scores = [_shared(turn, title_terms) for turn in turns]
    best = max(scores, default=0.0)
    if best < _LEAST:
        return list(events)
    first = len(turns) - 1 - scores[::-1].index(best)
    last = first
    if failed := find_failure(turns[first], title):
        for place in range(first, len(turns)):
            if _passes(turns[place], failed):
                last = place
                break
    return [event for turn in turns[first : last + 1] for event in turn]


def find_failure(events: Sequence[Event], title: str) -> Event | None:
    """Return the failed command that shares most with a title, the latest of some alike."""
    failures = [one for one in events if one.kind in _RUNS and one.outcome == "exec_error"]
    title_terms = {*analyze(title)}
    shared = [_shared([one], title_terms) for one in failures]
    return max(zip(shared, range(len(failures)), failures, strict=True), default=(0, 0, None))[2]


def _split(events: Sequence[Event]) -> list[list[Event]]:
    turns: list[list[Event]] = []
    for event in events:
        if not turns or (event.kind == "prompt" and event.text.strip()):
            turns.append([])
        turns[-1].append(event)
    return turns


def _passes(turn: Sequence[Event], failed: Event) -> bool:
    return any(
        event.kind in _RUNS
        and event.outcome == "ok"
        and event.text == failed.text
        and event.at >= failed.at
        for event in turn
    )


def _shared(turn: Sequence[Event], title_terms: Collection[str]) -> float:
    """Return the nats of the words of a title that stand in a turn."""
    found: set[str] = set()
    for event in turn:
        told = (event.text[:_MAX_CHARS], event.output[:_MAX_CHARS], *event.targets)
        found.update(analyze(" ".join(told)))
    return sum(-log(get_share(term) or _RARE) for term in found.intersection(title_terms))
