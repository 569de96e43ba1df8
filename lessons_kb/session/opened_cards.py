"""Record the cards that a session opened. These cards count as given."""

from __future__ import annotations

import os
import posixpath
import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import InputError
from lessons_kb.ledger.given import CardInBrain, card_digest, find_cards, note_taken
from lessons_kb.ledger.session_memory import GivenCard, SessionMemory, lend_memory
from lessons_kb.ledger.withheld import is_withheld
from lessons_kb.model import DONE, OPENED, Event
from lessons_kb.on_demand import FIND_TITLES, load
from lessons_kb.store.handles import find_handled
from lessons_kb.store.scan import SUFFIXES

if TYPE_CHECKING:
    from lessons_kb.session.state import Hook

_SHOW = r"\blessons show ([^\s;&|-][^\s;&|]*)"


def find_opened(hook: Hook, calls: Iterable[Event]) -> list[CardInBrain]:
    """Return the cards whose files the calls have read, or that ``lessons show`` has printed."""
    files: list[str] = []
    names: set[str] = set()
    for call in calls:
        if call.outcome in DONE and call.kind == "read":
            paths = (os.path.expanduser(path) for path in call.targets if path.endswith(SUFFIXES))
            files += (os.path.realpath(os.path.join(hook.scope, path)) for path in paths)
        elif call.outcome in DONE and "lessons show" in call.text:
            names |= {name.strip("\"'") for name in re.findall(_SHOW, call.text)}
    if hook.event.posted or not (files or names):
        return []
    handled = list(filter(None, map(find_handled, names)))
    opened: list[CardInBrain] = []
    for brain in hook.brains.members:
        ids = _find_files(brain, files)
        card_paths = brain.read(lambda index: index.catalogue.numbers()) if names else ()
        ids |= {path for path in card_paths if not names.isdisjoint(_names_of(path))}
        brain_name = brain.state_name
        ids |= {card.card for card in handled if card.brain == brain_name}
        opened += [(brain, card) for card in find_cards(brain, ids)]
    return opened


def _names_of(path: str) -> tuple[str, ...]:
    """Return the names of a card: its path and its file name, with and without extension."""
    file = posixpath.basename(path)
    return path, posixpath.splitext(path)[0], file, posixpath.splitext(file)[0]


def _find_files(brain: Brain, paths: Sequence[str]) -> set[str]:
    """Return the ids of the brain's cards among some files."""
    if not paths:
        return set()
    find_card = load(FIND_TITLES).find_card
    return set(filter(None, (find_card(brain, path) for path in paths)))


def note_opened(
    state: SessionMemory, session: str, found: Sequence[CardInBrain], *, at: float
) -> None:
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


def open_for(session: str, brains: Brains, found: CardInBrain, *, asked_by: str) -> None:
    """Record that one of our commands or tools shows a card to ``session``, or to no session if it
    is "".

    Raises InputError if the card is withheld from the session ``asked_by``.
    """
    if is_withheld(*found, asked_by, occasion=OPENED):
        raise InputError("this card is not available in this session")
    if session:
        with lend_memory(brains.members[0].hook_journal, session) as state:
            note_opened(state, session, [found], at=time.time())
