"""Find the links between the files of a brain, and update them after a card was renamed."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from urllib.parse import quote

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.links import Link, find_links, relink
from lessons_kb.cards.successions import (
    find_succession_names,
    name_in_same_style,
    names_card,
)
from lessons_kb.errors import LessonsError, StorageError
from lessons_kb.store import card_files

Edits = list[tuple[int, int, str]]
"""Tuples (start, end, new text), in order, in characters of the old text."""


def find_relinks(
    brain: Brain, moves: Mapping[str, str], read: Callable[[str], str]
) -> dict[str, Edits]:
    """Return a mapping from old ids to edits, for each file whose links change with some moves.

    ``moves`` maps the old id of each moved file to the new one. ``read`` returns the text of a file
    by its id, or "" if the file cannot be read.
    """
    edits_of: dict[str, Edits] = {}
    files = _list_files(brain)
    for path in files:
        edits = _find_edits(read(path), path, moves, files)
        if edits:
            edits_of[path] = edits
    return edits_of


def rewrite_links(brain: Brain, old: str, new: str) -> tuple[list[str], list[str]]:
    """Change the links of all files to a card that was renamed from ``old`` to ``new``.

    Returns the changed files, and one line for each file that could not be changed.
    """
    brain.refresh()
    changed: list[str] = []
    failed: list[str] = []
    moves = {old: new}
    name = posixpath.splitext(posixpath.basename(old))[0]
    limit = brain.settings.index.max_file_bytes
    files = _list_files(brain)

    def read(path: str) -> str:
        try:
            data = card_files.read_bytes(brain.root, path, limit=limit)
        except LessonsError as error:
            failed.append(f"{path}: {error}")
            return ""
        text = data.decode("utf-8", "replace")
        return text if name in text or quote(name) in text else ""

    def follow(data: bytes, *, path: str) -> bytes:
        text = data.decode("utf-8")
        for start, end, target in reversed(_find_edits(text, path, moves, files)):
            text = text[:start] + target + text[end:]
        return text.encode("utf-8")

    for path in find_relinks(brain, moves, read):
        try:
            card_files.rewrite(brain.root, path, partial(follow, path=path))
            changed.append(path)
        except LessonsError as error:
            failed.append(f"{path}: {error}")
    brain.touch()
    return changed, failed


def _find_edits(text: str, home: str, moves: Mapping[str, str], files: Collection[str]) -> Edits:
    """Return the edits of the links of a file, and of the names of cards in its header."""
    edits = {edit[:2]: edit for edit in relink(text, _follow_moves(home, moves))}
    others = {*files, *moves.values()}.difference(moves)
    for link in find_succession_names(text):
        for old, new in moves.items():
            if names_card(link.target, old, others - {new}):
                name = name_in_same_style(link.target, new, others)
                edits[link.start, link.end] = (link.start, link.end, name)
    return sorted(edits.values())


def find_links_to(
    brain: Brain, card: str, read: Callable[[str], str]
) -> Iterator[tuple[str, Link]]:
    """Yield the id of the file and the link, for each link in the brain that leads to a card."""
    for path in _list_files(brain):
        for link in find_links(read(path)):
            if link.leads_to(card, home=path):
                yield path, link


def _list_files(brain: Brain) -> list[str]:
    return brain.read(lambda brain: sorted(brain.catalogue.numbers()))


def read_file(brain: Brain, path: str) -> str:
    """Return the text of a file of a brain, or "" if it cannot be read as text."""
    try:
        data = card_files.read_bytes(brain.root, path, limit=brain.settings.index.max_file_bytes)
        return data.decode("utf-8")
    except (StorageError, UnicodeDecodeError):
        return ""


def _follow_moves(home: str, moves: Mapping[str, str]) -> Callable[[Link], str | None]:
    """Return a function from a link in ``home`` to its new target, or to None if unchanged."""
    new_home = moves.get(home, home)

    def find_target(link: Link) -> str | None:
        for old, new in moves.items():
            if link.leads_to(old, home=home):
                return link.written_to(new, home=new_home)
        if posixpath.dirname(new_home) == posixpath.dirname(home) or link.kind != "path":
            return None
        path = posixpath.join(posixpath.dirname(home), link.target)
        return posixpath.relpath(posixpath.normpath(path), posixpath.dirname(new_home) or ".")

    return find_target
