"""Records of diets: what a diet of a project was about to write, so that it can be taken back.

They lie in the state home of this user, under a token that is marked in git's own directory (else
in ``.lessons/``). So the records are found wherever the project is moved to, whatever becomes of
its brains, and no repository can bring one.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from dataclasses import asdict
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.files import list_folder, read_regular, storage_errors
from lessons_kb.store.identity import make_cache_folder
from lessons_kb.store.locations import CACHE_NAME, state_home
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.store.repositories import git_home
from lessons_kb.values import field, frozen, replace

BEGUN, DONE, UNDOING = "begun", "done", "undoing"
_FOLDER, _MARK = "diets", "diet"
_TOKEN = re.compile(r"[0-9a-f]{32}")
_MAX_RECORD_BYTES = 200 << 20


@frozen
class RecordedFile:
    """A rules file that a diet changes."""

    name: str
    """Its path below the project."""
    before: bytes
    after: str
    """Digest of what it holds afterwards, "" if it is removed."""
    mode: int


@frozen
class RecordedCard:
    """A card that a diet writes."""

    path: str
    """Below its brain."""
    digest: str
    origin: str
    """The card's `imported-from`, by which it is found under another name."""
    rule: str
    """The words of the rule."""
    file: str
    """The rules file that the rule stood in."""


@frozen
class DietRecord:
    """What one diet writes."""

    place: str = ""
    """The record's own file."""
    state: str = BEGUN
    root: str
    """The project, where it was then."""
    brain: str
    """The brain's path below the project, "." for the same folder."""
    files: tuple[RecordedFile, ...] = field(default_factory=tuple)
    cards: tuple[RecordedCard, ...] = field(default_factory=tuple)


def find_records(root: str) -> list[DietRecord]:
    """Return the records of a project, the oldest first. Raises StorageError."""
    token = _read_token(root)
    folder = os.path.join(state_home(), _FOLDER, token)
    records = []
    for name in list_folder(folder) if token else ():
        if name.endswith(".json"):
            record = _read(os.path.join(folder, name))
            # A copy of the project has the same token, and its diet was made elsewhere.
            if record.root == root or _read_token(record.root) != token:
                records.append(record)
    return records


def write_record(record: DietRecord) -> DietRecord:
    """Write a record, a new one under a name of its own, and return it. Raises StorageError."""
    place = record.place
    if not place:
        folder = os.path.join(state_home(), _FOLDER, _make_token(record.root))
        place = os.path.join(folder, f"{time.time_ns():020d}.json")
    data = asdict(record)
    for one in data["files"]:
        one["before"] = base64.b64encode(one["before"]).decode()
    write_private(place, json.dumps(data).encode())
    return replace(record, place=place)


def drop_record(record: DietRecord) -> None:
    """Forget a diet. Raises StorageError."""
    with storage_errors(record.place):
        os.unlink(record.place)


def _read(place: str) -> DietRecord:
    with storage_errors(place):
        data: dict[str, Any] = json.loads(read_regular(place, limit=_MAX_RECORD_BYTES, name=place))
    files = [
        RecordedFile(**{**one, "before": base64.b64decode(one["before"])}) for one in data["files"]
    ]
    cards = [RecordedCard(**one) for one in data["cards"]]
    return DietRecord(**{**data, "place": place, "files": tuple(files), "cards": tuple(cards)})


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
    """Return the token of a project, marked now if it has none."""
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
    write_private(place, f"{token}\n".encode())
    return token
