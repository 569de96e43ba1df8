"""When a turn ends: the post-check for the user, drafts for the reviewer."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.brain.evidence import find_session_evidence, is_change
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.last_check import note_checked
from lessons_kb.brain.layer import Layer
from lessons_kb.check.items import check_items
from lessons_kb.model import OPEN, Card
from lessons_kb.session.drafts import order_drafts
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.observe import find_missed, journal_missed
from lessons_kb.session.outcomes import count_items, note_effects
from lessons_kb.session.state import BLOCK, event_of, now, turn_state
from lessons_kb.store.events import prepare


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
    layers = open_session.brain.layers
    evidence = find_session_evidence(journal, hook_event.session, layers, after=after)
    check = check_items([card for _layer, card in given], answer.text, evidence)
    count_items(given, check, at=now(hook_event))
    note_checked(journal, row, cards)
    if not is_change(evidence):
        return said
    if answer.text.rstrip().endswith("?"):  # the turn goes on: what is open may still be done
        check = replace(check, items=tuple(item for item in check.items if item.state != OPEN))
    language = layers[0].settings.language
    return replace(said, check=check, language=language) if check.unaddressed else said


def _cards(open_session: OpenSession, given: list[list[str]]) -> list[tuple[Layer, Card]]:
    return [
        (layer, card)
        for layer in open_session.brain.layers
        for card in find_cards(layer, {card_id for root, card_id in given if root == layer.root})
    ]
