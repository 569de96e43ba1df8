"""opencode: read the payloads of our plugin, and write the answers that it accepts.

opencode has plugins instead of hooks, so the format is our own. Our plugins for other agents use it
as well. The plugin sends one object::

    {"event": "start", "sessionID": …, "cwd": …, "source": …}
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

The plugin accepts one object with these keys:

- ``refuse`` (only for ``before``): the call fails with this text and is not run.
- ``context``, for the model. For ``start`` and ``subagent``, the plugin adds it to
  ``output.system`` of every main request of the session. For ``prompt``, it becomes a part of the
  user's message, which every main request has from then on. For ``before`` and ``after``, it
  appends it to ``output.output``. For ``failed``, and for ``before`` of a call that fails, it
  appends it to the error of the call in each request. For ``compact``, it adds it to
  ``output.context``, and to ``output.system`` of every later main request.
- ``message``, for the user: a toast, or a line in the log.
"""

from __future__ import annotations

import re
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.session.event_types import Answer, HookEvent

_CONTINUED = ("resume", "fork", "reload")
"""Sources of a session that begins with the chat of an earlier session."""
_INVALID = "invalid"
"""The name of the tool that opencode runs in place of a tool that does not exist."""
_ABORTED = "Tool execution aborted"
"""The error of a call that the user interrupted before the tool ended."""
_NOTES = "<shell_metadata>"
_STOPPED = "User aborted the command"
"""The line after ``_NOTES`` if the user interrupted a command, which then has no exit code."""


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in the fields that are specific to payloads of our plugin."""
    if name == "start" and text_of(payload, "source") in _CONTINUED:
        event.takes_context = False  # the chat has the text
    if name == "subagent":  # it has a session of its own, which starts with titles only
        event.part = event.session
    if name == "prompt" and re.fullmatch(r'"[^"]*"', event.text):
        event.text = event.text[1:-1]  # ``opencode run`` keeps the quotes of its command line
    if event.what in ("before", "after"):
        event.step = text_of(payload, "messageID")
    if name == "failed" or (name == "after" and event.tool == _INVALID):
        error = text_of(payload, "error" if name == "failed" else "output")
        aborted = name == "failed" and error == _ABORTED
        event.outcome = "cancelled" if aborted else kind_of_failure(error)
        event.output = end_of(error)
    elif name == "after":
        text = text_of(payload, "output")
        metadata = object_of(payload, "metadata")
        code = metadata.get("exit")
        event.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
        if "exit" in metadata and code is None:  # the user or a timeout ended the command
            notes = text.rpartition(_NOTES)[2].splitlines()
            event.outcome = "cancelled" if _STOPPED in notes else "exec_error"
        event.output = end_of(text_of(metadata, "diff") or output_of(payload.get("args"), text))


def write(_name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the JSON object of an answer. ``message`` is shown to the user."""
    texts = {"refuse": answer.refusal, "context": answer.context, "message": message}
    return {key: text for key, text in texts.items() if text}
