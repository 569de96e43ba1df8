"""What a session was given, has in its context, or was offered."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.errors import StorageError
from lessons_kb.ledger.session_memory import GivenCard
from lessons_kb.model import (
    ACT_TOLD,
    BLOCK_TOLD,
    NOTE,
    OFFER_TOLD,
    Card,
    Event,
    Hit,
    Preflight,
    as_data,
)
from lessons_kb.preflight.block import IN_CONTEXT, shown_name
from lessons_kb.store.journal import ASKED, OFFER
from lessons_kb.values import frozen


def find_given(brains: Sequence[Brain], session: str | None = None) -> list[Card]:
    """Return the lessons that the latest prompt of a session, or of any, was given or had already.

    Those given since, before a guarded file was touched, are among them. A prompt that was given
    nothing has none, whatever an earlier one was given. Where nobody noted what came of a prompt,
    those of the latest block are returned; a journal that cannot be used knows none.
    """
    try:
        chosen = _find_since_asked(brains, session)
    except (sqlite3.Error, StorageError):
        chosen = None
    if chosen is None:
        chosen = {brain: set(brain.hook_journal.last_injected(session)) for brain in brains}
    return [
        card
        for brain, ids in chosen.items()
        if ids
        for card in brain.read(lambda one: one.catalogue.all_cards())
        if card.id in ids and card.kind != NOTE
    ]


def _find_since_asked(brains: Sequence[Brain], session: str | None) -> dict[Brain, set[str]] | None:
    asked = next(iter(brains[0].journal.events.find(session=session, kinds=ASKED, limit=1)), None)
    noted = read_outcome(asked) if asked else None
    if asked is None or noted is None:
        return None
    for brain in brains:  # something may have been given since, for a prompt that nobody noted
        newest = brain.journal.injections.newest()
        if newest is None or newest[1] <= int(asked.at):
            continue
        if session is None if newest[0] != asked.session else not newest[0]:
            return None
    names = {card.id for card in noted if card.given or card.reason.startswith(IN_CONTEXT)}
    chosen = {}
    for brain in brains:
        ids = {name.removeprefix(f"{brain.alias}:") for name in names}
        rows = brain.journal.injections.of(asked.session) if asked.session else ()
        chosen[brain] = ids.union(row.card for row in rows if row.at > int(asked.at))
    return chosen


def find_cards(brain: Brain, ids: set[str]) -> list[Card]:
    """Return the cards of a brain by their ids, by path; those that are gone are left out."""
    if not ids or not brain.ensure_indexed():
        return []

    def fetch(one: Brain) -> list[Card]:
        # One by one: a session was given a few, the brain may have twelve thousand.
        rows = [row for path in ids for row in one.catalogue.numbers(path).values()]
        numbers = [number for number, _digest in rows]
        return sorted(one.catalogue.cards(numbers).values(), key=lambda card: card.id)

    return brain.read(fetch)


OUTCOME = "lessons"
"""Key of an event's record under which `outcome` stands."""


MAX_OUTCOME = 8
"""Cards told of a block: those given, then the best of those held back."""


TAKEN = "offer taken"
"""What is counted, once a session, of a card whose title was offered, and then opened or given."""


_DOUBLED_AFTER = 10


_TAKEN_WEIGHS = 3


def find_held(brain: Brain, session: str | None, hit: Hit, least: float) -> str:
    """Return why the title of a hit is not offered now, "" where it is.

    Ten sessions in which nobody opened it double the confidence that an offer takes, one in which
    somebody did makes up for three of them. A card of which the gate is sure is always offered.
    """
    outcomes = brain.hook_journal.outcomes
    if session and outcomes.is_noted(session, hit.card.id, OFFER):
        return "offered already in this session"
    totals = outcomes.totals([hit.card.id]).get(hit.card.id, {})
    offered, taken = totals.get(OFFER, 0), totals.get(TAKEN, 0)
    ignored = max(offered - (1 + _TAKEN_WEIGHS) * taken, 0)
    takes = least * (1 + ignored / _DOUBLED_AFTER)
    if hit.passed or hit.confidence >= takes:
        return ""
    return f"offered in {offered} sessions, taken in {taken}: an offer takes {takes:.2f} by now"


def note_offered(homes: Homes, block: Preflight, session: str, *, at: float) -> None:
    """Count that the titles of cards were offered to a session."""
    for hit in block.offered if session else ():
        journal = homes[hit.brain, hit.card.id].hook_journal
        journal.outcomes.note(session, hit.card.id, OFFER, at=at)
        due = {"session": session, "card": hit.card.id, "at": at}
        journal.ledger.note(**due, occasion="prompt", told=OFFER_TOLD)


def note_taken(brain: Brain, session: str, card: str, *, at: float) -> None:
    """Count that a session opened, or was given, a card whose title it was offered."""
    outcomes = brain.hook_journal.outcomes
    if session and outcomes.is_noted(session, card, OFFER):
        outcomes.note(session, card, TAKEN, at=at)


Homes = Mapping[tuple[str, str], Brain]
"""A hit's alias and card id → the brain that holds the card; the nearest has a server's."""


Known = Mapping[Brain, set[tuple[str, str]]]
"""Brain → (card id, digest) of the lessons that a session still has in its context."""


def find_known(after: Mapping[Brain, int], session: str, *, coming: int = 0) -> Known:
    """Return what a session still has; ``after``: brain → prompts for which a lesson lasts.

    ``coming`` prompts are about to be counted.
    """
    known = {}
    for brain, prompts in after.items():
        since = brain.hook_journal.injections.turn(session) + coming - prompts
        known[brain] = brain.hook_journal.in_context(session, since_turn=since)
    return known


def is_in_context(known: Known, brain: Brain, card: Card) -> bool:
    """Tell whether a session still has a lesson, as it is now."""
    return (card.id, card_digest(card)) in known.get(brain, ())


def note_given(
    homes: Homes,
    block: Preflight,
    session: str,
    *,
    at: float,
    occasion: str = "prompt",
    counted: bool = True,
) -> list[GivenCard]:
    """Journal the lessons of a block, and return them.

    Its tokens are shared out evenly; unless it is ``counted``, it costs nothing.
    """
    rows: dict[Brain, dict[int, tuple[str, str, int]]] = {}
    tokens = block.tokens // max(len(block.lessons), 1) if counted else 0
    for rank, hit in enumerate(block.lessons, 1):
        row = (hit.card.id, card_digest(hit.card), tokens)
        rows.setdefault(homes[hit.brain, hit.card.id], {})[rank] = row
    for brain, cards in rows.items():
        brain.hook_journal.record_injections(
            session,
            turn=brain.hook_journal.injections.turn(session),
            at=at,
            cards=list(cards.values()),
            ranks=list(cards),
            told=BLOCK_TOLD if occasion == "prompt" else ACT_TOLD,
            occasion=occasion,
        )
        for card, *_rest in cards.values():
            note_taken(brain, session, card, at=at)
    return [GivenCard(homes[hit.brain, hit.card.id].root, hit.card.id) for hit in block.lessons]


def note_preflight(brain: Brain, session: str, prompt: str, block: Preflight, scope: str) -> None:
    """Journal that lessons were asked for, and what came of it."""
    event = Event(
        kind="preflight",
        at=time.time(),
        session=session,
        scope=scope.replace("\\", "/"),
        text=prompt,
        record={OUTCOME: outcome(block)},
    )
    brain.hook_journal.events.append(event)


@frozen
class CardOutcome:
    """What became of one card at a prompt, as the record of an event tells it."""

    id: str
    given: bool
    confidence: float | None
    reason: str


def list_outcomes(block: Preflight) -> list[CardOutcome]:
    """Return what a block gave, offered and held back, eight cards at most."""
    hits = (*block.lessons, *block.notes, *block.offered, *block.withheld)[:MAX_OUTCOME]
    given = len(block.lessons) + len(block.notes)
    return [
        CardOutcome(
            id=shown_name(hit),
            given=place < given,
            confidence=round(hit.confidence, 4),
            reason=hit.reason,
        )
        for place, hit in enumerate(hits)
    ]


def outcome(block: Preflight) -> list[dict[str, object]]:
    """Return `list_outcomes` as data for the record of an event; `read_outcome` reads it."""
    return [as_data(one) for one in list_outcomes(block)]


def read_outcome(event: Event) -> list[CardOutcome] | None:
    """Return what ``outcome`` told of an event, None where nobody noted it."""
    stored = event.record.get(OUTCOME)
    if not isinstance(stored, list):
        return None
    return [_read_card_outcome(data) for data in stored if isinstance(data, dict)]


def _read_card_outcome(data: Mapping[str, object]) -> CardOutcome:
    confidence = data.get("confidence")
    return CardOutcome(
        id=str(data.get("id", "")),
        given=data.get("given") is True,
        confidence=float(confidence) if isinstance(confidence, (int, float)) else None,
        reason=str(data.get("reason", "")),
    )


def card_digest(card: Card) -> str:
    """Return what changes when the card would read differently in a block."""
    return f"{zlib.crc32(repr((card.title, card.why, card.checklist)).encode()):08x}"
