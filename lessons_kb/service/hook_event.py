"""From the JSON of one hook event to the JSON of the answer.

It fails open: whatever goes wrong, the output is valid, and a line in the hook log says what it
was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

from lessons_kb.agents.payloads import Payload, replaced_by, text_of
from lessons_kb.agents.table import (
    AGENTS,
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
    LONGER_SECONDS,
    TOKEN_VARIABLE,
    read_deadline,
)
from lessons_kb.process.clock import check_clock
from lessons_kb.session.dispatch import respond
from lessons_kb.session.event_types import NOTHING, AgentTraits, Answer, Capabilities, HookEvent
from lessons_kb.session.late import Unheard
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.journal import TRIAL_VARIABLE, WITHOUT, note_event, read_arm
from lessons_kb.store.session_notes import is_silenced, pin_directory
from lessons_kb.values import list_fields

_LATE_SECONDS = 3.0
"""An event without an id that comes again within this, after a late process, is the same one."""


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
    """Return what to print for one event of ``agent``, and a line for its log or "".

    ``data`` is the JSON that the agent sends, ``cwd`` where its process stands, for a payload
    that names no directory. A process that keeps brains open gives ``find``, which returns the one
    for a directory, and ``look``, which tells what lies around it. Where another machine sent the
    event, ``posted_by`` names its user: no path in it is looked for here, nobody is asked, and its
    sessions are that user's alone. A process that may be late gives ``say``: it prints, and returns
    "" where that was heard, else one of ``hook_client``'s words for how the client ended. Then what
    was not heard is kept for the session's next event. Whatever goes wrong is logged; then the
    output is the valid one that says nothing.
    """
    row, name = AGENTS[agent], "?"
    try:
        check_clock()
        payload = _parse(data)
        if payload is None:
            log_failure(agent, name, "the event is not a JSON object; nothing was done")
            return row.silence, ""
        row = AGENTS[find_host(agent, payload, environment)]
        name = event_name(payload, row.name)
        event = _read_event(row, name, payload, environment, cwd, posted_by)
        if event is None:
            return row.silence, ""
        if TRIAL_VARIABLE in environment and (arm := read_arm(environment)):
            note_event()
            if arm == WITHOUT:
                return row.silence, ""
        session = f"{row.name} {event.session}"
        if not posted_by and is_silenced(agent, session, event.directory):
            return row.silence, ""
        # A shared server may take a quarter of what the client waits, for the local answer has to
        # be in time; in the daemon half of what a client waits for an answer that has begun.
        deadline = environment.get(DEADLINE_VARIABLE.decode())
        event.patience = (read_deadline(deadline) if deadline else DEADLINE_SECONDS) / 4
        if find is not None:
            event.patience = min(event.patience, LONGER_SECONDS / 2)
        can = Capabilities(
            **{name: getattr(row, name) for name in list_fields(AgentTraits)},
            inject=event.takes_context and name in row.context_at,
            lines=name in row.lines_at and not (posted_by and row.progress),
            # Whoever runs a server may not hold up the agents of others.
            ask=name in row.asks_at and not posted_by and is_attended(row, payload, environment),
            refuse=name in row.refuses_at and not posted_by,
            explains=event.tool not in row.unexplained,
            stop=name in row.stops_at,
            review=row.call.format("lessons-review"),
        )
        look = look or partial(look_in_agent, environment=environment)

        def show(answer: Answer) -> tuple[str, str]:
            return (
                (row.silence, "") if answer is NOTHING else row.show(name, answer, lines=can.lines)
            )

        def deliver(answer: Answer) -> Unheard | None:
            if answer.trouble:  # logged first: who reads the answer finds it in the log
                log_failure(row.name, name, answer.trouble)
            if say is None or not (how := say(*show(answer))):
                return None
            return Unheard(how=how, lines=tuple(format_message(answer).splitlines()))

        answer = respond(event, can, look=look, find=find, leave_open=leave_open, deliver=deliver)
        return show(answer)
    except Exception as error:  # an agent is never held up by our mistakes
        log_failure(agent, name, error)
        return row.silence, ""


def _parse(data: bytes | str) -> Payload | None:
    try:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        payload = json.loads(text.removeprefix("\ufeff"))
        if "\\ud" in text.lower():  # half a surrogate pair is no text: no file or database takes it
            whole = json.dumps(payload, ensure_ascii=False)
            payload = json.loads(whole.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def _read_event(
    row: Agent, name: str, payload: Payload, environment: Mapping[str, str], cwd: str, user: str
) -> HookEvent | None:
    """Return what happened, None for what is to be passed over; ``cwd`` if no directory is named.

    A session's first event pins its directory.

    The session's project and the agent's working directory are absolute. ``user`` is who sent it
    from another machine.
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
    if user:  # another machine may have other paths, and its files are none of ours
        event.session, event.transcript = posted_session(user, event.session), ""
    else:
        here, named = (path if os.path.isabs(path) else "" for path in (here, named))
        named = named if os.path.isdir(named) else ""
    projects = (environment.get(variable, "") for variable in row.project)
    project = next((p for p in projects if os.path.isabs(p) and os.path.isdir(p)), "")
    directory = project or named or cwd
    event.cwd = event.cwd or here or directory
    # Pinned even where the agent names its project: the pin also tells when the session began.
    pinned = pin_directory(f"{row.name} {event.session}", directory, look=not user)
    event.directory = project or pinned
    return event


def log_failure(agent: str, hook_event: str, error: BaseException | str) -> None:
    """Add a line to the hook log; never raises."""
    try:
        what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        log_trouble(agent, hook_event, what)
    except BaseException:  # an error whose text cannot be had: there is nothing to add
        return
