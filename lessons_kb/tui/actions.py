"""What may be done with a row, and what the lists then have to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lessons_kb.errors import CardNotFound, InputError, LessonsError
from lessons_kb.model import Card
from lessons_kb.text.sanitize import clean_line
from lessons_kb.tui.row_source import RowSource
from lessons_kb.tui.rows import Row


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What an action did: a line for the user, and what the lists have to change."""

    line: str
    changed: tuple[Row, ...] = ()
    """Rows that replace those of the same name, or are new."""
    gone: tuple[str, ...] = ()
    """Names of rows."""
    drafts: bool = False
    """The drafts are to be read anew."""


class Actions:
    """What a user does to the rows; each can be undone. Everything raises LessonsError."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._undoing = source.undoing

    def bump(self, row: Row) -> Outcome:
        """Count a mistake once more."""
        card = self._undoing.bump(_usable(row))
        return self._changed(row, card, f"{clean_line(card.id)} seen {card.occurrences}×")

    def set_status(self, row: Row, status: str) -> Outcome:
        """Make a card active, ignored or archived."""
        before = len(self._undoing.steps)
        card = self._undoing.set_status(status, _usable(row))
        already = "" if len(self._undoing.steps) > before else "already "
        return self._changed(row, card, f"{clean_line(card.id)} is {already}{status}")

    def delete(self, row: Row) -> Outcome:
        """Move a card to the trash."""
        card = self._undoing.delete(_usable(row))
        return Outcome(line=f"{clean_line(card.id)} moved to the trash", gone=(row.name,))

    def edit(self, row: Row, editor: Callable[[str], None]) -> Outcome:
        """Let the user's editor change a card, a file that cannot be used, or a draft."""
        if row.draft is not None:
            draft = self._source.brain.drafts.get(row.name)
            changed = self._undoing.edit_draft(draft, editor)
            return Outcome(line=f"{row.name} {_EDITED[changed]}", drafts=True)
        layer = self._source.brain.layers[row.layer]
        changed = self._undoing.edit(layer, row.path, editor)
        path = clean_line(row.path)
        try:
            now, _view = self._source.look(row)
        except CardNotFound:
            return Outcome(line=f"{path} no longer exists", gone=(row.name,))
        trouble = "" if now.card else " and now invalid: see below"
        return Outcome(line=f"{path} {_EDITED[changed]}{trouble}", changed=(now,))

    def accept(self, row: Row, *, on_duplicate: str = "fail") -> Outcome:
        """Make a draft a card; DuplicateCard where the lesson is there already."""
        draft = self._source.brain.drafts.get(row.name)
        if draft.missing:
            raise InputError(f"incomplete; press e and add {'; '.join(draft.missing)}")
        card = self._undoing.accept(row.name, on_duplicate=on_duplicate)
        made = self._source.row_of(card)
        return Outcome(line=f"{clean_line(card.id)} is now a card", changed=(made,), drafts=True)

    def merge(self, row: Row, card_name: str) -> Outcome:
        """Count a draft on a card."""
        layer, card = self._source.brain.cards.find(card_name)
        card = self._undoing.merge(row.name, self._undoing.name_of(layer, card.id))
        now = self._source.row_of(card, layer=self._source.brain.layers.index(layer))
        line = f"{row.name} counted on {clean_line(card.id)}, seen {card.occurrences}×"
        return Outcome(line=line, changed=(now,), drafts=True)

    def discard(self, row: Row) -> Outcome:
        """Remove a draft."""
        self._undoing.discard(row.name)
        return Outcome(line=f"{row.name} discarded", drafts=True)

    def undo(self) -> Outcome:
        """Take the latest change back."""
        done = self._undoing.undo()
        changed: list[Row] = []
        gone: list[str] = []
        for name in done.names:
            try:
                changed.append(self._source.row_named(name))
            except LessonsError:
                gone.append(name)
        line = clean_line(done.line)
        return Outcome(line=line, changed=tuple(changed), gone=tuple(gone), drafts=True)

    def _changed(self, row: Row, card: Card, line: str) -> Outcome:
        now = self._source.row_of(card, layer=row.layer, troubles=row.troubles)
        return Outcome(line=line, changed=(now,))


_EDITED = {True: "edited", False: "not changed"}


def _usable(row: Row) -> str:
    if row.card is None:
        raise InputError(f"{clean_line(row.path)} is not valid; open and fix it first")
    return row.name
