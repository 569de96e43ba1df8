"""The documents that the editor holds open, as it holds them."""

from __future__ import annotations

import io
import os
import pathlib
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from operator import eq
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lsprotocol.types import (
    Diagnostic,
    OptionalVersionedTextDocumentIdentifier,
    Position,
    Range,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
    TextDocumentEdit,
    TextEdit,
)

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import untrusted_hint
from lessons_kb.cards.file_kinds import kind_of
from lessons_kb.cards.keys import canonical
from lessons_kb.cards.parse import parse_card
from lessons_kb.collection.cards import read_file
from lessons_kb.errors import BrainNotFound, LessonsError, Untrusted
from lessons_kb.library import Library
from lessons_kb.model import NOTE, Card, Document
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.store.files import relative
from lessons_kb.store.locations import git_top
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.values import frozen


class Text:
    r"""Lines that end at ``\r\n``, ``\n`` or ``\r`` alone, as the protocol has it.

    A position behind the end of its line is that end, one inside a character the place before it,
    a line behind the last the end of the text. An edit makes a text of its own: threads may share
    one.
    """

    def __init__(self, whole: str) -> None:
        self.whole = whole
        lines = io.StringIO(whole, newline="").readlines()
        self.lines = lines if lines and not lines[-1].endswith(("\r", "\n")) else [*lines, ""]
        """Every line with its end; the last has none and may be empty."""
        self._starts = list(accumulate(map(len, self.lines[:-1]), initial=0))

    def line(self, number: int) -> str:
        """Return a line by its number, from 0, without its end; "" for one that is not there."""
        return self.lines[number].rstrip("\r\n") if 0 <= number < len(self.lines) else ""

    def replace(self, where: Range, text: str) -> Text:
        """Return the text with another in a range; of one that runs backwards the ends swap."""
        start, end = sorted(map(self.offset, (where.start, where.end)))
        return Text(self.whole[:start] + text + self.whole[end:])

    def column(self, at: Position) -> int:
        """Return a position's place in its line, in characters."""
        line = self.line(at.line)
        return bisect_right(range(len(line)), at.character, key=lambda n: _units(line[: n + 1]))

    def offset(self, at: Position) -> int:
        """Return a position's place in the text, in characters."""
        if at.line >= len(self.lines):
            return len(self.whole)
        return self._starts[at.line] + self.column(at)

    def position(self, line: int, column: int) -> Position:
        """Return the position of a place in a line, both from 0 and in characters."""
        line = min(max(line, 0), len(self.lines) - 1)
        return Position(line=line, character=_units(self.line(line)[: max(column, 0)]))

    def position_at(self, offset: int) -> Position:
        """Return the position of a place in the text, in characters."""
        line = bisect_right(self._starts, max(offset, 0)) - 1
        return self.position(line, offset - self._starts[line])

    def range(self, start: int, end: int) -> Range:
        """Return the range between two places in the text, in characters."""
        return Range(start=self.position_at(start), end=self.position_at(end))

    def part(self, line: int, start: int, end: int) -> Range:
        """Return the range between two places in a line, in characters."""
        return Range(start=self.position(line, start), end=self.position(line, end))

    def span(self, line: int) -> Range:
        """Return the range of a line without the white space around it."""
        text = self.line(line)
        start = len(text) - len(text.lstrip())
        return self.part(line, start, max(start, len(text.rstrip())))


def _units(text: str) -> int:
    """Return how many UTF-16 code units a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@frozen
class OpenDocument:
    """One open file at one moment."""

    uri: str
    path: str
    """Real path on the disk, where there may be another text or none."""
    version: int | None
    """None of a file that was read from the disk."""
    text: Text

    def edit(self, *edits: tuple[int, int, str]) -> TextDocumentEdit:
        """Return edits (start, end, new text), which the editor refuses if it changed meanwhile."""
        identifier = OptionalVersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        made = [
            TextEdit(range=self.text.range(start, end), new_text=new) for start, end, new in edits
        ]
        return TextDocumentEdit(text_document=identifier, edits=made)

    def rewrite(self, new: str) -> TextDocumentEdit:
        """Return the one edit that makes its text another, without what is alike at both ends."""
        old = self.text.whole
        start, end = count_alike(old, new)
        # No position lies between a CR and its LF.
        start -= old[:start].endswith("\r")
        end -= end > 0 and old[-end] == "\n"
        return self.edit((start, len(old) - end, new[start : len(new) - end]))


class Documents(dict[str, OpenDocument]):
    """Open documents by URI; those that are no files of this machine are not stored."""

    def open(self, uri: str, version: int, text: str) -> None:
        """Note that a document was opened."""
        if path := path_of(uri):
            self[uri] = OpenDocument(uri=uri, path=path, version=version, text=Text(text))

    def change(
        self, uri: str, version: int, changes: Sequence[TextDocumentContentChangeEvent]
    ) -> None:
        """Make the editor's changes, one after another."""
        if (known := self.get(uri)) is None:
            return
        text = known.text
        for change in changes:
            if isinstance(change, TextDocumentContentChangePartial):
                text = text.replace(change.range, change.text)
            else:
                text = Text(change.text)
        self[uri] = replace(known, version=version, text=text)

    def at(self, path: str) -> OpenDocument | None:
        """Return the open document of a real path, None where it is not open."""
        return next((one for one in list(self.values()) if one.path == path), None)

    def load(self, brain: Brain, name: str) -> OpenDocument:
        """Return a file of a brain as it is open, else as it is on the disk."""
        path = os.path.join(brain.root, *name.split("/"))
        return self.at(path) or OpenDocument(
            uri=uri_of(path), path=path, version=None, text=Text(read_file(brain, name))
        )


def path_of(uri: str) -> str:
    """Return the real path that a ``file:`` URI names, "" for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in path or not path:
        return ""
    return os.path.realpath(path.lstrip("/") if os.name == "nt" else path)


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return pathlib.Path(path).as_uri()


def count_alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how much of two texts is the same at their beginnings, and then at their ends."""
    start = sum(takewhile(bool, map(eq, old, new)))
    ends = map(eq, reversed(old[start:]), reversed(new[start:]))
    return start, sum(takewhile(bool, ends))


_PATIENCE = 0.2


@frozen
class CardFile:
    """A Markdown file of a brain, written or to be written, or a draft that waits for a human."""

    brains: Library
    brain: Brain
    id: str
    """Of a draft the one that it would have."""
    draft: str = ""
    """Of a draft its id among the drafts."""

    @property
    def name(self) -> str:
        """What ``Cards.find`` knows it by."""
        return f"{self.brain.alias}:{self.id}" if len(self.brains.members) > 1 else self.id

    def parse(self, text: str) -> Document:
        """Return what it says if it holds this text."""
        return parse_card(text, path=self.id, folders=self.brain.settings.folders)


@frozen
class SourceFile:
    """Any other file of a project for which a trusted brain holds."""

    brains: Library
    path: str
    """POSIX, from the project root."""

    @property
    def guards(self) -> list[Card]:
        """The cards that guard it."""
        return self.brains.find_guarding(self.path)


class Mark(NamedTuple):
    """A mistake that a card describes, as it is shown where it was found."""

    shown: Diagnostic
    brain: Brain
    card: Card


class Files:
    """Tells what files are; may be shared between threads. Brains nobody trusts are not there."""

    def __init__(
        self, workspace: OpenBrains, documents: Documents, *, tell: Callable[[str], None]
    ) -> None:
        """``tell`` is given one line for the user where a brain cannot be used."""
        self.documents = documents
        self.folders: Sequence[str] = ()
        """Real paths of the folders that the editor works in."""
        self.show_guards = True
        """Whether the editor wants to know how many lessons guard a file."""
        self.renames_files = False
        """Whether the editor can rename a file together with edits."""
        self.matches: dict[str, tuple[OpenDocument, list[Mark]]] = {}
        """URI of a source file → the document that was last looked at, and what was found."""
        self._workspace = workspace
        self._tell = tell
        self._cards: dict[str, tuple[object, list[Card]]] = {}

    def find(self, path: str) -> CardFile | SourceFile | None:
        """Return what the file at a real path is, None where it is none of our business."""
        brains = self.brain_of(os.path.dirname(path))
        if path.endswith(SUFFIXES):
            for brain in brains.members if brains else ():
                name = relative(brain.root, path)
                if brains and is_inside(path, brain.root) and _holds(brain, name):
                    return CardFile(brains=brains, brain=brain, id=name)
            name = os.path.splitext(os.path.basename(path))[0]
            for own in filter(None, map(self.brain_of, self.folders)):
                drafts = own.drafts
                if name in drafts.ids() and os.path.realpath(drafts.get(name).path) == path:
                    card = f"lessons/{name}.md"
                    return CardFile(brains=own, brain=own.members[0], id=card, draft=name)
        # The user's own brain holds everywhere, but a library that is looked at is nobody's
        # project: a brain must be of the file's project, or the editor work there.
        roots = [brain.root for brain in brains.members] if brains else []
        is_near = any(is_inside(path, place) for place in (*self.folders, *roots))
        if brains is None or not (
            is_near or any(is_inside(one, brains.directory) for one in roots)
        ):
            return None
        return SourceFile(brains=brains, path=relative(brains.directory, path))

    def brain_of(self, folder: str) -> Library | None:
        """Return the trusted every that hold for a folder as of their last commit, None without.

        A scan of twelve thousand files takes longer than a typist waits: see ``refresh``.
        """
        try:
            found = self._workspace.look(folder)
            if found.untrusted:
                self._tell(untrusted_hint(found.untrusted, found.named))
            if found.missing:
                self._tell(found.missing)
            # One brain for all folders of a project: its patterns are compiled but once.
            around = [*self.folders, *found.trusted]
            inside = [one for one in around if is_inside(folder + os.sep, one)]
            where = git_top(folder) or max(inside, key=len, default=folder)
            return self._workspace.find(where, found=found)
        except (BrainNotFound, Untrusted):
            return None
        except LessonsError as error:
            self._tell(str(error))
            return None

    def cards(self, brain: Brain) -> list[Card]:
        """Return every card and note of a brain as of the last commit."""
        brain.ensure_indexed()
        state, cards = self._cards.get(brain.root, (None, []))
        if state is None or state is not brain.state:
            state, cards = brain.state, brain.read(lambda one: one.catalogue.all_cards())
            self._cards[brain.root] = state, cards
        return cards

    def refresh(self) -> bool:
        """Bring the every of what is open up to date; return whether anything had changed."""
        folders = {os.path.dirname(document.path) for document in list(self.documents.values())}
        every = {id(brains): brains for brains in map(self.brain_of, folders) if brains is not None}
        members = [brain for brains in every.values() for brain in brains.members]
        before = [brain.state for brain in members]
        for brains in every.values():
            brains.refresh(patience=_PATIENCE)
        return any(brain.state is not state for state, brain in zip(before, members, strict=True))


def _holds(brain: Brain, name: str) -> bool:
    """Tell whether a brain lists a card, or would if its file were saved or smaller."""
    brain.ensure_indexed()
    if brain.read(lambda one: one.catalogue.numbers(name)):
        return True
    if any(part.startswith(".") for part in name.split("/")):
        return False
    full = os.path.join(brain.root, *name.split("/"))
    if os.path.lexists(full):
        return os.path.getsize(full) > brain.settings.index.max_file_bytes
    return kind_of(name, brain.settings.folders) != NOTE


def is_inside(path: str, folder: str) -> bool:
    """Tell whether a path leads into a folder."""
    return path.startswith(folder.rstrip(os.sep) + os.sep)


_MARGIN = r"(?P<margin>[ \t]*(?:-[ \t]+)?)"
_KEY = re.compile(_MARGIN + r"(?P<key>[^\W\d_][\w -]*?)[ \t]*:(?:[ \t]|$)")
_FIRST = re.compile(_MARGIN + r"(?P<typed>[\w-]*)$")
_ITEM = re.compile(r"[ \t]*-[ \t]*|")
_IN_BODY = {
    "wiki": re.compile(r"\[\[(?P<typed>[^\[\]|\n]*)$"),
    "link": re.compile(r"\]\((?P<typed>[^()\s]*)$"),
    "heading": re.compile(r"^##[ \t]+(?P<typed>.*)$"),
}
"""Kind of a cursor below the header → what stands before it."""
_LONGEST_HEADER = 2_000
"""Lines looked at for the end of a header."""


@frozen
class Cursor:
    """A place in a card."""

    kind: str
    """``key``, ``value``, ``link``, ``wiki``, ``heading`` or ``text``."""
    key: str = ""
    """Canonical, of the header's key that the place belongs to; of a nested one its own."""
    parent: str = ""
    """The key above a nested one."""
    typed: str = ""
    """What stands between ``start`` and the place."""
    start: int = 0
    """Column, in characters, at which begins what would be completed."""


def find_cursor(text: Text, at: Position) -> Cursor:
    """Return what stands at a position."""
    before = text.line(at.line)[: text.column(at)]
    first, end = find_header(text)
    if not first <= at.line < end:
        for kind, form in _IN_BODY.items():
            if found := form.search(before):
                return Cursor(kind=kind, typed=found["typed"], start=found.start("typed"))
        return Cursor(kind="text")
    above = (_KEY.match(text.line(number)) for number in range(at.line, first - 1, -1))
    parent = next((canonical(one["key"]) for one in above if one and not one["margin"]), "")
    key, begin = "", 0
    if found := _KEY.match(before):
        key, begin = canonical(found["key"]), found.end()
        parent = parent if found["margin"] else ""
    elif (found := _FIRST.fullmatch(before)) and (not found["margin"] or parent == "detect"):
        parent = parent if found["margin"] else ""
        typed, start = found["typed"], found.start("typed")
        return Cursor(kind="key", parent=parent, typed=typed, start=start)
    elif item := _ITEM.match(before):
        key, parent, begin = parent, "", item.end()
    start = max(begin, *(before.rfind(mark, begin) + 1 for mark in "[,"))
    start = len(before) - len(before[start:].lstrip(" \t'\""))
    return Cursor(kind="value", key=key, parent=parent, typed=before[start:], start=start)


def find_header(text: Text) -> tuple[int, int]:
    """Return the lines of a header, the fences left out, also of one that is not closed yet."""
    lines = min(len(text.lines), _LONGEST_HEADER)
    first = next((n for n in range(lines) if text.line(n).strip("\ufeff \t")), 0)
    if text.line(first).lstrip("\ufeff").rstrip() != "---":
        return 0, 0
    for number in range(first + 1, lines):
        line = text.line(number)
        if line.rstrip() == "---" or line.startswith("## "):
            return first + 1, number
    return first + 1, lines


def find_key(text: Text, line: int) -> tuple[str, int, int] | None:
    """Return the canonical key that stands on a line of the header, and its columns."""
    first, end = find_header(text)
    found = _KEY.match(text.line(line)) if first <= line < end else None
    return (canonical(found["key"]), found.start("key"), found.end("key")) if found else None
