"""Tolerant looks into a payload: a value of the wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessons_kb.text.times import read_time

Payload = Mapping[str, Any]


MAX_OUTPUT_CHARS = 20_000
"""Beyond this only the end of what a tool printed is looked at."""


def text_of(payload: Payload, *names: str) -> str:
    """Return the first of these values that is a text, "" if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def object_of(payload: Payload, *names: str) -> Payload:
    """Return the first of these values that is an object, {} if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, dict):
            return value
    return {}


def arguments_of(payload: Payload, *names: str) -> object:
    """Return the arguments of a call: an object or a text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, (dict, str)):
            return value
    return {}


def time_of(payload: Payload) -> float:
    """Return the payload's ``timestamp`` in seconds since the epoch, 0 when it has none."""
    return read_time(payload.get("timestamp"))


def end_of(text: str) -> str:
    """Return the end of a long text, where tools say how it went."""
    return text[-MAX_OUTPUT_CHARS:]


def output_of(arguments: object, printed: str) -> str:
    """Return the text that an edit writes, be it none; of other calls the end of what is printed.

    What a tool prints of an edit shows the file around it.
    """
    if not isinstance(arguments, dict):
        return end_of(printed)
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    parts = [part for part in parts if isinstance(part, dict) and any(n in part for n in _WRITTEN)]
    if not parts:
        return end_of(printed)
    texts = [text_of(part, *_WRITTEN) for part in parts]
    return end_of("\n".join(text for text in texts if text))


def replaced_by(arguments: object) -> str:
    """Return the text that an edit replaces, "" of other calls."""
    if not isinstance(arguments, dict):
        return ""
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    texts = [text_of(part, *_REPLACED) for part in parts if isinstance(part, dict)]
    return end_of("\n".join(text for text in texts if text))


_REPLACED = ("old_string", "oldString", "old_str")
_WRITTEN = (
    *("new_string", "newString", "content", "new_str", "file_text", "new_source", "code"),
    *("patch", "patchText", "input"),
)
