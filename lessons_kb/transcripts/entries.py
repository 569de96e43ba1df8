"""What an agent's own record of a session tells, the same for every agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PROMPT, ANSWER, CALL = "prompt", "answer", "call"
COMPACTION, INTERRUPT = "compaction", "interrupt"

OK, FAILED, CANCELLED, UNKNOWN = "ok", "failed", "cancelled", "unknown"

MAX_OUTPUT = 20_000
"""Characters of an output that are kept: its end, where tools say how it went."""
MAX_OPEN_CALLS = 1_000
"""Calls that wait for their results; older ones are forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One observation of a session, in order."""

    kind: str
    at: float = 0.0
    """Seconds since the epoch, 0 when the record does not say."""
    session: str = ""
    id: str = ""
    """As the agent's hooks have it, "" where they have none."""
    cwd: str = ""
    text: str = ""
    """What was asked, answered or summed up."""
    tool: str = ""
    arguments: Mapping[str, Any] | str = ""
    ended: str = OK
    """How a call ended: ``ok``, ``failed``, ``cancelled`` or ``unknown``."""
    output: str = ""
    step: str = ""
    """Of a call: names the message that made it, "" if not known."""


def texts_of(content: object) -> str:
    """Return the text of a content: a text, or a list of parts of which some have one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    found = (part if isinstance(part, str) else _text(part) for part in parts)
    return "\n".join(text for text in found if text)


def _text(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def without(text: str, opening: str, closing: str) -> str:
    """Return a text without what stands between these marks, and the marks; in linear time."""
    kept, place = [], 0
    while (start := text.find(opening, place)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[place:start])
        place = end + len(closing)
    return "".join([*kept, text[place:]])


def remember(calls: dict[str, Any], number: str, call: object) -> None:
    """Keep a call until its result comes; forget the oldest of too many."""
    calls[number] = call
    while len(calls) > MAX_OPEN_CALLS:
        del calls[next(iter(calls))]
