"""Give a card another title, and with it another name; links and what was counted follow."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote

from lessons_kb.brain.cards import Cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.links import Link, find_links, normal_title, numbered_names, relink, slug
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.cards.sections import find_headings, normal_newlines, one_line, split_lines
from lessons_kb.errors import DuplicateCard, EditRefused, InputError, LessonsError, StorageError
from lessons_kb.model import Card, Document
from lessons_kb.store import card_files
from lessons_kb.store.card_files import DraftFolder
from lessons_kb.store.locks import hold_new
from lessons_kb.text.redact import redact

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """What a renaming did."""

    old: str
    """The id of the card before."""
    card: Card
    linked: tuple[str, ...] = ()
    """Files whose links follow."""
    failed: tuple[str, ...] = ()
    """One line each: what could not be changed."""


def rename_card(brain: Layers, name: str, title: str) -> Renamed:
    """Give a card a title and the file name that goes with it; its folder stays.

    Links of the brain's files follow, and so does what the journal and the drafts know of the
    card. Raises DuplicateCard where another card has the title, CardNotFound, EditRefused.
    """
    cards = Cards(brain)
    layer, card = cards.find(name)
    wanted = one_line(redact(title))
    stem = slug(wanted)
    with hold_new(layer.root):
        for other in layer.read(lambda one: one.catalogue.paths_titled(normal_title(wanted))):
            if other != card.id:
                raise DuplicateCard(
                    f"{other} already has this title; choose another", existing=other
                )
        _retitle(layer, card, wanted)
        new = _move(layer, card.id, stem)
    layer.touch()
    linked, failed = rewrite_links(layer, card.id, new) if new != card.id else ([], [])
    if new != card.id:
        keep_record(layer, card.id, new)
    return Renamed(old=card.id, card=cards.get(new), linked=tuple(linked), failed=tuple(failed))


def keep_record(layer: Layer, old: str, new: str) -> None:
    """Let what journal and drafts know of a card follow it to another name."""
    with contextlib.suppress(StorageError):  # it costs the statistics, not the card
        layer.journal.rename(old, new)
        _follow_drafts(layer, old, new)


def _retitle(layer: Layer, card: Card, title: str) -> None:
    folders = layer.settings.folders

    def edited(data: bytes) -> bytes:
        document = parse_bytes(data, path=card.id, folders=folders)
        text = data.decode("utf-8")
        if document.card is None:
            raise EditRefused(f"{card.id} is not a readable card; run `lessons lint` for a fix")
        in_body = _with_heading(text, document, title)
        told = parse_bytes(in_body.encode("utf-8"), path=card.id, folders=folders).card
        if told is None or told.title != title:  # a heading is Markdown: `__init__` is bold there
            in_body = edit_header(in_body, {"title": title})
        return in_body.encode("utf-8")

    card_files.rewrite(layer.root, card.id, edited)


def _with_heading(text: str, document: Document, title: str) -> str:
    """Return a file whose level-1 heading, if it was the title too, is the new one."""
    old = document.card.title if document.card else ""
    body = document.body
    first = next((one for one in find_headings(normal_newlines(body)) if one.level == 1), None)
    if first is None:
        return text
    lines = split_lines(body)
    pattern = rf"(#[ \t]+){re.escape(old)}(?=[ \t]*[\r\n]*\Z)"
    lines[first.line] = re.sub(pattern, lambda found: found[1] + title, lines[first.line])
    return text[: len(text) - len(body)] + "".join(lines)


def _move(layer: Layer, path: str, stem: str) -> str:
    """Rename the file to the first free name that a new card of this title would get."""
    folder, suffix = posixpath.dirname(path), posixpath.splitext(path)[1]
    for name in islice(numbered_names(stem, suffix), 1_000):
        new = posixpath.join(folder, name)
        if new == path:
            return path
        with contextlib.suppress(DuplicateCard):
            return card_files.move(layer.root, path, new)
    raise InputError(f"1,000 cards are named {stem}; choose another title")


def _follow_drafts(layer: Layer, old: str, new: str) -> None:
    folder = DraftFolder(layer.root)
    with folder.locked():
        for name, facts in folder.facts().items():
            if facts.get("card") == old:
                folder.note(name, {**facts, "card": new})
