"""The open documents with the editor's unsaved text, and the kind of file of each document."""

from __future__ import annotations

import io
import os
import pathlib
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from operator import eq, is_not
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
from lessons_kb.collection.card_links import read_file
from lessons_kb.errors import BrainNotFound, LessonsError, Untrusted
from lessons_kb.library import Library
from lessons_kb.model import NOTE, Card, Document
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.store.files import relative
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.values import frozen, replace


class Text:
    r"""A text in lines. As in the protocol, only ``\r\n``, ``\n`` and ``\r`` end a line.

    A position after the end of its line means the end of the line. A position inside a character
    means the start of the character. A line after the last line means the end of the text. An edit
    returns a new text, so that threads may share one.
    """

    def __init__(self, whole: str) -> None:
        self.whole = whole
        lines = io.StringIO(whole, newline="").readlines()
        self.lines = lines if lines and not lines[-1].endswith(("\r", "\n")) else [*lines, ""]
        """Every line with its line end. The last line has none and may be empty."""
        self._starts = list(accumulate(map(len, self.lines[:-1]), initial=0))

    def line(self, number: int) -> str:
        """Return a line by its number, from 0, without its line end, or "" if it does not exist."""
        return self.lines[number].rstrip("\r\n") if 0 <= number < len(self.lines) else ""

    def replace(self, where: Range, text: str) -> Text:
        """Return the text with a range replaced. If a range runs backwards, its ends are
        swapped.
        """
        start, end = sorted(map(self.offset, (where.start, where.end)))
        return Text(self.whole[:start] + text + self.whole[end:])

    def column(self, at: Position) -> int:
        """Return the column of a position in its line, in characters."""
        line = self.line(at.line)
        return bisect_right(range(len(line)), at.character, key=lambda n: _units(line[: n + 1]))

    def offset(self, at: Position) -> int:
        """Return the offset of a position in the text, in characters."""
        if at.line >= len(self.lines):
            return len(self.whole)
        return self._starts[at.line] + self.column(at)

    def position(self, line: int, column: int) -> Position:
        """Return the position of a line and a column, both from 0. The column is in characters."""
        line = min(max(line, 0), len(self.lines) - 1)
        return Position(line=line, character=_units(self.line(line)[: max(column, 0)]))

    def position_at(self, offset: int) -> Position:
        """Return the position of an offset in the text, in characters."""
        line = bisect_right(self._starts, max(offset, 0)) - 1
        return self.position(line, offset - self._starts[line])

    def range(self, start: int, end: int) -> Range:
        """Return the range between two offsets in the text, in characters."""
        return Range(start=self.position_at(start), end=self.position_at(end))

    def part(self, line: int, start: int, end: int) -> Range:
        """Return the range between two columns of a line, in characters."""
        return Range(start=self.position(line, start), end=self.position(line, end))

    def span(self, line: int) -> Range:
        """Return the range of a line without the white space around it."""
        text = self.line(line)
        start = len(text) - len(text.lstrip())
        return self.part(line, start, max(start, len(text.rstrip())))


def _units(text: str) -> int:
    """Return the number of UTF-16 code units in a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@frozen
class OpenDocument:
    """One version of an open document."""

    uri: str
    path: str
    """Real path on the disk. The file may have another text, or may not exist."""
    version: int | None
    """The version of the document, or None for a file that was read from the disk."""
    text: Text

    def edit(self, *edits: tuple[int, int, str]) -> TextDocumentEdit:
        """Return an edit of the document from tuples (start, end, new text), with offsets in
        characters.

        The editor refuses them if the document has another version by then.
        """
        identifier = OptionalVersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        text_edits = [
            TextEdit(range=self.text.range(start, end), new_text=new) for start, end, new in edits
        ]
        return TextDocumentEdit(text_document=identifier, edits=text_edits)

    def rewrite(self, new: str) -> TextDocumentEdit:
        """Return one edit that replaces the text, except for its common start and end."""
        old = self.text.whole
        start, end = count_alike(old, new)
        # No position is between a CR and its LF.
        start -= old[:start].endswith("\r")
        end -= end > 0 and old[-end] == "\n"
        return self.edit((start, len(old) - end, new[start : len(new) - end]))


class Documents(dict[str, OpenDocument]):
    """Open documents by URI. Documents that are not files of this machine are not stored."""

    def open(self, uri: str, version: int, text: str) -> None:
        """Store a document that was opened."""
        path = path_of(uri)
        if path:
            self[uri] = OpenDocument(uri=uri, path=path, version=version, text=Text(text))

    def change(
        self, uri: str, version: int, changes: Sequence[TextDocumentContentChangeEvent]
    ) -> None:
        """Apply the editor's changes, one after another."""
        document = self.get(uri)
        if document is None:
            return
        text = document.text
        for change in changes:
            if isinstance(change, TextDocumentContentChangePartial):
                text = text.replace(change.range, change.text)
            else:
                text = Text(change.text)
        self[uri] = replace(document, version=version, text=text)

    def at(self, path: str) -> OpenDocument | None:
        """Return the open document of a real path, or None if it is not open."""
        documents = list(self.values())  # another thread may open a document meanwhile
        return next((document for document in documents if document.path == path), None)

    def load(self, brain: Brain, name: str) -> OpenDocument:
        """Return a file of a brain with the editor's text if it is open, or else with the text on
        the disk.
        """
        path = os.path.join(brain.root, *name.split("/"))
        return self.at(path) or OpenDocument(
            uri=uri_of(path), path=path, version=None, text=Text(read_file(brain, name))
        )


def path_of(uri: str) -> str:
    """Return the real path that a ``file:`` URI names, or "" for any other URI."""
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
    """Return the length of the common start of two texts, and the length of the common end of the
    rest.
    """
    start = sum(takewhile(bool, map(eq, old, new)))
    ends = map(eq, reversed(old[start:]), reversed(new[start:]))
    return start, sum(takewhile(bool, ends))


_PATIENCE = 0.2
"""Seconds that a refresh waits for another writer."""


@frozen
class CardFile:
    """A Markdown file of a brain, which may not be saved yet, or a draft that waits for a
    review.
    """

    brains: Library
    brain: Brain
    id: str
    """The id of the card. For a draft, this is the id that the card would get."""
    draft: str = ""
    """The id of the draft, or "" for a card."""

    @property
    def name(self) -> str:
        """The name with which ``Cards.find`` finds the card."""
        return f"{self.brain.alias}:{self.id}" if len(self.brains.members) > 1 else self.id

    def parse(self, text: str) -> Document:
        """Parse a text as the content of this file."""
        return parse_card(text, path=self.id, folders=self.brain.settings.folders)


@frozen
class SourceFile:
    """Any other file of a project to which a trusted brain applies."""

    brains: Library
    path: str
    """POSIX path, relative to the project root."""

    @property
    def guards(self) -> list[Card]:
        """The cards that guard the file."""
        return self.brains.find_guarding(self.path)


class Mark(NamedTuple):
    """A match of a card's pattern in an open document, and its diagnostic."""

    shown: Diagnostic
    brain: Brain
    card: Card


class Files:
    """Finds the kind of file at a path. Threads may share it. Untrusted brains are ignored."""

    def __init__(
        self, workspace: OpenBrains, documents: Documents, *, tell: Callable[[str], None]
    ) -> None:
        """``tell`` receives one line for the user if a brain cannot be used."""
        self.documents = documents
        self.folders: Sequence[str] = ()
        """Real paths of the folders in the editor's workspace."""
        self.show_guards = True
        """Whether the editor shows the number of lessons that guard a file."""
        self.renames_files = False
        """Whether the editor can rename a file together with edits."""
        self.matches: dict[str, tuple[OpenDocument, list[Mark]]] = {}
        """Mapping from the URI of a source file to the version that was last checked, and its
        marks.
        """
        self._workspace = workspace
        self._tell = tell
        self._cards: dict[str, tuple[object, list[Card]]] = {}

    def find(self, path: str) -> CardFile | SourceFile | None:
        """Return the kind of the file at a real path, or None if no brain applies to it."""
        brains = self.brain_of(os.path.dirname(path))
        if path.endswith(SUFFIXES):
            card_file = (brains and _find_card_file(brains, path)) or self._find_draft(path)
            if card_file:
                return card_file
        if brains is None or not self._is_project_file(brains, path):
            return None
        return SourceFile(brains=brains, path=relative(brains.directory, path))

    def _find_draft(self, path: str) -> CardFile | None:
        """Return the draft at a real path, if the path is a draft of a folder in the workspace."""
        draft = os.path.splitext(os.path.basename(path))[0]
        for brains in filter(None, map(self.brain_of, self.folders)):
            drafts = brains.drafts
            if draft in drafts.ids() and os.path.realpath(drafts.get(draft).path) == path:
                card = f"lessons/{draft}.md"
                return CardFile(brains=brains, brain=brains.members[0], id=card, draft=draft)
        return None

    def _is_project_file(self, brains: Library, path: str) -> bool:
        """Return whether a file is in the workspace, in a brain, or in the project of a brain.

        The user's own brain applies everywhere. But a file outside of the workspace, such as one of
        a library that the user reads, is not part of a project of the user.
        """
        roots = [brain.root for brain in brains.members]
        if any(is_inside(path, folder) for folder in (*self.folders, *roots)):
            return True
        return any(is_inside(root, brains.directory) for root in roots)

    def brain_of(self, folder: str) -> Library | None:
        """Return the trusted brains that apply to a folder, or None if there are none.

        Their content comes from their last commit, because a scan of twelve thousand files would
        take too long while the user types; see ``refresh``.
        """
        try:
            discovery = self._workspace.look(folder)
            if discovery.untrusted:
                self._tell(untrusted_hint(discovery.untrusted, discovery.named))
            if discovery.missing:
                self._tell(discovery.missing)
            # All folders of a project share one brain, so that its patterns are compiled once.
            roots = [*self.folders, *discovery.trusted]
            parents = [root for root in roots if is_inside(folder + os.sep, root)]
            directory = git_top(folder) or max(parents, key=len, default=folder)
            return self._workspace.find(directory, found=discovery)
        except (BrainNotFound, Untrusted):
            return None
        except LessonsError as error:
            self._tell(str(error))
            return None

    def cards(self, brain: Brain) -> list[Card]:
        """Return every card and note of a brain, as of its last commit."""
        brain.ensure_indexed()
        state, cards = self._cards.get(brain.root, (None, []))
        if state is None or state is not brain.state:
            state = brain.state
            cards = brain.read(lambda brain: brain.catalogue.all_cards())
            self._cards[brain.root] = state, cards
        return cards

    def refresh(self) -> bool:
        """Refresh the brains of all open documents. Return whether any of them changed."""
        folders = {os.path.dirname(document.path) for document in list(self.documents.values())}
        libraries = {id(brains): brains for brains in map(self.brain_of, folders)}
        changed = False
        for brains in filter(None, libraries.values()):
            before = [brain.state for brain in brains.members]
            brains.refresh(patience=_PATIENCE)
            after = [brain.state for brain in brains.members]
            changed = changed or any(map(is_not, before, after))
        return changed


def _find_card_file(brains: Library, path: str) -> CardFile | None:
    """Return the card at a real path, if the path is in a brain that lists or would list it."""
    for brain in brains.members:
        name = relative(brain.root, path)
        if is_inside(path, brain.root) and _lists(brain, name):
            return CardFile(brains=brains, brain=brain, id=name)
    return None


def _lists(brain: Brain, name: str) -> bool:
    """Return whether a brain lists a card, or will list it when its file is saved or smaller."""
    brain.ensure_indexed()
    if brain.read(lambda brain: brain.catalogue.numbers(name)):
        return True
    if any(part.startswith(".") for part in name.split("/")):
        return False
    full = os.path.join(brain.root, *name.split("/"))
    if os.path.lexists(full):
        return os.path.getsize(full) > brain.settings.index.max_file_bytes
    return kind_of(name, brain.settings.folders) != NOTE


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is inside a folder."""
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
"""Mapping from the kind of a cursor below the header to the pattern of the text before the
cursor.
"""
_LONGEST_HEADER = 2_000
"""The end of a header is searched for in this many lines."""


@frozen
class Cursor:
    """The completion context at a position in a card."""

    kind: str
    """``key``, ``value``, ``link``, ``wiki``, ``heading`` or ``text``."""
    key: str = ""
    """Canonical name of the key at the position. For a nested key, this is its own name."""
    parent: str = ""
    """The key that contains a nested key."""
    typed: str = ""
    """The text between ``start`` and the position."""
    start: int = 0
    """Column, in characters, of the text to be completed."""


def find_cursor(text: Text, at: Position) -> Cursor:
    """Return the completion context at a position."""
    before = text.line(at.line)[: text.column(at)]
    first, end = find_header(text)
    if first <= at.line < end:
        return _find_header_cursor(before, _find_top_key(text, first, at.line))
    for kind, form in _IN_BODY.items():
        match = form.search(before)
        if match:
            return Cursor(kind=kind, typed=match["typed"], start=match.start("typed"))
    return Cursor(kind="text")


def _find_top_key(text: Text, first: int, line: int) -> str:
    """Return the canonical name of the last key without a margin up to a line, or "" if there is
    none.
    """
    for number in range(line, first - 1, -1):
        match = _KEY.match(text.line(number))
        if match and not match["margin"]:
            return canonical(match["key"])
    return ""


def _find_header_cursor(before: str, top_key: str) -> Cursor:
    """Return the completion context after ``before``, a part of a line of the header.

    ``top_key`` is the key without a margin to which the line belongs.
    """
    key, parent, begin = "", top_key, 0
    whole_key = _KEY.match(before)
    new_key = _FIRST.fullmatch(before)
    item = _ITEM.match(before)
    if whole_key:
        key = canonical(whole_key["key"])
        begin = whole_key.end()
        parent = top_key if whole_key["margin"] else ""
    elif new_key and (not new_key["margin"] or top_key == "detect"):
        parent = top_key if new_key["margin"] else ""
        typed = new_key["typed"]
        start = new_key.start("typed")
        return Cursor(kind="key", parent=parent, typed=typed, start=start)
    elif item:
        key = top_key
        parent = ""
        begin = item.end()
    start = max(begin, before.rfind("[", begin) + 1, before.rfind(",", begin) + 1)
    start = len(before) - len(before[start:].lstrip(" \t'\""))
    return Cursor(kind="value", key=key, parent=parent, typed=before[start:], start=start)


def find_header(text: Text) -> tuple[int, int]:
    """Return the first line of a header and the line after its last line, without the fences.

    A header that is not closed yet counts as well. Return (0, 0) if there is no header.
    """
    lines = min(len(text.lines), _LONGEST_HEADER)
    filled = (number for number in range(lines) if text.line(number).strip("\ufeff \t"))
    first = next(filled, 0)
    if text.line(first).lstrip("\ufeff").rstrip() != "---":
        return 0, 0
    for number in range(first + 1, lines):
        line = text.line(number)
        if line.rstrip() == "---" or line.startswith("## "):
            return first + 1, number
    return first + 1, lines


def find_key(text: Text, line: int) -> tuple[str, int, int] | None:
    """Return the canonical key on a line of the header, its first column and its end."""
    first, end = find_header(text)
    match = _KEY.match(text.line(line)) if first <= line < end else None
    if match is None:
        return None
    return canonical(match["key"]), match.start("key"), match.end("key")
