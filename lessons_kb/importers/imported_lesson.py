"""What other systems tell, before it is a card here."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

SITUATION, MISTAKE, CAUSE = "Situation", "Mistake / Risk", "Root Cause"
FIX, PREVENTION = "Fix", "Prevention Checklist"
SECTIONS = (SITUATION, MISTAKE, CAUSE, FIX, PREVENTION)
"""Headings in the order in which a card has them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """A lesson as another system tells it."""

    title: str
    where: str
    """File and line, or row, for messages."""
    origin: str = ""
    """``system:source#digest``: equal for the same lesson of the same system at any time."""
    kind: str = "lesson"
    sections: tuple[tuple[str, str], ...] = ()
    """(heading of SECTIONS, Markdown), in that order."""
    topics: tuple[str, ...] = ()
    project: str | None = None
    stages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    severity: str | None = None
    source: str | None = None
    status: str | None = None
    gate: str | None = None
    occurrences: int = 1
    last_seen: str | None = None
    """ISO date, as is ``created``."""
    created: str | None = None
    not_for: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    evidence: str | None = None
    supported_by: tuple[str, ...] = ()
    reopen_when: str | None = None
    id: str = ""
    """The card's id in the brain that exported it, "" from elsewhere."""
    text: str = ""
    """The whole file as it was exported; then it is what is written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PassedOver:
    """Something in the source that becomes no card, and why."""

    title: str
    where: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was found in one source."""

    lessons: tuple[Incoming, ...]
    passed_over: tuple[PassedOver, ...] = ()
    notes: tuple[str, ...] = ()
    """One line each: what was not understood and left alone."""


def make_origin(system: str, source: str, *what: str) -> str:
    """Return the origin of a lesson that ``what`` tells apart within its system."""
    text = "\0".join(" ".join(part.split()).casefold() for part in what)
    source = " ".join(source.replace("#", " ").split())
    return f"{system}:{source}#{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def origin_key(origin: str) -> tuple[str, str]:
    """Return what must be equal in two origins of one lesson: a renamed source is the same."""
    return origin.partition(":")[0], origin.rpartition("#")[2]
