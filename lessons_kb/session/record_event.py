"""Journal what happened in a session and let the guards see it, what no hook told included."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence

from lessons_kb.calls.parse_call import kind_of_failure, parse_call
from lessons_kb.guards.session_guards import Watch
from lessons_kb.ledger.session_memory import SessionMemory
from lessons_kb.model import Event, Signal
from lessons_kb.session.event_types import HookEvent
from lessons_kb.session.state import Hook
from lessons_kb.store.files import read_tail
from lessons_kb.store.journal import redact_event, redact_record
from lessons_kb.transcripts.session_records import (
    CALL,
    CANCELLED,
    FAILED,
    INTERRUPT,
    OK,
    UNKNOWN,
    Entry,
    read_answer,
)
from lessons_kb.transcripts.session_records import read_tail as read_entries
from lessons_kb.values import field, frozen, replace

MAX_TAIL_BYTES = 1_000_000
LOOK_BACK_BYTES = 65_536
"""Read before the offset where a result's call was not found behind it."""
_WAIT_SECONDS = 0.08
_POLL_SECONDS = 0.008
_ANSWER_SECONDS = 0.4
"""Copilot CLI 1.0.102 writes its record up to 0.1 s behind, while the hook runs."""
_ANSWER_POLL_SECONDS = 0.02
INTERRUPTION = "interrupt"


Seen = tuple[Event, Event, str]
"""An event, the same as it is written, and the part of the session that it happened in."""


@frozen
class Missed:
    """What an agent's record has gained since the last hook."""

    mine: Entry | None = None
    """What it tells of the call that ended just now."""
    events: Sequence[Seen] = ()
    """Other calls that ended, and interrupts by the user."""
    transcript: str = ""
    offset: int = 0
    """Where the next reading begins."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """Call → what the calls of one message have in common, the latest last."""

    def note(self, state: SessionMemory) -> None:
        """Let the next hook begin where this reading ended.

        A hook that read less at the same time may set it back: what is read twice is journalled
        once.
        """
        if self.transcript:
            state.transcript, state.offset = self.transcript, self.offset
            state.steps |= self.steps


def read_missed(hook: Hook) -> Missed:
    """Return what the agent's record has gained since the last hook.

    Where this call's outcome stands only in the record, wait a moment for it to be written.
    """
    event = hook.event
    if not hook.can.hooked_tools or not event.transcript:
        return Missed()
    offset = hook.state.offset
    if hook.state.transcript != event.transcript:
        end = skip_record(event).offset
        offset = end if event.what in ("start", "prompt") else max(end - LOOK_BACK_BYTES, 0)
    results, offset, steps = _read_results(event, offset)
    until = time.monotonic() + _WAIT_SECONDS
    while (
        event.what == "after"
        and event.outcome == "unknown"
        and event.id not in {one.id for one in results}
        and time.monotonic() < until
    ):
        time.sleep(_POLL_SECONDS)
        more, offset, later = _read_results(event, offset)
        results += more
        steps |= later
    mine = next((one for one in results if one.id and one.id == event.id), None)
    return Missed(
        mine=mine,
        events=_events_of(hook, [one for one in results if one is not mine]),
        transcript=event.transcript,
        offset=offset,
        steps={**hook.state.steps, **steps},
    )


def skip_record(event: HookEvent) -> Missed:
    """Return nothing of what the agent's record holds by now."""
    end = read_tail(event.transcript, None, limit=0)[1] if event.transcript else 0
    return Missed(transcript=event.transcript, offset=end)


def find_answer(hook: Hook) -> str:
    """Return the answer that ended the turn, from the one record that tells it.

    Wait for it: the record is written a moment behind.
    """
    event = hook.event
    if not event.answer_recorded or not event.transcript:
        return ""
    asked = hook.journal.events.find(session=event.session, kinds=("prompt",), limit=1)
    since = asked[0].at if asked else 0.0
    until = time.monotonic() + _ANSWER_SECONDS
    while True:
        data, _start = read_tail(event.transcript, 0, limit=MAX_TAIL_BYTES)
        answer = read_answer(event.agent, data, event.session)
        if answer is not None and answer.at >= since:  # else that of the turn before
            return answer.text
        if time.monotonic() > until:
            return ""
        time.sleep(_ANSWER_POLL_SECONDS)


def _read_results(event: HookEvent, offset: int) -> tuple[list[Entry], int, dict[str, str]]:
    """Return the results behind an offset, the next one, and the steps of calls."""
    data, start = read_tail(event.transcript, offset, limit=MAX_TAIL_BYTES)
    found, used, steps = _ended(event, data)
    if any(result.kind == CALL and not result.tool for result in found):
        before = max(start - LOOK_BACK_BYTES, 0)
        more, begun = read_tail(event.transcript, before, limit=start - before + len(data))
        wanted = {result.id for result in found}
        if more and begun == before:
            found = [result for result in _ended(event, more)[0] if result.id in wanted]
    # A line longer than what is read at once would never end: pass over it.
    return found, start + (used or (len(data) if len(data) >= MAX_TAIL_BYTES else 0)), steps


def _ended(event: HookEvent, data: bytes) -> tuple[list[Entry], int, dict[str, str]]:
    """Return calls that are known to have ended, and interrupts, with the bytes of whole lines."""
    if not data:
        return [], 0, {}
    entries, used, steps = read_entries(event.agent, data)
    known = [one for one in entries if one.kind in (CALL, INTERRUPT) and one.ended != UNKNOWN]
    return [one for one in known if one.kind == CALL or one.ended == OK], used, dict(steps)


def as_seen(events: Iterable[Event], part: str) -> list[Seen]:
    """Return each event with what will be written of it: this takes its time.

    The guards keep paths: they see them as the journal does.
    """
    rows = [(event, redact_event(event)) for event in events]
    return [(replace(event, targets=row.targets), row, part) for event, row in rows]


def journal_events(hook: Hook, state: SessionMemory, events: Sequence[Seen]) -> list[Signal]:
    """Journal events in order and return what the guards say about those that are new.

    Called within a transaction: no other hook sees or changes the guards meanwhile.
    """
    session, journal = hook.event.session, hook.journal
    watches: dict[str, Watch] = {}
    signals: list[Signal] = []
    changed: set[str] = set()
    doubled = False
    for event, row, part in events:
        # A call that was journalled already was seen with all that it touched.
        if not event.tool and doubled and event.kind != INTERRUPTION:
            continue
        if part not in watches:
            kept: object = None
            with contextlib.suppress(ValueError):
                kept = json.loads(journal.guard_state(session, part) or "null")
            watches[part] = Watch.from_state(kept, scope=hook.scope)
            if state.prompt_unseen and part == hook.event.part:
                watches[part].see(Event(kind="prompt"))
                changed.add(part)
                state.prompt_unseen = False
        before = watches[part].to_state()
        said = watches[part].see(event)
        written = state.settle_question(row)
        if said:
            signalled = redact_record({"signals": [signal.record for signal in said]})
            written = replace(written, record={**written.record, **signalled})
        doubled = not journal.events.write(written, within=hook.event.within)
        if doubled:
            watches[part] = Watch.from_state(before, scope=hook.scope)
            continue
        signals += said
        changed.add(part)
    for part in changed:
        journal.keep_guard_state(session, json.dumps(watches[part].to_state()), part)
    return signals


def _events_of(hook: Hook, results: Sequence[Entry]) -> list[Seen]:
    """Return the events of results: failures, and successes of tools that no hook is for."""
    event = hook.event
    cwd = event.cwd if hook.can.keeps_directory else event.directory
    events: list[Event] = []
    for result in results:
        if hook.state.is_refused(result.id):
            continue  # by us: it says nothing of the agent or the user
        failed = result.ended in (FAILED, CANCELLED)
        told = {"id": result.id, "at": result.at or hook.now}
        if result.id and result.kind == INTERRUPT:
            events.append(hook.as_event(INTERRUPTION, outcome="cancelled", **told))
        if result.id and (failed or (result.tool and result.tool not in hook.can.hooked_tools)):
            call = hook.as_event(
                "tool",
                **told,
                tool=result.tool or "?",
                step=result.step,
                outcome=outcome_of(result),
                output=result.output if failed else "",
            )
            events += parse_call(call, result.arguments, cwd=cwd)
    return as_seen(events, event.part)


def outcome_of(result: Entry) -> str:
    """Return the outcome that an agent's record tells."""
    if result.ended == CANCELLED:
        return "cancelled"
    return kind_of_failure(result.output) if result.ended == FAILED else "ok"
