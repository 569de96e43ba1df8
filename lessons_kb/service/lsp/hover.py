"""Hover: what a key means, what a card did, the checklists of lessons that concern a file."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionList,
    CompletionParams,
    DocumentSymbol,
    DocumentSymbolParams,
    Hover,
    HoverParams,
    MarkupContent,
    MarkupKind,
    Range,
    SymbolKind,
    TextEdit,
)

from lessons_kb.cards.edit import format_scalar
from lessons_kb.cards.keys import KEYS, describe_form
from lessons_kb.cards.sections import HEADINGS, MAX_STRUCTURE, find_headings, normal_newlines
from lessons_kb.data import read_mapping
from lessons_kb.find.project_detection import list_tree
from lessons_kb.ledger.lesson_effect import Effect
from lessons_kb.model import NOTE, PATTERNS, Card
from lessons_kb.service.lsp.diagnostics import find_marks
from lessons_kb.service.lsp.documents import (
    CardFile,
    Cursor,
    Files,
    OpenDocument,
    SourceFile,
    Text,
    find_cursor,
    find_header,
    find_key,
)
from lessons_kb.text.sanitize import clean_line, counted


def hover(files: Files, document: OpenDocument, params: HoverParams) -> Hover | None:
    """Return what is known of the place under the pointer."""
    file, text, at = files.find(document.path), document.text, params.position
    lines, where = [], text.span(at.line)
    if isinstance(file, SourceFile):
        here = range(at.line, at.line + 1)
        cards = [one.card for one in find_marks(files, document, here)]
        if at.line == 0 and files.show_guards:
            cards += file.guards
        lines = describe_cards({card.id: card for card in cards}.values())
    elif file and (found := find_key(text, at.line)) and found[1] <= text.column(at) < found[2]:
        name, *columns = found
        if (key := KEYS.get(name)) and key.meaning:
            lines = [f"**{name}** ({describe_form(key)})", "", key.meaning]
        start, end = (text.position(at.line, column) for column in columns)
        where = Range(start=start, end=end)
    elif file and not file.draft and at.line == title_line(file, document):
        lines = describe_effect(file.brains.stats.effect(file.name, look=False))
    if not lines:
        return None
    content = MarkupContent(kind=MarkupKind.Markdown, value="\n".join(lines).strip())
    return Hover(contents=content, range=where)


def title_line(file: CardFile, document: OpenDocument) -> int:
    """Return the line, from 0, at which a card says its title; the first where it does not."""
    parsed = file.parse(document.text.whole)
    if "title" in parsed.key_lines:
        return parsed.key_lines["title"] - 1
    headings = find_headings(normal_newlines(parsed.body))
    first = next((one.line for one in headings if one.level == 1), None)
    return 0 if first is None else parsed.body_line - 1 + first


def describe_cards(cards: Iterable[Card]) -> list[str]:
    """Return lines of Markdown with each card's title, cause and checklist."""
    lines: list[str] = []
    for card in cards:
        facts = [card.severity, *([f"seen {card.occurrences}×"] * (card.occurrences > 1)), card.id]
        lines += [f"**{_plain(card.title)}** ({' · '.join(facts)})", ""]
        if card.why:
            lines += [_plain(card.why), ""]
        lines += [*(f"- [ ] {_plain(item)}" for item in card.checklist), ""]
    return lines


def describe_effect(effect: Effect) -> list[str]:
    """Return lines of Markdown that say what a card did."""
    parts = [f"- {part}" for part in list_effect(effect)[:-1]]
    verdict = f"- verdict: {effect.verdict} ({effect.reason})"
    return [f"**{_plain(effect.card.title)}**", "", *parts, verdict]


def list_effect(effect: Effect) -> list[str]:
    """Return what a card did, its verdict last."""
    card = effect.card
    parts = [f"seen {card.occurrences}×"]
    parts += [f"last {card.last_seen[:10]}"] if card.last_seen else []
    parts += [f"given {effect.injections}×"]
    parts += [f"{effect.addressed}/{effect.checked} addressed"] if effect.checked else []
    return [*parts, effect.verdict]


def _plain(text: str) -> str:
    return clean_line(text).replace("<", "&lt;")


def find_symbols(
    files: Files, document: OpenDocument, _params: DocumentSymbolParams
) -> list[DocumentSymbol] | None:
    """Return the outline of a card."""
    file = files.find(document.path)
    if not isinstance(file, CardFile):
        return None
    text = document.text
    parsed = file.parse(text.whole)
    if parsed.card is None:
        return []
    body = normal_newlines(parsed.body)[:MAX_STRUCTURE]
    headings = [one for one in find_headings(body) if one.level > 1 and one.text]
    starts = [parsed.body_line - 1 + one.line for one in headings]
    sections = [
        _symbol(text, one.text, SymbolKind.Namespace, *lines)
        for one, lines in zip(headings, pairwise([*starts, len(text.lines)]), strict=True)
    ]
    items = [
        _symbol(text, item, SymbolKind.String, line - 1, line)
        for item, line in zip(parsed.card.checklist, parsed.checklist_lines, strict=False)
    ]
    for one in sections:
        first, last = one.range.start.line, one.range.end.line
        one.children = [item for item in items if first < item.range.start.line <= last] or None
    root = _symbol(text, parsed.card.title, SymbolKind.Class, 0, len(text.lines))
    root.selection_range = text.span(title_line(file, document))
    root.children = sections
    return [root]


def _symbol(text: Text, name: str, kind: SymbolKind, start: int, end: int) -> DocumentSymbol:
    """Return the symbol of some lines; ``end`` is the line after the last."""
    last = text.position(end - 1, len(text.line(end - 1)))
    where = Range(start=text.position(start, 0), end=last)
    return DocumentSymbol(name=name, kind=kind, range=where, selection_range=text.span(start))


MOST = 200
"""Items offered at once."""
TRIGGERS = (" ", "[", "(", "/", "-", '"', "'", "#")
_OPTIONS = ("files", "language", "unless")
"""What a pattern may hold besides its own kind."""

_USED: Mapping[str, Callable[[Card], Iterable[str]]] = {
    "topics": lambda card: card.topics,
    "stages": lambda card: card.stages,
    "project": lambda card: (card.project or "",),
}
"""Field of a card → the words in it, which other cards may use too."""

_Item = tuple[str, str, CompletionItemKind]
"""What is inserted, what is said of it, and its icon."""


def complete(
    files: Files, document: OpenDocument, params: CompletionParams
) -> CompletionList | None:
    """Return what fits at a position of a card."""
    file, text, at = files.find(document.path), document.text, params.position
    if not isinstance(file, CardFile):
        return None
    cursor = find_cursor(text, at)
    typed, is_key = cursor.typed.casefold(), cursor.kind == "key"
    fitting = [one for one in _find_offers(files, file, cursor, text) if typed in one[0].casefold()]
    where = Range(start=text.position(at.line, cursor.start), end=at)
    is_quoted = text.line(at.line)[cursor.start - 1 : cursor.start] in ("'", '"')
    items = []
    for place, (name, detail, kind) in enumerate(fitting[:MOST]):
        new, meaning = f"{name}: " if is_key else name, None
        if cursor.kind == "value" and not is_quoted:
            new = format_scalar(name, typed=True, flow=True)
        if is_key and name in KEYS:
            meaning = MarkupContent(kind=MarkupKind.Markdown, value=KEYS[name].meaning)
        item = CompletionItem(
            label=name,
            kind=kind,
            detail=detail,
            documentation=meaning,
            sort_text=f"{place:05}",
            filter_text=name,
            text_edit=TextEdit(range=where, new_text=new),
        )
        items.append(item)
    return CompletionList(is_incomplete=len(fitting) > MOST, items=items)


def _find_offers(files: Files, file: CardFile, cursor: Cursor, text: Text) -> list[_Item]:
    kinds = CompletionItemKind
    if cursor.kind == "value":
        return _find_values(files, file, cursor)
    if cursor.kind == "heading":
        return [(tiers[0][0].title(), "", kinds.Struct) for tiers in HEADINGS.values()]
    if cursor.kind == "key" and cursor.parent:
        return [(name, "", kinds.Property) for name in (*PATTERNS, *_OPTIONS)]
    if cursor.kind == "key":
        present = {found[0] for n in range(*find_header(text)) if (found := find_key(text, n))}
        return [
            (name, describe_form(key), kinds.Property)
            for name, key in KEYS.items()
            if key.meaning and (name not in present or name == cursor.typed)
        ]
    if cursor.kind not in ("wiki", "link"):
        return []
    here = posixpath.dirname(file.id) or "."
    offers = []
    for card in files.cards(file.brain):
        if card.id != file.id:
            stem, path = posixpath.splitext(card.id)[0], posixpath.relpath(card.id, here)
            icon = kinds.File if card.kind == NOTE else kinds.Reference
            offers.append((stem if cursor.kind == "wiki" else path, clean_line(card.title), icon))
    return offers


def _find_values(files: Files, file: CardFile, cursor: Cursor) -> list[_Item]:
    kinds, key = CompletionItemKind, KEYS.get(cursor.key)
    if (cursor.parent, cursor.key) == ("detect", "language"):
        names = sorted(set(read_mapping("languages.toml")["extensions"].values()))
        return [(name, "", kinds.EnumMember) for name in names]
    if cursor.key == "paths" or (cursor.parent, cursor.key) == ("detect", "files"):
        # The files and folders one level below the folder that was typed.
        folder = cursor.typed[: cursor.typed.rfind("/") + 1]
        paths = (path for path in list_tree(file.brains.directory) if path.startswith(folder))
        below = {path[len(folder) :].partition("/")[:2] for path in paths}
        icons = {"": kinds.File, "/": kinds.Folder}
        found = sorted(below, key="".join)
        return [(f"{folder}{name}{slash}", "", icons[slash]) for name, slash in found]
    if key is None or cursor.parent:
        return []
    if key.choices:
        return [(choice, "", kinds.EnumMember) for choice in key.choices]
    if key.form == "date":
        today = dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()
        return [(today, "today", kinds.Value)]
    if key.field not in _USED:
        return []
    cards = [card for brain in file.brains.members for card in files.cards(brain)]
    used = Counter(word for card in cards for word in _USED[key.field](card) if word)
    if key.field == "project" and file.brains.project:
        used.setdefault(file.brains.project, 0)
    return [
        (clean_line(word), counted(times, "card"), kinds.Value)
        for word, times in sorted(used.items(), key=lambda one: (-one[1], one[0]))
    ]
