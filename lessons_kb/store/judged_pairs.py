"""The pairs of cards that were compared for contradictions, so that no pair is compared twice.

The file is in the state folder of the brain and has one line per verdict. The last line about a
pair counts. A card is named by the digest of its demands: if its demands change, it is compared
again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from lessons_kb.errors import StorageError
from lessons_kb.store.files import read_regular, storage_errors, write_unsynced
from lessons_kb.store.private_files import make_private
from lessons_kb.store.state_folder import state_dir

_NAME = "judged-pairs.jsonl"
_MAX_BYTES = 64 << 20


class PairKey(NamedTuple):
    """The digests of the demands of two cards, the smaller digest first."""

    first: str
    second: str


class Opposed(NamedTuple):
    """The sentences of two cards that oppose each other, in the order of their ``PairKey``."""

    first: str
    second: str


def has_verdicts(root: str) -> bool:
    """Return whether any pair of cards was compared."""
    return os.path.exists(os.path.join(state_dir(root, create=False), _NAME))


def read_verdicts(root: str) -> dict[PairKey, Opposed | None]:
    """Return a mapping from each compared pair to its opposed sentences.

    The value is None if somebody can follow both cards. A line that cannot be read is ignored, so
    that its pair is compared again.
    """
    path = os.path.join(state_dir(root, create=False), _NAME)
    try:
        text = read_regular(path, limit=_MAX_BYTES, name=path).decode("utf-8", "replace")
    except (OSError, StorageError):
        return {}
    verdicts: dict[PairKey, Opposed | None] = {}
    for line in text.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            row = json.loads(line)
            opposed = row["opposed"]
            verdicts[PairKey(*map(str, row["pair"]))] = (
                Opposed(*map(str, opposed)) if opposed else None
            )
    return verdicts


def add_verdicts(root: str, verdicts: Mapping[PairKey, Opposed | None]) -> None:
    """Append verdicts. Raises StorageError if they cannot be written."""
    lines = [
        json.dumps({"pair": pair, "opposed": opposed}, ensure_ascii=False)
        for pair, opposed in verdicts.items()
    ]
    if not lines:
        return
    folder = state_dir(root)
    make_private(folder)
    # The first line break ends a line that another process could not complete.
    text = "\n".join(["", *lines, ""])
    path = os.path.join(folder, _NAME)
    with storage_errors(path):
        write_unsynced(path, text.encode("utf-8", "replace"), flags=os.O_APPEND)
