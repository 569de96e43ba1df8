"""The record of the last import into a brain, with which it can be undone."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable

from lessons_kb.errors import LessonsError
from lessons_kb.store.card_files import MAX_BYTES, read_bytes
from lessons_kb.store.files import read_json
from lessons_kb.store.private_files import write_private
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trash import digest

_NAME = "last-import.json"
_MAX_RECORD_BYTES = 50 << 20


def write_import_record(root: str, card_ids: Iterable[str]) -> None:
    """Record the cards that an import has written, in place of the record of an earlier import.

    Raises StorageError.
    """
    digests = {}
    for card_id in card_ids:
        if current := read_digest(root, card_id):
            digests[card_id] = current
    write_private(os.path.join(state_dir(root), _NAME), json.dumps(digests).encode())


def read_import_record(root: str) -> dict[str, str]:
    """Return a mapping from each card of the last import to the digest of its content."""
    path = os.path.join(state_dir(root, create=False), _NAME)
    record = read_json(path, limit=_MAX_RECORD_BYTES)
    return {card_id: written for card_id, written in record.items() if isinstance(written, str)}


def remove_import_record(root: str) -> None:
    """Remove the record, because its import was undone."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(state_dir(root, create=False), _NAME))


def read_digest(root: str, card_id: str) -> str:
    """Return the digest of the content of a card, or "" if it cannot be read."""
    try:
        return digest(read_bytes(root, card_id, limit=MAX_BYTES))
    except (LessonsError, OSError):
        return ""
