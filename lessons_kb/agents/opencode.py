"""opencode: what our plugin sends and takes.

opencode has no hooks of its own but plugins, so the form is ours. The plugin sends one object::

    {"event": "start", "sessionID": …, "cwd": …}
    {"event": "subagent", "sessionID": …, "cwd": …}
    {"event": "prompt", "sessionID": …, "messageID": …, "text": …, "cwd": …}
    {"event": "before", "sessionID": …, "callID": …, "tool": …, "args": {…}, "cwd": …}
    {"event": "after", "sessionID": …, "messageID": …, "callID": …, "tool": …, "args": {…},
     "output": …, "metadata": {…}, "cwd": …}
    {"event": "failed", "sessionID": …, "messageID": …, "callID": …, "tool": …, "args": {…},
     "error": …, "cwd": …}
    {"event": "compact", "sessionID": …, "cwd": …}
    {"event": "stop", "sessionID": …, "text": …, "cwd": …}
    {"event": "end", "sessionID": …, "cwd": …}

and takes one: ``context`` for the model (of ``start`` and ``subagent``: push it to
``output.system`` of every main request of the session; of ``after``: append it to
``output.output``; of ``compact``: push it to ``output.context``; of the others: push it to
``output.system`` of the turn's next main requests) and ``message`` for the user (a toast, or the
log).
"""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.capabilities import (
    Payload,
    arguments_of,
    end_of,
    object_of,
    output_of,
    text_of,
)
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent

_INVALID = "invalid"
"""Name of the tool that opencode runs in the place of one that does not exist."""
_ABORTED = "Tool execution aborted"
"""Error of a call that the user interrupted before its tool could end it."""
_NOTES = "<shell_metadata>"
_STOPPED = "User aborted the command"
"""Line behind _NOTES: the user interrupted a command, which then has no exit code."""
_QUOTES = '"'


def read(payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells."""
    seen.session = text_of(payload, "sessionID")
    if event == "subagent":  # a session of its own, with titles alone at its start
        seen.part = seen.session
    if event == "prompt":
        seen.text = _unquoted(text_of(payload, "text"))
        seen.id = text_of(payload, "messageID")
    if event == "stop":
        seen.text = text_of(payload, "text")
    if event in ("before", "after", "failed"):
        seen.tool = text_of(payload, "tool")
        seen.arguments = arguments_of(payload, "args", "input")
        seen.id = text_of(payload, "callID")
        seen.step = text_of(payload, "messageID")
    if event == "after":
        _read_result(payload, seen)
    if event == "failed":
        error = text_of(payload, "error")
        seen.outcome = "cancelled" if error == _ABORTED else kind_of_failure(error)
        seen.output = end_of(error)


def write(_event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the object that the plugin takes."""
    said = {"context": answer.context, "message": message}
    return {key: text for key, text in said.items() if text}


def _read_result(payload: Payload, seen: HookEvent) -> None:
    text = text_of(payload, "output")
    metadata = object_of(payload, "metadata")
    code = metadata.get("exit")
    if seen.tool == _INVALID:
        seen.outcome, seen.output = kind_of_failure(text), end_of(text)
        return
    seen.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
    if "exit" in metadata and code is None:  # it was ended: by the user, or for its time was up
        notes = text.rpartition(_NOTES)[2].splitlines()
        seen.outcome = "cancelled" if _STOPPED in notes else "exec_error"
    seen.output = end_of(text_of(metadata, "diff") or output_of(payload.get("args"), text))


def _unquoted(prompt: str) -> str:
    """Return a prompt without the quotes that the command line of ``opencode run`` leaves."""
    inner = prompt[1:-1]
    quoted = len(prompt) > 1 and prompt[0] == prompt[-1] == _QUOTES and _QUOTES not in inner
    return inner if quoted else prompt
