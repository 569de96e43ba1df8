"""When a session starts, a prompt arrives or the context was compacted: lessons for the model."""

from __future__ import annotations

import contextlib

from lessons_kb.brain.turn import NOTHING, Answer
from lessons_kb.brain.turn_drafts import offer_drafts
from lessons_kb.brain.turn_record import read_missed
from lessons_kb.brain.turn_state import (
    BLOCK,
    FILES,
    counter_for,
    event_of,
    now,
    pack_known,
    turn_state,
)
from lessons_kb.errors import StorageError
from lessons_kb.model import Hit, Preflight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.layer import Layer
    from lessons_kb.brain.turn import House, Occasion, Reach
    from lessons_kb.brain.turn_state import TurnState
    from lessons_kb.model import Card


def started(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Take the session in; with a first prompt known already, answer that as well."""
    if occasion.text:
        return prompted(house, occasion, reach)
    journal = house.journal
    with turn_state(journal, occasion) as state:
        _skip_record(occasion, state)
        context = state.deliver([], reach)
    layer = house.brain.layers[0]
    with contextlib.suppress(StorageError):
        journal.look_after(lambda: layer.settings.journal.retention_days, now=now(occasion))
    lines = offer_drafts(house)
    return Answer(context=context, lines=lines) if context or lines else NOTHING


def prompted(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Return the lessons for a prompt; the second report of one prompt gets nothing."""
    brain, journal, scope = house.brain, house.journal, house.scope
    with turn_state(journal, occasion) as state:
        journal_missed(house, occasion, state)
        prompt = event_of(occasion, "prompt", scope)
        if not journal.events.append(prompt, within=occasion.within):
            return NOTHING
        state.begun = True
        if any(about == BLOCK for about, _text in state.waiting):
            _forget_undelivered(brain, occasion.session, state)
        state.after, state.cards = journal.events.last_number(), []
        state.waiting = [pair for pair in state.waiting if pair[0] == FILES]
    brain, trouble = freshen(brain)
    settings = brain.layers[0].settings
    if not reach.lasting:
        for layer in brain.layers:
            layer.journal.forget_context(occasion.session)
    block = brain.preflight(
        occasion.text,
        session=occasion.session or None,
        budget=min(settings.preflight.budget, reach.tokens),
        context=settings.hooks.context,
        max_chars=reach.chars,
        counter=counter_for(reach),
        fresh=False,
        noted=True,
    )
    from lessons_kb.brain.memory import OUTCOME, outcome

    with turn_state(journal, occasion) as state:
        journal.events.tell(prompt, OUTCOME, outcome(block))
        state.turn = journal.next_turn(occasion.session, by=0)
        state.cards = _given(brain, block.lessons)
        context = state.deliver([(BLOCK, block.text)] if block.text else [], reach)
    return Answer(
        context=context,
        block=block,
        language=settings.language,
        footer=settings.hooks.footer,
        trouble=trouble,
    )


def compacted(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Return the files of the session and its active lessons again."""
    from lessons_kb.brain import turn_calls

    brain, journal, scope = house.brain, house.journal, house.scope
    event = event_of(occasion, "compaction", scope)
    block = _active_again(brain, occasion, reach)
    with turn_state(journal, occasion) as state:
        before = journal.events.last_number()
        signals = turn_calls.see(journal, [(event, "")], occasion, scope, state)
        if journal.events.last_number() == before:
            return NOTHING
        _give_again(brain, occasion, block, state)
        texts = [(BLOCK, block.text)] if block.text else []
        texts += [(FILES, signal.message) for signal in signals]
        context = state.deliver(texts, reach)
    settings = brain.layers[0].settings
    return Answer(
        context=context,
        block=block,
        language=settings.language,
        footer=settings.hooks.footer,
    )


def journal_missed(house: House, occasion: Occasion, state: TurnState) -> None:
    """Journal what the agent's record has gained; guards are loaded only if it has gained any."""
    results = read_missed(occasion, state)
    if results:
        from lessons_kb.brain.turn_calls import missed_events, see

        events = missed_events(results, occasion, house.scope)
        see(house.journal, events, occasion, house.scope, state)


def freshen(brain: Brain) -> tuple[Brain, str]:
    """Read a few changed files; leave more of them, and a long wait, to a detached run.

    Returns the brain to search, and what could not be read fresh. Layers of which nothing is
    indexed yet are left out: a search would wait for their whole index.
    """
    from lessons_kb.brain.brain import Brain

    waiting = ""
    ready: list[Layer] = []
    for layer in brain.layers:
        done = layer.refresh_some()
        if done.stale:
            from lessons_kb.process.detached import start_index

            start_index(layer.root, layer.cache)
        if layer.state is None:
            waiting = f"{layer.alias}: {done.stale}"
        else:
            ready.append(layer)
    if not ready:
        raise StorageError(f"{waiting}; nothing is indexed yet, the next prompt tries again")
    if len(ready) == len(brain.layers):
        return brain, waiting
    return Brain(ready, directory=brain.directory, project=brain.project), waiting


def _skip_record(occasion: Occasion, state: TurnState) -> None:
    if occasion.transcript and state.transcript != occasion.transcript:
        from lessons_kb.storage.tail import read_tail

        state.transcript = occasion.transcript
        state.offset = read_tail(occasion.transcript, None, limit=0)[1]


def _given(brain: Brain, hits: Sequence[Hit]) -> list[list[str]]:
    aliases = {layer.alias: layer.root for layer in brain.layers}
    cards: list[list[str]] = []
    for hit in hits:
        roots = [aliases[hit.brain]] if hit.brain in aliases else list(aliases.values())
        cards += [[root, hit.card.id] for root in roots]
    return cards


def _forget_undelivered(brain: Brain, session: str, state: TurnState) -> None:
    """Let lessons of a turn that could not be told to the model be given again."""
    cards = {card for _root, card in state.cards}
    for layer in brain.layers:
        layer.journal.forget_context(session, cards)


def _active_again(brain: Brain, occasion: Occasion, reach: Reach) -> Preflight:
    """Pack the lessons that the session still had in its context, the latest first."""
    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    for layer in brain.layers:
        turn = layer.journal.next_turn(occasion.session, by=0)
        since = turn - settings.reinject_after
        known = {
            card for card, _digest in layer.journal.in_context(occasion.session, since_turn=since)
        }
        cards = [card for card in find_cards(layer, known) if card.status == "active"]
        hits += [Hit(card=card, score=1.0, bm25=0.0, passed=True) for card in usable(layer, cards)]
    hits.sort(key=lambda hit: (-("low", "medium", "high").index(hit.card.severity), hit.card.id))
    return pack_known(hits, settings, reach)


def _give_again(brain: Brain, occasion: Occasion, block: Preflight, state: TurnState) -> None:
    from lessons_kb.brain.memory import card_digest

    given = {hit.card.id: (rank, hit.card) for rank, hit in enumerate(block.lessons, 1)}
    for layer in brain.layers:
        journal = layer.journal
        turn = journal.next_turn(occasion.session, by=0)
        since = turn - layer.settings.preflight.reinject_after
        known = {card for card, _digest in journal.in_context(occasion.session, since_turn=since)}
        journal.forget_context(occasion.session)
        again = [(rank, card) for rank, card in given.values() if card.id in known]
        if again:
            rows = [(card.id, card_digest(card), 0) for _rank, card in again]
            ranks = [rank for rank, _card in again]
            journal.record_injections(
                occasion.session, turn=turn, at=int(now(occasion)), cards=rows, ranks=ranks
            )
    known_now = {tuple(pair) for pair in state.cards}
    state.cards += [pair for pair in _given(brain, block.lessons) if tuple(pair) not in known_now]


def usable(layer: Layer, cards: list[Card]) -> list[Card]:
    """Return the cards that may be given; harmful ones may not where the settings say so."""
    if not layer.settings.effect.withhold_harmful:
        return cards
    from lessons_kb.brain.withholding import find_harmful

    harmful = find_harmful(layer, cards)
    return [card for card in cards if card.id not in harmful]


def find_cards(layer: Layer, ids: set[str]) -> list[Card]:
    """Return the cards of a brain by their ids, by path; those that are gone are left out."""
    if not ids:
        return []
    layer.prepare()
    if layer.state is None:
        return []

    def fetch(one: Layer) -> list[Card]:
        # One by one: a session was given a few, the brain may have twelve thousand.
        rows = [row for path in ids for row in one.catalogue.numbers(path).values()]
        numbers = [number for number, _digest in rows]
        return sorted(one.catalogue.cards(numbers).values(), key=lambda card: card.id)

    return layer.read(fetch)
