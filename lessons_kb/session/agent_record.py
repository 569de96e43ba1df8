"""Read the agent's own record of the session: calls and interrupts without a hook, and answers."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.calls.parse_call import parse_call
from lessons_kb.model import Event
from lessons_kb.session.event_types import HookEvent
from lessons_kb.session.record_event import INTERRUPTION, Missed, Seen, as_seen, skip_record
from lessons_kb.session.state import Hook
from lessons_kb.store.files import read_tail
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

MAX_TAIL_BYTES = 1_000_000
LOOK_BACK_BYTES = 65_536
"""The number of bytes that are read before the offset if the call of a result is not after the
offset.
"""
_WAIT_SECONDS = 0.08
_POLL_SECONDS = 0.008
_ANSWER_SECONDS = 0.4
"""Seconds to wait for the answer. Copilot CLI 1.0.102 writes its record up to 0.1 s late, while the
hook runs.
"""
_ANSWER_POLL_SECONDS = 0.02


def read_new(hook: Hook) -> Missed:
    """Return the new entries of the record since the last hook.

    If only the record has the outcome of this call, wait a moment for its entry.
    """
    event = hook.event
    offset = hook.state.offset
    if hook.state.transcript != event.transcript:
        end = skip_record(event).offset
        offset = end if event.what in ("start", "prompt") else max(end - LOOK_BACK_BYTES, 0)
    results, offset, steps = _read_results(event, offset)
    until = time.monotonic() + _WAIT_SECONDS
    needs_outcome = event.what == "after" and event.outcome == "unknown"
    while needs_outcome and event.id not in {result.id for result in results}:
        if time.monotonic() >= until:
            break
        time.sleep(_POLL_SECONDS)
        more, offset, later = _read_results(event, offset)
        results += more
        steps |= later
    own = [result for result in results if result.id and result.id == event.id]
    mine = own[0] if own else None
    return Missed(
        mine=mine,
        events=_events_of(hook, [result for result in results if result is not mine]),
        transcript=event.transcript,
        offset=offset,
        steps={**hook.state.steps, **steps},
    )


def find_answer(hook: Hook) -> str:
    """Return the answer that ended the turn, for an agent that has it only in its record.

    The record is written a moment late, so wait for it. Return "" if there is no answer.
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
        if answer is not None and answer.at >= since:  # else it belongs to the previous turn
            return answer.text
        if time.monotonic() > until:
            return ""
        time.sleep(_ANSWER_POLL_SECONDS)


def _read_results(event: HookEvent, offset: int) -> tuple[list[Entry], int, dict[str, str]]:
    """Return the ended calls and interrupts after an offset, where to read next, and the steps.

    Of more than MAX_TAIL_BYTES after the offset only the last are read; the bytes before them are
    skipped for good. The steps map each call id to its step: calls of one message share one.
    """
    data, start = read_tail(event.transcript, offset, limit=MAX_TAIL_BYTES)
    results, used, steps = _find_ended(event, data)
    # A call without a tool began before these bytes, so its record is read from further back.
    if any(result.kind == CALL and not result.tool for result in results):
        earlier = max(start - LOOK_BACK_BYTES, 0)
        limit = start - earlier + len(data)
        longer, longer_start = read_tail(event.transcript, earlier, limit=limit)
        if longer and longer_start == earlier:  # else the file has changed meanwhile
            wanted = {result.id for result in results}
            all_results, _used, _steps = _find_ended(event, longer)
            results = [result for result in all_results if result.id in wanted]
    # A line that is longer than one read would never be complete, so it is skipped.
    if not used and len(data) >= MAX_TAIL_BYTES:
        used = len(data)
    return results, start + used, steps


def _find_ended(event: HookEvent, data: bytes) -> tuple[list[Entry], int, dict[str, str]]:
    """Return the ended calls and interrupts, the number of bytes in complete lines, and the steps.

    The steps map each call id to its step.
    """
    if not data:
        return [], 0, {}
    entries, used, steps = read_entries(event.agent, data)
    return list(filter(_has_ended, entries)), used, dict(steps)


def _has_ended(entry: Entry) -> bool:
    """Return whether an entry is an ended call or a completed interrupt."""
    if entry.kind == CALL:
        return entry.ended != UNKNOWN
    return entry.kind == INTERRUPT and entry.ended == OK


def _events_of(hook: Hook, results: Sequence[Entry]) -> list[Seen]:
    """Return the events of results: failures, and successes of tools without a hook."""
    event = hook.event
    cwd = event.cwd if hook.can.keeps_directory else event.directory
    events: list[Event] = []
    for result in results:
        if hook.state.is_refused(result.id):
            continue  # we refused it, so neither the agent nor the user failed
        has_failed = result.ended in (FAILED, CANCELLED)
        has_no_hook = result.tool and result.tool not in hook.can.hooked_tools
        identity = {"id": result.id, "at": result.at or hook.now}
        if result.id and result.kind == INTERRUPT:
            events.append(hook.as_event(INTERRUPTION, outcome="cancelled", **identity))
        if result.id and (has_failed or has_no_hook):
            call = hook.as_event(
                "tool",
                **identity,
                tool=result.tool or "?",
                step=result.step,
                outcome=outcome_of(result),
                output=result.output if has_failed else "",
            )
            events += parse_call(call, result.arguments, cwd=cwd)
    return as_seen(events, event.part)


def outcome_of(result: Entry) -> str:
    """Return the outcome of a call according to the agent's record."""
    if result.ended == CANCELLED:
        return "cancelled"
    return kind_of_failure(result.output) if result.ended == FAILED else "ok"
