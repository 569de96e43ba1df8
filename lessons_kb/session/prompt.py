"""When a prompt arrives: the lessons for it, in front of the model."""

from __future__ import annotations

from lessons_kb.brain.bounded_refresh import freshen
from lessons_kb.brain.injected import OUTCOME, name_cards, outcome
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.preflight.block import shown_name
from lessons_kb.relevance.turn_evidence import NEAR
from lessons_kb.session import served_lessons
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent
from lessons_kb.session.open_session import OpenSession
from lessons_kb.session.record_event import find_missed, journal_missed
from lessons_kb.session.state import (
    BLOCK,
    OUTLIVE_A_PROMPT,
    counter_for,
    event_of,
    turn_state,
)
from lessons_kb.store.events import prepare
from lessons_kb.store.journal import Journal


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Return the lessons for a prompt; the second report of one prompt gets nothing."""
    brain, journal, scope = open_session.brain, open_session.journal, open_session.scope
    missed = find_missed(journal, hook_event, scope)
    prompt = prepare(event_of(hook_event, "prompt", scope))
    with turn_state(journal, hook_event.context) as state:
        journal_missed(journal, missed, hook_event, scope, state)
        # What a subagent is asked is no prompt of the user: nothing of the session begins anew.
        known = hook_event.part and state.begun
        unheard = known or not (
            hook_event.part or journal.events.write(prompt, within=hook_event.within)
        )
        if unheard and not hook_event.again:
            return NOTHING
        state.begun, turn = True, state.turn
        state.stopping = []
        if not hook_event.part:
            state.spawned = []  # of calls that the user declined
        waits = any(about == BLOCK for about, _text in state.waiting)
        undelivered = {card for _root, card in state.cards} if waits else set()
        state.after, state.cards = journal.events.last_number(), []
        state.waiting = [pair for pair in state.waiting if pair[0] in OUTLIVE_A_PROMPT]
    for layer in brain.layers if undelivered else ():  # what was never told may be given again
        layer.session_journal.forget_context(hook_event.context, undelivered)
    for layer in brain.layers if unheard and _is_answered(journal, hook_event, turn) else ():
        notes = layer.session_journal
        turn = notes.next_turn(hook_event.context, by=0)
        injected = {card for card, _ in notes.in_context(hook_event.context, since_turn=turn)}
        notes.forget_context(hook_event.context, injected)
    asking = served_lessons.ask(open_session, hook_event, prompt.text)
    try:
        brain, trouble = freshen(brain)
    except (StorageError, ConfigError) as error:
        return served_lessons.answer_alone(asking, journal, hook_event, capabilities, error)
    settings = brain.layers[0].settings
    if not capabilities.lasting:
        for layer in brain.layers:
            layer.session_journal.forget_context(hook_event.context)
    block = brain.preflight(
        hook_event.text,
        session=hook_event.context or None,
        budget=min(settings.preflight.budget, capabilities.tokens),
        context=settings.hooks.context,
        alone=False,
        max_chars=capabilities.max_bytes,
        counter=counter_for(capabilities),
        fresh=False,
        noted=True,
        served=asking.collect if asking is not None else None,
    )

    if not hook_event.part:
        journal.events.tell(prompt, OUTCOME, outcome(block))
    with turn_state(journal, hook_event.context) as state:
        state.turn = journal.next_turn(hook_event.context, by=0)
        state.cards = name_cards(brain.layers, block.lessons)
        state.late = 0
        state.near = [
            [shown_name(hit), f"{hit.confidence:.4f}"]
            for hit in block.withheld
            if hit.confidence >= NEAR
        ]
        context = state.deliver([(BLOCK, block.text)] if block.text else [], capabilities)
        lines = state.tell_drafted(capabilities)
        served_lessons.remember(state, asking, block)
    return Answer(
        context=context,
        block=block,
        lines=(*lines, *served_lessons.tell(asking, hook_event, capabilities)),
        language=settings.language,
        footer=settings.hooks.footer,
        trouble=trouble or served_lessons.find_trouble(asking),
    )


def _is_answered(journal: Journal, hook_event: HookEvent, turn: int) -> bool:
    """Tell whether lessons were looked up for the latest prompt; ``turn`` is the last one told."""
    latest = journal.events.find(session=hook_event.session, kinds=("prompt",), limit=1)
    noted = any(OUTCOME in event.record for event in latest)
    return noted or journal.next_turn(hook_event.context, by=0) != turn
