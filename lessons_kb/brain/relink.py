"""What has to be written anew where a card gets another name: the links to it, and its own."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping

from lessons_kb.brain.layer import Layer
from lessons_kb.cards.links import Link, find_links, relink
from lessons_kb.errors import StorageError
from lessons_kb.store.card_files import read_bytes

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
        if edits := relink(read(path), follow_moves(path, moves)):
            found[path] = edits
    return found


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
        data = read_bytes(layer.root, path, limit=layer.settings.index.max_file_bytes)
        return data.decode("utf-8")
    except (StorageError, UnicodeDecodeError):
        return ""


def follow_moves(home: str, moves: Mapping[str, str]) -> Callable[[Link], str | None]:
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
