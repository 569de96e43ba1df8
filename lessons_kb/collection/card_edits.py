"""Change the header of a card: count a mistake, add a prompt, set the status."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.current_session import session_of
from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.keys import MAX_EXAMPLES, MAX_OCCURRENCES, split_header
from lessons_kb.cards.parse import parse_bytes, parse_card
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.collection.merged_by_git import merges_cards
from lessons_kb.collection.prompt_text import shorten_prompt
from lessons_kb.errors import (
    EditRefused,
    GitError,
    InputError,
    LessonsError,
    StorageError,
)
from lessons_kb.model import STATUSES, Card, Document, Event
from lessons_kb.store import card_files
from lessons_kb.store.journal import BUMPED
from lessons_kb.text.redact import redact

_DAY_SECONDS = 86_400
MAX_TAUGHT = 20
"""The maximum number of prompts in the ``symptoms`` or the ``not-for`` of a card."""


class CardEdits(CardLookup):
    """Edit the headers of cards that are found by name. The other bytes of a file do not change."""

    def bump(
        self,
        *names: str,
        task: str | None = None,
        at: float | None = None,
        complaint: Event | None = None,
    ) -> list[Card]:
        """Count the mistake once more on each card: ``occurrences`` + 1, ``last-seen`` today.

        ``task`` is appended to ``examples``, which keeps the last five. All names are looked up
        before the first file is changed. The journal counts the bump at the time ``at``, in seconds
        since the epoch, which defaults to now. ``complaint`` is the prompt that says that the
        mistake came back; see ``note_bump``.

        If git merges the card key by key, ``last-seen`` includes the time. Otherwise two clones
        that bump the card on the same day would write the same bytes, and git would merge them into
        one count without calling the merge driver.
        """

        def bump(brain: Brain, card: Card) -> Card:
            day = _format_now(brain.root, card.id)
            before = card

            def edit(card: Card, text: str) -> str:
                nonlocal before
                before = card
                return edit_header(text, count_again(card, task, day))

            bumped = self.rewrite(brain, card.id, edit)
            self.note_bump(brain, card.id, at=at, complaint=complaint)
            if bumped.examples != before.examples:
                with contextlib.suppress(StorageError):  # only `uncount` needs it
                    outcomes = brain.journal.outcomes
                    outcomes.note_examples(card.id, bumped.occurrences, before.examples)
            return bumped

        return _change_each(map(self.find_to_edit, names), bump)

    def uncount(self, *names: str) -> list[Card]:
        """Take back the last count of each card: ``occurrences`` - 1, and its former ``last-seen``.

        The former ``last-seen`` is the day of the count before, as far as the journal has it. An
        example that the count added is removed, if the journal has it and the card still does.
        Raises InputError for a card whose mistake was counted only once.
        """

        def uncount(brain: Brain, card: Card) -> Card:
            days: list[str] = []
            with contextlib.suppress(StorageError):  # only the journal's statistics are lost
                days = brain.journal.outcomes.last_days(card.id, BUMPED)

            def edit(card: Card, text: str) -> str:
                count = card.occurrences - 1
                if not count:
                    raise InputError(f"{card.id} was counted only once, so no count can be undone")
                changes: dict[str, Change] = {"occurrences": count}
                if days[1:]:
                    changes["last-seen"] = days[1]
                elif count == 1:
                    changes["last-seen"] = None
                examples: tuple[str, ...] | None = None
                with contextlib.suppress(StorageError):
                    examples = brain.journal.outcomes.find_examples(card.id, card.occurrences)
                if examples is not None and card.examples[:-1] == examples[1 - MAX_EXAMPLES :]:
                    changes["examples"] = examples or None
                return edit_header(text, changes)

            changed = self.rewrite(brain, card.id, edit)
            with contextlib.suppress(StorageError):
                for day in days[:1]:
                    brain.journal.outcomes.uncount(card.id, BUMPED, day=day)
                    brain.journal.ledger.take_back_last(card.id, day=day)
            return changed

        return _change_each(map(self.find_to_edit, names), uncount)

    def confirm(self, *names: str) -> list[Card]:
        """Record that a person confirmed each card: set ``confirmed`` to today."""

        def confirm(brain: Brain, card: Card) -> Card:
            return self.rewrite(
                brain, card.id, lambda _card, text: edit_header(text, {"confirmed": today()})
            )

        return _change_each(map(self.find_to_edit, names), confirm)

    def bump_text(self, brain: Brain, path: str, text: str, *, task: str | None = None) -> str:
        """Return the text of a card, for example in an editor, with one more occurrence counted.

        ``task`` is as in ``bump``. Call ``note_bump`` after the text was saved. Raises EditRefused.
        """
        card = require_card(parse_card(text, path=path, folders=brain.settings.folders), path)
        return edit_header(text, count_again(card, task, _format_now(brain.root, path)))

    def note_bump(
        self,
        brain: Brain,
        path: str,
        *,
        at: float | None = None,
        complaint: Event | None = None,
    ) -> None:
        """Record a bump of a card in the journal, ``at`` seconds since the epoch or now.

        After a complaint, the lesson failed only if the session had it before the complaint.
        """
        at = time.time() if at is None else at
        # If the journal cannot be written, a statistic is lost, but the card was changed.
        with contextlib.suppress(StorageError):
            brain.journal.outcomes.count(path, BUMPED, at=at)
            if complaint is not None:
                ledger, said_at = brain.journal.ledger, complaint.at
                ledger.bump(complaint.session, path, at=at, before=said_at)
                return
            # A bump outside of any session belongs to the last session of the day before it.
            outcomes = brain.journal.outcomes
            session = session_of()[0] or outcomes.last_session(path, since=at - _DAY_SECONDS)
            if session:
                brain.journal.ledger.bump(session, path, at=at)

    def teach(self, name: str, key: str, prompt: str) -> Card:
        """Add a prompt, without secrets, to the ``symptoms`` or the ``not-for`` of a card.

        Searches match ``symptoms``. A prompt in ``not-for`` does not match the card. Only the last
        twenty prompts are kept. Raises InputError if the prompt is empty.
        """
        line = shorten_prompt(prompt)
        if not line:
            raise InputError("the prompt is empty; enter its text")
        brain, card = self.find(name, notes=False)

        def add_line(card: Card, text: str) -> str:
            lines = card.symptoms if key == "symptoms" else card.not_for
            others = [other for other in lines if other != line]
            return edit_header(text, {key: (*others, line)[-MAX_TAUGHT:]})

        return self.rewrite(brain, card.id, add_line)

    def set_status(self, status: str, *names: str) -> list[Card]:
        """Set the status of cards: ``active``, ``ignored`` or ``archived``."""
        check_choice("status", status, STATUSES)

        def change(brain: Brain, card: Card) -> Card:
            if card.status == status:
                return card
            return self.rewrite(brain, card.id, partial(change_status, status=status))

        found = [self.find(name, notes=False) for name in names]
        return _change_each(found, change)

    def rewrite(self, brain: Brain, path: str, edit: Callable[[Card, str], str]) -> Card:
        """Replace the text of a card with ``edit(card, text)``, and return the changed card."""
        folders = brain.settings.folders

        def edit_bytes(data: bytes) -> bytes:
            card = require_card(parse_bytes(data, path=path, folders=folders), path)
            try:
                return edit(card, data.decode("utf-8")).encode("utf-8")
            except EditRefused as error:
                raise EditRefused(f"{path} was not changed: {error}") from None

        data = card_files.rewrite(brain.root, path, edit_bytes)
        brain.touch()
        return require_card(parse_bytes(data, path=path, folders=folders), path)


def _change_each(
    found: Iterable[tuple[Brain, Card]], change: Callable[[Brain, Card], Card]
) -> list[Card]:
    """Change each card once. Afterwards, raise an error for cards that could not be changed.

    All cards are found before the first is changed.
    """
    unique = {(brain.root, card.id): (brain, card) for brain, card in found}
    cards: list[Card] = []
    refused: list[LessonsError] = []
    for brain, card in unique.values():
        try:
            cards.append(change(brain, card))
        except (EditRefused, StorageError) as error:
            refused.append(error)
    if refused:
        done = f"; done: {', '.join(card.id for card in cards)}" if cards else ""
        raise type(refused[0])(f"{'; '.join(map(str, refused))}{done}")
    return cards


def count_again(card: Card, task: str | None, day: str) -> Mapping[str, Change]:
    """Return the changes of a header that count the mistake once more."""
    occurrences = min(card.occurrences + 1, MAX_OCCURRENCES)
    changes: dict[str, Change] = {"occurrences": occurrences, "last-seen": day}
    example = redact(" ".join((task or "").split()))
    if example:
        changes["examples"] = (*card.examples, example)[-MAX_EXAMPLES:]
    return changes


def change_status(card: Card, text: str, *, status: str) -> str:
    """Return the text of a card with another status.

    A card without `status` is active, and another status is added at the end of its header. If the
    card becomes active again, that line is removed, and also a header that was added with it.
    """
    header = split_header(text).header
    added = f"status: {card.status}"
    if status != "active" or header is None or header.lines[-1:] != (added,):
        return edit_header(text, {"status": status})
    if header.lines != (added,):
        return edit_header(text, {"status": None})
    fence = f"---{header.eol}"
    start = header.start - len(fence)
    return text[:start] + text[header.end :].removeprefix(fence)


def require_card(document: Document, path: str) -> Card:
    """Return the card of a file. Raises EditRefused if the file does not contain a card."""
    if document.card is None:
        why = document.findings[0].message if document.findings else "it is not readable"
        raise EditRefused(f"{path} was not changed: {why}; run `lessons lint` for a fix")
    return document.card


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise InputError if a value is not one of the choices. ``name`` is for the message."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _format_now(root: str, path: str) -> str:
    """Return today's local date, with the time if git merges the card key by key."""
    now = dt.datetime.now(tz=dt.UTC).astimezone()
    try:
        has_time = merges_cards(root, path)
    except GitError:
        has_time = False
    return now.isoformat(timespec="milliseconds") if has_time else now.date().isoformat()


def today() -> str:
    """Return today's local date in ISO format."""
    return dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()
