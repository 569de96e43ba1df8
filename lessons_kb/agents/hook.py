"""``lessons-hook AGENT``: one event on standard input, the answer on standard output.

The one place that fails open: whatever goes wrong, the exit code is 0, the output is valid, and
a line in the hook log says what it was.
"""

from __future__ import annotations

import _thread
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lessons_kb.agents.payload import Payload
    from lessons_kb.agents.table import Agent
    from lessons_kb.brain.brain import Brain

DEADLINE_SECONDS = 2.0
DEADLINE_VARIABLE = "LESSONS_HOOK_DEADLINE"
"""Overrides the deadline, in seconds."""
DEBUG_VARIABLE = "LESSONS_DEBUG"
"""Has the log tell more than what went wrong."""
MAX_INPUT_BYTES = 32_000_000
_LONGEST = 600.0
_LOG_SECONDS = 0.3
_USAGE = "usage: lessons-hook AGENT  (an agent calls it; `lessons install AGENT` sets it up)"
_MODULES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "copilot-cli": "copilot_cli",
    "cursor": "cursor",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "vscode": "vscode",
}


def main() -> None:
    """Answer the event on standard input and leave; never returns, never fails."""
    agent = sys.argv[1] if len(sys.argv) > 1 else ""
    once = _thread.allocate_lock()
    silence = "" if agent in ("claude-code", "codex") else "{}"
    output, line = silence, ""
    gc.disable()  # a process of 50 ms leaves nothing to collect
    try:
        _hold_standard_files()
        if agent not in _MODULES:
            _leave(once, "", _USAGE)
        _thread.start_new_thread(_watch, (once, agent, silence))
        output, line = answer_event(agent, _read_input(), os.environ, leave_open=True)
    except BaseException as error:
        _log(agent, "input", error)
    _leave(once, output, line)


def answer_event(
    agent: str,
    data: bytes | str,
    environment: Mapping[str, str],
    *,
    find: Callable[[str], Brain] | None = None,
    leave_open: bool = False,
) -> tuple[str, str]:
    """Return what to print for one event of ``agent``, and a line for its log or "".

    ``data`` is the JSON that the agent sends. ``find`` gives an open brain for a directory, in
    a process that keeps them. Whatever goes wrong is logged; then the output is the valid one
    that says nothing.
    """
    from lessons_kb.agents.table import AGENTS

    table = AGENTS[agent]
    name = "?"
    try:
        payload = _parse(data)
        if payload is None:
            _log(agent, name, "the event is not a JSON object; nothing was done")
            return table.silence, ""
        from lessons_kb.agents.hosts import event_name, find_host

        host = find_host(agent, payload, environment)
        table = AGENTS[host]
        name = event_name(payload, host)
        if name not in table.events:
            return table.silence, ""
        return _answer(host, name, payload, environment, table, find=find, leave_open=leave_open)
    except Exception as error:
        _log(agent, name, error)
        return table.silence, ""


def _answer(
    host: str,
    name: str,
    payload: Payload,
    environment: Mapping[str, str],
    table: Agent,
    *,
    find: Callable[[str], Brain] | None,
    leave_open: bool,
) -> tuple[str, str]:
    from lessons_kb.brain.turn import NOTHING, Occasion, Reach, respond

    # Not importlib.import_module: that module is one more for every hook to load.
    module = __import__(f"lessons_kb.agents.{_MODULES[host]}", fromlist=["read"])
    found = module.read(payload, name)
    if found is None or not found["session"]:
        return table.silence, ""
    what = found.pop("what", table.events[name])
    directory, cwd = _directories(host, payload, environment, table, found["session"])
    occasion = Occasion(
        what=what, agent=host, directory=directory, cwd=cwd, within=table.within, **found
    )
    reach = Reach(
        context=name in table.context,
        lasting=table.lasting,
        chars=table.chars,
        tokens=table.tokens,
        lines=name in table.lines,
        ask=name in table.ask,
        stop=name in table.stop,
    )
    answer = respond(occasion, reach, find=find, leave_open=leave_open)
    if answer is NOTHING:
        return table.silence, ""
    if answer.trouble:
        _log(host, name, answer.trouble)
    for line in answer.debug if environment.get(DEBUG_VARIABLE) else ():
        _log(host, name, f"debug: {line}")
    from lessons_kb.agents.said import put_into_words

    said = put_into_words(answer)
    unseen = ""
    if said.message and name not in table.lines:
        said, unseen = said.replace(message=""), said.message
    output = module.write(name, said)
    if not output:
        return table.silence, unseen
    import json

    return json.dumps(output, ensure_ascii=True), unseen


def _directories(
    host: str, payload: Payload, environment: Mapping[str, str], table: Agent, session: str
) -> tuple[str, str]:
    """Return the session's project and the agent's working directory, both absolute."""
    from lessons_kb.agents.payload import text_of

    cwd = text_of(payload, "cwd")
    if not os.path.isabs(cwd):
        cwd = ""
    for variable in table.project:
        project = environment.get(variable, "")
        if os.path.isabs(project) and os.path.isdir(project):
            return project, cwd or project
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else cwd
    directory = first if os.path.isabs(first) and os.path.isdir(first) else _current_directory()
    from lessons_kb.storage.pins import pin_directory

    return pin_directory(f"{host} {session}", directory), cwd or directory


def _current_directory() -> str:
    """Return the working directory, or the root when that is gone: there is no brain."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)


def _parse(data: bytes | str) -> Payload | None:
    import json

    try:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        payload = json.loads(text.removeprefix("\ufeff"))
        if "\\u" in text and "\\ud" in text.lower():
            # Half a surrogate pair is no text: no file or database takes it.
            whole = json.dumps(payload, ensure_ascii=False)
            payload = json.loads(whole.encode("utf-8", "replace").decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _hold_standard_files() -> None:
    """Put nothing in the place of a standard file that is closed.

    Else the first file that is opened would get its number, and our answer be written into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _read_input() -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := os.read(0, 1 << 20):
        size += len(part)
        if size <= MAX_INPUT_BYTES:
            parts.append(part)
        else:  # read to its end all the same: an agent may take a broken pipe for our failure
            parts.clear()
    if size > MAX_INPUT_BYTES:
        raise ValueError(f"an event of {size:,} bytes, more than {MAX_INPUT_BYTES:,}")
    return b"".join(parts)


def _watch(once: _thread.LockType, agent: str, silence: str) -> None:
    """Leave in silence when the time is up, whatever the main thread waits for."""
    import time

    try:
        deadline = float(os.environ.get(DEADLINE_VARIABLE) or DEADLINE_SECONDS)
    except ValueError:
        deadline = DEADLINE_SECONDS
    deadline = min(deadline, _LONGEST) if deadline > 0 else DEADLINE_SECONDS  # nan is not
    time.sleep(deadline)
    if not once.acquire(blocking=False):
        return
    logged = _thread.allocate_lock()

    def log() -> None:
        _log(agent, "deadline", f"no answer within {deadline:g} s; nothing was said")
        logged.release()

    try:
        _write(1, silence)
        logged.acquire()
        # What holds the answer up, such as a home that hangs, may hold the log up as well.
        _thread.start_new_thread(log, ())
        logged.acquire(timeout=_LOG_SECONDS)
    finally:
        os._exit(0)


def _leave(once: _thread.LockType, output: str, line: str) -> None:
    """Print and end the process at once: tearing an interpreter down costs the user time."""
    if not once.acquire(blocking=False):
        once.acquire()  # the watch is leaving
    _write(1, output)
    _write(2, line)
    os._exit(0)


def _write(file: int, text: str) -> None:
    data = (text + "\n").encode("utf-8", "replace") if text else b""
    try:
        while data:
            try:
                data = data[os.write(file, data) :]
            except BlockingIOError:
                os.set_blocking(file, True)
    except OSError:
        return


def _log(agent: str, occasion: str, error: BaseException | str) -> None:
    try:
        from lessons_kb.storage.hook_log import log_trouble

        what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        log_trouble(agent, occasion, what)
    except BaseException:
        return
