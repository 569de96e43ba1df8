"""Change the header of a card: count it, teach it a prompt, set its status."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.current_session import session_of
from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.keys import MAX_EXAMPLES, MAX_OCCURRENCES
from lessons_kb.cards.parse import parse_bytes, parse_card
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.collection.merged_by_git import merges_cards
from lessons_kb.collection.prompt_text import tell_prompt
from lessons_kb.errors import (
    EditRefused,
    GitError,
    InputError,
    LessonsError,
    StorageError,
)
from lessons_kb.model import STATUSES, Card, Document
from lessons_kb.store import card_files
from lessons_kb.store.journal import BUMPED
from lessons_kb.text.redact import redact

_DAY_SECONDS = 86_400
MAX_TAUGHT = 20
"""Prompts that a card keeps of what it was taught."""


class CardEdits(CardLookup):
    """Cards found by name, with edits of their headers; all other bytes stay."""

    def bump(self, *names: str, task: str | None = None, at: float | None = None) -> list[Card]:
        """Count the mistake once more on each card: ``occurrences`` + 1, ``last-seen`` today.

        ``task`` is appended to ``examples``, of which the last five stay. All names are looked up
        before the first file is touched. ``at`` (seconds since the epoch, now by default) is when
        the journal counts it. Where git merges the card key by key, ``last-seen``
        holds the time as well: of two files with the same bytes git keeps one and asks nobody,
        so that the counts of two clones that bumped on the same day would not add up.
        """

        def bump(brain: Brain, card: Card) -> Card:
            day = _now(brain.root, card.id)
            bumped = self.rewrite(
                brain, card.id, lambda one, text: edit_header(text, count_again(one, task, day))
            )
            self.note_bump(brain, card.id, at=at)
            return bumped

        return self._each(names, bump)

    def confirm(self, *names: str) -> list[Card]:
        """Note that a person found each card true today: ``confirmed`` becomes today."""

        def confirm(brain: Brain, card: Card) -> Card:
            return self.rewrite(
                brain, card.id, lambda _card, text: edit_header(text, {"confirmed": today()})
            )

        return self._each(names, confirm)

    def bump_text(self, brain: Brain, path: str, text: str, *, task: str | None = None) -> str:
        """Return a card's text, as an editor holds it, with the mistake counted once more.

        ``task`` is as in ``bump``; ``note_bump`` is for when the text was taken over. Raises
        EditRefused.
        """
        card = require_card(parse_card(text, path=path, folders=brain.settings.folders), path)
        return edit_header(text, count_again(card, task, _now(brain.root, path)))

    def note_bump(self, brain: Brain, path: str, *, at: float | None = None) -> None:
        """Count that the mistake of a card came back, ``at`` seconds since the epoch or now."""
        at = time.time() if at is None else at
        # The card itself is what counts: a journal that cannot be written costs the statistics.
        with contextlib.suppress(StorageError):
            brain.journal.outcomes.count(path, BUMPED, at=at)
            # Said outside of any session, it is meant of the last one of a day.
            outcomes = brain.journal.outcomes
            session = session_of()[0] or outcomes.last_session(path, since=at - _DAY_SECONDS)
            if session:
                brain.journal.ledger.bump(session, path, at=at)

    def teach(self, name: str, key: str, prompt: str) -> Card:
        """Write a prompt into a card's ``symptoms``, by which it is found, or its ``not-for``.

        See ``redact``. Of many the last twenty stay. Raises InputError for a prompt without a word.
        """
        told = tell_prompt(prompt)
        if not told:
            raise InputError("the prompt is empty; name it")
        brain, card = self.find(name, notes=False)

        def teach(card: Card, text: str) -> str:
            known = card.symptoms if key == "symptoms" else card.not_for
            taught = (*(one for one in known if one != told), told)[-MAX_TAUGHT:]
            return edit_header(text, {key: taught})

        return self.rewrite(brain, card.id, teach)

    def set_status(self, status: str, *names: str) -> list[Card]:
        """Make cards ``active``, ``ignored`` or ``archived``."""
        check_choice("status", status, STATUSES)

        def change(brain: Brain, card: Card) -> Card:
            if card.status == status:
                return card
            return self.rewrite(brain, card.id, partial(change_status, status=status))

        return self._each(names, change)

    def rewrite(self, brain: Brain, path: str, edit: Callable[[Card, str], str]) -> Card:
        """Give a card the text that ``edit`` makes of card and text; return what it is then."""
        folders = brain.settings.folders

        def edited(data: bytes) -> bytes:
            card = require_card(parse_bytes(data, path=path, folders=folders), path)
            try:
                return edit(card, data.decode("utf-8")).encode("utf-8")
            except EditRefused as error:
                raise EditRefused(f"{path} was not changed: {error}") from None

        data = card_files.rewrite(brain.root, path, edited)
        brain.touch()
        return require_card(parse_bytes(data, path=path, folders=folders), path)

    def _each(self, names: Sequence[str], change: Callable[[Brain, Card], Card]) -> list[Card]:
        """Change every card; those that refuse are named when the others are done."""
        named = [self.find(name, notes=False) for name in names]
        found = {(brain.root, card.id): (brain, card) for brain, card in named}  # each card once
        cards: list[Card] = []
        refused: list[LessonsError] = []
        for brain, card in found.values():
            try:
                cards.append(change(brain, card))
            except (EditRefused, StorageError) as error:
                refused.append(error)
        if refused:
            done = f"; done: {', '.join(card.id for card in cards)}" if cards else ""
            raise type(refused[0])(f"{'; '.join(map(str, refused))}{done}")
        return cards


def count_again(card: Card, task: str | None, day: str) -> Mapping[str, Change]:
    """Return the changes by which a card counts its mistake once more."""
    occurrences = min(card.occurrences + 1, MAX_OCCURRENCES)
    changes: dict[str, Change] = {"occurrences": occurrences, "last-seen": day}
    if task := redact(" ".join((task or "").split())):
        changes["examples"] = (*card.examples, task)[-MAX_EXAMPLES:]
    return changes


def change_status(_card: Card, text: str, *, status: str) -> str:
    """Return a card's text with another status."""
    return edit_header(text, {"status": status})


def require_card(document: Document, path: str) -> Card:
    """Return the card of a file; EditRefused where the file is none."""
    if document.card is None:
        why = document.findings[0].message if document.findings else "it is not readable"
        raise EditRefused(f"{path} was not changed: {why}; run `lessons lint` for a fix")
    return document.card


def check_choice(what: str, value: str, choices: Sequence[str]) -> None:
    """Raise InputError for a value that is none of the choices."""
    if value not in choices:
        raise InputError(f"{what} must be one of {', '.join(choices)}, not {value!r}")


def _now(root: str, path: str) -> str:
    """Return today's date, with the time for a card that is merged key by key."""
    moment = dt.datetime.now(tz=dt.UTC).astimezone()
    try:
        timed = merges_cards(root, path)
    except GitError:
        timed = False
    return moment.isoformat(timespec="milliseconds") if timed else moment.date().isoformat()


def today() -> str:
    """Return the ISO date of today here."""
    return dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()
