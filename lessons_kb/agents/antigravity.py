"""Antigravity: an event for each call of the model; the prompt stands in the session's record.

By its documents and by what others saw of versions 1.1 to 1.5: it was not run. Hooks of its tools
are not used: a call is refused unless they allow it, and they can put nothing before the model.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from lessons_kb.agents.payloads import Payload, text_of
from lessons_kb.session.state import Answer, HookEvent
from lessons_kb.store.files import read_tail

_MAX_BYTES = 2_000_000
"""Of a longer record the end is looked at."""
_ROWS = {"prompt": ("USER_INPUT", "USER_EXPLICIT"), "stop": ("PLANNER_RESPONSE", "MODEL")}
"""Kind of event → type and source of the row that tells its text."""
_WRAPPED = re.compile(r"<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>", re.DOTALL)


def read(payload: Payload, _name: str, event: HookEvent) -> None:
    """Read the newest prompt, or the answer, from the record that the payload names."""
    event.repeats = True
    wanted = _ROWS[event.what]
    path, row = "" if event.posted else text_of(payload, "transcriptPath"), dict[str, Any]()
    data, _start = read_tail(path, 0, limit=_MAX_BYTES) if path else (b"", 0)
    for line in data.splitlines():  # the last of this kind
        with contextlib.suppress(ValueError, RecursionError):  # cut, or not written to its end yet
            found = json.loads(line) if wanted[0].encode() in line else None
            if isinstance(found, dict) and (found.get("type"), found.get("source")) == wanted:
                row = found
    text = text_of(row, "content")
    wrapped = _WRAPPED.search(text)
    event.text, event.id = wrapped[1] if wrapped else text, str(row.get("step_index", text))
    if event.what == "prompt" and not event.text:
        event.what = ""


def write(_name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return what Antigravity takes for an answer: it drops one with any other key."""
    return {"injectSteps": [{"ephemeralMessage": answer.context}]} if answer.context else {}
