"""An answer as it was meant for a reader: without calls that the model wrote as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lessons_kb.importers.markup import strip_tool_markup
from lessons_kb.model import Event

_SIGNS = ("<", "[")
"""Without any of these there is no call in a text, and nothing is to be loaded."""
_MAX_TOLD = 20
_RAW_CHARS = 500


def without_markup(event: Event) -> Event:
    """Return an answer whose text is prose; what was taken out is told in its record.

    ``text_calls`` there lists (tool, malformed), and of what could not be read the markup too:
    its first 500 characters, so that nothing is lost.
    """
    if not any(sign in event.text for sign in _SIGNS):
        return event

    text, calls = strip_tool_markup(event.text)
    if not calls:
        return event
    told: list[object] = []
    for call in calls[:_MAX_TOLD]:
        kept = {"raw": call.raw[:_RAW_CHARS]} if call.malformed else {}
        told.append({"tool": call.name, "malformed": call.malformed, **kept})
    return replace(event, text=text, record={**event.record, "text_calls": told})


def find_malformed(event: Event) -> tuple[str, ...]:
    """Return one line for each call in an answer's record that could not be read."""
    calls: Any = event.record.get("text_calls", ())
    return tuple(
        f"a call of {call['tool'] or '?'} was written as text: {call['malformed']}"
        for call in calls
        if call["malformed"]
    )
