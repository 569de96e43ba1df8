"""Review the drafts of a brain that others share: decisions are commits on a branch.

The branch is read and written by git's objects, so that nobody who works in the clone is disturbed.
What is accepted is served once the branch is merged and the folder updated; where the folder itself
shows the branch, the files are written there as well.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import islice

from lessons_kb.brain.cards import Cards
from lessons_kb.brain.drafts.drafts import PROPOSED, Draft, Drafts
from lessons_kb.brain.layers import Layers
from lessons_kb.cards.parse import parse_bytes, parse_card
from lessons_kb.cards.slugs import numbered_names, slug
from lessons_kb.duplicates.near_duplicates import Duplicates, NearDuplicate
from lessons_kb.errors import DuplicateCard, EditRefused, InputError
from lessons_kb.model import NOTE, Card
from lessons_kb.process.git_commit import Author, Branch
from lessons_kb.store import card_files
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line

BRANCH = "lessons-review"
"""Where decisions go unless the server is told otherwise."""
_Change = Callable[[str], Mapping[str, bytes]]
"""Files of the brain, by path, that are to follow on a commit."""


class BranchReview(Drafts):
    """The drafts of the nearest brain, for one reviewer; the author of what is committed.

    Raises GitError, StorageError and InputError, beside what ``Drafts`` does.
    """

    def __init__(self, brain: Layers, *, branch: str, author: Author) -> None:
        super().__init__(brain)
        self._name = branch
        self._author = author

    @cached_property
    def _branch(self) -> Branch:
        return Branch(self._layer.root, self._name)

    @cached_property
    def _folder_in_git(self) -> str:
        """The brain's folder from git's top, with a slash at its end; "" for the top itself."""
        inside = os.path.relpath(os.path.realpath(self._layer.root), self._branch.top)
        return "" if inside == os.curdir else f"{inside.replace(os.sep, '/')}/"

    def is_checked_out(self) -> bool:
        """Tell whether the brain's own folder shows the branch, so that lessons are served at once.

        Raises InputError where another work tree shows it, and GitError outside a repository.
        """
        return self._branch.is_checked_out()

    def find_waiting(self) -> list[Card]:
        """Return the cards that are on the branch and not in the folder's history yet."""
        names = self._branch.find_unmerged(self._folder_in_git)
        tip = self._branch.tip()
        found = []
        for name in names:
            path = name.removeprefix(self._folder_in_git)
            data = self._branch.read(tip, name) if path.endswith((".md", ".markdown")) else None
            if data is not None:
                card = parse_bytes(data, path=path, folders=self._layer.settings.folders).card
                found += [card] if card is not None and card.kind != NOTE else []
        return found

    def find_near_duplicates(self, draft: Draft) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson, those that wait on the branch first."""
        card = self._parse(draft).card
        served = super().find_near_duplicates(draft)
        if card is None:
            return served
        text = "\n".join((card.why, *card.checklist))
        waiting = Duplicates(self.find_waiting()).find(card.title, text=text)
        known = {one.card.id for one in waiting}
        return [*waiting, *(one for one in served if one.card.id not in known)]

    def _write(self, draft: Draft, card: Card, text: str) -> Card:
        stem = f"{card.kind}s/{slug(redact(card.title))}"
        made = ""

        def add(start: str) -> Mapping[str, bytes]:
            nonlocal made
            for made in islice(numbered_names(stem), 1_000):
                there = os.path.lexists(os.path.join(self._layer.root, *made.split("/")))
                if not there and self._branch.find_entry(start, self._folder_in_git + made) is None:
                    return {made: text.encode("utf-8")}
            raise InputError(f"1,000 cards are named {stem}; choose another title")

        self._commit(add, f"Add a {card.kind}: {clean_line(card.title)}", draft)
        written = parse_card(text, path=made, folders=self._layer.settings.folders).card
        return written or card

    def _count(
        self, draft: Draft, card: str, *, task: str | None, today: str | None, at: float | None
    ) -> Card:
        cards = Cards(self._brain)
        waiting = next((one for one in self.find_waiting() if one.id == card), None)
        known = waiting or cards.find(card)[1]
        counted = ""

        def count(start: str) -> Mapping[str, bytes]:
            nonlocal counted
            data = self._branch.read(start, self._folder_in_git + known.id)
            if data is None:
                raise InputError(f"{known.id} is not committed; commit it before you merge into it")
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                raise EditRefused(f"{known.id} is not UTF-8; save it as UTF-8") from None
            counted = cards.bump_text(self._layer, known.id, text, task=task, today=today)
            return {known.id: counted.encode("utf-8")}

        self._commit(count, f"Count once more: {clean_line(known.title)}", draft)
        cards.note_bump(self._layer, known.id, at=at)
        merged = parse_card(counted, path=known.id, folders=self._layer.settings.folders).card
        return merged or known

    def _commit(self, change: _Change, message: str, draft: Draft) -> None:
        """Commit a change of the brain's files; write them where the folder shows the branch."""
        here = self.is_checked_out()
        written: dict[str, tuple[bytes | None, bytes]] = {}

        def changed(start: str) -> Mapping[str, bytes]:
            written.clear()
            for path, data in change(start).items():
                full = self._folder_in_git + path
                if here and not self._branch.is_clean(full):
                    raise InputError(f"{path} has changes that are not committed; commit them")
                written[full] = (self._branch.read(start, full), data)
            return {full: data for full, (_before, data) in written.items()}

        text = f"{message}\n\nReviewed on the server's page; {tell_source(draft)} as {draft.id}.\n"
        self._branch.commit(changed, message=text, author=self._author)
        for full, (before, data) in written.items() if here else ():
            self._layer.touch()
            self._put(full.removeprefix(self._folder_in_git), before, data)
            self._branch.stage(full)

    def _put(self, path: str, before: bytes | None, data: bytes) -> None:
        """Write a file that was committed; what somebody saved there meanwhile stays."""

        def replace(found: bytes) -> bytes:
            unchanged = before is not None and _lines(found) == _lines(before)
            return data if unchanged else found

        if before is not None:
            card_files.rewrite(self._layer.root, path, replace)
            return
        with contextlib.suppress(DuplicateCard):
            card_files.create(self._layer.root, path, data)


def tell_source(draft: Draft) -> str:
    """Return in words who or what a draft comes from."""
    if draft.by:
        return f"proposed by {draft.by}"
    return "proposed" if draft.kind == PROPOSED else f"drafted ({draft.kind})"


def _lines(data: bytes) -> bytes:
    """Return a text as git keeps it, whatever line ends its checkout has."""
    return data.replace(b"\r\n", b"\n")
