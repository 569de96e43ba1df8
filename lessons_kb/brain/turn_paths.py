"""Before an edit or a command: the cards that guard the files it is about."""

from __future__ import annotations

import os

from lessons_kb.brain.turn import NOTHING, Answer
from lessons_kb.brain.turn_state import BLOCK, now, pack_known, turn_state
from lessons_kb.guards.tools import parse_call
from lessons_kb.model import SEVERITIES, Event, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.layer import Layer
    from lessons_kb.brain.turn import House, Occasion, Reach
    from lessons_kb.model import Card, Preflight

_CHANGES = ("edit", "create", "remove", "command", "test")
_MAX_FILES = 50

Guarding = tuple["Layer", "Card", tuple[str, ...]]
"""A brain, a card of it, and the files of the call that it guards."""


def about_to_call(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Return the cards whose ``paths`` match, once per session and file, and who must be asked."""
    files = _files(house, occasion)
    if not files:
        return NOTHING
    brain = house.brain
    guarding = [found for layer in brain.layers for found in _guarding(brain, layer, files)]
    if any(_is_stale(layer, card) for layer, card, _files in guarding):
        from lessons_kb.brain.turn_prompts import freshen

        brain = freshen(brain)[0]
        guarding = [found for layer in brain.layers for found in _guarding(brain, layer, files)]
    if not guarding:
        return NOTHING
    severity = SEVERITIES.index
    guarding.sort(key=lambda g: (-severity(g[1].severity), -g[1].occurrences, g[1].id))
    asking = [card for _layer, card, _files in guarding if card.gate == "ask"]
    asking = [card for card in asking if card.severity == "high"]
    with turn_state(house.journal, occasion) as state:
        shown = set(state.shown)
        new = [found for found in guarding if not shown.issuperset(_keys(found))]
        state.shown += [key for found in new for key in _keys(found) if key not in shown]
        context, block = "", None
        if new:
            block, given = _block(brain, occasion, reach, new)
            known = {tuple(pair) for pair in state.cards}
            state.cards += [pair for pair in given if tuple(pair) not in known]
            context = state.deliver([(BLOCK, block.text)] if block.text else [], reach)
    ask = _reason(asking) if reach.ask else ""
    if not (context or ask or (block is not None and block.lessons)):
        return NOTHING
    settings = brain.layers[0].settings
    return Answer(
        context=context,
        ask=ask,
        block=block,
        language=settings.language,
        footer=settings.hooks.footer,
    )


def _files(house: House, occasion: Occasion) -> tuple[str, ...]:
    call = Event(
        kind="tool", agent=occasion.agent, scope=house.scope, tool=occasion.tool, outcome="unknown"
    )
    arguments = occasion.arguments if isinstance(occasion.arguments, (dict, str)) else {}
    events = parse_call(call, arguments, cwd=occasion.cwd)
    if events[0].kind not in _CHANGES:
        return ()
    targets = (target for event in events for target in event.targets)
    return tuple(dict.fromkeys(targets))[:_MAX_FILES]


def _guarding(brain: Brain, layer: Layer, files: Sequence[str]) -> list[Guarding]:
    """Look into the last commit as it is: a hook before every call has no time for a scan."""
    layer.prepare()
    if layer.state is None:
        return []

    def search(one: Layer) -> list[Guarding]:
        matching = {
            number: touched
            for number, touched in one.catalogue.guarding(files).items()
            if number > 0
        }
        cards = one.catalogue.cards(matching)
        harmful: dict[str, str] = {}
        if matching and one.settings.effect.withhold_harmful:
            from lessons_kb.brain.withholding import find_harmful

            harmful = find_harmful(one, cards.values())
        return [
            (one, card, matching[number])
            for number, card in cards.items()
            if card.status == "active"
            and card.project in (None, brain.project)
            and card.id not in harmful
        ]

    return layer.read(search)


def _is_stale(layer: Layer, card: Card) -> bool:
    """Tell whether a card's file is not what was read: it may have been put away meanwhile."""
    from lessons_kb.storage.scan import signature

    try:
        stamp = signature(os.stat(os.path.join(layer.root, *card.id.split("/"))))
    except OSError:
        return True
    return layer.state is not None and f"{stamp}\n" not in f"{layer.state.manifest}\n"


def _keys(found: Guarding) -> list[str]:
    layer, card, files = found
    return [f"{layer.alias}:{card.id}:{file}"[:300] for file in files]


def _block(
    brain: Brain, occasion: Occasion, reach: Reach, found: Sequence[Guarding]
) -> tuple[Preflight, list[list[str]]]:
    """Return the block of these cards, those left out that the session has in its context."""
    from lessons_kb.brain.memory import card_digest
    from lessons_kb.recall.preflight import shown_name

    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    homes: dict[str, tuple[Layer, int]] = {}
    known: set[str] = set()
    ids = [card.id for _layer, card, _files in found]
    for layer, card, _files in found:
        alias = layer.alias if ids.count(card.id) > 1 else ""
        hit = Hit(card=card, score=1.0, bm25=0.0, passed=True, brain=alias)
        turn = layer.journal.next_turn(occasion.session, by=0)
        since = turn - settings.reinject_after
        given = layer.journal.in_context(occasion.session, since_turn=since)
        if (card.id, card_digest(card)) in given:
            known.add(shown_name(hit))
        homes[shown_name(hit)] = (layer, turn)
        hits.append(hit)
    missing = [hit for hit in hits if shown_name(hit) not in known]
    block = pack_known(missing, settings, reach)
    for rank, hit in enumerate(block.lessons, 1):
        layer, turn = homes[shown_name(hit)]
        tokens = block.tokens // len(block.lessons)
        row = (hit.card.id, card_digest(hit.card), tokens)
        layer.journal.record_injections(
            occasion.session, turn=turn, at=int(now(occasion)), cards=[row], ranks=[rank]
        )
    return block, [[homes[shown_name(hit)][0].root, hit.card.id] for hit in block.lessons]


def _reason(asking: Sequence[Card]) -> str:
    from lessons_kb.text.sanitize import clean_line, defang

    titles = dict.fromkeys(defang(clean_line(card.title)) for card in asking)
    return "; ".join(titles)[:500]
