"""From values to what the tools give, and from what hooks send to events."""

from __future__ import annotations

import json
from typing import Any

from lessons_kb.brain.brain import Brain
from lessons_kb.model import EVENTS, Card, Event, Hit, Pattern
from lessons_kb.service.mcp.schemas import Block, Found, Matched, Row
from lessons_kb.text.sanitize import clean, defang, defang_line

_SYSTEM_ROWS = ("compaction", "stage", "preflight")
"""Kinds of events that neither the user nor the agent did."""

RETROSPECTIVE = """\
Look back on this session. For each mistake that cost time (a failed command, a wrong assumption, \
a change taken back, a complaint of the user):

1. Name the mistake in one line and its concrete root cause. Leave out what cannot come back.
2. Call lessons_search with its symptoms. If a card says the same, call lessons_bump with its id.
3. Otherwise call lessons_propose: title, root cause, two or three symptoms in the words of a \
future task, and at least one prevention item that can be checked ("be careful" cannot).
4. Mark lessons that helped or misled you with lessons_mark.

At most three proposals; none is a good answer. Tell the user that `lessons review` confirms them.\
"""


def substituted(event: Any) -> Any:
    """Return an event without the placeholders that its agent had no value for."""
    if not isinstance(event, dict):
        return event
    kept = {}
    for key, value in event.items():
        if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
            continue
        kept[key] = substituted(_parsed(value) if key in _OBJECTS else value)
        if key in _FLAGS:
            kept[key] = value in (True, "true")
    return kept


_OBJECTS = ("tool_input", "tool_response")
_FLAGS = ("is_interrupt",)
"""True and false, put into a text like everything else."""


def _parsed(value: Any) -> Any:
    """Return an object that was put into a text, anything else as it is."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def show_block(data: dict[str, Any]) -> Block:
    """Return a rendered preflight in the tool's shape."""
    return Block(
        block=data.get("block", ""),
        tokens=data.get("tokens", 0),
        footer=data.get("footer", ""),
        lessons=[show_hit(hit) for hit in data.get("lessons", ())],
        context=[show_hit(hit) for hit in data.get("context", ())],
    )


def show_hit(hit: dict[str, Any]) -> Found:
    """Return a rendered hit in the tool's shape."""
    return Found(
        id=hit["id"],
        kind=hit["kind"],
        title=hit["title"],
        severity=hit["severity"],
        occurrences=hit["occurrences"],
        score=hit["score"],
        confidence=hit["confidence"],
        passed=hit["passed"],
        reason=hit["reason"],
    )


def show_match(hit: Hit) -> Matched:
    """Return a lesson in the shape of a client that merges it with its own."""
    card = hit.card
    return Matched(
        id=card.id,
        kind=card.kind,
        title=defang_line(card.title),
        severity=card.severity,
        occurrences=card.occurrences,
        why=defang_line(card.why),
        checklist=[defang_line(one) for one in card.checklist],
        shown_by=list(card.shown_by),
        conditional=card.conditional,
        paths=list(card.paths),
        gate=card.gate,
        detect=[_show_pattern(pattern) for pattern in card.detect],
        score=hit.score,
        confidence=hit.confidence,
    )


def _show_pattern(pattern: Pattern) -> dict[str, Any]:
    """Return a pattern as a card's header writes it."""
    told = {
        pattern.kind: pattern.text,
        "files": list(pattern.files),
        "language": pattern.language,
        "unless": pattern.unless,
    }
    return {key: value for key, value in told.items() if value}


def read_card(brain: Brain, name: str) -> tuple[Card, str]:
    """Return a card and its Markdown, which is data: nothing in it can pose as somebody else."""
    card = brain.cards.get(name)
    return card, defang(clean(brain.cards.read(name)[1].body)).strip()


def read_history(brain: Brain, session: str, chat: str | None, limit: int) -> list[Row]:
    """Return the newest rows of a session, or of one chat of it, oldest first."""
    kinds = [kind for kind in EVENTS if kind not in _SYSTEM_ROWS]
    most = None if chat else limit
    events = brain.layers[0].journal.events.find(session=session, kinds=kinds, limit=most)
    if chat:
        events = [event for event in events if chat in _chats(event)][-limit:]
    return [_row(event) for event in events]


def _chats(event: Event) -> tuple[object, ...]:
    return event.record.get("chat"), event.record.get("part")


def _row(event: Event) -> Row:
    return Row(
        at=event.at,
        kind=event.kind,
        tool=event.tool,
        targets=[defang_line(one) for one in event.targets],
        outcome=event.outcome,
        text=defang(clean(event.text)),
        output=defang(clean(event.output)),
    )


def show_row(row: Row) -> str:
    """Return a row as one line."""
    words = (row["kind"], row["tool"], ", ".join(row["targets"][:3]), row["outcome"])
    told = " · ".join(word for word in words if word and word != "ok")
    return defang_line(f"{told}: {row['text'] or row['output']}")[:_LINE_CHARS]


_LINE_CHARS = 300
