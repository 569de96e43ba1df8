"""Handle the end of a tool call: run the guards, and give lessons for a mistake or an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lessons_kb.calls.parse_call import parse_call
from lessons_kb.ledger.session_memory import BLOCK, GUARD, MATCH, SessionMemory, StopOrder
from lessons_kb.model import ACT_TOLD, DONE, Event
from lessons_kb.on_demand import (
    AGENT_RECORD,
    DETECTION,
    FAILURE_SIGNS,
    OPENED_CARDS,
    TURN_LESSONS,
    load,
)
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import Missed, as_seen, journal_events, read_missed
from lessons_kb.session.state import Hook, note_if_withheld
from lessons_kb.store.journal import AT_CALL
from lessons_kb.values import replace

if TYPE_CHECKING:
    from lessons_kb.find.detection import Detected
    from lessons_kb.ledger.given import CardInBrain
    from lessons_kb.session.turn_lessons import LessonLimits

_STOP_LINE = "Repeated errors persisted — asked the agent to stop and report."


def answer(hook: Hook) -> Answer:
    """Journal a call. Return the signals of the guards and the lessons for the call.

    If the guards stop the turn, the next call ends it. If the turn ended here, the model could not
    read their guidance.
    """
    brains = hook.open_brains()
    event = hook.event
    if hook.state.is_refused(event.id):
        return NOTHING  # the call was refused and therefore not made
    missed = read_missed(hook)
    ended = _read_ended(hook, missed)
    is_done = ended.outcome in DONE
    hook.occasion = "command" if is_done else "error"
    arguments = event.arguments if isinstance(event.arguments, (dict, str)) else {}
    calls = parse_call(ended, arguments, cwd=event.cwd)
    wrote = _find_written(hook, calls)
    calls_with_lines = [_with_lines(call, wrote) for call in calls]
    events = [*missed.events, *as_seen(calls_with_lines, event.part)]
    for_error = _find_lessons_for_error(hook, ended) if event.gives_at(AT_CALL) else []
    missed_calls = [missed_event for missed_event, *_ in missed.events]
    opened = _find_opened(hook, [*missed_calls, *calls])
    limits: LessonLimits | None = None
    if for_error:  # read here, because invalid settings must not lose the event
        limits = load(TURN_LESSONS).read_limits(brains)
    block = None
    with hook.transaction() as state:
        missed.note(state)
        signals = journal_events(hook, state, events)
        if event.moment:
            signals = []  # the arms differ in the moment of the lesson alone
        escalations = [signal for signal in signals if signal.level == "escalate"]
        if is_done:
            state.stopping = None
        elif escalations:  # the failures continue, so the next call ends the turn
            state.stopping = StopOrder(ended.step, escalations[-1].user_line)
        if opened:
            load(OPENED_CARDS).note_opened(state, event.context_id, opened, at=hook.now)
        texts = [(GUARD, signal.message) for signal in signals]
        texts += [(MATCH, text) for text in _describe_mistakes(hook, state, wrote, done=is_done)]
        new = state.note_in_turn(event.id, for_error) if limits else []
        if limits and new:
            block, given = load(TURN_LESSONS).give(hook, limits, new)
            state.note_given(given)
            state.given_in_turn += len(given)
            texts.append((BLOCK, block.text))
        context = state.deliver(texts, hook.can)
        named = tuple(state.named) if hook.can.lines else ()
        state.named = [] if named else state.named
    shown = [signal for signal in signals if signal.user_line]
    lines = [_STOP_LINE if signal in escalations else signal.user_line for signal in shown]
    return Answer(context=context, lines=tuple(lines), block=block, named=named)


def _read_ended(hook: Hook, missed: Missed) -> Event:
    """Return the call as an event, with its outcome from the hook or from the agent's record."""
    event, entry = hook.event, missed.mine
    outcome, output = event.outcome, event.output
    if entry is not None and outcome == "unknown":
        outcome = load(AGENT_RECORD).outcome_of(entry)
        output = output or entry.output
    return hook.as_event(
        "tool",
        tool=event.tool,
        step=event.step or missed.steps.get(event.id, ""),
        outcome=outcome,
        output=output,
        record={"before": event.before} if event.before else {},
    )


def _find_opened(hook: Hook, calls: Sequence[Event]) -> list[CardInBrain]:
    """Return the cards that some calls have opened."""
    if not any(call.kind == "read" or "lessons show" in call.text for call in calls):
        return []
    opened: list[CardInBrain] = load(OPENED_CARDS).find_opened(hook, calls)
    return opened


def _find_written(hook: Hook, calls: Sequence[Event]) -> list[Detected]:
    """Return the mistakes in the files of a command that did not exist before the command ran."""
    edits = [call for call in calls if call.kind == "edit" and not call.tool]
    written = [path for edit in edits for path in edit.targets]
    before = {
        mistake.mark for mistake in hook.state.stood_before if mistake.call == hook.event.call
    }
    if not (written and before):
        return []
    mistakes: Sequence[Detected] = load(DETECTION).find_in_files(
        hook.brains, written, hook.scope, without=before
    )
    if mistakes:
        load(TURN_LESSONS)  # here, because a transaction must not import the text about them
    return [
        mistake for mistake in mistakes if not note_if_withheld(hook, mistake.brain, mistake.card)
    ]


def _with_lines(event: Event, wrote: Sequence[Detected]) -> Event:
    """Return the edit of a command. Its output is the lines of the mistakes in the command's
    files.
    """
    matches = [match for mistake in wrote for match in mistake.matches]
    lines = [match.text for match in matches if match.path in event.targets]
    return replace(event, output="\n".join(lines)) if lines and not event.tool else event


def _find_lessons_for_error(hook: Hook, ended: Event) -> list[CardInBrain]:
    if ended.outcome != "exec_error" or not ended.output:
        return []
    detected = load(DETECTION).find_detected(hook.brains, (), failures=[ended.output])
    lessons = [(mistake.brain, mistake.card) for mistake in detected[:1]]
    if not (lessons and hook.brains.members[0].settings.hooks.during_turn):
        error = load(FAILURE_SIGNS).error_excerpt(ended.output)
        lessons = load(TURN_LESSONS).find_for_error(hook, error)
    return [(brain, card) for brain, card in lessons if not note_if_withheld(hook, brain, card)]


def _describe_mistakes(
    hook: Hook, state: SessionMemory, wrote: Sequence[Detected], *, done: bool
) -> list[str]:
    """Return the texts about mistakes found before the call, or in the files that the call
    wrote.
    """
    call = hook.event.call
    state.stood_before = [mistake for mistake in state.stood_before if mistake.call != call]
    expected_cards = {expected.card for expected in state.matched if expected.call == call}
    for mistake in wrote:
        brain, card = mistake.brain, mistake.card
        if card.id not in expected_cards:
            text = load(TURN_LESSONS).tell_after(mistake, hook.event.directory)
            state.expect(call, brain.alias, card.id, text)
            due = {"session": hook.event.context_id, "card": card.id, "at": hook.now}
            brain.hook_journal.ledger.note(**due, occasion=hook.occasion, told=ACT_TOLD)
    return state.take_matched(call, made=done)
