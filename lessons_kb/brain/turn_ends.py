"""When a turn or a session ends: the post-check for the user, drafts for the reviewer."""

from __future__ import annotations

from lessons_kb.brain.evidence import RUNS, WRITES, find_evidence
from lessons_kb.brain.spoken import find_malformed, without_markup
from lessons_kb.brain.turn import NOTHING, Answer
from lessons_kb.brain.turn_drafts import order_drafts
from lessons_kb.brain.turn_effects import count_items, note_effects
from lessons_kb.brain.turn_state import BLOCK, event_of, now, turn_state
from lessons_kb.storage.events import prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.brain.layer import Layer
    from lessons_kb.brain.turn import House, Occasion, Reach
    from lessons_kb.model import Card

_MAX_EVIDENCE = 300


def stopped(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Check the turn against its lessons, and have what it taught become drafts.

    Not every agent tells that a session ends.
    """
    answer = _checked(house, occasion, reach)
    order_drafts(house, occasion)
    return answer


def ended(house: House, occasion: Occasion, _reach: Reach) -> Answer:
    """Have what the session taught become drafts."""
    order_drafts(house, occasion)
    return NOTHING


def _checked(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Check the answer and the turn's actions against the lessons given in this turn."""
    from lessons_kb.brain.turn_prompts import find_missed, journal_missed

    journal, scope = house.journal, house.scope
    answer = event_of(occasion, "answer", scope)
    answer = without_markup(answer)
    debug = find_malformed(answer)
    missed, row = find_missed(journal, occasion, scope), prepare(answer)
    with turn_state(journal, occasion.session) as state:
        journal_missed(journal, missed, occasion, scope, state)
        if not journal.events.write(row, within=occasion.within):
            return NOTHING
        lines = state.tell_drafted(reach)
        said = Answer(debug=debug, lines=lines) if debug or lines else NOTHING
        # Lessons that still wait for an occasion were never before the model.
        waits = any(about == BLOCK for about, _text in state.waiting)
        cards, after = [] if waits else list(state.cards), state.after
    note_effects(house, occasion.session, answer.text, after=after, at=now(occasion))
    if not cards or not answer.text:
        return said
    given = _cards(house, cards)
    done = journal.events.numbered(
        session=occasion.session, kinds=(*WRITES, *RUNS), after=after, limit=_MAX_EVIDENCE
    )
    evidence = find_evidence((event for _number, event in done), house.brain.layers)
    from lessons_kb.recall.postcheck import find_unaddressed_items

    check = find_unaddressed_items(answer.text, [card for _layer, card in given], evidence)
    count_items(given, check, at=now(occasion))
    language = house.brain.layers[0].settings.language
    denied = any(item.denied for item in check.unaddressed)
    return said.replace(check=check, language=language) if denied else said


def _cards(house: House, given: list[list[str]]) -> list[tuple[Layer, Card]]:
    from lessons_kb.brain.turn_prompts import find_cards

    return [
        (layer, card)
        for layer in house.brain.layers
        for card in find_cards(layer, {card_id for root, card_id in given if root == layer.root})
    ]
