"""What each agent sends to a hook, read into an event, and what it takes, written from an answer.

What most of them have in common is read by name, whoever sent it; what only one of them does is
the business of its own ``_read_…`` and ``_write_…``. opencode has no hooks but plugins, so its
form is ours. Our plugin sends one object::

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

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.guards.command_files import find_start
from lessons_kb.guards.tool_calls import kind_of_failure
from lessons_kb.session.state import Answer, HookEvent
from lessons_kb.text.times import read_time

Payload = Mapping[str, Any]

MAX_OUTPUT_CHARS = 20_000
"""Beyond this only the end of what a tool printed is looked at."""
_REPLACED = ("old_string", "oldString", "old_str")
_WRITTEN = (
    *("new_string", "newString", "content", "new_str", "file_text", "new_source", "code"),
    *("patch", "patchText", "input"),
)


def text_of(payload: Payload, *names: str) -> str:
    """Return the first of these values that is a text, "" if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def replaced_by(arguments: object) -> str:
    """Return the text that an edit replaces, "" of other calls."""
    return _end_of("\n".join(filter(None, (text_of(x, *_REPLACED) for x in _edits(arguments)))))


def _object_of(payload: Payload, *names: str) -> Payload:
    """Return the first of these values that is an object, {} if none is."""
    found = (payload.get(name) for name in names)
    return next((value for value in found if isinstance(value, dict)), {})


def _end_of(text: str) -> str:
    """Return the end of a long text, where tools say how it went."""
    return text[-MAX_OUTPUT_CHARS:]


def _output_of(arguments: object, printed: str) -> str:
    """Return the text that an edit writes, be it none; of other calls the end of what is printed.

    What a tool prints of an edit shows the file around it.
    """
    parts = [part for part in _edits(arguments) if any(name in part for name in _WRITTEN)]
    texts = [text_of(part, *_WRITTEN) for part in parts]
    return _end_of("\n".join(filter(None, texts)) if parts else printed)


def _edits(arguments: object) -> list[Payload]:
    """Return the arguments of a call and the edits in them."""
    if not isinstance(arguments, dict):
        return []
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    return [part for part in parts if isinstance(part, dict)]


def read_payload(agent: str, payload: Payload, event: str, seen: HookEvent) -> None:
    """Fill in what the payload tells; ``what`` "" is to be passed over."""
    seen.session = text_of(payload, "conversation_id", "sessionId", "session_id", "sessionID")
    if seen.what == "prompt":
        seen.text = text_of(payload, "prompt", "text")
        seen.id = text_of(payload, "turn_id", "prompt_id", "generation_id", "messageID")
    elif seen.what == "stop":
        seen.text = text_of(payload, "last_assistant_message", "prompt_response", "text")
    elif seen.what in ("before", "after"):
        seen.tool = text_of(payload, "tool_name", "toolName", "tool")
        arguments = (payload.get(name) for name in ("tool_input", "toolArgs", "args", "input"))
        seen.arguments = next((x for x in arguments if isinstance(x, (dict, str))), {})
        seen.id = text_of(payload, "tool_use_id", "toolCallId", "callID")
    _READERS[agent](payload, event, seen)


def write_answer(agent: str, event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Return the output for an event; a call is refused or asked about, never allowed."""
    return _WRITERS.get(agent, _write_claude)(event, answer, message)


_NOT_THE_USER = ("system", "poll_event")
"""Sources of a prompt that nobody wrote."""
_CONTINUED = ("resume", "fork")
"""Sources of a session that begins with the chat of an earlier one."""
_LONGEST_FORK = 30 * 86_400
"""Seconds since the last answer of a session that is copied."""
_NOTICE = "<task-notification>"
"""How the client tells the model in the user's name that something in the background ended."""
_SPAWNING = ("Agent", "Task")
_ANY_KIND = "general-purpose"
_MAX_ASKED = 20_000
_RESET = "Shell cwd was reset to"
"""After a command that left the project."""


def _read_claude(payload: Payload, event: str, seen: HookEvent) -> None:
    source, response = payload.get("source"), _object_of(payload, "tool_response")
    seen.part = text_of(payload, "agent_id")
    if event == "SubagentStart":
        seen.tool = text_of(payload, "agent_type")
    elif event == "SessionStart" or not seen.part:
        # That of a subagent is the session's: what it does stands elsewhere.
        seen.transcript = text_of(payload, "transcript_path")
    if event == "SessionStart" and source == "compact":
        seen.what = "compact"
    elif event == "SessionStart":
        # What a hook has said stands in the chat that is resumed or copied: it would stand twice.
        seen.takes_context = source not in _CONTINUED
        seen.forked = source == "fork"
        passed = payload.get("seconds_since_last_response")
        if seen.forked and isinstance(passed, (int, float)) and 0 <= passed <= _LONGEST_FORK:
            seen.answered_ago = float(passed)
    elif seen.what == "prompt" and (source in _NOT_THE_USER or seen.text.startswith(_NOTICE)):
        seen.what = ""
    elif seen.what == "before" and seen.tool in _SPAWNING:
        asked = _object_of(payload, "tool_input")
        kind = text_of(asked, "subagent_type") or _ANY_KIND
        seen.spawns = (kind, text_of(asked, "prompt")[:_MAX_ASKED])
    elif event == "PostToolUse":
        # The payload has the directory after a call.
        seen.cwd = text_of(payload, "cwd")
        command = text_of(_object_of(payload, "tool_input"), "command")
        if "d" in command and _RESET not in text_of(response, "stderr"):
            seen.cwd = find_start(command, seen.cwd)
        printed = "\n".join(p for name in ("stdout", "stderr") if (p := text_of(response, name)))
        seen.output = _output_of(payload.get("tool_input"), printed)
        seen.outcome = "cancelled" if response.get("interrupted") is True else "ok"
    elif event == "PostToolUseFailure":
        seen.output = _end_of(text_of(payload, "error"))
        stopped = payload.get("is_interrupt") is True
        seen.outcome = "cancelled" if stopped else kind_of_failure(seen.output)


def _write_claude(event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Codex takes these keys alone: its schemas refuse any other."""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if answer.context:
        specific["additionalContext"] = answer.context
    if reason := answer.refuse or answer.ask:
        specific["permissionDecision"] = "deny" if answer.refuse else "ask"
        specific["permissionDecisionReason"] = reason
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    if message:
        output["systemMessage"] = message
    if answer.stop:
        output |= {"continue": False, "stopReason": answer.stop}
    return output


_CODEX_EXIT = (
    r"\A(?:Exit code|Process exited with code):? (-?\d+)|^Process exited with code (-?\d+)$"
)
_CODEX_HEAD = 400


def _read_codex(payload: Payload, event: str, seen: HookEvent) -> None:
    """Like Claude Code, but how a command ended may stand in its rollout alone."""
    _read_claude(payload, event, seen)
    seen.transcript = text_of(payload, "transcript_path")  # a subagent has one of its own
    if event != "PostToolUse":
        return
    response, arguments = payload.get("tool_response"), payload.get("tool_input")
    code = None
    text = response if isinstance(response, str) else ""
    if isinstance(response, dict):
        code = response.get("exit_code")
        text = text_of(response, "output", "stdout", "content") or json.dumps(response)
    if type(code) is not int:
        match = re.search(_CODEX_EXIT, text[:_CODEX_HEAD], re.MULTILINE)
        code = int(match[1] or match[2]) if match else None
    seen.outcome = "unknown" if code is None else "exec_error" if code else "ok"
    seen.cwd = ""  # a command leaves the directory as it was
    seen.output = _output_of(arguments, text)
    if seen.tool == "apply_patch" and isinstance(arguments, dict):
        seen.output = _end_of(text_of(arguments, "command", "input", "patch"))


_OPENS, _CLOSES = "<hook_context>", "</hook_context>"
"""Around what hooks have put in front of a prompt."""
_GEMINI_EXIT = r"^Exit Code: (-?\d+)$"
_GEMINI_WRAPPED = "<untrusted_context>\n"
_GEMINI_CANCELLED = "Command was cancelled by user before it could "
_GEMINI_TIMED_OUT = "Command was automatically cancelled "


def _read_gemini(payload: Payload, event: str, seen: HookEvent) -> None:
    """Read Gemini CLI's. Calls have no id: their time tells them apart."""
    seen.at = read_time(payload.get("timestamp"))
    seen.transcript = text_of(payload, "transcript_path")
    if event == "SessionStart":
        seen.takes_context = payload.get("source") != "resume"  # the chat has it still
    seen.text = seen.text.lstrip()
    while seen.text.startswith(_OPENS) and (end := seen.text.find(_CLOSES)) >= 0:
        seen.text = seen.text[end + len(_CLOSES) :].lstrip()
    if event != "AfterTool":
        return
    response = _object_of(payload, "tool_response")
    error, content = response.get("error"), text_of(response, "llmContent")
    # As of version 0.61: of a result with an error the model is given the error alone.
    seen.takes_context = not error
    if error:
        message = text_of(error, "message") if isinstance(error, dict) else str(error)
        seen.outcome, seen.output = kind_of_failure(message), _end_of(message)
        return
    seen.output = _output_of(payload.get("tool_input"), content)
    printed = content.removeprefix(_GEMINI_WRAPPED)
    code = re.search(_GEMINI_EXIT, printed, re.MULTILINE)
    if seen.tool != "run_shell_command":
        seen.outcome = "ok"
    elif printed.startswith(_GEMINI_CANCELLED):
        seen.outcome = "cancelled"
    elif (code and code[1] != "0") or printed.startswith(_GEMINI_TIMED_OUT):
        seen.outcome = "exec_error"


def _write_gemini(event: str, answer: Answer, message: str) -> dict[str, Any]:
    output = _write_claude(event, replace(answer, refuse=""), message)
    return output | ({"decision": "deny", "reason": answer.refuse} if answer.refuse else {})


_INVALID = "invalid"
"""Name of the tool that opencode runs in the place of one that does not exist."""
_ABORTED = "Tool execution aborted"
"""Error of a call that the user interrupted before its tool could end it."""
_NOTES = "<shell_metadata>"
_STOPPED = "User aborted the command"
"""Line behind _NOTES: the user interrupted a command, which then has no exit code."""


def _read_opencode(payload: Payload, event: str, seen: HookEvent) -> None:
    if event == "subagent":  # a session of its own, with titles alone at its start
        seen.part = seen.session
    if event == "prompt" and re.fullmatch(r'"[^"]*"', seen.text):
        seen.text = seen.text[1:-1]  # the command line of ``opencode run`` leaves its quotes
    if seen.what in ("before", "after"):
        seen.step = text_of(payload, "messageID")
    if event == "failed" or (event == "after" and seen.tool == _INVALID):
        error = text_of(payload, "error" if event == "failed" else "output")
        aborted = event == "failed" and error == _ABORTED
        seen.outcome = "cancelled" if aborted else kind_of_failure(error)
        seen.output = _end_of(error)
    elif event == "after":
        text, metadata = text_of(payload, "output"), _object_of(payload, "metadata")
        code = metadata.get("exit")
        seen.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
        if "exit" in metadata and code is None:  # ended: by the user, or for its time was up
            notes = text.rpartition(_NOTES)[2].splitlines()
            seen.outcome = "cancelled" if _STOPPED in notes else "exec_error"
        seen.output = _end_of(text_of(metadata, "diff") or _output_of(payload.get("args"), text))


def _write_opencode(_event: str, answer: Answer, message: str) -> dict[str, Any]:
    shown = {"context": answer.context, "message": message}
    return {key: text for key, text in shown.items() if text}


def _read_cursor(payload: Payload, event: str, seen: HookEvent) -> None:
    if event == "beforeShellExecution":
        seen.tool, seen.id = "Shell", ""
        seen.arguments = {"command": text_of(payload, "command")}
    if event == "postToolUse":
        text = text_of(payload, "tool_output")
        try:
            result = json.loads(text or "{}")
        except (ValueError, RecursionError):
            result = {}
        code = result.get("exitCode", result.get("exit_code")) if isinstance(result, dict) else None
        seen.outcome = "exec_error" if type(code) is int and code != 0 else "ok"
        seen.output = _output_of(payload.get("tool_input"), text)
    if event == "postToolUseFailure":
        seen.output = _end_of(text_of(payload, "error_message"))
        seen.outcome = kind_of_failure(seen.output)
        if payload.get("failure_type") == "permission_denied":
            seen.outcome = "permission_denied"
        if payload.get("is_interrupt") is True:
            seen.outcome = "cancelled"


def _write_cursor(_event: str, answer: Answer, message: str) -> dict[str, Any]:
    """Write no ``followup_message``, which would go on."""
    output: dict[str, Any] = {}
    if answer.context:
        output["additional_context"] = answer.context
    if answer.ask:
        output |= {"permission": "ask", "user_message": answer.ask, "agent_message": answer.ask}
    elif message:
        output["user_message"] = message
    if answer.refuse:
        output |= {"permission": "deny", "agent_message": answer.refuse}
    return output


_COPILOT_EXIT = (
    r"<(?:shellId: [^\n>]{0,80} completed with exit code|exited with exit code) (-?\d+)>\s*\Z"
)
_COPILOT_TAIL = 200


def _read_copilot(payload: Payload, event: str, seen: HookEvent) -> None:
    """Read both spellings, as version 1.0.102 does, which takes more than its documentation says.

    A command that ends badly is a success to it, with the exit code in the last line.
    """
    seen.at = read_time(payload.get("timestamp"))
    if event == "SessionStart":
        # `copilot -p` has it, and so has a terminal, whose session begins with its first prompt:
        # nothing tells the two apart, and to the former a question would be a denial.
        seen.unattended = bool(text_of(payload, "initial_prompt", "initialPrompt"))
    if event == "Stop":  # what was answered stands in its record alone
        seen.transcript = text_of(payload, "transcript_path", "transcriptPath")
        seen.answer_recorded = True
    if event == "PostToolUse":
        result = _object_of(payload, "tool_result", "toolResult")
        text = text_of(result, "text_result_for_llm", "textResultForLlm")
        verdict = text_of(result, "result_type", "resultType")
        code = re.search(_COPILOT_EXIT, text[-_COPILOT_TAIL:])
        seen.outcome = "exec_error" if code and code[1] != "0" else "ok"
        if verdict in ("failure", "denied", "rejected"):
            seen.outcome = kind_of_failure(text) if verdict == "failure" else "permission_denied"
        seen.output = _output_of(payload.get("tool_input"), text)
    if event == "PostToolUseFailure":
        error = text_of(payload, "error") or text_of(_object_of(payload, "error"), "message")
        seen.outcome, seen.output = kind_of_failure(error), _end_of(error)


def _write_copilot(event: str, answer: Answer, _message: str) -> dict[str, Any]:
    output: dict[str, Any] = {}
    if answer.context and event == "PreToolUse":
        specific = {"hookEventName": event, "additionalContext": answer.context}
        output["hookSpecificOutput"] = specific
    elif answer.context:
        output["additionalContext"] = answer.context
    if reason := answer.refuse or answer.ask:
        decision = "deny" if answer.refuse else "ask"
        output |= {"permissionDecision": decision, "permissionDecisionReason": reason}
    return output


def write_progress(message: str) -> str:
    """Return the lines in front of an output of Copilot CLI so that the user sees a message."""
    lines = [{"type": "progress", "message": line} for line in message.splitlines() if line]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


_VSCODE_FAILED = ("error:", "error while calling tool", "tool call failed")
_VSCODE_EXIT = r"exit(?:ed with)? code:? (-?\d+)"
_VSCODE_TERMINALS = ("run_in_terminal", "runInTerminal", "runTerminalCommand")


def _read_vscode(payload: Payload, event: str, seen: HookEvent) -> None:
    """Read both spellings. No hook tells of a failed call."""
    seen.at = read_time(payload.get("timestamp"))
    if event == "PostToolUse":
        text, codes = text_of(payload, "tool_response"), []
        if seen.tool in _VSCODE_TERMINALS:
            codes = re.findall(_VSCODE_EXIT, _end_of(text), re.IGNORECASE)
        if text.lower().startswith(_VSCODE_FAILED) or (codes and codes[-1] != "0"):
            seen.outcome = "exec_error" if codes else kind_of_failure(text)
        seen.output = _output_of(payload.get("tool_input"), text)


_READERS: Mapping[str, Callable[[Payload, str, HookEvent], None]] = {
    "claude-code": _read_claude,
    "codex": _read_codex,
    "gemini-cli": _read_gemini,
    "opencode": _read_opencode,
    "cursor": _read_cursor,
    "copilot-cli": _read_copilot,
    "vscode": _read_vscode,
}
_WRITERS: Mapping[str, Callable[[str, Answer, str], dict[str, Any]]] = {
    "gemini-cli": _write_gemini,
    "opencode": _write_opencode,
    "cursor": _write_cursor,
    "copilot-cli": _write_copilot,
}
"""Agents that imitate Claude Code take what it takes."""
