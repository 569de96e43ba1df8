"""Read, create, delete and restore the cards of a brain, and find near-duplicates."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Unpack

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.write_index import read_document
from lessons_kb.cards.draft_gaps import find_lacks
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.links import normal_title, slug
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sketch import Sketch
from lessons_kb.collection.card_edits import (
    CardEdits,
    change_status,
    check_choice,
    require_card,
    today,
)
from lessons_kb.collection.compose_card import NewCard, compose, redact_card
from lessons_kb.collection.lookup import MAX_SHOWN, find_fitting, remove_alias
from lessons_kb.collection.near_duplicates import (
    CANDIDATES,
    NEAR,
    RELATED,
    SAME,
    NearDuplicate,
    find_alike,
    similarity,
)
from lessons_kb.detect.matcher import check_pattern
from lessons_kb.errors import (
    AmbiguousCard,
    CardNotFound,
    Contradiction,
    DuplicateCard,
    Incomplete,
    InputError,
)
from lessons_kb.model import NOTE, Card, Document, Pattern, Source
from lessons_kb.on_demand import CONTRADICTIONS, load
from lessons_kb.store import card_files, trash
from lessons_kb.store.locks import hold_for_new_card
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import shorten

if TYPE_CHECKING:
    from lessons_kb.cards.conflicts import Conflict

_LEVELS = (SAME, NEAR, RELATED)
_REWORDED = 0.55
"""Titles with at least this similarity of words are not compared by their meaning."""
_MOST_PROPOSED = 3
"""The maximum number of near-duplicates that are returned."""
_MOST_SAME_MEANING = 3
"""If more titles than this have one meaning, they are a family, and not duplicates."""
_MAX_DEMAND = 80
ON_DUPLICATE = ("fail", "bump", "new", "contradicts")


class Cards(CardEdits):
    """The cards of the brains that apply."""

    def read(self, name: str) -> tuple[str, Document]:
        """Return the path on disk of a card, and its parsed file."""
        brain, card = self.find(name)
        settings = brain.settings
        limit = settings.index.max_file_bytes
        _data, document = read_document(brain.root, card.id, settings.folders, limit)
        return os.path.join(brain.root, *card.id.split("/")), document

    def create(
        self,
        title: str,
        *,
        detect: Sequence[Pattern] = (),
        sources: Sequence[Source] = (),
        whole: bool = False,
        on_duplicate: str = "fail",
        **parts: Unpack[NewCard],
    ) -> Card:
        """Write a new card. See ``Library.create``.

        A ``whole`` card is written without the guidance of the template and has to pass the quality
        bar. Otherwise Incomplete is raised, with the missing parts.
        """
        sketch = Sketch(title=" ".join(title.split()), detect=detect, sources=sources, **parts)
        for problem in filter(None, map(check_pattern, detect)):
            raise InputError(problem)
        text = compose(sketch, created=today(), whole=whole)
        return self.add_text(text, whole=whole, on_duplicate=on_duplicate)

    def add_text(self, text: str, *, whole: bool = False, on_duplicate: str = "fail") -> Card:
        """Write a new card with this text, under a name derived from its title.

        Secrets are removed, and a missing date is added. ``whole`` and ``on_duplicate`` are as in
        ``create``. Raises InputError if the text is not a card.
        """
        check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
        folders = self._brains.members[0].settings.folders
        document = parse_card(redact_card(text), path="lessons/new.md", folders=folders)
        card = document.card
        if card is None:
            raise InputError(f"not a card: {document.findings[0].message}")
        if "title" not in document.key_lines and card.title == "new":
            raise InputError("the card has no title; add `title: …`, naming the mistake")
        with hold_for_new_card(self._brains.members[0].root):
            self._brains.refresh()
            if on_duplicate == "fail":  # opposed demands are also alike, but are not duplicates
                self.check_contradictions(card)
            elif on_duplicate == "contradicts":
                text = self.link_contradictions(text, card)
            duplicate = None
            if on_duplicate in ("fail", "bump"):
                duplicate = self._find_duplicate(card, near=on_duplicate == "fail")
            if duplicate is not None:
                existing, reason = duplicate
                if on_duplicate == "bump":
                    return self.bump(existing)[0]
                command = f"count it with `lessons bump {existing}`"
                if self.get(existing).template:
                    command = f"fill in this template, which `lessons show {existing}` prints"
                raise DuplicateCard(
                    f"{reason}; {command}, or write a second card with --on-duplicate new",
                    existing=existing,
                )
            missing = find_lacks(document) if whole else ()
            if missing:
                raise Incomplete(f"the card lacks {'; '.join(missing)}", missing=missing)
            dated = text if card.created else edit_header(text, {"created": today()})
            return self.add(redact_card(dated), kind=card.kind, title=card.title)

    def add(self, text: str, *, kind: str, title: str) -> Card:
        """Write the text of a card under a name derived from its title. No file is overwritten."""
        brain = self._brains.members[0]
        settings = brain.settings
        limit, data = settings.index.max_file_bytes, text.encode("utf-8")
        if len(data) > limit:
            raise InputError(f"the card has more than {limit:,} bytes; split it")
        for path in numbered_names(f"{kind}s/{slug(redact(title))}"):
            with contextlib.suppress(DuplicateCard):  # another process took the name: try the next
                brain.touch()
                card_id = card_files.create(brain.root, path, data)
                break
        _data, document = read_document(brain.root, card_id, settings.folders, limit)
        return require_card(document, card_id)

    def check_contradictions(self, card: Card) -> None:
        """Raise Contradiction if an active card demands the opposite of a card to be written."""
        for brain in self._brains.members:
            for conflict in self._find_rivals(brain, card):
                other = conflict.second
                raise Contradiction(
                    f"{other.id} demands the opposite: {shorten(conflict.opposed, _MAX_DEMAND)}"
                    "; correct one of the two, or write the card with --on-duplicate contradicts: "
                    "an agent then gets only one of them",
                    existing=other.id,
                )

    def link_contradictions(self, text: str, card: Card) -> str:
        """Return the text of a card to be written, which names the cards that contradict it.

        A card can name only cards of the brain to which it is written.
        """
        conflicts = self._find_rivals(self._brains.members[0], card)
        if not conflicts:
            return text
        rivals = [conflict.second.id for conflict in conflicts]
        linked: str = load(CONTRADICTIONS).link(text, card, rivals)
        return linked

    def _find_rivals(self, brain: Brain, card: Card) -> list[Conflict]:
        text = "\n".join(card.checklist)
        near = brain.read(partial(_find_candidates, title=card.title, text=text))
        rivals: list[Conflict] = load(CONTRADICTIONS).find_rivals(brain, card, near)
        return rivals

    def find_lacks(self, name: str) -> tuple[str, ...]:
        """Return the faults that keep a card from passing the quality bar, one line each."""
        return find_lacks(self.read(name)[1])

    def find_near_duplicates(self, card: Card) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson as a card that is not written yet.

        Cards with similar words come first. Cards whose titles have the same meaning follow. They
        are ``near``, never ``same``. A title in nearly the same words is compared only by words.
        The same applies to a family of titles that fill one form, which differ in a word that
        carries little of the meaning. Without this rule, 988 of 1,000 such lessons are proposed;
        with it, 7.
        """
        self._brains.refresh()
        return self._find_near_duplicates(card)

    def _find_near_duplicates(self, card: Card) -> list[NearDuplicate]:
        text = "\n".join((card.why, *card.checklist))
        candidates: dict[str, Card] = {}
        for brain in self._brains.members:
            for other in brain.read(partial(_find_candidates, title=card.title, text=text)):
                # A file that belongs to two nested brains counts for the nearer brain.
                candidates.setdefault(f"{brain.root}/{other.id}", other)
        by_words = find_alike(card.title, candidates.values(), text=text)[:_MOST_PROPOSED]
        duplicates = {duplicate.card.id: duplicate for duplicate in by_words}
        for duplicate in self._find_same_meaning(card):
            duplicates.setdefault(duplicate.card.id, duplicate)
        if len(duplicates) == len(by_words):
            return by_words
        by_level = sorted(duplicates.values(), key=lambda duplicate: _LEVELS.index(duplicate.level))
        return by_level[:_MOST_PROPOSED]

    def _find_same_meaning(self, card: Card) -> Iterator[NearDuplicate]:
        """Yield the cards whose titles have nearly the same meaning in other words."""
        for brain in self._brains.members:
            titled = brain.read(
                lambda brain: brain.meaning.titled_like(card.title) if brain.meaning else []
            )
            if len(titled) > _MOST_SAME_MEANING:
                continue
            for other, cosine in titled:
                if other.kind != NOTE and similarity(card.title, other.title) < _REWORDED:
                    distance = f"distance {1 - cosine:.2f}"
                    reason = f"{other.id} has nearly the same meaning ({distance}): {other.title}"
                    yield NearDuplicate(card=other, level=NEAR, score=cosine, reason=reason)

    def delete(self, *names: str) -> list[Card]:
        """Move cards to the trash folder, from which ``restore`` brings them back."""
        targets = [self.find(name, notes=False) for name in names]
        for brain, card in targets:
            trash.put(brain.root, card.id)
            brain.touch()
        return [card for _brain, card in targets]

    def restore(self, name: str) -> tuple[str, str]:
        """Restore a card from the trash, or make it active again if it is not deleted.

        Returns its id and the action: ``undeleted``, ``activated`` or ``unchanged``.
        """
        try:
            brain, card = self.find(name, notes=False)
        except (CardNotFound, AmbiguousCard) as error:
            card_id = self._undelete(name, exact=isinstance(error, AmbiguousCard))
            if card_id is None:
                raise
            return card_id, "undeleted"
        # The exact name of a deleted card takes precedence over a card with this prefix.
        is_exact = bool(find_fitting(remove_alias(name, brain), [card.id], exact=True))
        # The index may be out of date, because it cannot be written to a full disk.
        is_gone = not os.path.lexists(os.path.join(brain.root, card.id))
        if is_gone or not is_exact:
            card_id = self._undelete(name, exact=not is_gone)
            if card_id is not None:
                return card_id, "undeleted"
        if card.status == "active":
            return card.id, "unchanged"
        self.rewrite(brain, card.id, partial(change_status, status="active"))
        return card.id, "activated"

    def _undelete(self, name: str, *, exact: bool) -> str | None:
        """Restore the card that ``name`` means from the trash.

        Returns its id, or None if there is no such card.
        """
        brain, fitting = self.find_in_trash(name, exact=exact)
        if len(fitting) > 1:
            raise AmbiguousCard(
                f"{name!r} matches several cards in the trash: {', '.join(fitting[:MAX_SHOWN])}; "
                "write more of the name"
            )
        if not fitting:
            return None
        brain.touch()
        return trash.restore(brain.root, fitting[0])

    def _find_duplicate(self, card: Card, *, near: bool) -> tuple[str, str] | None:
        """Return the id of a card with the same lesson, and the reason.

        With ``near``, a near-duplicate counts as well.
        """
        key = normal_title(card.title)
        for brain in self._brains.members:
            for path in brain.read(lambda brain: brain.catalogue.paths_titled(key)):
                return path, f"{path} already has this title"
        for duplicate in self._find_near_duplicates(card):
            if duplicate.level == SAME or (near and duplicate.level == NEAR):
                return duplicate.card.id, duplicate.reason
        return None


_CANDIDATE_WEIGHTS = {"title": 1.0, "symptoms": 1.0, "checklist": 1.0, "body": 1.0}
_MOST_FETCHED = 1_000
"""The maximum number of hits that are searched for candidates, because many may be notes."""


def _find_candidates(brain: Brain, *, title: str, text: str) -> list[Card]:
    """Return the cards with this title, and the cards that share the most words with a lesson.

    They come from the index, so that the time does not grow with the number of cards.
    """
    numbers = [n for n in brain.catalogue.numbers_titled(normal_title(title)) if n > 0]
    if brain.reader is not None:
        terms = dict.fromkeys(analyze(f"{title}\n{text}"), 1.0)
        limit = CANDIDATES
        while True:
            hits = brain.reader.search(terms, _CANDIDATE_WEIGHTS, limit)
            cards = [number for number, _score in hits if number > 0][:CANDIDATES]
            if len(cards) == CANDIDATES or len(hits) < limit or limit >= _MOST_FETCHED:
                break
            limit = _MOST_FETCHED  # notes have the first places: fetch more
        numbers += cards
    candidates = brain.cards(dict.fromkeys(numbers))
    return [card for card in candidates.values() if card.kind != NOTE]
