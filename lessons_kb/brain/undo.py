"""Changes to cards and drafts by one person at work, each of which can be taken back."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.drafts import Draft, Drafts
from lessons_kb.brain.layer import Layer
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.keys import canonical, split_header
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.cards.read_header import read_header
from lessons_kb.errors import CardNotFound, EditRefused, LessonsError, StorageError
from lessons_kb.learn.lesson_effect import RECURRED
from lessons_kb.model import Card
from lessons_kb.store import card_files, trash
from lessons_kb.store.card_files import DraftFolder
from lessons_kb.store.journal import BUMPED

Change = str | int | tuple[str, ...] | None


_FIELDS = {
    "status": "status",
    "occurrences": "occurrences",
    "last-seen": "last_seen",
    "examples": "examples",
}
"""Keys that are changed here → where a card holds them."""
_WORDS = {"active": "restoring", "ignored": "ignoring", "archived": "archiving"}
_NO_STEP = "nothing to undo"


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """What a step back did."""

    line: str
    """For the user, one line."""
    names: tuple[str, ...] = ()
    """Cards to look at again, as ``Cards.find`` understands them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One change, and how to take it back."""

    what: str
    """What was done, such as ``bump of lessons/a.md``."""
    names: tuple[str, ...]
    back: Callable[[], str]
    """Takes it back; returns a remark, "" if all is as it was."""


class Undoing:
    """The cards and drafts of a brain, with every change that was made through it.

    All of them raise LessonsError. ``undo`` takes the latest change back and never overwrites
    what another program wrote since.
    """

    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[str, ...]:
        """What can be taken back, latest last."""
        return tuple(step.what for step in self._steps)

    def name_of(self, layer: Layer, path: str) -> str:
        """Return the name by which ``Cards.find`` knows the file of one of the brains for sure."""
        return f"{layer.alias}:{path}" if len(self._brain.layers) > 1 else path

    def bump(self, name: str) -> Card:
        """Count the mistake once more; see ``Cards.bump``."""
        layer, card = self._brain.cards.find(name)
        before = _read(layer, card.id)
        at = time.time()
        bumped = self._brain.cards.bump(name, at=at)[0]
        change = _Change(layer, bumped, before, ("occurrences", "last-seen"))

        def back() -> str:
            remark = change.take_back()
            _uncount(layer, card.id, at)
            return remark

        self._keep(f"bump of {card.id}", layer, card.id, back)
        return bumped

    def set_status(self, status: str, name: str) -> Card:
        """Make a card ``active``, ``ignored`` or ``archived``."""
        layer, card = self._brain.cards.find(name)
        before = _read(layer, card.id)
        changed = self._brain.cards.set_status(status, name)[0]
        if card.status != status:
            back = _Change(layer, changed, before, ("status",)).take_back
            self._keep(f"{_WORDS[status]} {card.id}", layer, card.id, back)
        return changed

    def delete(self, name: str) -> Card:
        """Move a card to the trash."""
        layer, card = self._brain.cards.find(name)
        entry = trash.put(layer.root, card.id)
        layer.touch()

        def back() -> str:
            trash.restore(layer.root, entry)
            layer.touch()
            return ""

        self._keep(f"deletion of {card.id}", layer, card.id, back)
        return card

    def edit(self, layer: Layer, path: str, editor: Callable[[str], None]) -> bool:
        """Let ``editor`` change a file, given its path on disk; return whether it did.

        The file need not be a usable card.
        """
        before = _read(layer, path)
        editor(os.path.join(layer.root, *path.split("/")))
        layer.touch()
        try:
            after = _read(layer, path)
        except StorageError:
            return True  # gone, or no file any more: the user's own doing
        if after == before:
            return False

        def back() -> str:
            if _read(layer, path) == after:
                trash.put_bytes(layer.root, path, after, "edit undone")
            _replace(layer, path, after, before)
            return "the edited version is in the trash"

        self._keep(f"edit of {path}", layer, path, back)
        return True

    def edit_draft(self, draft: Draft, editor: Callable[[str], None]) -> bool:
        """Let ``editor`` change a draft, given its path; return whether it did."""
        editor(draft.path)
        after = self._folder.read(draft.id)
        if after is None or after == draft.text:
            return False

        def back() -> str:
            with self._folder.locked():
                if self._folder.read(draft.id) != after:
                    raise EditRefused(f"{draft.id} has changed since then; nothing was undone")
                facts = self._folder.facts_of(draft.id) or {}
                self._folder.write(draft.id, draft.text, facts)
            return ""

        self._keep(f"edit of {draft.id}", None, "", back)
        return True

    def accept(self, name: str, *, on_duplicate: str = "fail") -> Card:
        """Make a draft a card; see ``Drafts.accept``."""
        drafts = Drafts(self._brain)
        draft, reopen = self._reopener(drafts.get(name))
        card = drafts.accept(draft.id, on_duplicate=on_duplicate)
        layer = self._brain.layers[0]
        made = _read(layer, card.id)

        def back() -> str:
            if _read(layer, card.id) != made:
                raise EditRefused(f"{card.id} was edited since; it stays a card")
            trash.put(layer.root, card.id, why="acceptance undone")
            layer.touch()
            reopen()
            return ""

        self._keep(f"acceptance of {draft.id}", layer, card.id, back)
        return card

    def merge(self, name: str, card_name: str) -> Card:
        """Count a draft on a card; see ``Drafts.merge``."""
        drafts = Drafts(self._brain)
        draft, reopen = self._reopener(drafts.get(name))
        layer, card = self._brain.cards.find(card_name)
        before = _read(layer, card.id)
        at = time.time()
        merged = drafts.merge(draft.id, card_name, at=at)
        change = _Change(layer, merged, before, ("occurrences", "last-seen", "examples"))

        def back() -> str:
            remark = change.take_back()
            _uncount(layer, card.id, at)
            reopen()
            return remark

        self._keep(f"merging of {draft.id} into {card.id}", layer, card.id, back)
        return merged

    def discard(self, name: str) -> Draft:
        """Remove a draft; see ``Drafts.discard``."""
        drafts = Drafts(self._brain)
        draft, reopen = self._reopener(drafts.get(name))
        drafts.discard(draft.id)

        def back() -> str:
            reopen()
            return ""

        self._keep(f"discarding of {draft.id}", None, "", back)
        return draft

    def undo(self) -> Undone:
        """Take the latest change back.

        One that cannot be taken back, since another program changed the same thing, is given up
        and said to be; the next call takes back the one before.
        """
        if not self._steps:
            return Undone(line=_NO_STEP)
        step = self._steps.pop()
        try:
            remark = step.back()
        except LessonsError as error:
            return Undone(line=f"not undone ({step.what}): {error}", names=step.names)
        line = f"undone: {step.what}" + (f"; {remark}" if remark else "")
        return Undone(line=line, names=step.names)

    @property
    def _folder(self) -> DraftFolder:
        return DraftFolder(self._brain.layers[0].root)

    def _keep(self, what: str, layer: Layer | None, path: str, back: Callable[[], str]) -> None:
        names = (self.name_of(layer, path),) if layer else ()
        self._steps.append(Step(what=what, names=names, back=back))

    def _reopener(self, draft: Draft) -> tuple[Draft, Callable[[], None]]:
        facts = self._folder.facts_of(draft.id)
        if facts is None:
            raise CardNotFound(f"draft {draft.id!r} no longer exists; it was reviewed elsewhere")

        def reopen() -> None:
            with self._folder.locked():
                if self._folder.read(draft.id) is not None:
                    raise EditRefused(f"{draft.id} is already a draft again")
                self._folder.write(draft.id, draft.text, facts)

        return draft, reopen


class _Change:
    """A change of some keys of one card's header, as it was made."""

    def __init__(self, layer: Layer, card: Card, before: bytes, keys: tuple[str, ...]) -> None:
        self._layer = layer
        self._path = card.id
        self._before = before
        self._after = _read(layer, card.id)
        self._written: dict[str, Change] = {key: getattr(card, _FIELDS[key]) for key in keys}
        # The file may hold more than our change, if another program saved at that moment.
        self._alone = _edited(before, self._written) == self._after

    def take_back(self) -> str:
        """Give the keys what they held before, if they still hold what was written."""
        remark = ""

        def back(data: bytes) -> bytes:
            nonlocal remark
            if data == self._after and self._alone:
                remark = ""
                return self._before
            now = parse_bytes(data, path=self._path, folders=folders).card
            if now is None or self._values(now) != self._written:
                raise EditRefused(f"{self._path} has changed since then; nothing was undone")
            remark = "later changes to the file were preserved"
            return _edited(data, self._former())

        folders = self._layer.settings.folders
        if not os.path.lexists(os.path.join(self._layer.root, *self._path.split("/"))):
            raise CardNotFound(f"{self._path} no longer exists; nothing was undone")
        card_files.rewrite(self._layer.root, self._path, back)
        self._layer.touch()
        return remark

    def _values(self, card: Card) -> dict[str, Change]:
        return {key: getattr(card, _FIELDS[key]) for key in self._written}

    def _former(self) -> dict[str, Change]:
        """Return what the keys held, as it was written; None for those that were not there."""
        entries = read_header(split_header(self._before.decode("utf-8"))).entries
        held: dict[str, Change] = {}
        for entry in entries:
            name = canonical(entry.key)
            listed = entry.shape == "list" or isinstance(self._written.get(name), tuple)
            texts = tuple(text for text in entry.texts if text)
            held[name] = texts if listed else "".join(texts[:1])
        return {key: held.get(key) for key in self._written}


def _edited(data: bytes, changes: dict[str, Change]) -> bytes:
    return edit_header(data.decode("utf-8"), changes).encode("utf-8")


def _read(layer: Layer, path: str) -> bytes:
    return card_files.read_bytes(layer.root, path, limit=card_files.MAX_BYTES)


def _replace(layer: Layer, path: str, expected: bytes, data: bytes) -> None:
    def back(found: bytes) -> bytes:
        if found != expected:
            raise EditRefused(f"{path} has changed since then; nothing was undone")
        return data

    card_files.rewrite(layer.root, path, back)
    layer.touch()


def _uncount(layer: Layer, path: str, at: float) -> None:
    """Take back what a bump counted, and the recurrence that it noted, if it did."""
    # As when it was counted: the card itself is what counts.
    with contextlib.suppress(StorageError):
        layer.journal.count(path, BUMPED, at=at, times=-1)
        layer.journal.outcomes.take_back(path, RECURRED, at=at)
