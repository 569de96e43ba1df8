"""opencode: what our plugin sends and takes.

opencode has no hooks of its own but plugins, so the form is ours. The plugin sends one object::

    {"event": "start", "sessionID": …, "cwd": …}
    {"event": "prompt", "sessionID": …, "messageID": …, "text": …, "cwd": …}
    {"event": "before", "sessionID": …, "callID": …, "tool": …, "args": {…}, "cwd": …}
    {"event": "after", "sessionID": …, "messageID": …, "callID": …, "tool": …, "args": {…},
     "output": …, "metadata": {…}, "cwd": …}
    {"event": "failed", "sessionID": …, "messageID": …, "callID": …, "tool": …, "args": {…},
     "error": …, "cwd": …}
    {"event": "compact", "sessionID": …, "cwd": …}
    {"event": "stop", "sessionID": …, "text": …, "cwd": …}
    {"event": "end", "sessionID": …, "cwd": …}

and takes one: ``context`` for the model (of ``after``: append it to ``output.output``; of
``compact``: push it to ``output.context``; of the others: push it to ``output.system`` of the
session's next main requests) and ``message`` for the user (a toast, or the log).
"""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    Said,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure

_INVALID = "invalid"
"""Name of the tool that opencode runs in the place of one that does not exist."""
_ABORTED = "Tool execution aborted"
"""Error of a call that the user interrupted before its tool could end it."""
_NOTES = "<shell_metadata>"
_STOPPED = "User aborted the command"
"""Line behind _NOTES: the user interrupted a command, which then has no exit code."""
_QUOTES = '"'


def read(payload: Payload, event: str) -> dict[str, Any] | None:
    """Return the fields of a hook event, None for what is to be passed over."""
    found: dict[str, Any] = {"session": text_of(payload, "sessionID")}
    if event == "prompt":
        found["text"] = _unquoted(text_of(payload, "text"))
        found["id"] = text_of(payload, "messageID")
    if event == "stop":
        found["text"] = text_of(payload, "text")
    if event in ("before", "after", "failed"):
        found["tool"] = text_of(payload, "tool")
        found["arguments"] = arguments_of(payload, "args", "input")
        found["id"] = text_of(payload, "callID")
        found["step"] = text_of(payload, "messageID")
    if event == "after":
        found |= _ended(payload)
    if event == "failed":
        error = text_of(payload, "error")
        outcome = "cancelled" if error == _ABORTED else kind_of_failure(error)
        found |= {"outcome": outcome, "output": end_of(error)}
    return found


def write(_event: str, said: Said) -> dict[str, Any]:
    """Return the object that the plugin takes."""
    output = {}
    if said.context:
        output["context"] = said.context
    if said.message:
        output["message"] = said.message
    return output


def _ended(payload: Payload) -> dict[str, str]:
    text = text_of(payload, "output")
    metadata = object_of(payload, "metadata")
    code = metadata.get("exit")
    if text_of(payload, "tool") == _INVALID:
        return {"outcome": kind_of_failure(text), "output": end_of(text)}
    outcome = "exec_error" if type(code) is int and code != 0 else "ok"
    if "exit" in metadata and code is None:  # it was ended: by the user, or for its time was up
        notes = text.rpartition(_NOTES)[2].splitlines()
        outcome = "cancelled" if _STOPPED in notes else "exec_error"
    written = text_of(metadata, "diff") or output_of(payload.get("args"), text)
    return {"outcome": outcome, "output": end_of(written)}


def _unquoted(prompt: str) -> str:
    """Return a prompt without the quotes that the command line of ``opencode run`` leaves."""
    inner = prompt[1:-1]
    quoted = len(prompt) > 1 and prompt[0] == prompt[-1] == _QUOTES and _QUOTES not in inner
    return inner if quoted else prompt
