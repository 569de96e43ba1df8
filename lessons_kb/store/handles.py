"""Short handles of cards, such as ``L12``, for all brains of this user.

A handle is the number of a line in one file of the user's state. Lines are only ever added, so a
handle never passes to another card, is the same after a rebuild, and differs between two brains.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache

from lessons_kb.errors import StorageError
from lessons_kb.store.files import open_regular, read_regular, storage_errors
from lessons_kb.store.locations import state_home
from lessons_kb.store.locks import take_lock
from lessons_kb.store.private_files import make_private
from lessons_kb.values import NamedTuple, field, frozen

_NAME = "handles.jsonl"
_LETTER = "L"
_MAX_BYTES = 64_000_000
_LOCK_SECONDS = 0.5
"""The maximum time that the start of a session waits. It then lists files by their paths."""


class HandledCard(NamedTuple):
    """A card as it is named in the file of handles."""

    brain: str
    """The name of the brain's state folder."""
    card: str
    """The card's id."""


@frozen
class _Handles:
    """The content of the file of handles."""

    numbers: Mapping[HandledCard, int] = field(default_factory=dict)
    cards: Mapping[int, HandledCard] = field(default_factory=dict)


def find_handled(name: str) -> HandledCard | None:
    """Return the card of a handle; None if ``name`` is not the handle of a card."""
    digits = name.removeprefix(_LETTER)
    is_handle = name.startswith(_LETTER) and digits.isascii() and digits.isdigit()
    if not is_handle or digits.startswith("0"):
        return None
    return _read_handles().cards.get(int(digits))


def give_handles(cards: Iterable[HandledCard]) -> dict[HandledCard, str]:
    """Return the handle of each card. A card without a handle gets the next free number.

    If the file cannot be written, cards without a handle are left out.
    """
    wanted = list(dict.fromkeys(cards))
    handles = _read_handles()
    if any(card not in handles.numbers for card in wanted):
        # The state folder may be read-only, or the disk may be full.
        with contextlib.suppress(OSError, StorageError):
            _add(wanted)
        handles = _read_handles()
    return {card: f"{_LETTER}{handles.numbers[card]}" for card in wanted if card in handles.numbers}


def _add(cards: Iterable[HandledCard]) -> None:
    path = _get_path()
    make_private(os.path.dirname(path))
    with take_lock(f"{path}.lock", path, seconds=_LOCK_SECONDS), storage_errors(path):
        known = _read_handles()
        missing = [card for card in cards if card not in known.numbers]
        lines = "".join(f"{json.dumps(card)}\n" for card in missing)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)
        try:
            size = os.fstat(file).st_size
            if size and not _ends_a_line(path):
                lines = f"\n{lines}"  # the process that wrote the last line was killed
            os.write(file, lines.encode())
        finally:
            os.close(file)


_BINARY = getattr(os, "O_BINARY", 0)


def _ends_a_line(path: str) -> bool:
    with open_regular(path) as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _get_path() -> str:
    return os.path.join(state_home(), _NAME)


def _read_handles() -> _Handles:
    path = _get_path()
    try:
        found = os.stat(path)
    except OSError:
        return _Handles()
    return _parse(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=2)
def _parse(path: str, _version: tuple[int, int, int]) -> _Handles:
    numbers: dict[HandledCard, int] = {}
    cards: dict[int, HandledCard] = {}
    try:
        data = read_regular(path, limit=_MAX_BYTES, name=path)
    except (OSError, StorageError):
        return _Handles()
    for number, line in enumerate(data.split(b"\n"), 1):
        card = _parse_line(line)
        if card is not None and card not in numbers:
            numbers[card] = number
            cards[number] = card
    return _Handles(numbers=numbers, cards=cards)


def _parse_line(line: bytes) -> HandledCard | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    match data:
        case [str(brain), str(card)]:
            return HandledCard(brain, card)
    return None
