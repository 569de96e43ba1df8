"""After a tool call: the guards see it; a mistake that went in, or an error, brings its lesson."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.calls.failure_signs import error_excerpt
from lessons_kb.calls.parse_call import parse_call
from lessons_kb.find.detection import Detected, find_detected, find_in_files
from lessons_kb.ledger.session_memory import BLOCK, GUARD, MATCH, SessionMemory, StopOrder
from lessons_kb.model import ACT_TOLD, DONE, Event
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.opened_cards import note_opened
from lessons_kb.session.record_event import Missed, as_seen, journal_events, outcome_of, read_missed
from lessons_kb.session.state import Hook
from lessons_kb.session.turn_lessons import (
    Found,
    find_for_error,
    find_opened,
    give,
    is_kept_back,
    read_limits,
    tell_after,
)
from lessons_kb.values import replace

_TOLD_LINE = "Repeated errors persisted — asked the agent to stop and report."


def answer(hook: Hook) -> Answer:
    """Journal a call; return what the guards say of it and the lessons that it brings.

    The turn is not ended here, or the model would never read the guidance: the call that it makes
    in spite of it ends it.
    """
    brains, event = hook.open_brains(), hook.event
    if hook.state.is_refused(event.id):
        return NOTHING  # it was never made
    missed = read_missed(hook)
    ended = _read_ended(hook, missed)
    is_done = ended.outcome in DONE
    hook.occasion = "command" if is_done else "error"
    arguments = event.arguments if isinstance(event.arguments, (dict, str)) else {}
    calls = parse_call(ended, arguments, cwd=event.cwd)
    wrote = _find_written(hook, calls)
    events = [*missed.events, *as_seen((_with_lines(c, wrote) for c in calls), event.part)]
    late = _find_late(hook, ended)
    opened = find_opened(hook, [*(one for one, *_ in missed.events), *calls])
    limits = read_limits(brains) if late else None  # bad settings cost no event
    block = None
    with hook.transaction() as state:
        missed.note(state)
        signals = journal_events(hook, state, events)
        loud = [signal for signal in signals if signal.level == "escalate"]
        if is_done:
            state.stopping = None
        elif loud:  # failures went on: the next call ends the turn
            state.stopping = StopOrder(ended.step, loud[-1].user_line)
        note_opened(state, event.context_id, opened, at=hook.now)
        made = _take_made(hook, state, wrote, done=is_done)
        texts = [(GUARD, signal.message) for signal in signals]
        texts += [(MATCH, text) for text in made]
        if limits and (new := state.note_late(event.id, late)):
            block, given = give(hook, limits, new)
            state.note_given(given)
            state.late += len(given)
            texts.append((BLOCK, block.text))
        context = state.deliver(texts, hook.can)
        named = tuple(state.named) if hook.can.lines else ()
        state.named = [] if named else state.named
    lines = tuple(
        _TOLD_LINE if signal in loud else signal.user_line for signal in signals if signal.user_line
    )
    return Answer(context=context, lines=lines, block=block, named=named)


def _read_ended(hook: Hook, missed: Missed) -> Event:
    """Return the call as an event; how it ended may stand in the agent's record alone."""
    event, mine = hook.event, missed.mine
    outcome, output = event.outcome, event.output
    if mine is not None and outcome == "unknown":
        outcome, output = outcome_of(mine), output or mine.output
    return hook.as_event(
        "tool",
        tool=event.tool,
        step=event.step or missed.steps.get(event.id, ""),
        outcome=outcome,
        output=output,
        record={"before": event.before} if event.before else {},
    )


def _find_written(hook: Hook, calls: Sequence[Event]) -> list[Detected]:
    """Return the mistakes that stand in the files of a command, and did not before it ran."""
    written = [path for one in calls if one.kind == "edit" and not one.tool for path in one.targets]
    before = {one.mark for one in hook.state.stood_before if one.call == hook.event.call}
    if not (written and before):
        return []
    found = find_in_files(hook.brains, written, hook.scope, without=before)
    return [one for one in found if not is_kept_back(hook, one.brain, one.card)]


def _with_lines(event: Event, wrote: Sequence[Detected]) -> Event:
    """Return an edit by a command with the lines that were found in its files."""
    lines = [m.text for one in wrote for m in one.matches if m.path in event.targets]
    return replace(event, output="\n".join(lines)) if lines and not event.tool else event


def _find_late(hook: Hook, ended: Event) -> list[Found]:
    if ended.outcome != "exec_error" or not ended.output:
        return []
    detected = find_detected(hook.brains, (), failures=[ended.output])
    found = [(one.brain, one.card) for one in detected[:1]]
    if not (found and hook.brains.members[0].settings.hooks.during_turn):
        found = find_for_error(hook, error_excerpt(ended.output))
    return [one for one in found if not is_kept_back(hook, *one)]


def _take_made(
    hook: Hook, state: SessionMemory, wrote: Sequence[Detected], *, done: bool
) -> list[str]:
    """Return what is told of mistakes found before the call or in the files that it wrote."""
    call = hook.event.call
    state.stood_before = [one for one in state.stood_before if one.call != call]
    known = {expected.card for expected in state.matched if expected.call == call}
    for one in wrote:
        if one.card.id not in known:
            text = tell_after(one, hook.event.directory)
            state.expect(call, one.brain.alias, one.card.id, text)
            due = {"session": hook.event.context_id, "card": one.card.id, "at": hook.now}
            one.brain.hook_journal.ledger.note(**due, occasion=hook.occasion, told=ACT_TOLD)
    return state.take_matched(call, made=done)
