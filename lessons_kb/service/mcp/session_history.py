"""The history of a session for the tool `session_history` and its resource."""

from __future__ import annotations

from typing import Any

from lessons_kb.library import Library
from lessons_kb.model import EVENTS, Event
from lessons_kb.text.sanitize import clean, defang, defang_line

Data = dict[str, Any]

HISTORY_EVENTS = 50
"""Default number of events of a session."""
_SYSTEM_EVENTS = ("compaction", "stage", "preflight")


def read_history(brains: Library, session: str, chat: str | None, limit: int) -> list[Data]:
    """Return the newest events of a session, or of one of its chats, oldest first."""
    kinds = [kind for kind in EVENTS if kind not in _SYSTEM_EVENTS]
    most = None if chat else limit
    events = brains.members[0].journal.events.find(session=session, kinds=kinds, limit=most)
    if chat:
        events = [event for event in events if _is_in_chat(event, chat)][-limit:]
    return [_show_event(event) for event in events]


def _is_in_chat(event: Event, chat: str) -> bool:
    return chat in (event.record.get("chat"), event.record.get("part"))


def _show_event(event: Event) -> Data:
    """Return an event of the journal as data, with defanged texts."""
    return {
        "at": event.at,
        "kind": event.kind,
        "tool": event.tool,
        "outcome": event.outcome,
        "targets": [defang_line(target) for target in event.targets],
        "text": defang(clean(event.text)),
        "output": defang(clean(event.output)),
    }
