"""Store an answer that was too late for its own event, and add it to the next answer."""

from __future__ import annotations

from lessons_kb.hook_client import ENDED_REFUSED, ENDED_UNCHECKED
from lessons_kb.hook_gates import LATE_LINE, NOT_CHECKED
from lessons_kb.ledger.session_memory import LATE, SessionMemory, WaitingText
from lessons_kb.model import NO_GATE
from lessons_kb.session.event_types import Answer
from lessons_kb.session.state import Hook
from lessons_kb.store.gate_refusals import Refusals
from lessons_kb.text.sanitize import defang_line
from lessons_kb.values import frozen, replace


@frozen
class Unheard:
    """A report that an answer did not arrive."""

    how: str
    """How the client ended the event instead, as one of the words of ``hook_client``."""
    lines: tuple[str, ...]
    """The lines of the answer for the user."""


def keep_late(hook: Hook, answer: Answer, unheard: Unheard) -> None:
    """Store an answer that did not arrive for the next event of its session.

    If the answer was to refuse the call or to ask about it, the call has been made meanwhile,
    unless the second stage refused it. The user then gets a line that the gate was not checked, and
    the card may refuse the next call. Texts of earlier events in the answer wait again.
    """
    if not hook.brains.members:
        return
    was_held = bool(answer.refusal or answer.question)
    refused = unheard.how == ENDED_REFUSED.decode()
    lines = unheard.lines
    context = answer.context
    if was_held:
        lessons = _without_gates(hook, answer) if refused else _text_of(answer)
        context = "\n\n".join(filter(None, (lessons, *hook.beside)))
        lines = ()
    with hook.transaction() as state:
        if was_held:
            state.waiting = [*hook.carried, *state.waiting]
        if was_held and not refused:
            _release(hook, state)
            if unheard.how != ENDED_UNCHECKED.decode():
                lines = (_tell_unchecked(answer),)
        if context:
            state.waiting.append(WaitingText(LATE, context))
        if (context or lines) and not state.late_told:
            state.late_lines.append(LATE_LINE)
            state.late_told = True
        state.late_lines += [line for line in lines if line not in state.late_lines]


def add_late(hook: Hook, answer: Answer) -> Answer:
    """Add the late answers of earlier events to an answer, each once.

    The model gets a text only with an event that can carry it, and never with a refusal.
    """
    if not hook.brains.members or hook.event.what == "end":
        return answer
    texts = [waiting.text for waiting in hook.state.waiting if waiting.about == LATE]
    if not hook.can.inject or answer.refusal or answer.stop_line:
        texts = []
    if not texts and not (hook.state.late_lines and hook.can.lines):
        return answer
    context = answer.context
    with hook.transaction() as state:
        still_waiting: list[WaitingText] = []
        for waiting in state.waiting:
            joined = "\n\n".join(filter(None, (context, waiting.text)))
            fits = hook.can.fits(joined)
            if waiting.about == LATE and waiting.text in texts and fits:
                context = joined
            else:
                still_waiting.append(waiting)
        state.waiting = still_waiting
        lines = tuple(state.late_lines) if hook.can.lines else ()
        if lines:
            state.late_lines = []
    return replace(answer, context=context, lines=(*answer.lines, *lines))


def _release(hook: Hook, state: SessionMemory) -> None:
    """Forget that a call was refused or that the user was asked, because the answer was lost."""
    call = hook.event.id
    refusals = Refusals(context=hook.event.context_id, token=hook.event.token)
    for refused in hook.refused:
        refusals.release(refused.root, refused.card, refused.file)
    state.refused = [refusal for refusal in state.refused if refusal.call != call]
    state.asked = [question for question in state.asked if question.call != call]
    state.question_texts = [text for text in state.question_texts if text.call != call]


def _tell_unchecked(answer: Answer) -> str:
    cards = [hit.card for hit in answer.block.lessons] if answer.block is not None else []
    titles = [defang_line(card.title) for card in cards if card.gate != NO_GATE]
    named = "; ".join(f"“{title}”" for title in titles)
    return NOT_CHECKED.format(named or (answer.refusal or answer.question)[:200])


def _text_of(answer: Answer) -> str:
    """Return the text of the lessons in an answer that was to refuse a call or to ask about it."""
    return answer.block.text if answer.block is not None else ""


def _without_gates(hook: Hook, answer: Answer) -> str:
    """Return the text of the lessons in a refusal that the second stage did not include."""
    hits = answer.block.lessons if answer.block is not None else ()
    others = [hit for hit in hits if hit.card.gate == NO_GATE]
    if not others:
        return ""
    return hook.can.pack_known(others, hook.brains.members[0].settings.preflight).text
