"""Records of the files and cards that each diet of a project writes, so that it can be undone.

The records are in the user's state home, in a folder named by a token. A mark in git's own
directory, or in ``.lessons/`` outside of git, contains that token. So the records are found even if
the project is moved or its brains change, and no repository can introduce a record.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import time
from dataclasses import asdict
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.files import (
    TEMP_PREFIX,
    list_folder,
    read_regular,
    storage_errors,
    sync_folder,
    write_temp,
)
from lessons_kb.store.identity import make_cache_folder
from lessons_kb.store.locations import CACHE_NAME, state_home
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.store.repositories import git_home
from lessons_kb.values import field, frozen, replace

BEGUN, DONE, UNDOING = "begun", "done", "undoing"
_FOLDER, _MARK = "diets", "diet"
_UNFINISHED = f"{TEMP_PREFIX}{_MARK}"
"""The name of a mark while it is written. Only a process that holds the lock of diets writes it."""
_TOKEN = re.compile(r"[0-9a-f]{32}")
_MAX_RECORD_BYTES = 200 << 20


@frozen
class RecordedFile:
    """A rules file that a diet changes."""

    name: str
    """Path below the project."""
    before: bytes
    after: str
    """The digest of the content after the diet; "" if the file is removed."""
    mode: int


@frozen
class RecordedCard:
    """A card that a diet writes."""

    path: str
    """Path below the brain."""
    digest: str
    origin: str
    """The card's `imported-from`, by which a renamed card is found."""
    rule: str
    """The words of the rule."""
    file: str
    """The rules file that contained the rule."""


@frozen
class DietRecord:
    """The record of one diet."""

    place: str = ""
    """Path of the record's own file."""
    state: str = BEGUN
    root: str
    """Path of the project at the time of the diet."""
    brain: str
    """The brain's path below the project; "." if both are the same folder."""
    files: tuple[RecordedFile, ...] = field(default_factory=tuple)
    cards: tuple[RecordedCard, ...] = field(default_factory=tuple)


def find_records(root: str) -> list[DietRecord]:
    """Return the records of a project, oldest first. Raises StorageError."""
    token = _read_token(root)
    if not token:
        return []
    folder = os.path.join(state_home(), _FOLDER, token)
    records = []
    for name in list_folder(folder):
        if name.endswith(".json"):
            record = _read(os.path.join(folder, name))
            # A copy of a project has the token of the original, whose records are not its own.
            if record.root == root or _read_token(record.root) != token:
                records.append(record)
    return records


def write_record(record: DietRecord) -> DietRecord:
    """Write a record and return it; a new record gets a file. Raises StorageError."""
    place = record.place
    if not place:
        folder = os.path.join(state_home(), _FOLDER, _make_token(record.root))
        place = os.path.join(folder, f"{time.time_ns():020d}.json")
    data = asdict(record)
    for file in data["files"]:
        file["before"] = base64.b64encode(file["before"]).decode()
    write_private(place, json.dumps(data).encode())
    return replace(record, place=place)


def drop_record(record: DietRecord) -> None:
    """Delete the record of a diet. Raises StorageError."""
    with storage_errors(record.place):
        os.unlink(record.place)


def _read(path: str) -> DietRecord:
    with storage_errors(path):
        data: dict[str, Any] = json.loads(read_regular(path, limit=_MAX_RECORD_BYTES, name=path))
    files = []
    for file in data["files"]:
        before = base64.b64decode(file["before"])
        files.append(RecordedFile(**{**file, "before": before}))
    cards = [RecordedCard(**card) for card in data["cards"]]
    return DietRecord(**{**data, "place": path, "files": tuple(files), "cards": tuple(cards)})


def _mark_path(root: str) -> str:
    home = git_home(root)
    folder = os.path.join(home, "lessons-kb") if home else os.path.join(root, CACHE_NAME)
    return os.path.join(folder, _MARK)


def _read_token(root: str) -> str:
    place = _mark_path(root)
    if os.path.islink(place) or os.path.islink(os.path.dirname(place)):
        return ""
    try:
        text = read_regular(place, limit=1_000, name=place).decode("ascii", "replace").strip()
    except (OSError, StorageError):
        return ""
    return text if _TOKEN.fullmatch(text) else ""


def _make_token(root: str) -> str:
    """Return the token of a project. A project without a token is marked with a new token."""
    if token := _read_token(root):
        return token
    place = _mark_path(root)
    folder = os.path.dirname(place)
    with storage_errors(folder):
        if os.path.basename(folder) == CACHE_NAME:
            make_cache_folder(folder)
        else:
            make_private(folder)
    if os.path.islink(folder) or os.path.islink(place):
        raise StorageError(f"{folder}: a link is in its place; remove it")
    token = os.urandom(16).hex()
    drop_unfinished_mark(root)
    with storage_errors(place):
        data = f"{token}\n".encode()
        os.replace(write_temp(folder, data, private=True, name=_UNFINISHED), place)
        sync_folder(folder)
    return token


def drop_unfinished_mark(root: str) -> None:
    """Remove what a process left that was killed while it marked a project."""
    folder = os.path.dirname(_mark_path(root))
    unfinished = os.path.join(folder, _UNFINISHED)
    if not os.path.lexists(unfinished) or os.path.islink(folder):
        return
    with contextlib.suppress(OSError):
        os.unlink(unfinished)
