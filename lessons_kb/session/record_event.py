"""Journal what happened in a session and let the guards see it, what no hook told included."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lessons_kb.guards.session_guards import Watch
from lessons_kb.guards.tool_calls import kind_of_failure, parse_call
from lessons_kb.model import Event, Signal
from lessons_kb.session.state import HookEvent, TurnState, event_of, now, read_state
from lessons_kb.store.files import read_tail
from lessons_kb.store.journal import Journal, prepare, prepare_record
from lessons_kb.transcripts.codex import read_number, read_origin
from lessons_kb.transcripts.entries import CALL, CANCELLED, FAILED, INTERRUPT, OK, UNKNOWN, Entry
from lessons_kb.transcripts.gemini_cli import read_message
from lessons_kb.transcripts.reader import read_answer
from lessons_kb.transcripts.reader import read_tail as read_entries

RECORDED = ("claude-code", "codex")
"""Agents whose record tells of calls that fire no hook."""
_NAMING = "codex"
"""The agent whose record names the session that one is a copy of."""
_WRITTEN_FIRST = "gemini-cli"
"""The agent whose record holds a message before the calls that it makes begin."""
_ANSWERING = "copilot-cli"
"""The agent whose record alone tells what was answered."""
MAX_TAIL_BYTES = 1_000_000
LOOK_BACK_BYTES = 65_536
"""Read before the offset where a result's call was not found behind it."""
_WAIT_SECONDS = 0.08
_POLL_SECONDS = 0.008
_ANSWER_SECONDS = 0.4
"""Copilot CLI 1.0.102 writes its record up to 0.1 s behind, while the hook runs."""
_ANSWER_POLL_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """What an agent's record has gained since the last hook."""

    results: tuple[Entry, ...] = ()
    """Calls that ended, and interrupts by the user."""
    transcript: str = ""
    offset: int = 0
    """Where the next reading begins."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """Call → what the calls of one message have in common, the latest last."""

    def note(self, state: TurnState) -> None:
        """Let the next hook begin where this reading ended.

        A hook that read less at the same time may set it back: what is read twice is journalled
        once.
        """
        if self.transcript:
            state.transcript, state.offset = self.transcript, self.offset
            state.steps |= self.steps


def read_missed(journal: Journal, hook_event: HookEvent) -> Missed:
    """Return the results that the agent's record has gained since the last hook.

    Where this call's outcome stands only in the record, wait a moment for it to be written.
    """
    agent = hook_event.agent
    if agent not in RECORDED or not hook_event.transcript:
        return Missed()
    state = read_state(journal, hook_event.context)
    offset = state.offset
    if state.transcript != hook_event.transcript:
        end = skip_record(hook_event).offset
        offset = end if hook_event.what in ("start", "prompt") else max(end - LOOK_BACK_BYTES, 0)
    results, offset, steps = _gained(agent, hook_event.transcript, offset)
    if hook_event.what == "after" and hook_event.outcome == "unknown":
        until = time.monotonic() + _WAIT_SECONDS
        while hook_event.id not in {r.id for r in results} and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
            more, offset, later = _gained(agent, hook_event.transcript, offset)
            results += more
            steps |= later
    return Missed(
        results=tuple(results),
        transcript=hook_event.transcript,
        offset=offset,
        steps={**state.steps, **steps},
    )


def skip_record(hook_event: HookEvent) -> Missed:
    """Return nothing of what the agent's record holds by now."""
    end = read_tail(hook_event.transcript, None, limit=0)[1] if hook_event.transcript else 0
    return Missed(transcript=hook_event.transcript, offset=end)


def find_answer(journal: Journal, hook_event: HookEvent) -> str:
    """Return the answer that ended the turn, "" where no record tells it.

    Wait for it: the record is written a moment behind.
    """
    if hook_event.agent != _ANSWERING or not hook_event.transcript:
        return ""

    asked = journal.events.find(session=hook_event.session, kinds=("prompt",), limit=1)
    since = asked[0].at if asked else 0.0
    until = time.monotonic() + _ANSWER_SECONDS
    while True:
        data, _start = read_tail(hook_event.transcript, 0, limit=MAX_TAIL_BYTES)
        answer = read_answer(_ANSWERING, data)
        if answer is not None and answer.at >= since:  # else that of the turn before
            return answer.text
        if time.monotonic() > until:
            return ""
        time.sleep(_ANSWER_POLL_SECONDS)


def find_message(hook_event: HookEvent) -> str:
    """Return the id of the message that the model wrote last, "" where no record tells it."""
    if hook_event.agent != _WRITTEN_FIRST or not hook_event.transcript:
        return ""

    return read_message(read_tail(hook_event.transcript, 0, limit=LOOK_BACK_BYTES)[0])


def find_origin(journal: Journal, hook_event: HookEvent) -> str:
    """Return the session that this one is a whole copy of, "" where no record says so.

    A copy of a part may lack a lesson, and one that comes twice is better than one that is lost.
    """
    if hook_event.agent != _NAMING or not hook_event.transcript:
        return ""

    data, start = read_tail(hook_event.transcript, 0, limit=MAX_TAIL_BYTES)
    origin, end = ("", 0) if start else read_origin(data.partition(b"\n")[0])
    if not origin:
        return ""
    copied, _start = read_tail(read_state(journal, origin).transcript, 0, limit=LOOK_BACK_BYTES)
    last = read_number(copied.rstrip().rpartition(b"\n")[2])
    return origin if last is not None and last < end else ""


def _gained(agent: str, transcript: str, offset: int) -> tuple[list[Entry], int, dict[str, str]]:
    """Return the results behind an offset, the next one, and the steps of calls."""
    data, start = read_tail(transcript, offset, limit=MAX_TAIL_BYTES)
    if not data:
        return [], start, {}
    found, used, steps = _read_results(agent, data)
    if any(result.kind == CALL and not result.tool for result in found):
        before = max(start - LOOK_BACK_BYTES, 0)
        more, begun = read_tail(transcript, before, limit=start - before + len(data))
        wanted = {result.id for result in found}
        if more and begun == before:
            found = [result for result in _read_results(agent, more)[0] if result.id in wanted]
    # A line longer than what is read at once would never end: pass over it.
    return found, start + (used or (len(data) if len(data) >= MAX_TAIL_BYTES else 0)), steps


def _read_results(agent: str, data: bytes) -> tuple[list[Entry], int, dict[str, str]]:
    """Return calls that are known to have ended, and interrupts, with the bytes of whole lines."""
    entries, used, steps = read_entries(agent, data)
    known = [e for e in entries if e.kind in (CALL, INTERRUPT) and e.ended != UNKNOWN]
    return [e for e in known if e.kind == CALL or e.ended == OK], used, dict(steps)


SEEN_BY_HOOKS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("Read", "Edit", "Write", "NotebookEdit", "Bash", "PowerShell"),
    "codex": ("apply_patch",),
}
"""Tools whose successes come through a hook with more than the record tells."""


INTERRUPTION = "interrupt"


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
        if not event.tool and doubled and event.kind != INTERRUPTION:
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
        if result.id and result.kind == INTERRUPT:
            told = replace(hook_event, id=result.id, text="", at=result.at or hook_event.at)
            stopped = event_of(told, INTERRUPTION, scope)
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
