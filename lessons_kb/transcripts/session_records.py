"""The records that coding agents keep of their sessions, read piece by piece as entries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.text.sanitize import without
from lessons_kb.text.times import read_time
from lessons_kb.values import frozen

PROMPT, ANSWER, CALL = "prompt", "answer", "call"
COMPACTION, INTERRUPT = "compaction", "interrupt"

OK, FAILED, CANCELLED, UNKNOWN = "ok", "failed", "cancelled", "unknown"

MAX_OUTPUT = 20_000
"""Characters of an output that are kept: its end, where tools say how it went."""


@frozen
class Entry:
    """One observation of a session, in order; the same for every agent."""

    kind: str
    at: float = 0.0
    """Seconds since the epoch, 0 when the record does not say."""
    session: str = ""
    id: str = ""
    """As the agent's hooks have it, "" where they have none."""
    cwd: str = ""
    text: str = ""
    """What was asked, answered or summed up."""
    tool: str = ""
    arguments: Mapping[str, Any] | str = ""
    ended: str = OK
    """How a call ended: ``ok``, ``failed``, ``cancelled`` or ``unknown``."""
    output: str = ""
    step: str = ""
    """Of a call: names the message that made it, "" if not known."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, {} in place of anything else."""
    return value if isinstance(value, dict) else {}


def texts_of(content: object) -> str:
    """Return the text of a content: a text, or a list of parts of which some have one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    found = (part if isinstance(part, str) else mapping(part).get("text") for part in parts)
    return "\n".join(text for text in found if text and isinstance(text, str))


class RecordReader:
    """Reads the record of one agent, line by line: it yields what they tell.

    What is no JSON object is passed over.
    """

    def __init__(self) -> None:
        self.steps: dict[str, str] = {}
        """Call → what the calls of one message have in common; {} where the record does not say."""
        self._base = Entry(kind=PROMPT)
        """When and where the record has arrived."""
        self._calls: dict[str, dict[str, Any]] = {}
        """Call → the fields of its entry that its begin tells."""
        self._told: set[str] = set()
        self._answer: Entry | None = None

    def feed(self, lines: Iterable[bytes]) -> Iterator[Entry]:
        """Yield the entries of the next lines; an answer waits for what may follow it."""
        for line in filter(bytes.strip, lines):
            try:
                data = json.loads(line.decode())  # as bytes, its encoding would be guessed first
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict):
                yield from self._read(data)

    def finish(self) -> Iterator[Entry]:
        """Yield the answer that nothing followed."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one object of the record tells."""
        raise NotImplementedError

    def _move(self, timestamp: object, session: object = "", cwd: object = "") -> None:
        """Take in where the record has arrived; what is not told stays as it was."""
        known = self._base
        self._base = replace(
            known,
            at=read_time(timestamp) or known.at,
            session=session if isinstance(session, str) and session else known.session,
            cwd=cwd if isinstance(cwd, str) and cwd else known.cwd,
        )

    def _answered(self, text: str) -> None:
        """Keep an answer until it is known that nothing follows it in the turn."""
        self._answer = replace(self._base, kind=ANSWER, text=text)

    def _begin(self, number: str, step: str = "", **call: Any) -> None:
        """Keep a call until its result comes."""
        self._calls[number] = call
        if step:
            self.steps[number] = step
        self._answer = None

    def _end(self, number: str, ended: str, output: str, **call: Any) -> Entry:
        """Return a call with its result; of one whose begin was not seen the tool is unknown."""
        return replace(
            self._base,
            kind=CALL,
            id=number,
            step=self.steps.get(number, ""),
            ended=ended,
            output=output[-MAX_OUTPUT:],
            **{**self._calls.pop(number, {}), **call},
        )

    def _is_new(self, number: str) -> bool:
        """Tell whether something with this id was not told yet."""
        new = number not in self._told
        self._told |= {number} - {""}
        return new


_INTERRUPTED = "[Request interrupted by user"
_NOT_THE_USER = ("system", "poll_event")
_MACHINE = (
    *("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: "),
    *("<task-notification>", "<user-memory-input>"),
)
"""How messages begin that the client wrote in the user's name."""
_REMINDER = ("<system-reminder>", "</system-reminder>")
_CONTINUED = "This session is being continued from a previous conversation"


def is_from_client(text: str) -> bool:
    """Tell whether Claude Code wrote a message in the user's name, where no mark says so."""
    return text.startswith((*_MACHINE, _INTERRUPTED, _CONTINUED))


class ClaudeReader(RecordReader):
    """Reads a Claude Code transcript; of a ``subagent``, where nobody types, only the calls."""

    def __init__(self, *, subagent: bool = False) -> None:
        super().__init__()
        self._subagent = subagent
        self._message = ""

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        message = mapping(data.get("message"))
        if not message or (data.get("isSidechain") is True) != self._subagent:
            return
        self._move(data.get("timestamp"), data.get("sessionId"), data.get("cwd"))
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        blocks = [block for block in blocks if isinstance(block, dict)]
        if data.get("type") == "assistant":
            self._read_spoken(blocks, str(message.get("id") or ""))
        elif data.get("type") == "user":
            yield from self._read_asked(data, blocks)

    def _read_spoken(self, blocks: list[dict[str, Any]], message: str) -> None:
        for block in blocks:
            if block.get("type") == "tool_use":
                # The line of the result has the directory after the call.
                tool, arguments = str(block.get("name") or ""), mapping(block.get("input"))
                number, cwd = str(block.get("id")), self._base.cwd
                self._begin(number, message, tool=tool, arguments=arguments, cwd=cwd)
            elif block.get("type") == "text" and isinstance(block.get("text"), str):
                before = self._answer.text if self._answer and message == self._message else ""
                self._answered(f"{before}\n\n{block['text']}" if before else block["text"])
                self._message = message

    def _read_asked(self, data: Mapping[str, Any], blocks: list[dict[str, Any]]) -> Iterator[Entry]:
        for block in blocks:
            if block.get("type") == "tool_result":
                text = texts_of(block.get("content"))
                text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
                ended = FAILED if block.get("is_error") is True else OK
                ended = CANCELLED if _was_stopped(data) else ended
                yield self._end(str(block.get("tool_use_id") or ""), ended, text)
        text = texts_of([block for block in blocks if block.get("type") == "text"]).strip()
        if not text or data.get("isMeta") is True or self._subagent:
            return
        line = replace(self._base, id=str(data.get("uuid") or ""))
        if data.get("isCompactSummary") is True:
            yield replace(line, kind=COMPACTION, text=text)
        elif text.startswith(_INTERRUPTED):
            # A refused call says so itself, and the line "… for tool use" once more.
            ended = OK if text == f"{_INTERRUPTED}]" else CANCELLED
            yield replace(line, kind=INTERRUPT, ended=ended)
        elif text.startswith(_MACHINE) or data.get("turnOrigin") in _NOT_THE_USER:
            return
        elif typed := without(text, *_REMINDER).strip():
            yield from self.finish()
            yield replace(line, id=str(data.get("promptId") or line.id), text=typed)


def _was_stopped(data: Mapping[str, Any]) -> bool:
    """Return whether the user stopped a call that ran: a line says the same of a refused one."""
    if mapping(data.get("toolUseResult")).get("interrupted") is True:
        return True
    refused = data.get("toolDenialKind") == "user-rejected"
    return refused and data.get("toolDenialBeforeRun") is not True and "userFeedback" not in data


_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_BY_USER = "interrupted"
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_EXIT = r"(?:Process exited with code|Exit code:?) (-?\d+)"
_REFUSED = ("unsupported call:", "unsupported custom tool call:", "failed to parse function")
_HEAD = 400
"""Characters of an output in which its exit code stands."""
_SHELLS = ("exec_command", "shell", "local_shell")


class CodexReader(RecordReader):
    """Reads a Codex rollout."""

    def __init__(self) -> None:
        super().__init__()
        self._step = ""
        """The first of the calls that were made together: no result lies between."""
        self._turns: dict[str, int] = {}

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        payload = mapping(data.get("payload"))
        if not payload:
            return
        where = mapping(payload.get("thread_settings")) or payload
        session = payload.get("id" if data.get("type") == "session_meta" else "thread_id")
        cwd = where.get("cwd") if "command" not in where else None
        self._move(data.get("timestamp"), session, cwd)
        what, item = payload.get("type"), mapping(payload.get("item"))
        command = item if item.get("type") == "CommandExecution" else payload
        said = item or payload
        text = (texts_of(said.get("content")) or str(said.get("message") or "")).strip()
        number = str(payload.get("call_id") or "")
        if data.get("type") == "compacted":
            yield replace(self._base, kind=COMPACTION, text=str(payload.get("message") or ""))
        elif what in _CALLS:
            self._step = self._step or number
            arguments = _arguments(payload.get("arguments", payload.get("input")))
            tool = str(payload.get("name") or "")
            self._begin(number, self._step, tool=tool, arguments=arguments)
        elif type(code := command.get("exit_code")) is int:
            number = str(command.get("call_id", command.get("id")) or "")
            output = str(command.get("aggregated_output") or "")
            output = f"Exit code {code}\n{output}" if code else output
            run = _run(command.get("command"), command)
            yield from self._call(number, FAILED if code else OK, output, **run)
        elif what in _OUTPUTS:
            self._step = ""
            yield from self._output(number, payload.get("output"))
        elif what == "turn_aborted":
            if payload.get("reason", _BY_USER) == _BY_USER:
                yield replace(self._base, kind=INTERRUPT, id=str(payload.get("turn_id") or ""))
        elif what == "task_complete":
            last = payload.get("last_agent_message")
            if isinstance(last, str) and last:
                self._answered(last)
            yield from self.finish()
        elif said.get("type") in ("UserMessage", "user_message") and text:
            yield from self.finish()
            turn = str(payload.get("turn_id") or "")
            count = self._turns[turn] = self._turns.get(turn, 0) + 1
            name = f"{turn}:{count}" if turn and count > 1 else turn
            yield replace(self._base, id=name, text=text)
        elif said.get("type") in ("AgentMessage", "agent_message") and text:
            self._answered(text)

    def _output(self, number: str, output: object) -> Iterator[Entry]:
        """Yield a call by its output; ``unknown`` where that does not say how the call ended."""
        known = self._calls.get(number, {})
        tool, arguments = known.get("tool", ""), known.get("arguments", {})
        text = output if isinstance(output, str) else json.dumps(output)
        code = re.search(_EXIT, text[:_HEAD])
        refused = text[:_HEAD].lower().startswith(_REFUSED)
        if refused or code:
            is_run = tool in _SHELLS and code
            command = arguments.get("cmd", arguments.get("command", ""))
            failed = refused or (code is not None and code[1] != "0")
            run = _run(command, arguments) if is_run else {}
            yield from self._call(number, FAILED if failed else OK, text, **run)
        elif tool:
            yield from self._call(number, UNKNOWN, texts_of(output))

    def _call(self, number: str, ended: str, output: str, **call: Any) -> Iterator[Entry]:
        """Yield a call once: a command has its result twice, as its end and as its output."""
        if self._is_new(number):
            yield self._end(number, ended, output, **call)


def _arguments(arguments: object) -> Mapping[str, Any]:
    try:
        data = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        data = arguments
    return data if isinstance(data, dict) else {"input": data}


def _run(command: object, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command line of ``["bash", "-lc", line]``, or the text itself, as a call."""
    words = command if isinstance(command, list) else [command]
    folder = call.get("workdir", call.get("cwd"))
    arguments = {"command": str((words or [""])[-1] or "")}
    arguments |= {"workdir": folder} if isinstance(folder, str) and folder else {}
    return {"tool": "Bash", "arguments": arguments}


class CopilotReader(RecordReader):
    """Reads the ``events.jsonl`` of a Copilot CLI session, or what it holds of a ``subagent``."""

    subagent = ""

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        if (data.get("agentId") or "") != self.subagent:
            return
        event, kind = mapping(data.get("data")), data.get("type")
        number, text = str(event.get("toolCallId") or ""), texts_of(event.get("content")).strip()
        self._move(data.get("timestamp"))
        if kind in ("session.start", "session.resume"):
            self._move("", event.get("sessionId"), mapping(event.get("context")).get("cwd"))
        elif kind == "user.message" and text:
            yield from self.finish()
            yield replace(self._base, id=str(data.get("id") or ""), text=text)
        elif kind == "assistant.message" and text:
            self._answered(text)
        elif kind == "tool.execution_start":
            tool, arguments = str(event.get("toolName") or ""), mapping(event.get("arguments"))
            self._begin(number, tool=tool, arguments=arguments)
        elif kind == "tool.execution_complete":
            failed = event.get("success") is False
            told = event.get("error") if failed else event.get("result")
            output = told if isinstance(told, str) else ""
            if isinstance(told, dict):
                output = told.get("message") or texts_of(told.get("content")) or json.dumps(told)
            yield self._end(number, FAILED if failed else OK, str(output))
        elif kind == "session.compaction_complete":
            text = str(event.get("summaryContent") or "")
            yield replace(self._base, kind=COMPACTION, text=text)
        elif kind == "abort":
            yield replace(self._base, kind=INTERRUPT)


_HOOKS = ("<hook_context>", "</hook_context>")
_EXIT_LINE = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
_SHELL = "run_shell_command"
_STATUSES = {"success": OK, "error": FAILED, "cancelled": CANCELLED}
_CONTEXT = "<session_context>"


class GeminiReader(RecordReader):
    """Reads a Gemini CLI chat: one object a line, or one document in older versions."""

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        messages = data.get("messages")
        for message in map(mapping, messages if isinstance(messages, list) else [data]):
            self._move(message.get("timestamp"), data.get("sessionId"))
            content = message.get("displayContent") or message.get("content")
            text, number = _without_hooks(texts_of(content)), str(message.get("id") or "")
            calls = message.get("toolCalls")
            if message.get("type") == "user":
                if text and not text.startswith(_CONTEXT) and self._is_new(number):
                    yield from self.finish()
                    yield replace(self._base, text=text)
            elif message.get("type") == "gemini":
                for call in map(mapping, calls if isinstance(calls, list) else ()):
                    if call.get("status") in _STATUSES and self._is_new(str(call.get("id") or "")):
                        yield self._call(call)
                if text:
                    self._answered(text)

    def _call(self, call: Mapping[str, Any]) -> Entry:
        self._answer = None
        result = call.get("result")
        first = mapping(result[0] if isinstance(result, list) and result else result)
        response = mapping(mapping(first.get("functionResponse")).get("response"))
        error = response.get("error")
        output = _without_hooks(str(error or response.get("output") or ""))
        ended, tool = _STATUSES[call["status"]], str(call.get("name") or "")
        code = _EXIT_LINE.search(output) if tool == _SHELL else None
        if ended == OK and (error or (code and code[1] != "0")):
            ended = FAILED
        at = read_time(call.get("timestamp")) or self._base.at
        number, arguments = str(call.get("id") or ""), mapping(call.get("args"))
        return self._end(number, ended, output, at=at, tool=tool, arguments=arguments)


def _without_hooks(text: str) -> str:
    """Return a text without what hooks have added to it."""
    return without(text, *_HOOKS).strip()


CLAUDE, CODEX, GEMINI, COPILOT = AGENTS = ("claude-code", "codex", "gemini-cli", "copilot-cli")
_READERS = {CODEX: CodexReader, GEMINI: GeminiReader, COPILOT: CopilotReader}


def open_record(agent: str, *, subagent: bool = False) -> RecordReader:
    """Return a fresh reader for one of AGENTS; ``subagent``: for the record of one, if known."""
    return _READERS[agent]() if agent in _READERS else ClaudeReader(subagent=subagent)


def read_tail(
    agent: str, data: bytes, offset: int = 0
) -> tuple[list[Entry], int, Mapping[str, str]]:
    """Return what the whole lines among ``data`` tell, the offset behind them, and steps.

    Those are the calls made, of which each leads to what those made together have in common.

    ``data`` is what the record of one of AGENTS holds from ``offset`` on. A partial last line is
    left for the next time; a call whose begin lies before ``data`` has no tool.
    """
    *lines, rest = data.split(b"\n")
    record = open_record(agent)
    return list(record.feed(lines)), offset + len(data) - len(rest), record.steps


def read_answer(agent: str, data: bytes, session: str) -> Entry | None:
    """Return the answer that a record of one of AGENTS ends with, None where it ends otherwise.

    ``data`` is the end of the record; a line that is cut is passed over. In Copilot CLI a subagent
    is a ``session`` in the record of the one that asked it.
    """
    record = open_record(agent)
    if isinstance(record, CopilotReader) and f'"agentId":"{session}"'.encode() in data:
        record.subagent = session
    entries = [*record.feed(data.split(b"\n")), *record.finish()]
    return entries[-1] if entries and entries[-1].kind == ANSWER else None


_ENDED = {"completed": OK, "error": FAILED}


def read_part(message: Mapping[str, Any], part: Mapping[str, Any], *, cwd: str) -> Iterator[Entry]:
    """Yield what one part tells that opencode stores; ``message`` is the one it belongs to."""
    base = Entry(
        kind=PROMPT,
        at=read_time(mapping(message.get("time")).get("created")),
        session=str(message.get("sessionID") or part.get("sessionID") or ""),
        id=str(message.get("id") or ""),
        cwd=cwd,
    )
    kind, text, state = part.get("type"), part.get("text"), mapping(part.get("state"))
    ended = _ENDED.get(str(state.get("status")))
    if kind == "text" and isinstance(text, str) and text.strip() and not part.get("synthetic"):
        asked = message.get("role") == "user"
        yield replace(base, kind=PROMPT if asked else ANSWER, text=text.strip())
    elif kind == "compaction":
        yield replace(base, kind=COMPACTION)
    elif kind == "tool" and ended:
        code = mapping(state.get("metadata")).get("exit")
        yield replace(
            base,
            kind=CALL,
            id=str(part.get("callID") or part.get("id") or ""),
            tool=str(part.get("tool") or ""),
            arguments=mapping(state.get("input")),
            ended=FAILED if isinstance(code, int) and code else ended,
            output=str(state.get("error") or state.get("output") or "")[-MAX_OUTPUT:],
        )
