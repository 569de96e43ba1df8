"""After a tool call: the guards see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lessons_kb.guards.tools import parse_call
from lessons_kb.model import Event, Signal
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.observe import missed_events, outcome_of, prepared, see
from lessons_kb.session.state import (
    GUARD,
    TurnState,
    now,
    turn_state,
)
from lessons_kb.session.transcript import read_missed


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
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
        event = replace(event, outcome=outcome_of(mine), output=hook_event.output or mine.output)
    arguments = hook_event.arguments if isinstance(hook_event.arguments, (dict, str)) else {}
    events += prepared(
        (e, hook_event.part) for e in parse_call(event, arguments, cwd=hook_event.cwd)
    )
    with turn_state(journal, hook_event.session) as state:
        missed.note(state)
        signals = see(journal, events, hook_event, scope, state)
        return answer_signals(signals, state, capabilities)


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
