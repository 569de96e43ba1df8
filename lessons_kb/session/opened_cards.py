"""Record the cards that a session opened. These cards count as given."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import InputError
from lessons_kb.ledger.given import card_digest, note_taken
from lessons_kb.ledger.session_memory import GivenCard, SessionMemory, lend_memory
from lessons_kb.ledger.withheld import is_withheld
from lessons_kb.model import OPENED, Card

Found = tuple[Brain, Card]


def note_opened(state: SessionMemory, session: str, found: Sequence[Found], *, at: float) -> None:
    """Record that a session has read cards. These cards count as given in this turn.

    Cards that may not be injected are skipped.
    """
    for brain, card in found:
        if not card.is_injectable:
            continue
        journal, row = brain.hook_journal, (card.id, card_digest(card))
        turn = journal.injections.turn(session)
        if row not in journal.in_context(session, since_turn=turn):
            journal.record_injections(
                session,
                turn=turn,
                at=at,
                cards=[(*row, 0)],
                ranks=[0],
                source=OPENED,
                told=OPENED,
            )
        journal.outcomes.note(session, card.id, OPENED, at=at)
        note_taken(brain, session, card.id, at=at)
        state.note_given([GivenCard(brain.root, card.id)])


def open_for(session: str, brains: Brains, found: Found, *, asked_by: str) -> None:
    """Record that one of our commands or tools shows a card to ``session``, or to no session if it
    is "".

    Raises InputError if the card is withheld from the session ``asked_by``.
    """
    if is_withheld(*found, asked_by, occasion=OPENED):
        raise InputError("this card is not available in this session")
    if session:
        with lend_memory(brains.members[0].hook_journal, session) as state:
            note_opened(state, session, [found], at=time.time())
