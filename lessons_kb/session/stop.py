"""When a turn ends: the post-check for the user, drafts for the reviewer."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.brain.evidence import RUNS, WRITES, find_evidence
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.check.items import find_unaddressed_items
from lessons_kb.model import Card
from lessons_kb.session.drafts import order_drafts
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.observe import find_missed, journal_missed
from lessons_kb.session.outcomes import count_items, note_effects
from lessons_kb.session.state import BLOCK, event_of, now, turn_state
from lessons_kb.store.events import prepare

_MAX_EVIDENCE = 300


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Check the turn against its lessons, and have what it taught become drafts.

    Not every agent tells that a session ends.
    """
    answer = _checked(open_session, hook_event, capabilities)
    order_drafts(open_session, hook_event)
    return answer


def _checked(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Check the answer and the turn's actions against the lessons given in this turn."""
    journal, scope = open_session.journal, open_session.scope
    answer = event_of(hook_event, "answer", scope)
    missed, row = find_missed(journal, hook_event, scope), prepare(answer)
    with turn_state(journal, hook_event.session) as state:
        journal_missed(journal, missed, hook_event, scope, state)
        if not journal.events.write(row, within=hook_event.within):
            return NOTHING
        lines = state.tell_drafted(capabilities)
        said = Answer(lines=lines) if lines else NOTHING
        # Lessons that still wait for an event were never before the model.
        waits = any(about == BLOCK for about, _text in state.waiting)
        cards, after = [] if waits else list(state.cards), state.after
    note_effects(open_session, hook_event.session, answer.text, after=after, at=now(hook_event))
    if not cards or not answer.text:
        return said
    given = _cards(open_session, cards)
    done = journal.events.numbered(
        session=hook_event.session, kinds=(*WRITES, *RUNS), after=after, limit=_MAX_EVIDENCE
    )
    evidence = find_evidence((event for _number, event in done), open_session.brain.layers)

    check = find_unaddressed_items(answer.text, [card for _layer, card in given], evidence)
    count_items(given, check, at=now(hook_event))
    language = open_session.brain.layers[0].settings.language
    denied = any(item.denied for item in check.unaddressed)
    return replace(said, check=check, language=language) if denied else said


def _cards(open_session: OpenSession, given: list[list[str]]) -> list[tuple[Layer, Card]]:
    return [
        (layer, card)
        for layer in open_session.brain.layers
        for card in find_cards(layer, {card_id for root, card_id in given if root == layer.root})
    ]
