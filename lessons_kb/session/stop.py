"""When a turn ends: the post-check for the user, drafts for the reviewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lessons_kb.brain.detection import find_in_evidence
from lessons_kb.brain.discovery import is_settings_moved
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.post_check import (
    count_items,
    find_session_evidence,
    is_change,
    judge,
    note_checked,
)
from lessons_kb.brain.shared_server import read_card
from lessons_kb.check.item_states import check_items, read_closings
from lessons_kb.model import CONTRADICTED, Card
from lessons_kb.session.outcomes import note_effects, order_drafts
from lessons_kb.session.record_event import find_answer, find_missed, journal_missed
from lessons_kb.session.state import (
    BLOCK,
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    event_of,
    now,
    turn_state,
)
from lessons_kb.store.journal import prepare

_JUDGE_SECONDS = 1.2
"""For the user's program; the hook itself has to answer within two."""


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Check the turn against its lessons, and have what it taught become drafts.

    Not every agent tells that a session ends.
    """
    if not hook_event.text:
        hook_event = replace(hook_event, text=find_answer(open_session.journal, hook_event))
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
    with turn_state(journal, hook_event.context) as state:
        journal_missed(journal, missed, hook_event, scope, state)
        if not journal.events.write(row, within=hook_event.within):
            return NOTHING
        lines = state.tell_drafted(capabilities)
        said = Answer(lines=lines) if lines else NOTHING
        # Lessons that still wait for an event were never before the model.
        waits = any(about == BLOCK for about, _text in state.waiting)
        cards, after = [] if waits else list(state.cards), state.after
        named = {card_id for _root, card_id in cards}
        served = [one for one in state.served if one.get("id") in named]
    note_effects(open_session, hook_event.session, answer.text, after=after, at=now(hook_event))
    if not cards or not answer.text:
        return said
    given = _cards(open_session, cards) + _read_served(open_session, served)
    layers = open_session.brain.layers
    evidence = find_session_evidence(journal, hook_event.session, layers, after=after)
    ranks = _ranks(layers, hook_event.context) if layers[0].settings.check.closings else {}
    told = [card for _layer, card in given]
    numbered = {rank: card.id for layer, card in given if (rank := ranks.get((layer, card.id)))}
    closings = read_closings(answer.text, numbered, {card.id: card.checklist for card in told})
    detected = find_in_evidence(open_session.brain, evidence, look=not hook_event.posted)
    check = check_items(told, answer.text, evidence, detected, closings=closings)
    is_changed = is_change(evidence)
    # What a client names as its directory is not looked up on a server.
    own = hook_event.posted or not is_settings_moved(open_session.brain.directory)
    if is_changed and own:
        check = judge(check, answer.text, evidence, within=_JUDGE_SECONDS)
    count_items(given, check, at=now(hook_event))
    note_checked(journal, row, cards, numbered, served)
    if check.trouble:
        said = replace(said, trouble=check.trouble)
    if not is_changed:
        return said
    if answer.text.rstrip().endswith("?"):
        # The turn goes on, and the user is asked: only what is wrong by now is worth a line.
        wrong = tuple(item for item in check.items if item.state == CONTRADICTED)
        check = replace(check, items=wrong)
    language = layers[0].settings.language
    return replace(said, check=check, language=language) if check.unaddressed else said


def _ranks(layers: Sequence[Layer], session: str) -> dict[tuple[Layer, str], int]:
    """Return the number that each lesson had in the block, if no other has had the same."""
    ranked = [(x, *row) for x in layers for row in x.session_journal.injections.ranked(session)]
    latest = min((since for _layer, since, _rank, _card in ranked), default=0)
    numbers = [rank for _layer, since, rank, _card in ranked if since == latest]
    return {
        (layer, card): rank
        for layer, since, rank, card in ranked
        if since == latest and numbers.count(rank) == 1
    }


def _read_served(
    open_session: OpenSession, served: Sequence[dict[str, Any]]
) -> list[tuple[Layer, Card]]:
    """Return the lessons that a server gave; the nearest brain's journal remembers them."""
    if not served:
        return []

    return [(open_session.brain.layers[0], read_card(one)) for one in served]


def _cards(open_session: OpenSession, given: list[list[str]]) -> list[tuple[Layer, Card]]:
    return [
        (layer, card)
        for layer in open_session.brain.layers
        for card in find_cards(layer, {card_id for root, card_id in given if root == layer.root})
    ]
