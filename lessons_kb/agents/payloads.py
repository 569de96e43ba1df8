"""Read the fields that the payloads of all agents share, in each agent's spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessons_kb.hook_gates import ARGUMENT_KEYS, SESSION_KEYS, TOOL_KEYS
from lessons_kb.session.event_types import HookEvent

Payload = Mapping[str, Any]

MAX_OUTPUT_CHARS = 20_000
"""In characters. Only the end of a longer output is read."""
_REPLACED = ("old_string", "oldString", "old_str", "oldText")
_WRITTEN = (
    *(
        "new_string",
        "newString",
        "content",
        "new_str",
        "file_text",
        "new_source",
        "code",
        "newText",
    ),
    *("patch", "patchText", "input"),
)
_PROMPT_IDS = ("turn_id", "prompt_id", "promptId", "generation_id", "messageID")


def text_of(payload: Payload, *names: str) -> str:
    """Return the first of these values that is a non-empty string, or "" if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def replaced_by(arguments: object) -> str:
    """Return the text that an edit replaces, or "" for other calls."""
    texts = [text_of(part, *_REPLACED) for part in _list_edits(arguments)]
    return end_of("\n".join(filter(None, texts)))


def object_of(payload: Payload, *names: str) -> Payload:
    """Return the first of these values that is an object, or {} if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, dict):
            return value
    return {}


def end_of(text: str) -> str:
    """Return the last ``MAX_OUTPUT_CHARS`` characters, in which tools report success or failure."""
    return text[-MAX_OUTPUT_CHARS:]


def output_of(arguments: object, printed: str) -> str:
    """Return the end of the text that an edit writes, or of the output of another call.

    The text of an edit may be empty. The output of an edit tool is not used, because it also shows
    the lines around the edit.
    """
    written = [part for part in _list_edits(arguments) if not part.keys().isdisjoint(_WRITTEN)]
    if not written:
        return end_of(printed)
    texts = [text_of(part, *_WRITTEN) for part in written]
    return end_of("\n".join(filter(None, texts)))


def _list_edits(arguments: object) -> list[Payload]:
    """List the arguments of a call and the edits that they contain."""
    if not isinstance(arguments, dict):
        return []
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    return [part for part in parts if isinstance(part, dict)]


def read_common(payload: Payload, event: HookEvent) -> None:
    """Fill in the fields that most payloads have under one of a few names."""
    event.session = text_of(payload, *SESSION_KEYS)
    if event.what == "prompt":
        event.text = text_of(payload, "prompt", "text")
        event.id = text_of(payload, *_PROMPT_IDS)
    elif event.what == "start":
        event.source = text_of(payload, "source")
    elif event.what == "stop":
        event.text = text_of(payload, "last_assistant_message", "prompt_response", "text")
    elif event.what in ("before", "after"):
        event.tool = text_of(payload, *TOOL_KEYS)
        event.arguments = _find_arguments(payload)
        event.id = text_of(payload, "tool_use_id", "toolCallId", "callID")


def _find_arguments(payload: Payload) -> Payload | str:
    """Return the arguments of a call, as a JSON object or its text, or {} if there are none."""
    for name in ARGUMENT_KEYS:
        value = payload.get(name)
        if isinstance(value, (dict, str)):
            return value
    return {}
