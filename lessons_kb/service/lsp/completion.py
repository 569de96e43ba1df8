"""Completion in cards: keys, values, real files, ids of cards in links, headings."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionList,
    CompletionParams,
    MarkupContent,
    MarkupKind,
    Range,
    TextEdit,
)

from lessons_kb.cards.keys import KEYS, describe_form
from lessons_kb.cards.sections import HEADINGS
from lessons_kb.cards.write_values import format_scalar
from lessons_kb.data import read_mapping
from lessons_kb.model import NOTE, PATTERNS, Card
from lessons_kb.service.lsp.cursor_position import Cursor, find_cursor, find_header, find_key
from lessons_kb.service.lsp.documents import Document
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files
from lessons_kb.service.lsp.text import Text
from lessons_kb.text.plurals import counted
from lessons_kb.text.sanitize import clean_line

MOST = 200
"""Items offered at once."""
TRIGGERS = (" ", "[", "(", "/", "-", '"', "'", "#")
_OPTIONS = ("files", "language", "unless")
"""What a pattern may hold besides its own kind."""

_Item = tuple[str, str, CompletionItemKind]
"""What is inserted, what is told of it, and its icon."""


def complete(files: Files, document: Document, params: CompletionParams) -> CompletionList | None:
    """Return what fits at a position of a card."""
    file = files.find(document.path)
    if not isinstance(file, CardFile | DraftFile):
        return None
    text = document.text
    cursor = find_cursor(text, params.position)
    offered = _OFFERS.get(cursor.kind, _offer_nothing)(files, file, cursor, text)
    where = Range(start=text.position(params.position.line, cursor.start), end=params.position)
    typed = cursor.typed.casefold()
    fitting = [one for one in offered if typed in one[0].casefold()]
    raw = cursor.kind != "value" or _is_quoted(text, params.position.line, cursor.start)
    items = [
        CompletionItem(
            label=name,
            kind=kind,
            detail=detail,
            documentation=_meaning(name) if cursor.kind == "key" else None,
            sort_text=f"{place:05}",
            filter_text=name,
            text_edit=TextEdit(
                range=where, new_text=name if raw else format_scalar(name, typed=True, flow=True)
            ),
        )
        for place, (name, detail, kind) in enumerate(fitting[:MOST])
    ]
    for item in items if cursor.kind == "key" else ():
        item.text_edit = TextEdit(range=where, new_text=f"{item.label}: ")
    return CompletionList(is_incomplete=len(fitting) > MOST, items=items)


def _offer_keys(
    _files: Files, _file: CardFile | DraftFile, cursor: Cursor, text: Text
) -> Iterator[_Item]:
    if cursor.parent:
        for name in (*PATTERNS, *_OPTIONS):
            yield name, "", CompletionItemKind.Property
        return
    first, end = find_header(text)
    present = {found[0] for n in range(first, end) if (found := find_key(text, n))}
    for name, key in KEYS.items():
        if key.meaning and (name not in present or name == cursor.typed):
            yield name, describe_form(key), CompletionItemKind.Property


def _offer_values(
    files: Files, file: CardFile | DraftFile, cursor: Cursor, _text: Text
) -> Iterable[_Item]:
    key = KEYS.get(cursor.key)
    if (cursor.parent, cursor.key) == ("detect", "language"):
        names = sorted(set(read_mapping("languages.txt")["extensions"].values()))
        return [(name, "", CompletionItemKind.EnumMember) for name in names]
    if cursor.key == "paths" or (cursor.parent, cursor.key) == ("detect", "files"):
        return _offer_paths(files.tree(file.brain), cursor.typed)
    if key is None or cursor.parent:
        return ()
    if key.choices:
        return [(choice, "", CompletionItemKind.EnumMember) for choice in key.choices]
    if key.form == "date":
        today = dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()
        return [(today, "today", CompletionItemKind.Value)]
    if key.field not in _USED:
        return ()
    cards = [card for layer in file.brain.layers for card in files.cards(layer)]
    used = Counter(word for card in cards for word in _USED[key.field](card) if word)
    if key.field == "project" and file.brain.project:
        used.setdefault(file.brain.project, 0)
    return [
        (clean_line(word), counted(times, "card"), CompletionItemKind.Value)
        for word, times in sorted(used.items(), key=lambda one: (-one[1], one[0]))
    ]


_USED: Mapping[str, Callable[[Card], Iterable[str]]] = {
    "topics": lambda card: card.topics,
    "stages": lambda card: card.stages,
    "project": lambda card: (card.project or "",),
}
"""Field of a card → the words in it, which other cards may use too."""


def _offer_paths(tree: Iterable[str], typed: str) -> list[_Item]:
    """Return the files and folders one level below the folder that was typed."""
    folder = typed[: typed.rfind("/") + 1]
    found: dict[str, CompletionItemKind] = {}
    for path in tree:
        if path.startswith(folder):
            name, slash, _rest = path[len(folder) :].partition("/")
            kind = CompletionItemKind.Folder if slash else CompletionItemKind.File
            found.setdefault(f"{folder}{name}{slash}", kind)
    return [(path, "", kind) for path, kind in sorted(found.items())]


def _offer_links(
    files: Files, file: CardFile | DraftFile, cursor: Cursor, _text: Text
) -> Iterator[_Item]:
    here = posixpath.dirname(file.id) if isinstance(file, CardFile) else "lessons"
    for card in files.cards(file.layer):
        if card.id != file.id:
            name = posixpath.relpath(card.id, here or ".")
            if cursor.kind == "wiki":
                name = posixpath.splitext(card.id)[0]
            kind = CompletionItemKind.File if card.kind == NOTE else CompletionItemKind.Reference
            yield name, clean_line(card.title), kind


def _offer_headings(
    _files: Files, _file: CardFile | DraftFile, _cursor: Cursor, _text: Text
) -> Iterator[_Item]:
    for tiers in HEADINGS.values():
        yield tiers[0][0].title(), "", CompletionItemKind.Struct


def _offer_nothing(
    _files: Files, _file: CardFile | DraftFile, _cursor: Cursor, _text: Text
) -> Iterable[_Item]:
    return ()


_OFFERS: Mapping[str, Callable[[Files, CardFile | DraftFile, Cursor, Text], Iterable[_Item]]] = {
    "key": _offer_keys,
    "value": _offer_values,
    "link": _offer_links,
    "wiki": _offer_links,
    "heading": _offer_headings,
}


def _meaning(name: str) -> MarkupContent | None:
    key = KEYS.get(name)
    return MarkupContent(kind=MarkupKind.Markdown, value=key.meaning) if key else None


def _is_quoted(text: Text, line: int, start: int) -> bool:
    return text.line(line)[start - 1 : start] in ("'", '"')
