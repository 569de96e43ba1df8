"""Change cards and drafts interactively, with an undo for each change."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.collection.all_drafts import find_drafts
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.errors import CardNotFound, EditRefused, LessonsError, StorageError
from lessons_kb.model import Card
from lessons_kb.store import card_files, trash
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.journal import BUMPED
from lessons_kb.values import frozen

_WORDS = {"active": "restoring", "ignored": "ignoring", "archived": "archiving"}


_Revert = Callable[[], object]


@frozen
class Step:
    """One change, and the functions that undo it."""

    what: str
    """A description of the change, such as ``bump of lessons/a.md``."""
    names: tuple[str, ...]
    """The names of the cards to show again after the undo, in a form for ``Cards.find``."""
    reverts: tuple[_Revert, ...]
    """The functions, which are called in this order."""
    draft: str = ""
    """The id of the draft that the undo brings back; "" if the change concerned only cards."""
    remark: str = ""
    """A sentence to show after the undo."""


class Undone(NamedTuple):
    """The result of an undo."""

    line: str
    """A line for the user."""
    names: tuple[str, ...] = ()
    """The names of the cards to show again."""
    draft: str = ""
    """The id of the draft that came back, or ""."""


class Undoing:
    """The cards and drafts of a brain, with the changes that were made through this object.

    All methods raise LessonsError. ``undo`` reverts the latest change. It never overwrites the
    later changes of another program.
    """

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._steps: list[Step] = []

    def name_of(self, brain: Brain, path: str) -> str:
        """Return an unambiguous name for a file, which ``Cards.find`` accepts."""
        return f"{brain.alias}:{path}" if len(self._brains.members) > 1 else path

    def bump(self, name: str) -> Card:
        """Count the mistake once more. See ``Cards.bump``."""
        brain, card = Cards(self._brains).find(name)
        at = time.time()
        with self._changing(f"bump of {card.id}", brain, card.id, at=at):
            return Cards(self._brains).bump(name, at=at)[0]

    def confirm(self, name: str) -> Card:
        """Record that a person confirmed the card today. See ``Cards.confirm``."""
        brain, card = Cards(self._brains).find(name)
        with self._changing(f"confirmation of {card.id}", brain, card.id):
            return Cards(self._brains).confirm(name)[0]

    def set_status(self, status: str, name: str) -> Card:
        """Set the status of a card: ``active``, ``ignored`` or ``archived``."""
        brain, card = Cards(self._brains).find(name)
        with self._changing(f"{_WORDS[status]} {card.id}", brain, card.id):
            return Cards(self._brains).set_status(status, name)[0]

    def delete(self, name: str) -> Card:
        """Move a card to the trash."""
        brain, card = Cards(self._brains).find(name)
        entry = trash.put(brain.root, card.id)
        brain.touch()
        restore = partial(trash.restore, brain.root, entry)
        self._add_step(f"deletion of {card.id}", restore, brain.touch, at=(brain, card.id))
        return card

    def edit(self, brain: Brain, path: str, editor: Callable[[str], object]) -> bool:
        """Call ``editor`` with the path of a file on disk, and return whether the file changed.

        The file need not be a valid card.
        """
        before = _read(brain, path)
        remark = "the edited version is in the trash"
        with self._changing(
            f"edit of {path}", brain, path, trash_reason="edit undone", remark=remark
        ):
            editor(os.path.join(brain.root, *path.split("/")))
            brain.touch()
        return _read_if_exists(brain, path) != before

    def edit_draft(self, name: str, editor: Callable[[str], object]) -> bool:
        """Call ``editor`` with the path of a draft, and return whether the draft changed."""
        drafts, draft, reopen = self._open_draft(name)
        if draft.is_card:
            return self.edit(drafts.brain, draft.id, editor)
        editor(draft.path)
        after = DraftFolder(drafts.brain.root).read(draft.id)
        if after is None or after == draft.text:
            return False
        self._add_step(f"edit of {draft.id}", partial(reopen, after), draft=draft.id)
        return True

    def accept(self, name: str, *, on_duplicate: str = "fail", keep_quotes: bool = False) -> Card:
        """Turn a draft into a card. See ``Drafts.accept``."""
        drafts, draft, reopen = self._open_draft(name)
        brain = drafts.brain
        accept = partial(
            drafts.accept, draft.id, on_duplicate=on_duplicate, keep_quotes=keep_quotes
        )
        if draft.is_card:
            with self._changing(f"acceptance of {draft.id}", brain, draft.id, draft=draft.id):
                return accept()
        card = accept()
        accepted = _read(brain, card.id)

        def remove_card() -> None:
            if _read(brain, card.id) != accepted:
                raise EditRefused(f"{card.id} was edited since; it stays a card")
            trash.put(brain.root, card.id, why="acceptance undone")
            brain.touch()

        what = f"acceptance of {draft.id}"
        self._add_step(what, remove_card, reopen, at=(brain, card.id), draft=draft.id)
        return card

    def merge(self, name: str, card_name: str) -> Card:
        """Count a draft on a card. See ``Drafts.merge``."""
        drafts, draft, reopen = self._open_draft(name)
        brain, card = Cards(self._brains).find(card_name, notes=False)
        at = time.time()
        what = f"merging of {draft.id} into {card.id}"
        with self._changing(what, brain, card.id, at=at, then=reopen, draft=draft.id):
            return drafts.merge(draft.id, card_name, at=at)

    def discard(self, name: str) -> Draft:
        """Remove a draft. See ``Drafts.discard``."""
        drafts, draft, reopen = self._open_draft(name)
        drafts.discard(draft.id)
        self._add_step(f"discarding of {draft.id}", reopen, draft=draft.id)
        return draft

    def undo(self) -> Undone:
        """Undo the latest change.

        If another program has changed the same file, the change stays and the line says so. The
        next call undoes the change before it.
        """
        if not self._steps:
            return Undone("nothing to undo")
        step = self._steps.pop()
        try:
            for revert in step.reverts:
                revert()
        except LessonsError as error:
            return Undone(f"not undone ({step.what}): {error}", step.names)
        remark = f"; {step.remark}" if step.remark else ""
        return Undone(f"undone: {step.what}{remark}", step.names, step.draft)

    def _add_step(
        self,
        what: str,
        *reverts: _Revert,
        at: tuple[Brain, str] | None = None,
        draft: str = "",
        remark: str = "",
    ) -> None:
        names = (self.name_of(*at),) if at else ()
        step = Step(what=what, names=names, reverts=reverts, draft=draft, remark=remark)
        self._steps.append(step)

    @contextlib.contextmanager
    def _changing(
        self,
        what: str,
        brain: Brain,
        path: str,
        *,
        at: float | None = None,
        trash_reason: str = "",
        then: _Revert | None = None,
        draft: str = "",
        remark: str = "",
    ) -> Iterator[None]:
        """Add a step that undoes the changes of the block in a file, if there are any.

        ``at`` is the time of a bump. The bump is then removed from the journal as well. With a
        ``trash_reason``, the changed file goes to the trash. ``then`` is called last. ``draft`` is
        the id of the draft that comes back.
        """
        before = _read(brain, path)
        yield
        after = _read_if_exists(brain, path)
        if after in (before, None):  # if the user deleted the file, there is nothing to undo
            return

        def put_back(current: bytes) -> bytes:
            if current != after:
                raise EditRefused(f"{path} has changed since then; nothing was undone")
            return before

        def revert() -> None:
            if not os.path.lexists(os.path.join(brain.root, *path.split("/"))):
                raise CardNotFound(f"{path} no longer exists; nothing was undone")
            card_files.rewrite(brain.root, path, put_back)
            if trash_reason and after is not None:
                trash.put_bytes(brain.root, path, after, trash_reason)
            brain.touch()
            # If the journal cannot be written, a statistic is lost, but the card was reverted.
            with contextlib.suppress(StorageError):
                if at is not None:
                    brain.journal.outcomes.count(path, BUMPED, at=at, times=-1)
                    brain.journal.ledger.take_back(path, at=at)

        reverts = [revert] if then is None else [revert, then]
        self._add_step(what, *reverts, at=(brain, path), draft=draft, remark=remark)

    def _open_draft(self, name: str) -> tuple[Drafts, Draft, Callable[..., None]]:
        """Return the drafts, one of them by its name, and a function that restores that draft.

        The argument of the function is the text that the draft must have before the call, or None
        (the default) for a draft that was settled.
        """
        drafts = find_drafts(self._brains, name)
        draft = drafts.get(name)
        brain = drafts.brain
        folder = DraftFolder(brain.root)
        if draft.is_card:

            def put_back() -> None:
                trash.restore(brain.root, draft.id)
                brain.touch()

            return drafts, draft, put_back
        facts = folder.facts_of(draft.id)
        if facts is None:
            raise CardNotFound(f"draft {draft.id!r} no longer exists; it was reviewed elsewhere")

        def reopen(expected: str | None = None) -> None:
            with folder.locked():
                if folder.read(draft.id) != expected:
                    raise EditRefused(f"{draft.id} has changed since then; nothing was undone")
                # A draft that was not settled may have been counted again since.
                current = facts if expected is None else folder.facts_of(draft.id)
                folder.write(draft.id, draft.text, current or facts)

        return drafts, draft, reopen


def _read_if_exists(brain: Brain, path: str) -> bytes | None:
    """Return the bytes of a file, or None if it cannot be read."""
    try:
        return _read(brain, path)
    except StorageError:
        return None


def _read(brain: Brain, path: str) -> bytes:
    return card_files.read_bytes(brain.root, path, limit=card_files.MAX_BYTES)
