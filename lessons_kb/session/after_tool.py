"""After a tool call: the guards see it; a mistake that went in, or an error, brings its lesson."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lessons_kb.brain.detection import Detected, find_in_files
from lessons_kb.brain.layer import Layer
from lessons_kb.guards.tool_calls import parse_call
from lessons_kb.learn.lesson_effect import RECURRED
from lessons_kb.learn.signs import error_excerpt
from lessons_kb.model import DONE, FAILURES, Card, Event, Signal
from lessons_kb.session.record_event import missed_events, outcome_of, prepared, read_missed, see
from lessons_kb.session.state import (
    BLOCK,
    GUARD,
    MATCH,
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    TurnState,
    now,
    read_state,
    turn_state,
)
from lessons_kb.session.turn_lessons import (
    find_step,
    find_sure,
    give,
    name_call,
    note_ended,
    tell_after,
)

_TOLD_LINE = "Repeated errors persisted — asked the agent to stop and report."


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Journal a call and return what the guards say about it."""
    journal = open_session.journal
    scope = open_session.scope
    missed = read_missed(journal, hook_event)
    mine = next((r for r in missed.results if r.id and r.id == hook_event.id), None)
    earlier = [r for r in missed.results if r is not mine]
    events = missed_events(earlier, hook_event, scope)
    step = hook_event.step or missed.steps.get(hook_event.id, "")
    if not step and hook_event.outcome in FAILURES:
        step = find_step(journal, hook_event)
    event = Event(
        kind="tool",
        at=now(hook_event),
        session=hook_event.session,
        id=hook_event.id,
        agent=hook_event.agent,
        scope=scope,
        tool=hook_event.tool,
        step=step,
        outcome=hook_event.outcome,
        output=hook_event.output,
        record={"before": hook_event.before} if hook_event.before else {},
    )
    if mine is not None and hook_event.outcome == "unknown":
        event = replace(event, outcome=outcome_of(mine), output=hook_event.output or mine.output)
    arguments = hook_event.arguments if isinstance(hook_event.arguments, (dict, str)) else {}
    calls = parse_call(event, arguments, cwd=hook_event.cwd)
    wrote: list[Detected] = []
    if written := [path for e in calls if e.kind == "edit" and not e.tool for path in e.targets]:
        wrote = _find_written(open_session, hook_event, written)
        calls = tuple(_with_lines(e, wrote) for e in calls)
    events += prepared((e, hook_event.part) for e in calls)
    late = _find_late(open_session, hook_event, event)
    with turn_state(journal, hook_event.context) as state:
        missed.note(state)
        note_ended(state, hook_event)
        signals = see(journal, events, hook_event, scope, state)
        made: list[list[str]] = []
        state.holding = [pair for pair in state.holding if pair[0] != name_call(hook_event)]
        known = {(call, card) for call, _brain, card, _text in state.matched}
        for one in wrote:
            if (name_call(hook_event), one.card.id) not in known:
                text = tell_after(one, open_session.directory)
                state.expect(name_call(hook_event), one.layer.alias, one.card.id, text)
        if state.matched:
            made = state.take_matched(name_call(hook_event), made=event.outcome in DONE)
        texts = [text for _call, _brain, _card, text in made if text]
        late = state.note_late(hook_event.id, late)
        loud = [signal for signal in signals if signal.level == "escalate"]
        if event.outcome in DONE:
            state.stopping = []
        elif loud and not hook_event.part:
            state.stopping = [event.step, loud[-1].user_line]
        said = answer_signals(signals, state, capabilities, texts)
        named = state.take_named(capabilities)
    _note_recurrences(open_session, hook_event, made)
    if named:
        said = _with_footer(replace(said, named=named), open_session)
    return _add_lessons(said, open_session, hook_event, capabilities, late) if late else said


def _find_written(
    open_session: OpenSession, hook_event: HookEvent, written: Sequence[str]
) -> list[Detected]:
    """Return the mistakes that stand in the files of a command, and did not before it ran."""
    holding = read_state(open_session.journal, hook_event.context).holding
    held = {mark for call, mark in holding if call == name_call(hook_event)}
    if not held:
        return []

    return find_in_files(open_session.brain, written, open_session.scope, without=held)


def _with_lines(event: Event, wrote: Iterable[Detected]) -> Event:
    """Return an edit by a command with the lines that were found in its files."""
    lines = [m.text for one in wrote for m in one.matches if m.path in event.targets]
    return replace(event, output="\n".join(lines)) if lines and not event.tool else event


def _find_late(
    open_session: OpenSession, hook_event: HookEvent, event: Event
) -> list[tuple[Layer, Card]]:
    if event.outcome != "exec_error" or not event.output:
        return []

    state = read_state(open_session.journal, hook_event.context)
    return find_sure(open_session.brain, error_excerpt(event.output), state)


def _add_lessons(
    said: Answer,
    open_session: OpenSession,
    hook_event: HookEvent,
    capabilities: Capabilities,
    late: list[tuple[Layer, Card]],
) -> Answer:
    """Put lessons behind what the guards say, unless the session has them in its context."""
    block, given = give(open_session.brain, hook_event, capabilities, late)
    if not block.text:
        return said
    with turn_state(open_session.journal, hook_event.context) as state:
        known = {tuple(pair) for pair in state.cards}
        state.cards += [pair for pair in given if tuple(pair) not in known]
        context = state.deliver([(BLOCK, block.text)], capabilities)
    context = "\n\n".join(text for text in (said.context, context) if text)
    return _with_footer(replace(said, context=context, block=block), open_session)


def _with_footer(said: Answer, open_session: OpenSession) -> Answer:
    """Let an answer name its lessons as the nearest brain wants it."""
    settings = open_session.brain.layers[0].settings
    return replace(said, language=settings.language, footer=settings.hooks.footer)


def _note_recurrences(
    open_session: OpenSession, hook_event: HookEvent, made: Sequence[Sequence[str]]
) -> None:
    """Count what was found in a change that went in: it is known, not guessed."""
    if not made:
        return

    for layer in open_session.brain.layers:
        for _call, alias, card, _text in made:
            if alias == layer.alias:
                outcomes = layer.session_journal.outcomes
                outcomes.note(hook_event.session, card, RECURRED, at=now(hook_event))


def answer_signals(
    signals: Sequence[Signal],
    state: TurnState,
    capabilities: Capabilities,
    matches: Sequence[str] = (),
) -> Answer:
    """Put what was seen into an answer: guidance, and lines for the user.

    ``matches`` is what to say about mistakes that the call has made. The turn is not ended here,
    or the model would never read the guidance: the call that it makes in spite of it ends it.
    """
    texts = [(GUARD, signal.message) for signal in signals]
    texts += [(MATCH, text) for text in matches]
    context = state.deliver(texts, capabilities)
    lines = tuple(
        _TOLD_LINE if signal.level == "escalate" else signal.user_line
        for signal in signals
        if signal.user_line
    )
    return Answer(context=context, lines=lines) if context or lines else NOTHING
