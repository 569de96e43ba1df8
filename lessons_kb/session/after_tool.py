"""After a tool: the guards see it, and what the agent's record tells beyond its hooks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import lessons_kb.text.sanitize  # noqa: F401 the guards would import it within a transaction
from lessons_kb.guards.tools import kind_of_failure, parse_call
from lessons_kb.guards.watch import Watch
from lessons_kb.model import Event, Signal
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.state import GUARD, TurnState, event_of, now, turn_state
from lessons_kb.session.transcript import read_missed
from lessons_kb.store.events import prepare, prepare_record
from lessons_kb.store.journal import Journal
from lessons_kb.transcripts.results import Result

SEEN_BY_HOOKS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("Read", "Edit", "Write", "NotebookEdit", "Bash", "PowerShell"),
    "codex": ("apply_patch",),
}
"""Tools whose successes come through a hook with more than the record tells."""
KEEP_DIRECTORY = ("claude-code",)
"""Agents that begin a command where the last one ended; the others where the session began."""
INTERRUPT = "interrupt"

Seen = tuple[Event, Event, str]
"""An event, the same as it is written, and the part of the session that it happened in."""


def called(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Journal a call and return what the guards say about it."""
    journal = open_session.journal
    scope = open_session.scope
    missed = read_missed(journal, hook_event)
    mine = next((r for r in missed.results if r.id and r.id == hook_event.id), None)
    earlier = [r for r in missed.results if r is not mine]
    events = missed_events(earlier, hook_event, scope)
    event = Event(
        kind="tool",
        at=now(hook_event),
        session=hook_event.session,
        id=hook_event.id,
        agent=hook_event.agent,
        scope=scope,
        tool=hook_event.tool,
        outcome=hook_event.outcome,
        output=hook_event.output,
    )
    if mine is not None and hook_event.outcome == "unknown":
        event = replace(event, outcome=outcome_of(mine), output=hook_event.output or mine.text)
    arguments = hook_event.arguments if isinstance(hook_event.arguments, (dict, str)) else {}
    events += prepared(
        (e, hook_event.part) for e in parse_call(event, arguments, cwd=hook_event.cwd)
    )
    with turn_state(journal, hook_event.session) as state:
        missed.note(state)
        signals = see(journal, events, hook_event, scope, state)
        return answer_signals(signals, state, capabilities)


def prepared(events: Iterable[tuple[Event, str]]) -> list[Seen]:
    """Return (event, part) with each event as it will be written: this takes its time."""
    return [(event, prepare(event), part) for event, part in events]


def see(
    journal: Journal,
    events: Sequence[Seen],
    hook_event: HookEvent,
    scope: str,
    state: TurnState,
) -> list[Signal]:
    """Journal events in order and return what the guards say about those that are new.

    Called within a transaction: no other hook sees or changes the guards meanwhile.
    """
    watches: dict[str, Watch] = {}
    signals: list[Signal] = []
    changed: set[str] = set()
    doubled = False
    for event, row, part in events:
        # A call that was journalled already was seen with all that it touched.
        if not event.tool and doubled and event.kind != INTERRUPT:
            continue
        if part not in watches:
            kept = journal.guard_state(hook_event.session, part)
            watches[part] = Watch.from_state(_parsed(kept), scope=scope)
            if state.begun and not part:
                watches[part].see(Event(kind="prompt"))
                changed.add(part)
                state.begun = False
        before = watches[part].to_state()
        said = watches[part].see(event)
        written = state.note_declined(row)
        if said:
            signalled = prepare_record({"signals": [signal.record for signal in said]})
            written = replace(written, record={**written.record, **signalled})
        doubled = not journal.events.write(written, within=hook_event.within)
        if doubled:
            watches[part] = Watch.from_state(before, scope=scope)
            continue
        signals += said
        changed.add(part)
    for part in changed:
        journal.keep_guard_state(hook_event.session, json.dumps(watches[part].to_state()), part)
    return signals


def _parsed(kept: str) -> object:
    try:
        return json.loads(kept) if kept else None
    except ValueError:
        return None


def answer_signals(
    signals: Sequence[Signal], state: TurnState, capabilities: Capabilities
) -> Answer:
    """Put what the guards said into an answer: guidance, lines for the user, a stop."""
    loud = [signal for signal in signals if signal.level == "escalate"]
    stop = loud[-1].user_line if loud and capabilities.stop else ""
    texts = [(GUARD, signal.message) for signal in signals]
    context = state.deliver(texts, capabilities)
    lines = tuple(signal.user_line for signal in signals if signal.user_line)
    if not (context or lines or stop):
        return NOTHING
    return Answer(context=context, lines=lines, stop=stop)


def missed_events(results: Sequence[Result], hook_event: HookEvent, scope: str) -> list[Seen]:
    """Return the events of results: failures, and successes of tools that no hook is for."""
    events: list[tuple[Event, str]] = []
    cwd = hook_event.cwd if hook_event.agent in KEEP_DIRECTORY else hook_event.directory
    for result in results:
        if result.id and result.interrupt:
            told = replace(hook_event, id=result.id, text="", at=result.at or hook_event.at)
            stopped = event_of(told, INTERRUPT, scope)
            events.append((replace(stopped, outcome="cancelled"), ""))
        if not result.id or (
            not result.failed
            and (result.tool in SEEN_BY_HOOKS[hook_event.agent] or not result.tool)
        ):
            continue
        event = Event(
            kind="tool",
            at=result.at or now(hook_event),
            session=hook_event.session,
            id=result.id,
            agent=hook_event.agent,
            scope=scope,
            tool=result.tool or "?",
            outcome=outcome_of(result),
            output=result.text if result.failed else "",
        )
        events += [(e, "") for e in parse_call(event, result.arguments, cwd=cwd)]
    return prepared(events)


def outcome_of(result: Result) -> str:
    """Return the outcome that an agent's record tells."""
    if result.cancelled:
        return "cancelled"
    return kind_of_failure(result.text) if result.failed else "ok"
