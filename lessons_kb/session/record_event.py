"""Journal what happened in a session and let the guards see it, what no hook told included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lessons_kb.guards.session_guards import Watch
from lessons_kb.guards.tool_calls import kind_of_failure, parse_call
from lessons_kb.model import Event, Signal
from lessons_kb.session.event import HookEvent
from lessons_kb.session.state import (
    TurnState,
    event_of,
    now,
)
from lessons_kb.session.transcript_tail import Missed, read_missed
from lessons_kb.store.events import prepare, prepare_record
from lessons_kb.store.journal import Journal
from lessons_kb.transcripts.entries import CANCELLED, FAILED, Entry
from lessons_kb.transcripts.entries import INTERRUPT as INTERRUPTED

SEEN_BY_HOOKS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("Read", "Edit", "Write", "NotebookEdit", "Bash", "PowerShell"),
    "codex": ("apply_patch",),
}
"""Tools whose successes come through a hook with more than the record tells."""


INTERRUPT = "interrupt"


Seen = tuple[Event, Event, str]
"""An event, the same as it is written, and the part of the session that it happened in."""


def prepared(events: Iterable[tuple[Event, str]]) -> list[Seen]:
    """Return (event, part) with each event as it will be written: this takes its time.

    The guards keep paths: they see them as the journal does.
    """
    rows = [(event, prepare(event), part) for event, part in events]
    return [(replace(event, targets=row.targets), row, part) for event, row, part in rows]


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
            if state.begun and part == hook_event.part:
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


def missed_events(results: Sequence[Entry], hook_event: HookEvent, scope: str) -> list[Seen]:
    """Return the events of results: failures, and successes of tools that no hook is for."""
    events: list[tuple[Event, str]] = []
    cwd = hook_event.cwd if hook_event.keeps_directory else hook_event.directory
    for result in results:
        if result.id and result.kind == INTERRUPTED:
            told = replace(hook_event, id=result.id, text="", at=result.at or hook_event.at)
            stopped = event_of(told, INTERRUPT, scope)
            events.append((replace(stopped, outcome="cancelled"), hook_event.part))
        if not result.id or (
            result.ended not in (FAILED, CANCELLED)
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
            step=result.step,
            outcome=outcome_of(result),
            output=result.output if result.ended in (FAILED, CANCELLED) else "",
        )
        calls = parse_call(event, result.arguments, cwd=cwd)
        events += [(e, hook_event.part) for e in calls]
    return prepared(events)


def outcome_of(result: Entry) -> str:
    """Return the outcome that an agent's record tells."""
    if result.ended == CANCELLED:
        return "cancelled"
    return kind_of_failure(result.output) if result.ended == FAILED else "ok"


def find_missed(journal: Journal, hook_event: HookEvent, scope: str) -> tuple[Missed, list[Seen]]:
    """Read what the agent's record has gained since, and prepare its events for the journal."""
    missed = read_missed(journal, hook_event)
    if not missed.results:
        return missed, []
    return missed, missed_events(missed.results, hook_event, scope)


def journal_missed(
    journal: Journal,
    found: tuple[Missed, list[Seen]],
    hook_event: HookEvent,
    scope: str,
    state: TurnState,
) -> None:
    """Journal what ``find_missed`` found, within ``turn_state``."""
    missed, events = found
    missed.note(state)
    if events:
        see(journal, events, hook_event, scope, state)
