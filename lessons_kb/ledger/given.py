"""Record and find the lessons that were given or offered to a session, or are in its context."""

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
from lessons_kb.preflight.offers import IN_CONTEXT, shown_name
from lessons_kb.store.journal import ASKED, OFFER
from lessons_kb.values import frozen

CardInBrain = tuple[Brain, Card]


def find_given(brains: Sequence[Brain], session: str | None = None) -> list[Card]:
    """Return the lessons that were in the context of the latest prompt of a session, or of any.

    Lessons given after the prompt, such as before an edit of a guarded file, are included. Lessons
    of earlier prompts are not. If the outcome of the prompt was not recorded, the lessons of the
    latest block are returned. The result is empty if the journal cannot be read.
    """
    try:
        chosen = _find_since_asked(brains, session)
    except (sqlite3.Error, StorageError):
        chosen = None
    if chosen is None:
        chosen = {brain: set(brain.hook_journal.last_injected(session)) for brain in brains}
    cards: list[Card] = []
    for brain, ids in chosen.items():
        if ids:
            every = brain.read(lambda brain: brain.catalogue.all_cards())
            cards += [card for card in every if card.id in ids and card.kind != NOTE]
    return cards


def _find_since_asked(brains: Sequence[Brain], session: str | None) -> dict[Brain, set[str]] | None:
    asked = next(iter(brains[0].journal.events.find(session=session, kinds=ASKED, limit=1)), None)
    noted = read_outcome(asked) if asked else None
    if asked is None or noted is None:
        return None
    for brain in brains:  # a later prompt may have got lessons without a record
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
    """Return the cards of a brain with some ids, sorted by id. Deleted cards are left out."""
    if not ids or not brain.ensure_indexed():
        return []

    def fetch(brain: Brain) -> list[Card]:
        # Look up each id, because these are a few cards of a brain that may have thousands.
        numbers: list[int] = []
        for path in ids:
            for number, _digest in brain.catalogue.numbers(path).values():
                numbers.append(number)
        return sorted(brain.catalogue.cards(numbers).values(), key=lambda card: card.id)

    return brain.read(fetch)


WORDS_ONLY = "words_only"
"""The key in a prompt's record which states that the model was not loaded yet when it was
answered.
"""
OUTCOME = "lessons"
"""The key of `outcome` in an event's record."""


MAX_OUTCOME = 8
"""The maximum number of cards of a block that are recorded. Given cards come first, then the best
suppressed cards.
"""


TAKEN = "offer taken"
"""The name of the count of cards that were opened or given after their titles were offered. A card
counts once per session.
"""


_DOUBLED_AFTER = 10


_TAKEN_WEIGHS = 3


def find_no_offer_reason(brain: Brain, session: str | None, hit: Hit) -> str:
    """Return why the title of a hit is not offered now, or "" if it is offered.

    Ten sessions in which the offered card was not opened double the confidence that an offer needs.
    Each session in which the card was opened makes up for three others. A card that passed the gate
    is always offered.
    """
    outcomes = brain.hook_journal.outcomes
    if session and outcomes.is_noted(session, hit.card.id, OFFER):
        return "offered already in this session"
    totals = outcomes.totals([hit.card.id]).get(hit.card.id, {})
    offered, taken = totals.get(OFFER, 0), totals.get(TAKEN, 0)
    ignored = max(offered - (1 + _TAKEN_WEIGHS) * taken, 0)
    takes = hit.title_at * (1 + ignored / _DOUBLED_AFTER)
    if hit.passed or hit.confidence >= takes:
        return ""
    return f"offered in {offered} sessions, taken in {taken}: an offer takes {takes:.2f} by now"


def note_offered(homes: Homes, block: Preflight, session: str, *, at: float) -> None:
    """Record that the titles of cards were offered to a session."""
    for hit in block.offered if session else ():
        journal = homes[hit.brain, hit.card.id].hook_journal
        journal.outcomes.note(session, hit.card.id, OFFER, at=at)
        due = {"session": session, "card": hit.card.id, "at": at}
        journal.ledger.note(**due, occasion="prompt", told=OFFER_TOLD)


def note_taken(brain: Brain, session: str, card: str, *, at: float) -> None:
    """Record that a session opened, or was given, a card whose title it had been offered."""
    outcomes = brain.hook_journal.outcomes
    if session and outcomes.is_noted(session, card, OFFER):
        outcomes.note(session, card, TAKEN, at=at)


Homes = Mapping[tuple[str, str], Brain]
"""Mapping from (alias of the hit's brain, card id) to the brain that records the card's events. For
a card of a server, this is the nearest brain.
"""


Known = Mapping[Brain, set[tuple[str, str]]]
"""Mapping from each brain to (card id, digest) pairs of the lessons in a session's context."""


def find_known(after: Mapping[Brain, int], session: str, *, coming: int = 0) -> Known:
    """Return the lessons that a session still has in its context.

    ``after`` maps each brain to the number of prompts after which a lesson may be given again.
    ``coming`` is the number of prompts that are not counted yet.
    """
    known = {}
    for brain, prompts in after.items():
        since = brain.hook_journal.injections.turn(session) + coming - prompts
        known[brain] = brain.hook_journal.in_context(session, since_turn=since)
    return known


def is_in_context(known: Known, brain: Brain, card: Card) -> bool:
    """Return whether the current text of a lesson is still in a session's context."""
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
    """Record the lessons of a block in the journal, and return them.

    The block's tokens are divided evenly among the lessons. Unless ``counted``, the tokens are 0.
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
    """Record a preflight and its outcome in the journal."""
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
    """The outcome for one card at a prompt, as it is stored in an event's record."""

    id: str
    given: bool
    confidence: float | None
    reason: str
    lesson_at: float | None = None
    """The confidence from which the brain gave a lesson, and the confidence from which it offered a
    title.
    """
    title_at: float | None = None


def list_outcomes(block: Preflight) -> list[CardOutcome]:
    """Return the outcome of a block, with at most eight given, offered and suppressed cards."""
    hits = (*block.lessons, *block.notes, *block.offered, *block.withheld)[:MAX_OUTCOME]
    given = len(block.lessons) + len(block.notes)
    return [
        CardOutcome(
            id=shown_name(hit),
            given=place < given,
            confidence=round(hit.confidence, 4),
            reason=hit.reason,
            lesson_at=hit.lesson_at,
            title_at=hit.title_at,
        )
        for place, hit in enumerate(hits)
    ]


def outcome(block: Preflight) -> list[dict[str, object]]:
    """Return `list_outcomes` as JSON data for an event's record, which `read_outcome` parses."""
    return [as_data(card) for card in list_outcomes(block)]


def read_outcome(event: Event) -> list[CardOutcome] | None:
    """Return the outcome in an event's record, or None if there is none."""
    stored = event.record.get(OUTCOME)
    if not isinstance(stored, list):
        return None
    return [_read_card_outcome(data) for data in stored if isinstance(data, dict)]


def _read_card_outcome(data: Mapping[str, object]) -> CardOutcome:
    return CardOutcome(
        id=str(data.get("id", "")),
        given=data.get("given") is True,
        confidence=_read_number(data.get("confidence")),
        reason=str(data.get("reason", "")),
        lesson_at=_read_number(data.get("lesson_at")),
        title_at=_read_number(data.get("title_at")),
    )


def _read_number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def card_digest(card: Card) -> str:
    """Return a digest that changes with the text that a block shows of the card."""
    return f"{zlib.crc32(repr((card.title, card.why, card.checklist)).encode()):08x}"
