"""The end of a Codex rollout: exit codes, and calls that fire no hook, stand only there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.transcripts.entries import seconds
from lessons_kb.transcripts.results import Result

_WANTED = (b'"CommandExecution"', b'call_output"', b'_call"', b'"exec_command_end"')
_EXIT = r"(?:Process exited with code|Exit code:?) (-?\d+)"
_REFUSED = ("unsupported call:", "unsupported custom tool call:", "failed to parse function")
_HEAD = 400
_MAX_LINE_BYTES = 4_000_000


def read_results(data: bytes) -> tuple[list[Result], int]:
    """Return the results among whole lines, in order, and how many bytes those lines are.

    A command has its result twice, as its end and as its output; the first is taken. Without
    an exit code and without a refusal nothing is known, and no result is given.
    """
    whole = data.rfind(b"\n") + 1
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    found: dict[str, Result] = {}
    for line in data[:whole].split(b"\n"):
        if not any(word in line for word in _WANTED) or len(line) > _MAX_LINE_BYTES:
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        payload = entry.get("payload") if isinstance(entry, dict) else None
        if not isinstance(payload, dict):
            continue
        if payload.get("type") in ("function_call", "custom_tool_call"):
            calls[str(payload.get("call_id"))] = call_of(payload)
            continue
        result = ended_result(payload) or output_result(payload, calls)
        if result is not None and result.id not in found:
            found[result.id] = replace(result, at=seconds(entry.get("timestamp")))
    return list(found.values()), whole


def call_of(payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the tool and the arguments of a call."""
    arguments = payload.get("arguments", payload.get("input"))
    try:
        data = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        data = {"input": arguments}
    return str(payload.get("name") or ""), data if isinstance(data, dict) else {"input": data}


def ended_result(payload: Mapping[str, Any]) -> Result | None:
    """Return how a command ended, None for what is no end of a command."""
    item = payload.get("item")
    data = item if isinstance(item, dict) and item.get("type") == "CommandExecution" else payload
    code = data.get("exit_code")
    if type(code) is not int:
        return None
    number = str(data.get("call_id", data.get("id")) or "")
    command = data.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else [str(command or "")]
    text = str(data.get("aggregated_output") or "")
    return Result(
        id=number,
        tool="Bash",
        arguments={"command": words[-1], **_folder(data)},
        failed=code != 0,
        text=f"Exit code {code}\n{text}" if code else text,
    )


def output_result(
    payload: Mapping[str, Any], calls: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> Result | None:
    """Return the result that an output tells, None where it does not say how the call ended."""
    if payload.get("type") not in ("function_call_output", "custom_tool_call_output"):
        return None
    number = str(payload.get("call_id") or "")
    output = payload.get("output")
    text = output if isinstance(output, str) else json.dumps(output)
    head = text[:_HEAD]
    code = re.search(_EXIT, head)
    refused = head.lower().startswith(_REFUSED)
    if code is None and not refused:
        return None
    tool, arguments = calls.get(number, ("", {}))
    if tool in ("exec_command", "shell", "local_shell") and code is not None:
        command = arguments.get("cmd", arguments.get("command", ""))
        tool = "Bash"
        last = command[-1] if isinstance(command, list) and command else command
        arguments = {"command": last, **_folder(arguments)}
    return Result(
        id=number,
        tool=tool,
        arguments=arguments,
        failed=refused or (code is not None and code[1] != "0"),
        text=text,
    )


def _folder(data: Mapping[str, Any]) -> dict[str, str]:
    """Return where a command ran, as an argument of its call."""
    folder = data.get("workdir", data.get("cwd"))
    return {"workdir": folder} if isinstance(folder, str) and folder else {}
