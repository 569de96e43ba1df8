"""When a session starts, a prompt arrives or the context was compacted: lessons for the model."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from lessons_kb.brain.injected import OUTCOME, card_digest, find_cards, outcome
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_harmful
from lessons_kb.errors import StorageError
from lessons_kb.model import Card, Hit, Preflight
from lessons_kb.process.detached import start_index
from lessons_kb.session import after_tool as turn_calls
from lessons_kb.session.after_tool import Seen, missed_events, see
from lessons_kb.session.drafts import offer_drafts
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.state import (
    BLOCK,
    DECLINED,
    FILES,
    TurnState,
    counter_for,
    event_of,
    now,
    pack_known,
    read_state,
    turn_state,
)
from lessons_kb.session.transcript import Missed, read_missed, skip_record
from lessons_kb.store.events import prepare
from lessons_kb.store.journal import Journal


def started(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Take the session in; with a first prompt known already, answer that as well."""
    if hook_event.text:
        return prompted(open_session, hook_event, capabilities)
    journal = open_session.journal
    followed = read_state(journal, hook_event.session).transcript == hook_event.transcript
    record = Missed() if followed else skip_record(hook_event)
    with turn_state(journal, hook_event.session) as state:
        record.note(state)
        context = state.deliver([], capabilities)
        state.tell_drafted(capabilities)  # the line below speaks of all that wait
    layer = open_session.brain.layers[0]
    with contextlib.suppress(StorageError):
        journal.look_after(lambda: layer.settings.journal.retention_days, now=now(hook_event))
    lines = offer_drafts(open_session)
    return Answer(context=context, lines=lines) if context or lines else NOTHING


def prompted(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Return the lessons for a prompt; the second report of one prompt gets nothing."""
    brain, journal, scope = open_session.brain, open_session.journal, open_session.scope
    missed = find_missed(journal, hook_event, scope)
    prompt = prepare(event_of(hook_event, "prompt", scope))
    with turn_state(journal, hook_event.session) as state:
        journal_missed(journal, missed, hook_event, scope, state)
        unheard = not journal.events.write(prompt, within=hook_event.within)
        if unheard and not hook_event.again:
            return NOTHING
        state.begun, turn = True, state.turn
        waits = any(about == BLOCK for about, _text in state.waiting)
        undelivered = {card for _root, card in state.cards} if waits else set()
        state.after, state.cards = journal.events.last_number(), []
        state.waiting = [pair for pair in state.waiting if pair[0] in (FILES, DECLINED)]
    for layer in brain.layers if undelivered else ():  # what was never told may be given again
        layer.session_journal.forget_context(hook_event.session, undelivered)
    for layer in brain.layers if unheard and _is_answered(journal, hook_event, turn) else ():
        notes = layer.session_journal
        turn = notes.next_turn(hook_event.session, by=0)
        injected = {card for card, _ in notes.in_context(hook_event.session, since_turn=turn)}
        notes.forget_context(hook_event.session, injected)
    brain, trouble = freshen(brain)
    settings = brain.layers[0].settings
    if not capabilities.lasting:
        for layer in brain.layers:
            layer.session_journal.forget_context(hook_event.session)
    block = brain.preflight(
        hook_event.text,
        session=hook_event.session or None,
        budget=min(settings.preflight.budget, capabilities.tokens),
        context=settings.hooks.context,
        max_chars=capabilities.chars,
        counter=counter_for(capabilities),
        fresh=False,
        noted=True,
    )

    journal.events.tell(prompt, OUTCOME, outcome(block))
    with turn_state(journal, hook_event.session) as state:
        state.turn = journal.next_turn(hook_event.session, by=0)
        state.cards = _given(brain, block.lessons)
        context = state.deliver([(BLOCK, block.text)] if block.text else [], capabilities)
        lines = state.tell_drafted(capabilities)
    return Answer(
        context=context,
        block=block,
        lines=lines,
        language=settings.language,
        footer=settings.hooks.footer,
        trouble=trouble,
    )


def _is_answered(journal: Journal, hook_event: HookEvent, turn: int) -> bool:
    """Tell whether lessons were looked up for the latest prompt; ``turn`` is the last one told."""
    latest = journal.events.find(session=hook_event.session, kinds=("prompt",), limit=1)
    noted = any(OUTCOME in event.record for event in latest)
    return noted or journal.next_turn(hook_event.session, by=0) != turn


def compacted(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Return the files of the session and its active lessons again."""
    brain, journal, scope = open_session.brain, open_session.journal, open_session.scope
    events = turn_calls.prepared([(event_of(hook_event, "compaction", scope), "")])
    block = _active_again(brain, hook_event, capabilities)
    with turn_state(journal, hook_event.session) as state:
        before = journal.events.last_number()
        signals = turn_calls.see(journal, events, hook_event, scope, state)
        if journal.events.last_number() == before:
            return NOTHING
    _give_again(brain, hook_event, block)
    with turn_state(journal, hook_event.session) as state:
        known = {tuple(pair) for pair in state.cards}
        given = _given(brain, block.lessons)
        state.cards += [pair for pair in given if tuple(pair) not in known]
        texts = [(BLOCK, block.text)] if block.text else []
        texts += [(FILES, signal.message) for signal in signals]
        context = state.deliver(texts, capabilities)
    settings = brain.layers[0].settings
    return Answer(
        context=context,
        block=block,
        language=settings.language,
        footer=settings.hooks.footer,
    )


def find_missed(journal: Journal, hook_event: HookEvent, scope: str) -> tuple[Missed, list[Seen]]:
    """Read what the agent's record has gained; guards are loaded only if it has gained any."""
    missed = read_missed(journal, hook_event)
    if not missed.results:
        return missed, []

    return missed, missed_events(missed.results, hook_event, scope)


def journal_missed(
    journal: Journal,
    found: tuple[Missed, list[Seen]],
    hook_event: HookEvent,
    scope: str,
    state: TurnState,
) -> None:
    """Journal what ``find_missed`` found, within ``turn_state``."""
    missed, events = found
    missed.note(state)
    if events:
        see(journal, events, hook_event, scope, state)


def freshen(brain: Layers) -> tuple[Layers, str]:
    """Read a few changed files; leave more of them, and a long wait, to a detached run.

    Returns the brain to search, and what could not be read fresh. Layers of which nothing is
    indexed yet are left out: a search would wait for their whole index.
    """
    waiting = ""
    ready: list[Layer] = []
    for layer in brain.layers:
        done = layer.refresh_some()
        if done.stale:
            start_index(layer.root, layer.cache)
        if layer.state is None:
            waiting = f"{layer.alias}: {done.stale}"
        else:
            ready.append(layer)
    if not ready:
        raise StorageError(f"{waiting}; nothing is indexed yet, the next prompt tries again")
    if len(ready) == len(brain.layers):
        return brain, waiting
    return Layers(ready, directory=brain.directory, project=brain.project), waiting


def _given(brain: Layers, hits: Sequence[Hit]) -> list[list[str]]:
    aliases = {layer.alias: layer.root for layer in brain.layers}
    cards: list[list[str]] = []
    for hit in hits:
        roots = [aliases[hit.brain]] if hit.brain in aliases else list(aliases.values())
        cards += [[root, hit.card.id] for root in roots]
    return cards


def _active_again(brain: Layers, hook_event: HookEvent, capabilities: Capabilities) -> Preflight:
    """Pack the lessons that the session still had in its context, the latest first."""
    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(hook_event.session, by=0)
        since = turn - settings.reinject_after
        known = {card for card, _digest in journal.in_context(hook_event.session, since_turn=since)}
        cards = [card for card in find_cards(layer, known) if card.status == "active"]
        hits += [Hit(card=card, score=1.0, bm25=0.0, passed=True) for card in usable(layer, cards)]
    hits.sort(key=lambda hit: (-("low", "medium", "high").index(hit.card.severity), hit.card.id))
    return pack_known(hits, settings, capabilities)


def _give_again(brain: Layers, hook_event: HookEvent, block: Preflight) -> None:

    given = {hit.card.id: (rank, hit.card) for rank, hit in enumerate(block.lessons, 1)}
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(hook_event.session, by=0)
        since = turn - layer.settings.preflight.reinject_after
        known = {card for card, _digest in journal.in_context(hook_event.session, since_turn=since)}
        journal.forget_context(hook_event.session)
        again = [(rank, card) for rank, card in given.values() if card.id in known]
        if again:
            rows = [(card.id, card_digest(card), 0) for _rank, card in again]
            ranks = [rank for rank, _card in again]
            journal.record_injections(
                hook_event.session, turn=turn, at=int(now(hook_event)), cards=rows, ranks=ranks
            )


def usable(layer: Layer, cards: list[Card]) -> list[Card]:
    """Return the cards that may be given; harmful ones may not where the settings say so."""
    if not layer.settings.effect.withhold_harmful:
        return cards

    harmful = find_harmful(layer, cards)
    return [card for card in cards if card.id not in harmful]
