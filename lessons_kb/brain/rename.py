"""Give a card another title, and with it another name; links and what was counted follow."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from lessons_kb.brain.cards import Cards, propose_names
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.links import Link, find_links, normal_title, relink, slug
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sections import find_headings, normal_newlines, one_line, split_lines
from lessons_kb.errors import DuplicateCard, InputError, LessonsError, StorageError
from lessons_kb.learn.draft_text import MISSING, names_mistake
from lessons_kb.model import Card
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

    def follow(data: bytes, *, path: str) -> bytes:
        text = data.decode("utf-8")
        for start, end, target in reversed(relink(text, _follow_moves(path, moves))):
            text = text[:start] + target + text[end:]
        return text.encode("utf-8")

    for path in find_relinks(layer, moves, read):
        try:
            card_files.rewrite(layer.root, path, partial(follow, path=path))
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
    card. Raises DuplicateCard where another card has the title, InputError for one that names no
    mistake, CardNotFound, EditRefused.
    """
    cards = Cards(brain)
    layer, card = cards.find(name, notes=False)
    wanted = one_line(redact(title))
    stem, new = slug(wanted), card.id
    if not names_mistake(wanted):
        raise InputError(f"{wanted!r} names no mistake; give {MISSING['title']}")
    folder, suffix = posixpath.dirname(card.id), posixpath.splitext(card.id)[1]
    with hold_new(layer.root):
        for other in layer.read(lambda one: one.catalogue.paths_titled(normal_title(wanted))):
            if other != card.id:
                raise DuplicateCard(
                    f"{other} already has this title; choose another", existing=other
                )
        cards.rewrite(layer, card.id, partial(_retitle, title=wanted))
        for free in propose_names(stem, suffix):  # the first that a new card would get
            new = posixpath.join(folder, free)
            with contextlib.suppress(DuplicateCard):
                new = new if new == card.id else card_files.move(layer.root, card.id, new)
                break
    layer.touch()
    linked, failed = rewrite_links(layer, card.id, new) if new != card.id else ([], [])
    if new != card.id:
        keep_record(layer, card.id, new)
    return Renamed(old=card.id, card=cards.get(new), linked=tuple(linked), failed=tuple(failed))


def keep_record(layer: Layer, old: str, new: str) -> None:
    """Let what journal and drafts know of a card follow it to another name."""
    with contextlib.suppress(StorageError):  # it costs the statistics, not the card
        layer.journal.rename(old, new)
        folder = DraftFolder(layer.root)
        with folder.locked():
            for name, facts in folder.facts().items():
                if facts.get("card") == old:
                    folder.note(name, {**facts, "card": new})


def _retitle(card: Card, text: str, *, title: str) -> str:
    """Return a card's text with another title, also as level-1 heading if the old one is there."""
    body = split_header(text).body
    first = next((one for one in find_headings(normal_newlines(body)) if one.level == 1), None)
    lines = split_lines(body)
    if first is not None:
        pattern = rf"(#[ \t]+){re.escape(card.title)}(?=[ \t]*[\r\n]*\Z)"
        lines[first.line] = re.sub(pattern, lambda found: found[1] + title, lines[first.line])
    text = text[: len(text) - len(body)] + "".join(lines)
    told = parse_card(text, path=card.id, folders={}).card
    # A heading is Markdown: `__init__` is bold there.
    return text if told and told.title == title else edit_header(text, {"title": title})
