"""Antigravity: one event for each call of the model. The prompt is in the session's record.

This is based on its documentation and on reports about versions 1.1 to 1.5. The program itself was
not run. Its hooks for tools are not used, because Antigravity refuses a call unless they allow it,
and they cannot add context for the model.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from lessons_kb.agents.payloads import Payload, text_of
from lessons_kb.session.event_types import Answer, HookEvent
from lessons_kb.store.files import read_tail

_MAX_BYTES = 2_000_000
"""In bytes. Only the end of a longer record is read."""
_ROWS = {"prompt": ("USER_INPUT", "USER_EXPLICIT"), "stop": ("PLANNER_RESPONSE", "MODEL")}
"""Maps a kind of event to the type and the source of the row that has its text."""
_WRAPPED = re.compile(r"<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>", re.DOTALL)


def read(payload: Payload, _name: str, event: HookEvent) -> None:
    """Read the newest prompt or the answer from the record that the payload names."""
    event.repeats = True
    path = "" if event.posted else text_of(payload, "transcriptPath")
    row = _find_last_row(path, *_ROWS[event.what]) if path else {}
    text = text_of(row, "content")
    wrapped = _WRAPPED.search(text)
    event.text = wrapped[1] if wrapped else text
    event.id = str(row.get("step_index", text))
    if event.what == "prompt" and not event.text:
        event.what = ""


def _find_last_row(path: str, kind: str, source: str) -> dict[str, Any]:
    """Return the last row of a record with this type and source, or {} if there is none."""
    last: dict[str, Any] = {}
    data, _start = read_tail(path, 0, limit=_MAX_BYTES)
    for line in data.splitlines():
        if kind.encode() not in line:
            continue
        # The first line may be cut off, and the last one may not be complete yet.
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict) and (row.get("type"), row.get("source")) == (kind, source):
                last = row
    return last


def write(_name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return the JSON object of an answer. Antigravity drops an object with any other key."""
    return {"injectSteps": [{"ephemeralMessage": answer.context}]} if answer.context else {}
