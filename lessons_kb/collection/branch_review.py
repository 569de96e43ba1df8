"""Drafts that reviewers accept on a branch of git."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from functools import cached_property

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.links import slug
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.draft_lookup import Draft, describe_source
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.near_duplicates import Duplicates, NearDuplicate
from lessons_kb.errors import DuplicateCard, EditRefused, InputError, LessonsError
from lessons_kb.model import NOTE, Card
from lessons_kb.process.git import Author, Branch
from lessons_kb.store import card_files
from lessons_kb.store.files import relative
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line

BRANCH = "lessons-review"
"""Where decisions go unless the server is told otherwise."""


class BranchReview(Drafts):
    """The drafts of the nearest brain, for one reviewer; the author of what is committed.

    Raises GitError, StorageError and InputError, beside what ``Drafts`` does.
    """

    def __init__(self, brains: Brains, *, branch: str, author: Author) -> None:
        super().__init__(brains)
        self._name = branch
        self._author = author

    @cached_property
    def _branch(self) -> Branch:
        return Branch(self._brain.root, self._name)

    @cached_property
    def _folder_in_git(self) -> str:
        """The brain's folder from git's top, with a slash at its end; "" for the top itself."""
        inside = relative(self._branch.top, os.path.realpath(self._brain.root))
        return "" if inside == os.curdir else f"{inside}/"

    def is_checked_out(self) -> bool:
        """Tell whether the brain's own folder shows the branch, so that lessons are served at once.

        Raises InputError where another work tree shows it, and GitError outside a repository.
        """
        return self._branch.is_checked_out()

    def check_writable(self) -> None:
        """Raise GitError or InputError if nothing can be committed to the branch now."""
        self._branch.check_writable()

    def find_waiting(self) -> list[Card]:
        """Return the cards that are on the branch and not in the folder's history yet."""
        tip = self._branch.tip()
        names = [n for n in self._branch.find_unmerged(self._folder_in_git) if n.endswith(SUFFIXES)]
        texts = ((name, self._branch.read(tip, name)) for name in names)
        found = [
            self._parse_card(name.removeprefix(self._folder_in_git), data)
            for name, data in texts
            if data is not None
        ]
        return [card for card in found if card is not None and card.kind != NOTE]

    def find_near_duplicates(self, draft: Draft) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson, those that wait on the branch first."""
        card = self._parse(draft.id, draft.text).card
        served = super().find_near_duplicates(draft)
        if card is None:
            return served
        text = "\n".join((card.why, *card.checklist))
        waiting = Duplicates(self.find_waiting()).find(card.title, text=text)
        known = {one.card.id for one in waiting}
        return [*waiting, *(one for one in served if one.card.id not in known)]

    def _write(self, draft: Draft, card: Card, text: str) -> Card:
        def add(start: str) -> tuple[str, bytes]:
            for path in numbered_names(f"{card.kind}s/{slug(redact(card.title))}"):
                there = os.path.lexists(os.path.join(self._brain.root, *path.split("/")))
                if not there and self._branch.find_entry(start, self._folder_in_git + path) is None:
                    break
            return path, text.encode("utf-8")

        message = f"Add a {card.kind}: {clean_line(card.title)}"
        return self._commit(add, message, draft) or card

    def _count(self, draft: Draft, card: str, *, task: str | None, at: float | None) -> Card:
        cards = Cards(self._brains)
        waiting = next((one for one in self.find_waiting() if one.id == card), None)
        known = waiting or cards.get(card)

        def count(start: str) -> tuple[str, bytes]:
            data = self._branch.read(start, self._folder_in_git + known.id)
            if data is None:
                raise InputError(f"{known.id} is not committed; commit it before you merge into it")
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                raise EditRefused(f"{known.id} is not UTF-8; save it as UTF-8") from None
            counted = cards.bump_text(self._brain, known.id, text, task=task)
            return known.id, counted.encode("utf-8")

        merged = self._commit(count, f"Count once more: {clean_line(known.title)}", draft)
        cards.note_bump(self._brain, known.id, at=at)
        return merged or known

    def _commit(
        self, change: Callable[[str], tuple[str, bytes]], message: str, draft: Draft
    ) -> Card | None:
        """Commit a new content of one of the brain's files and return the card that it holds then.

        ``change`` returns path and content, to follow on a commit. Where the folder shows the
        branch, the file is written too; what somebody saved there meanwhile stays.
        """
        here = self.is_checked_out()
        path, data = "", b""
        before: bytes | None = None

        def changed(start: str) -> Mapping[str, bytes]:
            nonlocal path, data, before
            path, data = change(start)
            full = self._folder_in_git + path
            if here and not self._branch.is_clean(full):
                raise InputError(f"{path} has changes that are not committed; commit them")
            before = self._branch.read(start, full)
            return {full: data}

        def replaced(found: bytes) -> bytes:  # whatever line ends its checkout has
            unchanged = (before or b"").replace(b"\r\n", b"\n") == found.replace(b"\r\n", b"\n")
            return data if unchanged else found

        text = (
            f"{message}\n\nReviewed on the server's page; {describe_source(draft)} as {draft.id}.\n"
        )
        self._branch.commit(changed, message=text, author=self._author)
        if here:
            self._brain.touch()
            if before is not None:
                card_files.rewrite(self._brain.root, path, replaced)
            else:
                with contextlib.suppress(DuplicateCard):
                    card_files.create(self._brain.root, path, data)
            self._branch.stage(self._folder_in_git + path)
        return self._parse_card(path, data)

    def _parse_card(self, path: str, data: bytes) -> Card | None:
        return parse_bytes(data, path=path, folders=self._brain.settings.folders).card


def find_review_obstacle(root: str, branch: str) -> str:
    """Return why nothing in the brain at ``root`` can be accepted onto a branch, "" if it can."""
    try:
        Branch(root, branch).check_writable()
    except LessonsError as error:
        return str(error)
    return ""
