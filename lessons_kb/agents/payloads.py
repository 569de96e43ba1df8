"""What all agents' payloads have in common, read by name, whoever sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessons_kb.hook_gates import ARGUMENT_KEYS, SESSION_KEYS, TOOL_KEYS
from lessons_kb.session.state import HookEvent

Payload = Mapping[str, Any]

MAX_OUTPUT_CHARS = 20_000
"""Beyond this only the end of what a tool printed is looked at."""
_REPLACED = ("old_string", "oldString", "old_str")
_WRITTEN = (
    *("new_string", "newString", "content", "new_str", "file_text", "new_source", "code"),
    *("patch", "patchText", "input"),
)
_PROMPT_IDS = ("turn_id", "prompt_id", "promptId", "generation_id", "messageID")


def text_of(payload: Payload, *names: str) -> str:
    """Return the first of these values that is a text, "" if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def replaced_by(arguments: object) -> str:
    """Return the text that an edit replaces, "" of other calls."""
    return end_of("\n".join(filter(None, (text_of(x, *_REPLACED) for x in _edits(arguments)))))


def object_of(payload: Payload, *names: str) -> Payload:
    """Return the first of these values that is an object, {} if none is."""
    found = (payload.get(name) for name in names)
    return next((value for value in found if isinstance(value, dict)), {})


def end_of(text: str) -> str:
    """Return the end of a long text, where tools say how it went."""
    return text[-MAX_OUTPUT_CHARS:]


def output_of(arguments: object, printed: str) -> str:
    """Return the text that an edit writes, be it none; of other calls the end of what is printed.

    What a tool prints of an edit shows the file around it.
    """
    parts = [part for part in _edits(arguments) if any(name in part for name in _WRITTEN)]
    texts = [text_of(part, *_WRITTEN) for part in parts]
    return end_of("\n".join(filter(None, texts)) if parts else printed)


def _edits(arguments: object) -> list[Payload]:
    """Return the arguments of a call and the edits in them."""
    if not isinstance(arguments, dict):
        return []
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    return [part for part in parts if isinstance(part, dict)]


def read_common(payload: Payload, event: HookEvent) -> None:
    """Fill in what most payloads tell under one of a few names."""
    event.session = text_of(payload, *SESSION_KEYS)
    if event.what == "prompt":
        event.text = text_of(payload, "prompt", "text")
        event.id = text_of(payload, *_PROMPT_IDS)
    elif event.what == "stop":
        event.text = text_of(payload, "last_assistant_message", "prompt_response", "text")
    elif event.what in ("before", "after"):
        event.tool = text_of(payload, *TOOL_KEYS)
        arguments = map(payload.get, ARGUMENT_KEYS)
        event.arguments = next((x for x in arguments if isinstance(x, (dict, str))), {})
        event.id = text_of(payload, "tool_use_id", "toolCallId", "callID")
