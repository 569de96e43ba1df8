"""Links between the files of a brain: who links to a card, and what follows when a card moves."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from lessons_kb.brain.layer import Layer
from lessons_kb.cards.links import Link, find_links, relink
from lessons_kb.errors import LessonsError, StorageError
from lessons_kb.store import card_files

Edits = list[tuple[int, int, str]]
"""(Start, end, new text), in characters of the old text, in order."""


def find_relinks(
    layer: Layer, moves: Mapping[str, str], read: Callable[[str], str]
) -> dict[str, Edits]:
    """Return old id → edits of each file whose links change with some moves (old id → new id).

    ``read`` returns the text of a file by its id, "" where it cannot be read.
    """
    found = {}
    for path in layer.read(lambda one: sorted(one.catalogue.numbers())):
        if edits := relink(read(path), _follow_moves(path, moves)):
            found[path] = edits
    return found


def rewrite_links(layer: Layer, old: str, new: str) -> tuple[list[str], list[str]]:
    """Let the links of all files lead to a card's new name; it has moved already.

    Returns the files changed, and one line each for those that could not be.
    """
    layer.refresh()
    linked, failed, moves = [], [], {old: new}
    name = posixpath.splitext(posixpath.basename(old))[0]
    written = (name.encode(), quote(name).encode())
    limit = layer.settings.index.max_file_bytes

    def read(path: str) -> str:
        try:
            data = card_files.read_bytes(layer.root, path, limit=limit)
        except LessonsError as error:
            failed.append(f"{path}: {error}")
            return ""
        return data.decode("utf-8", "replace") if any(one in data for one in written) else ""

    for path in find_relinks(layer, moves, read):

        def edited(data: bytes, path: str = path) -> bytes:
            text = data.decode("utf-8")
            for start, end, target in reversed(relink(text, _follow_moves(path, moves))):
                text = text[:start] + target + text[end:]
            return text.encode("utf-8")

        try:
            card_files.rewrite(layer.root, path, edited)
            linked.append(path)
        except UnicodeDecodeError:
            continue  # no card, and no note that links
        except LessonsError as error:
            failed.append(f"{path}: {error}")
    layer.touch()
    return sorted(linked), failed


def find_links_to(
    layer: Layer, card: str, read: Callable[[str], str]
) -> Iterator[tuple[str, Link]]:
    """Yield (id, link) of each link of the brain that leads to a card."""
    for path in layer.read(lambda one: sorted(one.catalogue.numbers())):
        for link in find_links(read(path)):
            if link.leads_to(card, home=path):
                yield path, link


def read_file(layer: Layer, path: str) -> str:
    """Return the text of a file of a brain, "" where it cannot be read as text."""
    try:
        data = card_files.read_bytes(layer.root, path, limit=layer.settings.index.max_file_bytes)
        return data.decode("utf-8")
    except (StorageError, UnicodeDecodeError):
        return ""


def _follow_moves(home: str, moves: Mapping[str, str]) -> Callable[[Link], str | None]:
    """Return what each link of the file ``home`` is to say after some moves, None for as it is."""
    new_home = moves.get(home, home)

    def change(link: Link) -> str | None:
        for old, new in moves.items():
            if link.leads_to(old, home=home):
                return link.written_to(new, home=new_home)
        if posixpath.dirname(new_home) == posixpath.dirname(home) or link.kind != "path":
            return None
        path = posixpath.join(posixpath.dirname(home), link.target)
        return posixpath.relpath(posixpath.normpath(path), posixpath.dirname(new_home) or ".")

    return change
