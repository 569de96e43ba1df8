"""When a session starts, a prompt arrives or the context was compacted: lessons for the model."""

from __future__ import annotations

import contextlib

from lessons_kb.brain.turn import NOTHING, Answer
from lessons_kb.brain.turn_drafts import offer_drafts
from lessons_kb.brain.turn_record import Missed, read_missed, skip_record
from lessons_kb.brain.turn_state import (
    BLOCK,
    DECLINED,
    FILES,
    counter_for,
    event_of,
    now,
    pack_known,
    read_state,
    turn_state,
)
from lessons_kb.errors import StorageError
from lessons_kb.model import Hit, Preflight
from lessons_kb.storage.events import prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.layer import Layer
    from lessons_kb.brain.turn import House, Occasion, Reach
    from lessons_kb.brain.turn_calls import Seen
    from lessons_kb.brain.turn_state import TurnState
    from lessons_kb.model import Card
    from lessons_kb.storage.journal import Journal


def started(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Take the session in; with a first prompt known already, answer that as well."""
    if occasion.text:
        return prompted(house, occasion, reach)
    journal = house.journal
    followed = read_state(journal, occasion.session).transcript == occasion.transcript
    record = Missed() if followed else skip_record(occasion)
    with turn_state(journal, occasion.session) as state:
        record.note(state)
        context = state.deliver([], reach)
        state.tell_drafted(reach)  # the line below speaks of all that wait
    layer = house.brain.layers[0]
    with contextlib.suppress(StorageError):
        journal.look_after(lambda: layer.settings.journal.retention_days, now=now(occasion))
    lines = offer_drafts(house)
    return Answer(context=context, lines=lines) if context or lines else NOTHING


def prompted(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Return the lessons for a prompt; the second report of one prompt gets nothing."""
    brain, journal, scope = house.brain, house.journal, house.scope
    missed = find_missed(journal, occasion, scope)
    prompt = prepare(event_of(occasion, "prompt", scope))
    with turn_state(journal, occasion.session) as state:
        journal_missed(journal, missed, occasion, scope, state)
        unheard = not journal.events.write(prompt, within=occasion.within)
        if unheard and not occasion.again:
            return NOTHING
        state.begun, turn = True, state.turn
        waits = any(about == BLOCK for about, _text in state.waiting)
        undelivered = {card for _root, card in state.cards} if waits else set()
        state.after, state.cards = journal.events.last_number(), []
        state.waiting = [pair for pair in state.waiting if pair[0] in (FILES, DECLINED)]
    for layer in brain.layers if undelivered else ():  # what was never told may be given again
        layer.session_journal.forget_context(occasion.session, undelivered)
    for layer in brain.layers if unheard and _is_answered(journal, occasion, turn) else ():
        notes = layer.session_journal
        turn = notes.next_turn(occasion.session, by=0)
        given = {card for card, _ in notes.in_context(occasion.session, since_turn=turn)}
        notes.forget_context(occasion.session, given)
    brain, trouble = freshen(brain)
    settings = brain.layers[0].settings
    if not reach.lasting:
        for layer in brain.layers:
            layer.session_journal.forget_context(occasion.session)
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

    journal.events.tell(prompt, OUTCOME, outcome(block))
    with turn_state(journal, occasion.session) as state:
        state.turn = journal.next_turn(occasion.session, by=0)
        state.cards = _given(brain, block.lessons)
        context = state.deliver([(BLOCK, block.text)] if block.text else [], reach)
        lines = state.tell_drafted(reach)
    return Answer(
        context=context,
        block=block,
        lines=lines,
        language=settings.language,
        footer=settings.hooks.footer,
        trouble=trouble,
    )


def _is_answered(journal: Journal, occasion: Occasion, turn: int) -> bool:
    """Tell whether lessons were looked up for the latest prompt; ``turn`` is the last one told."""
    from lessons_kb.brain.memory import OUTCOME

    latest = journal.events.find(session=occasion.session, kinds=("prompt",), limit=1)
    noted = any(OUTCOME in event.record for event in latest)
    return noted or journal.next_turn(occasion.session, by=0) != turn


def compacted(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Return the files of the session and its active lessons again."""
    from lessons_kb.brain import turn_calls

    brain, journal, scope = house.brain, house.journal, house.scope
    events = turn_calls.prepared([(event_of(occasion, "compaction", scope), "")])
    block = _active_again(brain, occasion, reach)
    with turn_state(journal, occasion.session) as state:
        before = journal.events.last_number()
        signals = turn_calls.see(journal, events, occasion, scope, state)
        if journal.events.last_number() == before:
            return NOTHING
    _give_again(brain, occasion, block)
    with turn_state(journal, occasion.session) as state:
        known = {tuple(pair) for pair in state.cards}
        given = _given(brain, block.lessons)
        state.cards += [pair for pair in given if tuple(pair) not in known]
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


def find_missed(journal: Journal, occasion: Occasion, scope: str) -> tuple[Missed, list[Seen]]:
    """Read what the agent's record has gained; guards are loaded only if it has gained any."""
    missed = read_missed(journal, occasion)
    if not missed.results:
        return missed, []
    from lessons_kb.brain.turn_calls import missed_events

    return missed, missed_events(missed.results, occasion, scope)


def journal_missed(
    journal: Journal,
    found: tuple[Missed, list[Seen]],
    occasion: Occasion,
    scope: str,
    state: TurnState,
) -> None:
    """Journal what ``find_missed`` found, within ``turn_state``."""
    missed, events = found
    missed.note(state)
    if events:
        from lessons_kb.brain.turn_calls import see

        see(journal, events, occasion, scope, state)


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


def _given(brain: Brain, hits: Sequence[Hit]) -> list[list[str]]:
    aliases = {layer.alias: layer.root for layer in brain.layers}
    cards: list[list[str]] = []
    for hit in hits:
        roots = [aliases[hit.brain]] if hit.brain in aliases else list(aliases.values())
        cards += [[root, hit.card.id] for root in roots]
    return cards


def _active_again(brain: Brain, occasion: Occasion, reach: Reach) -> Preflight:
    """Pack the lessons that the session still had in its context, the latest first."""
    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(occasion.session, by=0)
        since = turn - settings.reinject_after
        known = {card for card, _digest in journal.in_context(occasion.session, since_turn=since)}
        cards = [card for card in find_cards(layer, known) if card.status == "active"]
        hits += [Hit(card=card, score=1.0, bm25=0.0, passed=True) for card in usable(layer, cards)]
    hits.sort(key=lambda hit: (-("low", "medium", "high").index(hit.card.severity), hit.card.id))
    return pack_known(hits, settings, reach)


def _give_again(brain: Brain, occasion: Occasion, block: Preflight) -> None:
    from lessons_kb.brain.memory import card_digest

    given = {hit.card.id: (rank, hit.card) for rank, hit in enumerate(block.lessons, 1)}
    for layer in brain.layers:
        journal = layer.session_journal
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
