"""Undo the last import into a brain."""

from __future__ import annotations

from lessons_kb.brain.brain import Brain
from lessons_kb.errors import InputError
from lessons_kb.store import trash
from lessons_kb.store.import_record import read_digest, read_import_record, remove_import_record
from lessons_kb.values import frozen


@frozen
class UndoneImport:
    """The cards of an import that was undone."""

    deleted: tuple[str, ...]
    """The cards that are now in the trash."""
    changed: tuple[str, ...]
    """The cards that stay, because they have been changed since the import."""


def undo_import(brain: Brain) -> UndoneImport:
    """Move the cards of the last import to the trash, except those that were changed since.

    A card that the import counted keeps its count. Raises InputError if no import can be undone,
    and StorageError.
    """
    deleted: list[str] = []
    changed: list[str] = []
    record = read_import_record(brain.root)
    for card_id, written in record.items():
        current = read_digest(brain.root, card_id)
        if current == written:
            trash.put(brain.root, card_id, why="import undone")
            brain.touch()
            deleted.append(card_id)
        elif current:
            changed.append(card_id)
    if not deleted and not changed:
        raise InputError("there is no import to undo; `lessons delete ID` deletes single cards")
    remove_import_record(brain.root)
    return UndoneImport(deleted=tuple(deleted), changed=tuple(changed))
