"""Turn the JSON of one hook event into the JSON of the answer.

It fails open: after any error, the output is valid, and a line in the hook log names the error.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

from lessons_kb import hook_gates
from lessons_kb.agents.payloads import Payload, replaced_by, text_of
from lessons_kb.agents.table import (
    AGENTS,
    OFF_VARIABLE,
    Agent,
    event_name,
    find_host,
    format_message,
    is_attended,
)
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import posted_session
from lessons_kb.brain.discovery import Discovery, look_in_agent
from lessons_kb.hook_client import (
    AGAIN_VARIABLE,
    DEADLINE_SECONDS,
    DEADLINE_VARIABLE,
    ENDED_REFUSED,
    LONGER_SECONDS,
    STRICT_VARIABLE,
    TOKEN_VARIABLE,
    UNASKED_LINE,
    read_deadline,
)
from lessons_kb.on_demand import ERROR_LOG, load
from lessons_kb.process.clock import check_clock
from lessons_kb.session.dispatch import respond
from lessons_kb.session.event_types import NOTHING, AgentTraits, Answer, Capabilities, HookEvent
from lessons_kb.session.late import Unheard
from lessons_kb.store.journal import MOMENTS, TRIAL_VARIABLE, WITHOUT, note_event, read_arm
from lessons_kb.store.session_notes import is_silenced, pin_directory
from lessons_kb.text.sanitize import visible
from lessons_kb.values import list_fields

_LATE_SECONDS = 3.0
"""Seconds after a late process within which an equal event without an id is the same event."""


def answer_event(
    agent: str,
    data: bytes | str,
    environment: Mapping[str, str],
    *,
    cwd: str = os.sep,
    look: Callable[[str], Discovery] | None = None,
    find: Callable[[str], Brains] | None = None,
    leave_open: bool = False,
    posted_by: str = "",
    say: Callable[[str, str], str] | None = None,
) -> tuple[str, str]:
    """Return the output for one event of ``agent``, and a line for its log, or "" without a line.

    ``data`` is the JSON from the agent. ``cwd`` is its working directory, for a payload without a
    directory. A process that keeps brains open passes ``find``, which returns the brain of a
    directory, and ``look``, which discovers the brains around it. If another machine sent the
    event, ``posted_by`` names its user: no path in the event is opened here, no question is asked,
    and its sessions belong to that user alone. A process whose answer may come too late passes
    ``say``. It prints the answer, and returns "" if the answer arrived, or else the code in
    ``hook_client`` for how the client ended the event. An answer that did not arrive is stored for
    the session's next event. An error is logged, and the output is then valid and empty.
    """
    row, name = AGENTS[agent], "?"
    try:
        check_clock()
        payload = _parse(data)
        if payload is None:
            log_failure(agent, name, "the event is not a JSON object; nothing was done")
            return row.silence, ""
        if environment.get(OFF_VARIABLE) == "0":
            return row.silence, ""
        row = AGENTS[find_host(agent, payload, environment)]
        name = event_name(payload, row.name)
        event = _read_event(row, name, payload, environment, cwd, posted_by)
        if event is None:
            return row.silence, ""
        event.gates_of_last_index = partial(
            _decide_from_gate_file, agent, data, environment, cwd, event.token
        )
        if TRIAL_VARIABLE in environment and (arm := read_arm(environment)):
            note_event()
            if arm == WITHOUT:
                return row.silence, ""
            event.moment = arm if arm in MOMENTS else ""
        session = f"{row.name} {event.session}"
        if not posted_by and is_silenced(agent, session, event.directory):
            return row.silence, ""
        # A shared server may take a quarter of the client's deadline, because the local answer has
        # to be in time. In the daemon, it may take half of the time for an answer that has begun.
        deadline = environment.get(DEADLINE_VARIABLE.decode())
        event.patience = (read_deadline(deadline) if deadline else DEADLINE_SECONDS) / 4
        if find is not None:
            event.patience = min(event.patience, LONGER_SECONDS / 2)
        can = Capabilities(
            **{name: getattr(row, name) for name in list_fields(AgentTraits)},
            inject=event.takes_context and name in row.context_at,
            lines=name in row.lines_at and not (posted_by and row.progress),
            # The owner of a server must not stop the agents of other users.
            ask=name in row.asks_at and not posted_by and is_attended(row, payload, environment),
            refuse=name in row.refuses_at and not posted_by,
            explains=event.tool not in row.unexplained or payload.get("shows_reason") is True,
            stop=name in row.stops_at,
            go_on=name in row.goes_on_at,
            review=row.call.format("lessons-review"),
        )
        look = look or partial(look_in_agent, environment=environment)

        def show(answer: Answer) -> tuple[str, str]:
            if answer is NOTHING:
                return row.silence, ""
            if answer.is_unasked and (line := _describe_unasked(environment, answer.trouble)):
                return row.silence, line
            return row.show(name, answer, lines=can.lines)

        def deliver(answer: Answer) -> Unheard | None:
            if answer.trouble:  # logged first, so that a reader of the answer finds it in the log
                log_failure(row.name, name, answer.trouble)
            if say is None or not (how := say(*show(answer))):
                return None
            return Unheard(how=how, lines=tuple(format_message(answer).splitlines()))

        answer = respond(event, can, look=look, find=find, leave_open=leave_open, deliver=deliver)
        return show(answer)
    except Exception as error:  # our errors must not stop an agent
        log_failure(agent, name, error)
        return row.silence, _describe_unasked(environment, f"{type(error).__name__}: {error}")


def _describe_unasked(environment: Mapping[str, str], trouble: str) -> str:
    """Return the line with which the client of a strict gate refuses the call, or "" if the client
    has no strict gate.
    """
    if STRICT_VARIABLE.decode() not in environment:
        return ""
    return f"{UNASKED_LINE}: {visible(trouble)}"


def _decide_from_gate_file(
    agent: str, data: bytes | str, environment: Mapping[str, str], cwd: str, token: str
) -> Answer:
    """Return the answer of the hook's second stage to an event. A refusal is recorded."""
    event = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
    decision = hook_gates.decide(agent, event, environment, cwd, token)
    claimed = hook_gates.claim_answer(decision, token)
    if claimed is None:
        return NOTHING
    if claimed[0] == ENDED_REFUSED:
        return Answer(refusal=decision.reason)
    return Answer(lines=(decision.reason,))


def _parse(data: bytes | str) -> Payload | None:
    try:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        payload = json.loads(text.removeprefix("\ufeff"))
        if "\\ud" in text.lower():  # no file and no database accepts a lone surrogate
            serialised = json.dumps(payload, ensure_ascii=False)
            payload = json.loads(serialised.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _read_event(
    row: Agent, name: str, payload: Payload, environment: Mapping[str, str], cwd: str, user: str
) -> HookEvent | None:
    """Parse an event. Return None if the event needs no answer.

    The session's project and the agent's working directory become absolute. ``cwd`` is used if the
    payload does not name a directory. A session's first event pins its directory. ``user`` is the
    user who sent the event from another machine, or "".
    """
    if name not in row.events:
        return None
    again = environment.get(AGAIN_VARIABLE.decode()) == "1"
    event = HookEvent(
        what=row.events[name],
        agent=row.name,
        again=again,
        token=environment.get(TOKEN_VARIABLE.decode(), "") or f"{os.getpid()}-{time.time_ns()}",
        posted=bool(user),
        within=max(row.within, _LATE_SECONDS) if again else row.within,
    )
    row.read(payload, name, event)
    if not event.what or not event.session:
        return None
    if event.what == "after":
        event.before = replaced_by(event.arguments)
    here = text_of(payload, "cwd")
    roots = payload.get("workspace_roots") or payload.get("workspacePaths")
    named = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else here
    if user:  # the paths belong to another machine
        event.session = posted_session(user, event.session)
        event.transcript = ""
    else:
        here, named = (path if os.path.isabs(path) else "" for path in (here, named))
        named = named if os.path.isdir(named) else ""
    projects = [environment.get(variable, "") for variable in row.project]
    existing = [path for path in projects if os.path.isabs(path) and os.path.isdir(path)]
    project = existing[0] if existing else ""
    directory = project or named or cwd
    event.cwd = event.cwd or here or directory
    # The pin is set even if the agent names its project, because the pin also marks the session's
    # start.
    pinned = pin_directory(f"{row.name} {event.session}", directory, look=not user)
    event.directory = project or pinned
    return event


def log_failure(agent: str, hook_event: str, error: BaseException | str) -> None:
    """Add a line to the hook log. This never raises an error."""
    try:
        message = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        load(ERROR_LOG).log_trouble(agent, hook_event, message)
    except BaseException:  # even the text of the error raises
        return
