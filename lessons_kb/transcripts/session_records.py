"""Parse the session records of coding agents into entries, one piece at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lessons_kb.text.sanitize import without
from lessons_kb.text.times import read_time
from lessons_kb.transcripts.usage import Usage, read_anthropic, read_openai, read_opencode
from lessons_kb.values import frozen, replace

PROMPT, ANSWER, CALL = "prompt", "answer", "call"
COMPACTION, INTERRUPT = "compaction", "interrupt"
REQUEST = "request"
"""The kind of an entry with the usage of one request to the model. Readers yield it on demand."""

OK, FAILED, CANCELLED, UNKNOWN = "ok", "failed", "cancelled", "unknown"

MAX_OUTPUT = 20_000
"""The maximum length of a stored output, in characters.

The end of the output is stored, because tools report their results there.
"""


@frozen
class Entry:
    """One event of a recorded session, in the same form for every agent."""

    kind: str
    at: float = 0.0
    """The time in seconds since the epoch; 0 if the record contains no time."""
    session: str = ""
    id: str = ""
    """The id that the agent's hooks use; "" if they use no id."""
    cwd: str = ""
    text: str = ""
    """The text of a prompt, an answer or a summary."""
    tool: str = ""
    arguments: Mapping[str, Any] | str = ""
    ended: str = OK
    """The outcome of a call: ``ok``, ``failed``, ``cancelled`` or ``unknown``."""
    output: str = ""
    step: str = ""
    """The id of the message that made the call; "" if it is unknown or this is not a call."""
    usage: Usage | None = None
    """The tokens of a request. ``at`` is then the time at which its answer began."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return ``value`` if it is a JSON object, or else an empty mapping."""
    return value if isinstance(value, dict) else {}


def texts_of(content: object) -> str:
    """Return the text of a message's content, which is a string or a list of parts.

    Parts without text are skipped. The texts of the others are joined with line breaks.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        text = part if isinstance(part, str) else mapping(part).get("text")
        if text and isinstance(text, str):
            texts.append(text)
    return "\n".join(texts)


class RecordReader:
    """Parses the record of one agent, line by line, into entries.

    A line that is not a JSON object is skipped. With ``usage``, the requests to the model are
    entries as well. An entry of a request may follow later entries, so sort by time.
    """

    def __init__(self, *, usage: bool = False) -> None:
        self._reads_usage = usage
        self._request: Entry | None = None
        """The request whose usage may not be complete."""
        self.steps: dict[str, str] = {}
        """A mapping from call id to step id. Calls of one message share a step.

        It is empty if the record contains no steps.
        """
        self._base = Entry(kind=PROMPT)
        """The time, session and directory of the line that was read last."""
        self._calls: dict[str, dict[str, Any]] = {}
        """A mapping from call id to the fields of its entry that were recorded at its beginning."""
        self._seen_ids: set[str] = set()
        self._answer: Entry | None = None

    def feed(self, lines: Iterable[bytes]) -> Iterator[Entry]:
        """Yield the entries of the next lines. An answer is deferred until the turn has ended."""
        for line in filter(bytes.strip, lines):
            try:
                data = json.loads(line.decode())  # with bytes, json would first guess the encoding
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict):
                yield from self._read(data)
                if self._reads_usage:
                    yield from self._read_request(data)

    def finish(self) -> Iterator[Entry]:
        """Yield the deferred answer, if there is one."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def finish_requests(self) -> Iterator[Entry]:
        """Yield the last request, if there is one."""
        if self._request is not None:
            yield self._request
        self._request = None

    def _read_request(self, _data: Mapping[str, Any], /) -> Iterator[Entry]:
        """Yield the requests that are complete with one object of the record."""
        yield from ()

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield the entries of one object of the record."""
        raise NotImplementedError

    def _move(self, timestamp: object, session: object = "", cwd: object = "") -> None:
        """Update the time, session and directory of later entries. Missing values do not change."""
        before = self._base
        self._base = replace(
            before,
            at=read_time(timestamp) or before.at,
            session=session if isinstance(session, str) and session else before.session,
            cwd=cwd if isinstance(cwd, str) and cwd else before.cwd,
        )

    def _defer_answer(self, text: str) -> None:
        """Store an answer until it is certain that nothing follows it in the turn."""
        self._answer = replace(self._base, kind=ANSWER, text=text)

    def _begin(self, call_id: str, step: str = "", **call: Any) -> None:
        """Store a call until its result arrives."""
        self._calls[call_id] = call
        if step:
            self.steps[call_id] = step
        self._answer = None

    def _end(self, call_id: str, ended: str, output: str, **call: Any) -> Entry:
        """Return a call with its result. The tool is "" if the call's beginning was not read."""
        fields = {**self._calls.pop(call_id, {}), **call}
        return replace(
            self._base,
            kind=CALL,
            id=call_id,
            step=self.steps.get(call_id, ""),
            ended=ended,
            output=output[-MAX_OUTPUT:],
            **fields,
        )

    def _is_new(self, item_id: str) -> bool:
        """Return whether this id has not occurred before, and remember it."""
        is_new = item_id not in self._seen_ids
        if item_id:
            self._seen_ids.add(item_id)
        return is_new


_INTERRUPTED = "[Request interrupted by user"
_NOT_THE_USER = ("system", "poll_event")
_MACHINE = (
    *("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: "),
    *("<task-notification>", "<user-memory-input>"),
)
"""The first words of messages that the client wrote in the user's name."""
_REMINDER = ("<system-reminder>", "</system-reminder>")
_NO_MODEL = "<synthetic>"
"""The model of a message that Claude Code wrote itself, without a request."""
_CONTINUED = "This session is being continued from a previous conversation"


def is_from_client(text: str) -> bool:
    """Return whether Claude Code wrote an unmarked message in the user's name."""
    return text.startswith((*_MACHINE, _INTERRUPTED, _CONTINUED))


class ClaudeReader(RecordReader):
    """Parses a Claude Code transcript.

    The reader yields no prompts for a ``subagent``, because no user types them.
    """

    def __init__(self, *, subagent: bool = False, usage: bool = False) -> None:
        super().__init__(usage=usage)
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
            self._read_assistant(blocks, str(message.get("id") or ""))
        elif data.get("type") == "user":
            yield from self._read_results(data, blocks)
            yield from self._read_user(data, blocks)

    def _read_request(self, data: Mapping[str, Any], /) -> Iterator[Entry]:
        """Yield the request before the one of this line.

        Each content block of a message has a line, and the last line has the final usage.
        """
        message = mapping(data.get("message"))
        is_ours = (data.get("isSidechain") is True) == self._subagent
        model = str(message.get("model") or "")
        if data.get("type") != "assistant" or not is_ours or model == _NO_MODEL:
            return
        usage = read_anthropic(mapping(message.get("usage")), model)
        message_id = str(message.get("id") or "")
        if self._request is not None and self._request.id == message_id:
            self._request = replace(self._request, usage=usage)
            return
        yield from self.finish_requests()
        self._request = replace(self._base, kind=REQUEST, id=message_id, usage=usage)

    def _read_assistant(self, blocks: list[dict[str, Any]], message: str) -> None:
        for block in blocks:
            if block.get("type") == "tool_use":
                # The directory is recorded here, because the line of the result contains the
                # directory after the call.
                self._begin(
                    str(block.get("id")),
                    message,
                    tool=str(block.get("name") or ""),
                    arguments=mapping(block.get("input")),
                    cwd=self._base.cwd,
                )
            elif block.get("type") == "text" and isinstance(block.get("text"), str):
                text = block["text"]
                if self._answer and self._answer.text and message == self._message:
                    text = f"{self._answer.text}\n\n{text}"
                self._defer_answer(text)
                self._message = message

    def _read_results(
        self, data: Mapping[str, Any], blocks: list[dict[str, Any]]
    ) -> Iterator[Entry]:
        for block in blocks:
            if block.get("type") != "tool_result":
                continue
            text = texts_of(block.get("content"))
            text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
            if _was_stopped(data):
                ended = CANCELLED
            elif block.get("is_error") is True:
                ended = FAILED
            else:
                ended = OK
            yield self._end(str(block.get("tool_use_id") or ""), ended, text)

    def _read_user(self, data: Mapping[str, Any], blocks: list[dict[str, Any]]) -> Iterator[Entry]:
        text = texts_of([block for block in blocks if block.get("type") == "text"]).strip()
        if not text or data.get("isMeta") is True or self._subagent:
            return
        entry = replace(self._base, id=str(data.get("uuid") or ""))
        if data.get("isCompactSummary") is True:
            yield replace(entry, kind=COMPACTION, text=text)
        elif text.startswith(_INTERRUPTED):
            # The result of a refused call reports it; the line "… for tool use" repeats that.
            ended = OK if text == f"{_INTERRUPTED}]" else CANCELLED
            yield replace(entry, kind=INTERRUPT, ended=ended)
        elif text.startswith(_MACHINE) or data.get("turnOrigin") in _NOT_THE_USER:
            return
        else:
            typed = without(text, *_REMINDER).strip()
            if typed:
                yield from self.finish()
                yield replace(entry, id=str(data.get("promptId") or entry.id), text=typed)


def _was_stopped(data: Mapping[str, Any]) -> bool:
    """Return whether the user stopped a call while it ran.

    A call that was refused before it ran does not count, because another line of the record reports
    it.
    """
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
"""The number of characters of an output that are searched for its exit code."""
_SHELLS = ("exec_command", "shell", "local_shell")
_ITEMS_OF_MODEL = (*_CALLS, "reasoning", "web_search_call")
"""The kinds of items that a model answers with, beside its messages."""


class CodexReader(RecordReader):
    """Parses a Codex rollout."""

    def __init__(self, *, usage: bool = False) -> None:
        super().__init__(usage=usage)
        self._step = ""
        """The id of the first call since the last result. Later calls belong to the same step."""
        self._turns: dict[str, int] = {}
        """A mapping from turn id to the number of prompts of the turn that have been read."""
        self._model = ""
        self._answered_at = 0.0
        """The time at which the present answer of the model began; 0 between answers."""
        self._totals: Mapping[str, Any] = {}
        """The usage of all requests so far."""

    def _read_request(self, data: Mapping[str, Any], /) -> Iterator[Entry]:
        """Yield the request of an event with its usage, which the record may repeat."""
        payload = mapping(data.get("payload"))
        kind, info = payload.get("type"), mapping(payload.get("info"))
        if data.get("type") == "turn_context":
            self._model = str(payload.get("model") or self._model)
        elif data.get("type") == "response_item":
            by_model = kind in _ITEMS_OF_MODEL or payload.get("role") == "assistant"
            if by_model and not self._answered_at:
                self._answered_at = self._base.at
        elif kind == "token_count" and info:
            totals = mapping(info.get("total_token_usage"))
            if totals and totals == self._totals:
                return
            self._totals = totals
            usage = read_openai(mapping(info.get("last_token_usage")), self._model)
            at = self._answered_at or self._base.at
            self._answered_at = 0.0
            yield replace(self._base, kind=REQUEST, at=at, usage=usage)

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        payload = mapping(data.get("payload"))
        if not payload:
            return
        where = mapping(payload.get("thread_settings")) or payload
        session = payload.get("id" if data.get("type") == "session_meta" else "thread_id")
        cwd = where.get("cwd") if "command" not in where else None
        self._move(data.get("timestamp"), session, cwd)
        kind = payload.get("type")
        item = mapping(payload.get("item"))
        command = item if item.get("type") == "CommandExecution" else payload
        message = item or payload
        text = (texts_of(message.get("content")) or str(message.get("message") or "")).strip()
        call_id = str(payload.get("call_id") or "")
        if data.get("type") == "compacted":
            yield replace(self._base, kind=COMPACTION, text=str(payload.get("message") or ""))
        elif kind in _CALLS:
            self._step = self._step or call_id
            arguments = _arguments(payload.get("arguments", payload.get("input")))
            tool = str(payload.get("name") or "")
            self._begin(call_id, self._step, tool=tool, arguments=arguments)
        elif type(command.get("exit_code")) is int:
            yield from self._read_command(command)
        elif kind in _OUTPUTS:
            self._step = ""
            yield from self._read_output(call_id, payload.get("output"))
        elif kind == "turn_aborted":
            if payload.get("reason", _BY_USER) == _BY_USER:
                yield replace(self._base, kind=INTERRUPT, id=str(payload.get("turn_id") or ""))
        elif kind == "task_complete":
            last = payload.get("last_agent_message")
            if isinstance(last, str) and last:
                self._defer_answer(last)
            yield from self.finish()
        elif message.get("type") in ("UserMessage", "user_message") and text:
            yield from self.finish()
            yield replace(self._base, id=self._prompt_id(payload), text=text)
        elif message.get("type") in ("AgentMessage", "agent_message") and text:
            self._defer_answer(text)

    def _prompt_id(self, payload: Mapping[str, Any]) -> str:
        """Return the id of the turn, with a number from the second prompt of the turn on."""
        turn = str(payload.get("turn_id") or "")
        count = self._turns[turn] = self._turns.get(turn, 0) + 1
        return f"{turn}:{count}" if turn and count > 1 else turn

    def _read_command(self, command: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield a command whose exit code is in a separate field."""
        code = command["exit_code"]
        call_id = str(command.get("call_id", command.get("id")) or "")
        output = str(command.get("aggregated_output") or "")
        if code:
            output = f"Exit code {code}\n{output}"
        run = _run(command.get("command"), command)
        yield from self._end_once(call_id, FAILED if code else OK, output, **run)

    def _read_output(self, call_id: str, output: object) -> Iterator[Entry]:
        """Yield the call of an output. An output without an exit code means ``unknown``."""
        call = self._calls.get(call_id, {})
        tool, arguments = call.get("tool", ""), call.get("arguments", {})
        text = output if isinstance(output, str) else json.dumps(output)
        code = re.search(_EXIT, text[:_HEAD])
        refused = text[:_HEAD].lower().startswith(_REFUSED)
        if refused or code:
            is_run = tool in _SHELLS and code
            command = arguments.get("cmd", arguments.get("command", ""))
            failed = refused or (code is not None and code[1] != "0")
            run = _run(command, arguments) if is_run else {}
            yield from self._end_once(call_id, FAILED if failed else OK, text, **run)
        elif tool:
            yield from self._end_once(call_id, UNKNOWN, texts_of(output))

    def _end_once(self, call_id: str, ended: str, output: str, **call: Any) -> Iterator[Entry]:
        """Yield a call once.

        The record contains the result of a command twice: as its end and as its output.
        """
        if self._is_new(call_id):
            yield self._end(call_id, ended, output, **call)


def _arguments(arguments: object) -> Mapping[str, Any]:
    try:
        data = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        data = arguments
    return data if isinstance(data, dict) else {"input": data}


def _run(command: object, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command as the fields of a call.

    ``command`` is a command line, or a list of words that ends with it: ``["bash", "-lc", line]``.
    """
    words = command if isinstance(command, list) else [command]
    folder = call.get("workdir", call.get("cwd"))
    arguments = {"command": str((words or [""])[-1] or "")}
    arguments |= {"workdir": folder} if isinstance(folder, str) and folder else {}
    return {"tool": "Bash", "arguments": arguments}


class CopilotReader(RecordReader):
    """Parses the ``events.jsonl`` of a Copilot CLI session."""

    subagent = ""
    """The subagent whose lines are read; "" for the lines of the main agent."""

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        if (data.get("agentId") or "") != self.subagent:
            return
        event = mapping(data.get("data"))
        kind = data.get("type")
        call_id = str(event.get("toolCallId") or "")
        text = texts_of(event.get("content")).strip()
        self._move(data.get("timestamp"))
        if kind in ("session.start", "session.resume"):
            self._move("", event.get("sessionId"), mapping(event.get("context")).get("cwd"))
        elif kind == "user.message" and text:
            yield from self.finish()
            yield replace(self._base, id=str(data.get("id") or ""), text=text)
        elif kind == "assistant.message" and text:
            self._defer_answer(text)
        elif kind == "tool.execution_start":
            tool = str(event.get("toolName") or "")
            arguments = mapping(event.get("arguments"))
            self._begin(call_id, tool=tool, arguments=arguments)
        elif kind == "tool.execution_complete":
            failed = event.get("success") is False
            result = event.get("error") if failed else event.get("result")
            output = result if isinstance(result, str) else ""
            if isinstance(result, dict):
                output = result.get("message") or texts_of(result.get("content"))
                output = output or json.dumps(result)
            yield self._end(call_id, FAILED if failed else OK, str(output))
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
    """Parses a Gemini CLI chat: one object per line, or one document in older versions."""

    def _read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        messages = data.get("messages")
        for message in map(mapping, messages if isinstance(messages, list) else [data]):
            self._move(message.get("timestamp"), data.get("sessionId"))
            content = message.get("displayContent") or message.get("content")
            text = _without_hooks(texts_of(content))
            message_id = str(message.get("id") or "")
            calls = message.get("toolCalls")
            if message.get("type") == "user":
                if text and not text.startswith(_CONTEXT) and self._is_new(message_id):
                    yield from self.finish()
                    yield replace(self._base, text=text)
            elif message.get("type") == "gemini":
                for call in map(mapping, calls if isinstance(calls, list) else ()):
                    has_ended = call.get("status") in _STATUSES
                    if has_ended and self._is_new(str(call.get("id") or "")):
                        yield self._read_call(call)
                if text:
                    self._defer_answer(text)

    def _read_call(self, call: Mapping[str, Any]) -> Entry:
        self._answer = None
        result = call.get("result")
        first = mapping(result[0] if isinstance(result, list) and result else result)
        response = mapping(mapping(first.get("functionResponse")).get("response"))
        error = response.get("error")
        output = _without_hooks(str(error or response.get("output") or ""))
        ended = _STATUSES[call["status"]]
        tool = str(call.get("name") or "")
        code = _EXIT_LINE.search(output) if tool == _SHELL else None
        if ended == OK and (error or (code and code[1] != "0")):
            ended = FAILED
        at = read_time(call.get("timestamp")) or self._base.at
        call_id = str(call.get("id") or "")
        arguments = mapping(call.get("args"))
        return self._end(call_id, ended, output, at=at, tool=tool, arguments=arguments)


def _without_hooks(text: str) -> str:
    """Return a text without the context that hooks added to it."""
    return without(text, *_HOOKS).strip()


CLAUDE, CODEX, GEMINI, COPILOT = AGENTS = ("claude-code", "codex", "gemini-cli", "copilot-cli")
_READERS = {CODEX: CodexReader, GEMINI: GeminiReader, COPILOT: CopilotReader}


def open_record(agent: str, *, subagent: bool = False, usage: bool = False) -> RecordReader:
    """Return a new reader for one of AGENTS. Other agents get the reader of Claude Code.

    ``subagent`` means that the record is from a Claude Code subagent. With ``usage``, the requests
    to the model are entries as well.
    """
    if agent in _READERS:
        return _READERS[agent](usage=usage)
    return ClaudeReader(subagent=subagent, usage=usage)


def read_tail(
    agent: str, data: bytes, offset: int = 0
) -> tuple[list[Entry], int, Mapping[str, str]]:
    """Return the entries of the complete lines in ``data``, the offset after them, and the steps.

    ``data`` is the record of one of AGENTS from byte ``offset`` on. A partial last line is left
    for the next call. A call that began before ``data`` has no tool. The steps map each call id to
    its step; calls of one message share a step.
    """
    *lines, rest = data.split(b"\n")
    record = open_record(agent)
    return list(record.feed(lines)), offset + len(data) - len(rest), record.steps


def read_answer(agent: str, data: bytes, session: str) -> Entry | None:
    """Return the answer at the end of a record of one of AGENTS.

    Return None if the last entry is not an answer. ``data`` is the end of the record, in bytes. A
    partial first line is skipped. Copilot CLI writes a subagent into the record of its parent. The
    ``session`` is then the id of the subagent.
    """
    record = open_record(agent)
    if isinstance(record, CopilotReader) and f'"agentId":"{session}"'.encode() in data:
        record.subagent = session
    entries = [*record.feed(data.split(b"\n")), *record.finish()]
    return entries[-1] if entries and entries[-1].kind == ANSWER else None


_ENDED = {"completed": OK, "error": FAILED}


def read_part(
    message: Mapping[str, Any], part: Mapping[str, Any], *, cwd: str, usage: bool = False
) -> Iterator[Entry]:
    """Yield the entry of a part of a ``message`` in the form in which opencode stores it.

    Parts of other kinds yield nothing. With ``usage``, the end of a step yields its request.
    """
    base = Entry(
        kind=PROMPT,
        at=read_time(mapping(message.get("time")).get("created")),
        session=str(message.get("sessionID") or part.get("sessionID") or ""),
        id=str(message.get("id") or ""),
        cwd=cwd,
    )
    kind = part.get("type")
    text = part.get("text")
    state = mapping(part.get("state"))
    ended = _ENDED.get(str(state.get("status")))
    if kind == "text" and isinstance(text, str) and text.strip() and not part.get("synthetic"):
        asked = message.get("role") == "user"
        yield replace(base, kind=PROMPT if asked else ANSWER, text=text.strip())
    elif kind == "compaction":
        yield replace(base, kind=COMPACTION)
    elif kind == "step-finish" and usage:
        tokens = read_opencode(mapping(part.get("tokens")), str(message.get("modelID") or ""))
        yield replace(base, kind=REQUEST, usage=tokens)
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
