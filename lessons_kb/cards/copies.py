"""Finds files that repeat a card: with the same bytes, or as a conflict copy of a sync tool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_SYNC_NAMES = (
    r"(.+)\.sync-conflict-\d{8}-\d{6}-\w+",  # Syncthing
    r"(.+?) ?\([^()]*conflict(?:ed copy)?[^()]*\)",  # Dropbox, Nextcloud
    r"(.+)_conflict-\d{8}-\d{6}",  # ownCloud
)
"""Names that only sync tools give; the group is the name of the original."""
_COPY_NAMES = (
    r"(.+?)(?: - Copy| copy)(?: ?\(?\d+\)?)?",  # Windows, macOS
    r"(.+?) ?\(\d+\)",  # browsers, Google Drive
)
"""Names that people give as well."""
_SYNC = re.compile("|".join(_SYNC_NAMES))
_COPY = re.compile("|".join(_COPY_NAMES))


class CardFile(NamedTuple):
    """What is compared to find out whether a file is a copy of another."""

    path: str
    data: bytes
    title: str


class Copy(NamedTuple):
    """A file with the card of another file."""

    path: str
    original: str
    is_same: bool
    """Whether both have the same bytes."""


def find_copies(files: Sequence[CardFile]) -> list[Copy]:
    """Return the copies among some files, sorted by path.

    A file with the name of a copy is one if the original is beside it. If people also use such
    names, both files must have the same title.
    """
    by_path = {file.path: file for file in files}
    originals: dict[bytes, str] = {}
    copies = []
    for file in sorted(files, key=_rank):
        same = originals.setdefault(file.data, file.path)
        if same != file.path:
            copies.append(Copy(path=file.path, original=same, is_same=True))
            continue
        original = _find_original(file, by_path)
        if original:
            copies.append(Copy(path=file.path, original=original, is_same=False))
    return sorted(copies)


def _rank(file: CardFile) -> tuple[bool, int, str]:
    """Return a sort key by which originals come before files with the name of a copy."""
    return bool(_split_name(file.path)[0]), len(file.path), file.path


def _find_original(file: CardFile, by_path: dict[str, CardFile]) -> str:
    """Return the path of the file of which this one is a copy, "" for none."""
    original, is_sure = _split_name(file.path)
    other = by_path.get(original)
    if other is None or not (is_sure or other.title == file.title):
        return ""
    return original


def _split_name(path: str) -> tuple[str, bool]:
    """Return the path of a copy's original, "" for none, and whether a sync tool named the copy."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    for pattern, is_sure in ((_SYNC, True), (_COPY, False)):
        match = pattern.fullmatch(stem)
        if match:
            original_stem = next(group for group in match.groups() if group)
            return f"{folder}{slash}{original_stem}{dot}{suffix}", is_sure
    return "", False
