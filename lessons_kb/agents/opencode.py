"""opencode: what our plugin sends and takes.

opencode has no hooks but plugins, so its
form is ours. The plugin sends one object::

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

and takes one: ``refuse`` (of ``before``), the text with which the call fails before it is run;
``context`` for the model (of ``start`` and ``subagent``: push it to ``output.system`` of every main
request of the session; of ``after``: append it to ``output.output``; of ``compact``: push it to
``output.context``; of the others: push it to ``output.system`` of the turn's next main requests);
and ``message`` for the user (a toast, or the log).
"""

from __future__ import annotations

import re
from typing import Any

from lessons_kb.agents.payloads import Payload, end_of, object_of, output_of, text_of
from lessons_kb.calls.parse_call import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent

_INVALID = "invalid"
"""Name of the tool that opencode runs in the place of one that does not exist."""
_ABORTED = "Tool execution aborted"
"""Error of a call that the user interrupted before its tool could end it."""
_NOTES = "<shell_metadata>"
_STOPPED = "User aborted the command"
"""Line behind _NOTES: the user interrupted a command, which then has no exit code."""


def read(payload: Payload, name: str, event: HookEvent) -> None:
    """Fill in what a payload of our plugin tells besides what most tell."""
    if name == "subagent":  # a session of its own, with titles alone at its start
        event.part = event.session
    if name == "prompt" and re.fullmatch(r'"[^"]*"', event.text):
        event.text = event.text[1:-1]  # the command line of ``opencode run`` leaves its quotes
    if event.what in ("before", "after"):
        event.step = text_of(payload, "messageID")
    if name == "failed" or (name == "after" and event.tool == _INVALID):
        error = text_of(payload, "error" if name == "failed" else "output")
        aborted = name == "failed" and error == _ABORTED
        event.outcome = "cancelled" if aborted else kind_of_failure(error)
        event.output = end_of(error)
    elif name == "after":
        text, metadata = text_of(payload, "output"), object_of(payload, "metadata")
        code = metadata.get("exit")
        event.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
        if "exit" in metadata and code is None:  # ended: by the user, or for its time was up
            notes = text.rpartition(_NOTES)[2].splitlines()
            event.outcome = "cancelled" if _STOPPED in notes else "exec_error"
        event.output = end_of(text_of(metadata, "diff") or output_of(payload.get("args"), text))


def write(_name: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return what our plugin takes for an answer; ``message`` is for its user."""
    shown = {"refuse": answer.refusal, "context": answer.context, "message": message}
    return {key: text for key, text in shown.items() if text}
