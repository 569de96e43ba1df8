"""Changes to cards and drafts by one person at work, each of which can be taken back."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
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


_Back = Callable[[], object]


@frozen
class Step:
    """One change, and how to take it back."""

    what: str
    """What was done, such as ``bump of lessons/a.md``."""
    names: tuple[str, ...]
    """Cards to look at again then, as ``Cards.find`` understands them."""
    backs: tuple[_Back, ...]
    """Done in order."""
    remark: str = ""
    """What to add once it is taken back."""


class Undoing:
    """The cards and drafts of a brain, with every change that was made through it.

    All of them raise LessonsError. ``undo`` takes the latest change back and never overwrites
    what another program wrote since.
    """

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._steps: list[Step] = []

    def name_of(self, brain: Brain, path: str) -> str:
        """Return the name by which ``Cards.find`` knows the file of one of the brains for sure."""
        return f"{brain.alias}:{path}" if len(self._brains.members) > 1 else path

    def bump(self, name: str) -> Card:
        """Count the mistake once more; see ``Cards.bump``."""
        brain, card = Cards(self._brains).find(name)
        at = time.time()
        with self._changing(f"bump of {card.id}", brain, card.id, at=at):
            return Cards(self._brains).bump(name, at=at)[0]

    def set_status(self, status: str, name: str) -> Card:
        """Make a card ``active``, ``ignored`` or ``archived``."""
        brain, card = Cards(self._brains).find(name)
        with self._changing(f"{_WORDS[status]} {card.id}", brain, card.id):
            return Cards(self._brains).set_status(status, name)[0]

    def delete(self, name: str) -> Card:
        """Move a card to the trash."""
        brain, card = Cards(self._brains).find(name)
        entry = trash.put(brain.root, card.id)
        brain.touch()
        back = partial(trash.restore, brain.root, entry)
        self._keep(f"deletion of {card.id}", back, brain.touch, at=(brain, card.id))
        return card

    def edit(self, brain: Brain, path: str, editor: Callable[[str], object]) -> bool:
        """Let ``editor`` change a file, given its path on disk; return whether it did.

        The file need not be a usable card.
        """
        before, remark = _read(brain, path), "the edited version is in the trash"
        with self._changing(f"edit of {path}", brain, path, kept="edit undone", remark=remark):
            editor(os.path.join(brain.root, *path.split("/")))
            brain.touch()
        return _find(brain, path) != before

    def edit_draft(self, name: str, editor: Callable[[str], object]) -> bool:
        """Let ``editor`` change a draft, given its path; return whether it did."""
        _drafts, draft, reopen = self._open_draft(name)
        editor(draft.path)
        after = self._folder.read(draft.id)
        if after is None or after == draft.text:
            return False
        self._keep(f"edit of {draft.id}", partial(reopen, after))
        return True

    def accept(self, name: str, *, on_duplicate: str = "fail") -> Card:
        """Make a draft a card; see ``Drafts.accept``."""
        drafts, draft, reopen = self._open_draft(name)
        card = drafts.accept(draft.id, on_duplicate=on_duplicate)
        brain = self._brains.members[0]
        made = _read(brain, card.id)

        def back() -> None:
            if _read(brain, card.id) != made:
                raise EditRefused(f"{card.id} was edited since; it stays a card")
            trash.put(brain.root, card.id, why="acceptance undone")
            brain.touch()

        self._keep(f"acceptance of {draft.id}", back, reopen, at=(brain, card.id))
        return card

    def merge(self, name: str, card_name: str) -> Card:
        """Count a draft on a card; see ``Drafts.merge``."""
        drafts, draft, reopen = self._open_draft(name)
        brain, card = Cards(self._brains).find(card_name, notes=False)
        at, what = time.time(), f"merging of {draft.id} into {card.id}"
        with self._changing(what, brain, card.id, at=at, then=reopen):
            return drafts.merge(draft.id, card_name, at=at)

    def discard(self, name: str) -> Draft:
        """Remove a draft; see ``Drafts.discard``."""
        drafts, draft, reopen = self._open_draft(name)
        drafts.discard(draft.id)
        self._keep(f"discarding of {draft.id}", reopen)
        return draft

    def undo(self) -> tuple[str, tuple[str, ...]]:
        """Take the latest change back; return a line for the user, and cards to look at again.

        One that cannot be taken back, since another program changed the same file, is given up
        and said to be; the next call takes back the one before.
        """
        if not self._steps:
            return "nothing to undo", ()
        step = self._steps.pop()
        try:
            for back in step.backs:
                back()
        except LessonsError as error:
            return f"not undone ({step.what}): {error}", step.names
        remark = f"; {step.remark}" if step.remark else ""
        return f"undone: {step.what}{remark}", step.names

    @property
    def _folder(self) -> DraftFolder:
        return DraftFolder(self._brains.members[0].root)

    def _keep(
        self, what: str, *backs: _Back, at: tuple[Brain, str] | None = None, remark: str = ""
    ) -> None:
        names = (self.name_of(*at),) if at else ()
        self._steps.append(Step(what=what, names=names, backs=backs, remark=remark))

    @contextlib.contextmanager
    def _changing(
        self,
        what: str,
        brain: Brain,
        path: str,
        *,
        at: float | None = None,
        kept: str = "",
        then: _Back | None = None,
        remark: str = "",
    ) -> Iterator[None]:
        """Keep how to take back what the block changes of a file, if it changes anything.

        ``at`` is when it counted the mistake: that is taken back, too, with the recurrence. What
        it made of the file goes to the trash as ``kept``; ``then`` is done last.
        """
        before = _read(brain, path)
        yield
        after = _find(brain, path)
        if after in (before, None):  # where it is gone, that is the user's own doing
            return

        def put(found: bytes) -> bytes:
            if found != after:
                raise EditRefused(f"{path} has changed since then; nothing was undone")
            return before

        def back() -> None:
            if not os.path.lexists(os.path.join(brain.root, *path.split("/"))):
                raise CardNotFound(f"{path} no longer exists; nothing was undone")
            card_files.rewrite(brain.root, path, put)
            if kept and after is not None:
                trash.put_bytes(brain.root, path, after, kept)
            brain.touch()
            # As when it was counted: the card itself is what counts.
            with contextlib.suppress(StorageError):
                if at is not None:
                    brain.journal.outcomes.count(path, BUMPED, at=at, times=-1)
                    brain.journal.ledger.take_back(path, at=at)

        self._keep(what, *filter(None, (back, then)), at=(brain, path), remark=remark)

    def _open_draft(self, name: str) -> tuple[Drafts, Draft, Callable[..., None]]:
        """Return the drafts, one of them, and what makes it again what it is now.

        That takes what its text is by then, by default None for a draft that was settled.
        """
        drafts = Drafts(self._brains)
        draft = drafts.get(name)
        facts = self._folder.facts_of(draft.id)
        if facts is None:
            raise CardNotFound(f"draft {draft.id!r} no longer exists; it was reviewed elsewhere")

        def reopen(expected: str | None = None) -> None:
            with self._folder.locked():
                if self._folder.read(draft.id) != expected:
                    raise EditRefused(f"{draft.id} has changed since then; nothing was undone")
                # A draft that was not settled may have been counted again meanwhile.
                now = facts if expected is None else self._folder.facts_of(draft.id)
                self._folder.write(draft.id, draft.text, now or facts)

        return drafts, draft, reopen


def _find(brain: Brain, path: str) -> bytes | None:
    """Return the bytes of a file, None where there are none to be read."""
    try:
        return _read(brain, path)
    except StorageError:
        return None


def _read(brain: Brain, path: str) -> bytes:
    return card_files.read_bytes(brain.root, path, limit=card_files.MAX_BYTES)
