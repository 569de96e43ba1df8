"""The documents that the editor holds open, as it holds them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote, unquote, urlsplit

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    Position,
    Range,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
    TextDocumentEdit,
    TextEdit,
)

from lessons_kb.brain.brain import Brain, Workspace
from lessons_kb.brain.detection import list_tree
from lessons_kb.brain.discovery import untrusted_hint
from lessons_kb.brain.layer import Layer
from lessons_kb.cards.keys import canonical
from lessons_kb.cards.parse import kind_of, parse_card
from lessons_kb.errors import BrainNotFound, LessonsError, Untrusted
from lessons_kb.model import NOTE, Card, Document
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.store.user_state import git_top

_EOL = re.compile(r"(\r\n|\r|\n)")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
"""Characters of two UTF-16 code units."""


class Text:
    r"""Lines that end at ``\r\n``, ``\n`` or ``\r`` alone, as the protocol has it.

    A position behind the end of its line is that end, one inside a character the place before it,
    a line behind the last the end of the text. An edit makes a text of its own: threads may share
    one.
    """

    def __init__(self, text: str, *, lines: list[str] | None = None) -> None:
        """``lines``, if they are known, make ``text`` superfluous."""
        self._lines = _split(text) if lines is None else lines
        self._whole = text if lines is None else None

    @property
    def whole(self) -> str:
        """The text."""
        if self._whole is None:
            self._whole = "".join(self._lines)
        return self._whole

    @property
    def lines(self) -> Sequence[str]:
        """Every line with its end; the last has none and may be empty."""
        return self._lines

    @cached_property
    def ends_alike(self) -> bool:
        """Whether no line ends at a CR alone."""
        return "\r" not in self.whole.replace("\r\n", "\n")

    def line(self, number: int) -> str:
        """Return a line by its number, from 0, without its end; "" for one that is not there."""
        return self._lines[number].rstrip("\r\n") if 0 <= number < len(self._lines) else ""

    def replace(self, where: Range, text: str) -> Text:
        """Return the text with another in a range; of one that runs backwards the ends swap."""
        ends = sorted(map(self._place, (where.start, where.end)))
        (first, begin), (last, end) = ends
        piece = f"{self._lines[first][:begin]}{text}{self._lines[last][end:]}"
        # A CR and an LF that come together are one line end.
        if first and self._lines[first - 1].endswith("\r"):
            first -= 1
            piece = self._lines[first] + piece
        if piece.endswith("\r") and last + 1 < len(self._lines):
            last += 1
            piece += self._lines[last]
        lines = _split(piece)
        if last + 1 < len(self._lines) and not lines[-1]:
            lines.pop()
        return Text("", lines=[*self._lines[:first], *lines, *self._lines[last + 1 :]])

    def column(self, at: Position) -> int:
        """Return a position's place in its line, in characters."""
        return self._place(at)[1]

    def position(self, line: int, column: int) -> Position:
        """Return the position of a place in a line, both from 0 and in characters."""
        line = min(max(line, 0), len(self._lines) - 1)
        before = self.line(line)[: max(column, 0)]
        return Position(line=line, character=len(before) + len(_ASTRAL.findall(before)))

    def position_at(self, offset: int) -> Position:
        """Return the position of a place in the text, in characters."""
        left = max(offset, 0)
        for number, line in enumerate(self._lines):
            if left < len(line):
                return self.position(number, left)
            left -= len(line)
        return self.end

    def offset(self, at: Position) -> int:
        """Return a position's place in the text, in characters."""
        number, column = self._place(at)
        return sum(map(len, self._lines[:number])) + column

    def span(self, line: int) -> Range:
        """Return the range of a line without the white space around it."""
        text = self.line(line)
        start = len(text) - len(text.lstrip())
        return Range(
            start=self.position(line, start), end=self.position(line, len(text.rstrip()) or start)
        )

    @property
    def end(self) -> Position:
        """The end of the text."""
        return self.position(len(self._lines) - 1, len(self._lines[-1]))

    def _place(self, at: Position) -> tuple[int, int]:
        if at.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        text = self.line(at.line)
        return at.line, _characters(text, at.character)


def _characters(text: str, units: int) -> int:
    """Return how many characters lie whole within the first code units of a line."""
    extra = 0
    if not text.isascii():
        for one in _ASTRAL.finditer(text):
            begin = one.start() + extra
            if units <= begin:
                break
            if units == begin + 1:
                return one.start()
            extra += 1
    return min(units - extra, len(text))


def _split(text: str) -> list[str]:
    if "\r" not in text:
        *lines, last = text.split("\n")
        return [*(f"{line}\n" for line in lines), last]
    pieces = _EOL.split(text)
    lines = [line + eol for line, eol in zip(pieces[::2], pieces[1::2], strict=False)]
    return [*lines, pieces[-1]]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenDocument:
    """One open file at one moment."""

    uri: str
    path: str
    """Real path on the disk, where there may be another text or none."""
    version: int
    text: Text


class Documents:
    """Open documents by URI; those that are no files of this machine are not kept."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}

    def open(self, uri: str, version: int, text: str) -> None:
        """Note that a document was opened."""
        if path := path_of(uri):
            self._open[uri] = OpenDocument(uri=uri, path=path, version=version, text=Text(text))

    def change(
        self, uri: str, version: int, changes: Sequence[TextDocumentContentChangeEvent]
    ) -> None:
        """Make the editor's changes, one after another."""
        if (known := self._open.get(uri)) is None:
            return
        text = known.text
        for change in changes:
            if isinstance(change, TextDocumentContentChangePartial):
                text = text.replace(change.range, change.text)
            else:
                text = Text(change.text)
        self._open[uri] = replace(known, version=version, text=text)

    def close(self, uri: str) -> None:
        """Note that a document was closed."""
        self._open.pop(uri, None)

    def get(self, uri: str) -> OpenDocument | None:
        """Return an open document, None for any other."""
        return self._open.get(uri)

    def at(self, path: str) -> OpenDocument | None:
        """Return the open document of a real path, None where it is not open."""
        return next((one for one in self.all() if one.path == path), None)

    def all(self) -> list[OpenDocument]:
        """Return the open documents."""
        return list(self._open.values())


def path_of(uri: str) -> str:
    """Return the real path that a ``file:`` URI names, "" for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in path or not path:
        return ""
    if os.name == "nt":
        path = path.lstrip("/")
    return os.path.realpath(path)


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    path = path.replace(os.sep, "/")
    return "file://" + quote(path if path.startswith("/") else f"/{path}")


def edit_to(text: Text, new: str) -> TextEdit:
    """Return the one edit that makes a text another, without what is alike at both ends."""
    old = text.whole
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    # No position lies between a CR and its LF.
    start -= old[:start].endswith("\r")
    end -= end > 0 and old[-end] == "\n"
    return splice(text, start, len(old) - end, new[start : len(new) - end])


def _alike(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def splice(text: Text, start: int, end: int, new: str) -> TextEdit:
    """Return the edit that puts a text in the place of another; offsets are in characters."""
    where = Range(start=text.position_at(start), end=text.position_at(end))
    return TextEdit(range=where, new_text=new)


def edit_document(document: OpenDocument, edits: Iterable[TextEdit]) -> TextDocumentEdit:
    """Return edits of an open document, refused by the editor if it was changed meanwhile."""
    identifier = OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    return TextDocumentEdit(text_document=identifier, edits=list(edits))


def edit_file(path: str, edits: Iterable[TextEdit]) -> TextDocumentEdit:
    """Return edits of a file that is not open."""
    identifier = OptionalVersionedTextDocumentIdentifier(uri=uri_of(path), version=None)
    return TextDocumentEdit(text_document=identifier, edits=list(edits))


_TREE_SECONDS = 10.0
_PATIENCE = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class CardFile:
    """A Markdown file of a brain, written or to be written."""

    brain: Brain
    layer: Layer
    id: str

    @property
    def name(self) -> str:
        """What ``Cards.find`` knows it by."""
        return f"{self.layer.alias}:{self.id}" if len(self.brain.layers) > 1 else self.id


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftFile:
    """A draft that waits for a human."""

    brain: Brain
    id: str

    @property
    def layer(self) -> Layer:
        """The brain that it would become a card of."""
        return self.brain.layers[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """Any other file of a project for which a trusted brain holds."""

    brain: Brain
    path: str
    """POSIX, from the project root."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """A mistake that a card describes, and where it was found."""

    layer: Layer
    card: Card
    where: Range


def parse(file: CardFile | DraftFile, text: str) -> Document:
    """Return what a card or draft of this text says."""
    path = file.id if isinstance(file, CardFile) else f"lessons/{file.id}.md"
    return parse_card(text, path=path, folders=file.layer.settings.folders)


class Files:
    """Tells what files are; may be shared between threads. Brains nobody trusts are not there."""

    def __init__(
        self, workspace: Workspace, documents: Documents, *, tell: Callable[[str], None]
    ) -> None:
        """``tell`` is given one line for the user where a brain cannot be used."""
        self.documents = documents
        self.folders: Sequence[str] = ()
        """Real paths of the folders that the editor works in."""
        self.show_guards = True
        """Whether the editor wants to know how many lessons guard a file."""
        self.renames_files = False
        """Whether the editor can rename a file together with edits."""
        self.matches: dict[str, tuple[OpenDocument, list[Located]]] = {}
        """URI of a source file → the document that was last looked at, and what was found."""
        self._workspace = workspace
        self._tell = tell
        self._cards: dict[str, tuple[object, list[Card]]] = {}
        self._trees: dict[str, tuple[float, list[str]]] = {}

    def find(self, path: str) -> CardFile | DraftFile | SourceFile | None:
        """Return what the file at a real path is, None where it is none of our business."""
        brain = self.brain_of(os.path.dirname(path))
        if path.endswith(SUFFIXES):
            if brain is not None and (card := _find_card(brain, path)) is not None:
                return card
            if (draft := self._find_draft(path)) is not None:
                return draft
        if brain is None or not self._is_in_project(brain, path):
            return None
        return SourceFile(
            brain=brain, path=os.path.relpath(path, brain.directory).replace(os.sep, "/")
        )

    def brain_of(self, folder: str) -> Brain | None:
        """Return the trusted brains that hold for a folder as of their last commit, None without.

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
            inside = [one for one in around if _is_inside(folder + os.sep, one)]
            where = git_top(folder) or max(inside, key=len, default=folder)
            return self._workspace.find(where, found=found)
        except (BrainNotFound, Untrusted):
            return None
        except LessonsError as error:
            self._tell(str(error))
            return None

    def brains(self) -> Iterator[Brain]:
        """Yield the brains of the editor's folders, each once."""
        found = (self.brain_of(folder) for folder in self.folders)
        yield from {id(brain): brain for brain in found if brain is not None}.values()

    def cards(self, layer: Layer) -> list[Card]:
        """Return every card and note of a brain as of the last commit."""
        layer.prepare()
        state = layer.state
        known = self._cards.get(layer.root)
        if known is None or known[0] is not state:
            known = state, layer.read(lambda one: one.catalogue.all_cards())
            self._cards[layer.root] = known
        return known[1]

    def tree(self, brain: Brain) -> list[str]:
        """Return the files of the project, from its root, as of some seconds ago."""
        now = time.monotonic()
        known = self._trees.get(brain.directory)
        if known is None or now - known[0] > _TREE_SECONDS:
            known = now, list_tree(brain.directory)
            self._trees[brain.directory] = known
        return known[1]

    def refresh(self) -> bool:
        """Bring the brains of what is open up to date; return whether anything had changed."""
        folders = {os.path.dirname(document.path) for document in self.documents.all()}
        brains = {id(brain): brain for brain in map(self.brain_of, folders) if brain is not None}
        changed = False
        for brain in brains.values():
            before = [layer.state for layer in brain.layers]
            brain.refresh(patience=_PATIENCE)
            pairs = zip(before, brain.layers, strict=True)
            changed = changed or any(layer.state is not state for state, layer in pairs)
        return changed

    def _find_draft(self, path: str) -> DraftFile | None:
        name = os.path.splitext(os.path.basename(path))[0]
        for brain in self.brains():
            drafts = brain.drafts
            if name in drafts.ids() and os.path.realpath(drafts.get(name).path) == path:
                return DraftFile(brain=brain, id=name)
        return None

    def _is_in_project(self, brain: Brain, path: str) -> bool:
        """Tell whether a brain is of the file's project, or the editor works there.

        The user's own brain holds everywhere, but a library that is looked at is nobody's project.
        """
        own = any(
            _is_inside(path, layer.root) or _is_inside(layer.root, brain.directory)
            for layer in brain.layers
        )
        return own or any(_is_inside(path, folder) for folder in self.folders)


def _find_card(brain: Brain, path: str) -> CardFile | None:
    for layer in brain.layers:
        if not _is_inside(path, layer.root):
            continue
        name = os.path.relpath(path, layer.root).replace(os.sep, "/")
        layer.prepare()
        if layer.read(lambda one, name=name: one.catalogue.numbers(name)) or _is_new(layer, name):  # type: ignore[misc]
            return CardFile(brain=brain, layer=layer, id=name)
    return None


def _is_new(layer: Layer, name: str) -> bool:
    """Tell whether a file that no scan has listed would be a card, or is too large to be read."""
    if any(part.startswith(".") for part in name.split("/")):
        return False
    full = os.path.join(layer.root, *name.split("/"))
    if os.path.lexists(full):
        return os.path.getsize(full) > layer.settings.index.max_file_bytes
    return kind_of(name, layer.settings.folders) != NOTE


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


_KEY = re.compile(
    r"(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?(?P<key>[^\W\d_][\w -]*?)[ \t]*:(?:[ \t]|$)"
)
_FIRST = re.compile(r"(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?(?P<word>[\w-]*)$")
_ITEM = re.compile(r"(?P<indent>[ \t]*)-[ \t]*")
_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|\n]*)$")
_LINK = re.compile(r"\]\((?P<target>[^()\s]*)$")
_HEADING = re.compile(r"##[ \t]+(?P<word>.*)$")
_LONGEST_HEADER = 2_000
"""Lines looked at for the end of a header."""


@dataclass(frozen=True, kw_only=True, slots=True)
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
    column = text.column(at)
    before = text.line(at.line)[:column]
    first, end = find_header(text)
    if first <= at.line < end:
        return _in_header(text, at.line, first, before)
    for kind, form in (("wiki", _WIKI), ("link", _LINK)):
        if found := form.search(before):
            return Cursor(kind=kind, typed=found["target"], start=found.start("target"))
    if found := _HEADING.match(before):
        return Cursor(kind="heading", typed=found["word"], start=found.start("word"))
    return Cursor(kind="text")


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


def _in_header(text: Text, line: int, first: int, before: str) -> Cursor:
    parent = _key_above(text, line, first)
    if found := _KEY.match(before):
        nested = bool(found["indent"] or found["dash"])
        return _value(
            before, found.end(), canonical(found["key"]), canonical(parent) if nested else ""
        )
    found = _FIRST.fullmatch(before)
    nested = found is not None and bool(found["indent"] or found["dash"])
    if found and not nested:
        return Cursor(kind="key", typed=found["word"], start=found.start("word"))
    if found and canonical(parent) == "detect":
        word, start = found["word"], found.start("word")
        return Cursor(kind="key", parent="detect", typed=word, start=start)
    item = _ITEM.match(before)
    return _value(before, item.end() if item else 0, canonical(parent), "")


def _key_above(text: Text, line: int, first: int) -> str:
    """Return the key at the margin that a line belongs to, "" without one."""
    for number in range(line, first - 1, -1):
        found = _KEY.match(text.line(number))
        if found and not found["indent"] and not found["dash"]:
            return found["key"]
    return ""


def _value(before: str, begin: int, key: str, parent: str) -> Cursor:
    start = max(begin, *(before.rfind(mark, begin) + 1 for mark in "[,"))
    while start < len(before) and before[start] in " \t'\"":
        start += 1
    return Cursor(kind="value", key=key, parent=parent, typed=before[start:], start=start)
