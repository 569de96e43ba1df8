"""Journal the events of a session and run the guards, also for events without a hook."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lessons_kb.ledger.session_memory import SessionMemory
from lessons_kb.model import Event, Signal
from lessons_kb.on_demand import AGENT_RECORD, SESSION_GUARDS, load
from lessons_kb.session.event_types import HookEvent
from lessons_kb.session.state import Hook
from lessons_kb.store.files import read_tail
from lessons_kb.store.journal import redact_event, redact_record
from lessons_kb.values import field, frozen, replace

if TYPE_CHECKING:
    from lessons_kb.guards.session_guards import Watch
    from lessons_kb.transcripts.session_records import Entry

INTERRUPTION = "interrupt"


Seen = tuple[Event, Event, str]
"""An event, the event as it is journalled, and its part of the session (a subagent)."""


@frozen
class Missed:
    """The new entries of an agent's record since the last hook."""

    mine: Entry | None = None
    """The entry of the call that has just ended."""
    events: Sequence[Seen] = ()
    """Other calls that ended, and interrupts by the user."""
    transcript: str = ""
    offset: int = 0
    """Position at which the next read begins."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """Mapping from each call to the id of the message that made it, with the latest call last. See
    ``Event.step``.
    """

    def note(self, state: SessionMemory) -> None:
        """Let the next hook continue where this read ended.

        A parallel hook that read less may set the offset back. This is harmless, because an entry
        that is read twice is journalled once.
        """
        if self.transcript:
            state.transcript, state.offset = self.transcript, self.offset
            state.steps |= self.steps


def read_missed(hook: Hook) -> Missed:
    """Return the new entries of the agent's record since the last hook.

    If only the record has the outcome of this call, wait a moment for its entry.
    """
    event = hook.event
    if not hook.can.hooked_tools or not event.transcript:
        return Missed()
    missed: Missed = load(AGENT_RECORD).read_new(hook)
    return missed


def skip_record(event: HookEvent) -> Missed:
    """Return a result without entries whose offset is the present end of the agent's record."""
    end = read_tail(event.transcript, None, limit=0)[1] if event.transcript else 0
    return Missed(transcript=event.transcript, offset=end)


def as_seen(events: Iterable[Event], part: str) -> list[Seen]:
    """Return each event with its stored form. This takes time, so call it outside a transaction.

    The guards store paths, so they get the paths in the form that the journal stores.
    """
    rows = [(event, redact_event(event)) for event in events]
    if rows:
        load(SESSION_GUARDS)  # here, because a transaction must not import
    return [(replace(event, targets=row.targets), row, part) for event, row in rows]


def journal_events(hook: Hook, state: SessionMemory, events: Sequence[Seen]) -> list[Signal]:
    """Journal events in order and return the guards' signals about new ones.

    Call this within a transaction, so that no other hook reads or changes the guards meanwhile.
    """
    session, journal = hook.event.session, hook.journal
    watches: dict[str, Watch] = {}
    stored: dict[str, str] = {}
    """Mapping from each part of the session to the state of its watch as JSON."""
    signals: list[Signal] = []
    changed: set[str] = set()
    is_duplicate = False
    for event, row, part in events:
        # The guards have seen a journalled call together with the files that it touched.
        if not event.tool and is_duplicate and event.kind != INTERRUPTION:
            continue
        if part not in watches:
            stored[part] = journal.guard_state(session, part)
            watches[part] = _read_watch(stored[part], hook.scope)
            if state.prompt_unseen and part == hook.event.part:
                watches[part].see(Event(kind="prompt"))
                stored[part] = json.dumps(watches[part].to_state())
                changed.add(part)
                state.prompt_unseen = False
        new_signals = watches[part].see(event)
        written = state.settle_question(row)
        if new_signals:
            record = redact_record({"signals": [signal.record for signal in new_signals]})
            written = replace(written, record={**written.record, **record})
        is_duplicate = not journal.events.write(written, within=hook.event.within)
        if is_duplicate:
            watches[part] = _read_watch(stored[part], hook.scope)
            continue
        signals += new_signals
        stored[part] = json.dumps(watches[part].to_state())
        changed.add(part)
    for part in changed:
        journal.keep_guard_state(session, stored[part], part)
    return signals


def _read_watch(stored: str, scope: str) -> Watch:
    """Return the watch with a stored state, or a new watch if the state is not usable."""
    state: object = None
    with contextlib.suppress(ValueError):
        state = json.loads(stored or "null")
    watch: Watch = load(SESSION_GUARDS).Watch.from_state(state, scope=scope)
    return watch
