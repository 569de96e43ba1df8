"""Find files that repeat a card: with the same bytes, or as a conflict copy of a sync tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_SYNC_NAMES = (
    r"(.+)\.sync-conflict-\d{8}-\d{6}-\w+",  # Syncthing
    r"(.+?) ?\([^()]*conflict(?:ed copy)?[^()]*\)",  # Dropbox, Nextcloud
    r"(.+)_conflict-\d{8}-\d{6}",  # ownCloud
)
"""Name patterns that only sync tools use. The group is the name of the original."""
_COPY_NAMES = (
    r"(.+?)(?: - Copy| copy)(?: ?\(?\d+\)?)?",  # Windows, macOS
    r"(.+?) ?\(\d+\)",  # browsers, Google Drive
)
"""Name patterns that people use as well."""
_SYNC = re.compile("|".join(_SYNC_NAMES))
_COPY = re.compile("|".join(_COPY_NAMES))
_IN_EACH_NAME = ("conflict", "opy", ")")
"""Every name above contains one of these texts."""


class CardFile(NamedTuple):
    """The properties that decide whether a file is a copy of another file."""

    path: str
    content: bytes | str
    """The bytes of the file, or a digest of them."""
    title: str


class Copy(NamedTuple):
    """A file with the card of another file."""

    path: str
    original: str
    is_same: bool
    """Whether both files have the same bytes."""


def find_copies(files: Iterable[CardFile]) -> list[Copy]:
    """Return the files that are copies of other files, by path.

    Files with the same bytes are copies only if they have the same title as well, because a card
    without a title is titled by the name of its file. A file whose name is that of a copy is a copy
    if the original is in the same folder. If people may have chosen that name, both files must have
    the same title.
    """
    by_path = {file.path: file for file in files}
    originals: dict[tuple[bytes | str, str], str] = {}
    copies = []
    for file in sorted(by_path.values(), key=_rank):
        same = originals.setdefault((file.content, file.title), file.path)
        if same != file.path:
            copies.append(Copy(path=file.path, original=same, is_same=True))
            continue
        original = _find_original(file, by_path)
        if original:
            is_same = by_path[original].content == file.content
            copies.append(Copy(path=file.path, original=original, is_same=is_same))
    return sorted(copies)


def name_original(path: str) -> str:
    """Return the path of the original of ``path``, or "" if its name is not a copy's name."""
    return _split_name(path)[0]


def _rank(file: CardFile) -> tuple[bool, int, str]:
    """Return a sort key that puts originals before files with the name of a copy."""
    return bool(_split_name(file.path)[0]), len(file.path), file.path


def _find_original(file: CardFile, by_path: Mapping[str, CardFile]) -> str:
    """Return the path of the original of this file, or "" if the file is not a copy."""
    original, is_sure = _split_name(file.path)
    other = by_path.get(original)
    if other is None:
        return ""
    is_same = other.title == file.title or other.content == file.content
    return original if is_sure or is_same else ""


def _split_name(path: str) -> tuple[str, bool]:
    """Return the path of the original, and whether a sync tool named the copy.

    The path is "" if the name is not that of a copy.
    """
    folder, slash, name = path.rpartition("/")
    if not any(part in name for part in _IN_EACH_NAME):
        return "", False
    stem, dot, suffix = name.rpartition(".")
    for pattern, is_sure in ((_SYNC, True), (_COPY, False)):
        match = pattern.fullmatch(stem)
        if match:
            original_stem = next(group for group in match.groups() if group)
            return f"{folder}{slash}{original_stem}{dot}{suffix}", is_sure
    return "", False
