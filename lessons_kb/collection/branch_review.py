"""Review drafts and commit each decision to a branch of git."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from functools import cached_property

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.edit_sources import copy_sources
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
"""The default branch for decisions."""


class BranchReview(Drafts):
    """The drafts of the nearest brain, for a reviewer, who is the author of the commits.

    In addition to the errors of ``Drafts``, it raises GitError, StorageError and InputError.
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
        """The folder of the brain relative to git's top, with a final slash, or "" for the top."""
        inside = relative(self._branch.top, os.path.realpath(self._brain.root))
        return "" if inside == os.curdir else f"{inside}/"

    def is_checked_out(self) -> bool:
        """Return whether the branch is checked out in the brain's own folder.

        If so, accepted lessons are used at once. Raises InputError if another work tree has the
        branch, and GitError outside of a repository.
        """
        return self._branch.is_checked_out()

    def check_writable(self) -> None:
        """Raise GitError or InputError if nothing can be committed to the branch now."""
        self._branch.check_writable()

    def find_waiting(self) -> list[Card]:
        """Return the cards that are on the branch but not yet in the history of the folder."""
        tip = self._branch.tip()
        waiting: list[Card] = []
        for name in self._branch.find_unmerged(self._folder_in_git):
            data = self._branch.read(tip, name) if name.endswith(SUFFIXES) else None
            if data is None:
                continue
            card = self._parse_card(name.removeprefix(self._folder_in_git), data)
            if card is not None and card.kind != NOTE:
                waiting.append(card)
        return waiting

    def _find_cards(self) -> dict[str, Card]:
        """Return no cards: a card with ``status: draft`` is reviewed in its own repository."""
        return {}

    def find_near_duplicates(self, draft: Draft) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson, with those on the branch first."""
        card = self._parse(draft.id, draft.text).card
        served = super().find_near_duplicates(draft)
        if card is None:
            return served
        text = "\n".join((card.why, *card.checklist))
        waiting = Duplicates(self.find_waiting()).find(card.title, text=text)
        waiting_ids = {duplicate.card.id for duplicate in waiting}
        others = [duplicate for duplicate in served if duplicate.card.id not in waiting_ids]
        return [*waiting, *others]

    def _write(self, draft: Draft, card: Card, text: str) -> Card:
        def add(start: str) -> tuple[str, bytes]:
            for path in numbered_names(f"{card.kind}s/{slug(redact(card.title))}"):
                exists = os.path.lexists(os.path.join(self._brain.root, *path.split("/")))
                entry = self._branch.find_entry(start, self._folder_in_git + path)
                if not exists and entry is None:
                    break
            return path, text.encode("utf-8")

        message = f"Add a {card.kind}: {clean_line(card.title)}"
        return self._commit(add, message, draft) or card

    def _count(self, draft: Draft, card: str, *, task: str | None, at: float | None) -> Card:
        cards = Cards(self._brains)
        waiting = {waiting.id: waiting for waiting in self.find_waiting()}
        target = waiting.get(card) or cards.get(card)

        def count(start: str) -> tuple[str, bytes]:
            data = self._branch.read(start, self._folder_in_git + target.id)
            if data is None:
                raise InputError(
                    f"{target.id} is not committed; commit it before you merge into it"
                )
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                raise EditRefused(f"{target.id} is not UTF-8; save it as UTF-8") from None
            counted = cards.bump_text(self._brain, target.id, text, task=task)
            return target.id, copy_sources(counted, draft.text).encode("utf-8")

        merged = self._commit(count, f"Count once more: {clean_line(target.title)}", draft)
        cards.note_bump(self._brain, target.id, at=at)
        return merged or target

    def _commit(
        self, change: Callable[[str], tuple[str, bytes]], message: str, draft: Draft
    ) -> Card | None:
        """Commit a change of one of the brain's files. Return the card in the changed file.

        ``change`` receives the parent commit and returns a path and its content. If the branch is
        checked out in the folder, the file is written as well, unless somebody has just edited it.
        """
        is_checked_out = self.is_checked_out()
        path, data = "", b""
        before: bytes | None = None

        def make_files(start: str) -> Mapping[str, bytes]:
            nonlocal path, data, before
            path, data = change(start)
            full = self._folder_in_git + path
            if is_checked_out and not self._branch.is_clean(full):
                raise InputError(f"{path} has changes that are not committed; commit them")
            before = self._branch.read(start, full)
            return {full: data}

        def replace_unedited(current: bytes) -> bytes:
            committed = (before or b"").replace(b"\r\n", b"\n")
            is_unedited = current.replace(b"\r\n", b"\n") == committed  # ignore the line ends
            return data if is_unedited else current

        text = (
            f"{message}\n\nReviewed on the server's page; {describe_source(draft)} as {draft.id}.\n"
        )
        self._branch.commit(make_files, message=text, author=self._author)
        if is_checked_out:
            self._brain.touch()
            if before is not None:
                card_files.rewrite(self._brain.root, path, replace_unedited)
            else:
                with contextlib.suppress(DuplicateCard):
                    card_files.create(self._brain.root, path, data)
            self._branch.stage(self._folder_in_git + path)
        return self._parse_card(path, data)

    def _parse_card(self, path: str, data: bytes) -> Card | None:
        return parse_bytes(data, path=path, folders=self._brain.settings.folders).card


def find_review_obstacle(root: str, branch: str) -> str:
    """Return why no draft of the brain at ``root`` can be accepted on a branch, or "" if it can."""
    try:
        Branch(root, branch).check_writable()
    except LessonsError as error:
        return str(error)
    return ""
