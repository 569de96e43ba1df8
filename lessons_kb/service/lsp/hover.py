"""Hover: what a key means, what a card did, the checklists of lessons that concern a file."""

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
    DocumentSymbol,
    DocumentSymbolParams,
    Hover,
    HoverParams,
    MarkupContent,
    MarkupKind,
    Position,
    Range,
    SymbolKind,
    TextEdit,
)

from lessons_kb.cards.edit import format_scalar
from lessons_kb.cards.keys import KEYS, describe_form
from lessons_kb.cards.sections import HEADINGS, MAX_STRUCTURE, find_headings, normal_newlines
from lessons_kb.data import read_mapping
from lessons_kb.learn.lesson_effect import Effect
from lessons_kb.model import NOTE, PATTERNS, Card
from lessons_kb.service.lsp.diagnostics import matches_of
from lessons_kb.service.lsp.documents import (
    CardFile,
    Cursor,
    DraftFile,
    Files,
    OpenDocument,
    SourceFile,
    Text,
    find_cursor,
    find_header,
    find_key,
    parse,
)
from lessons_kb.text.sanitize import clean_line, counted


def hover(files: Files, document: OpenDocument, params: HoverParams) -> Hover | None:
    """Return what is known of the place under the pointer."""
    file = files.find(document.path)
    if isinstance(file, SourceFile):
        return _in_source(files, file, document, params.position)
    return _in_card(file, document, params.position) if file is not None else None


def _in_card(file: CardFile | DraftFile, document: OpenDocument, at: Position) -> Hover | None:
    text = document.text
    found = find_key(text, at.line)
    if found and found[1] <= text.column(at) < found[2]:
        key = KEYS.get(found[0])
        if key is None or not key.meaning:
            return None
        where = Range(start=text.position(at.line, found[1]), end=text.position(at.line, found[2]))
        return _hover([f"**{found[0]}** ({describe_form(key)})", "", key.meaning], where)
    if isinstance(file, CardFile) and at.line == title_line(file, document):
        return _hover(describe_effect(file.brain.stats.recorded(file.name)), text.span(at.line))
    return None


def title_line(file: CardFile | DraftFile, document: OpenDocument) -> int:
    """Return the line, from 0, at which a card says its title; the first where it does not."""
    parsed = parse(file, document.text.whole)
    if "title" in parsed.key_lines:
        return parsed.key_lines["title"] - 1
    headings = find_headings(normal_newlines(parsed.body))
    first = next((one.line for one in headings if one.level == 1), None)
    return 0 if first is None else parsed.body_line - 1 + first


def _in_source(
    files: Files, file: SourceFile, document: OpenDocument, at: Position
) -> Hover | None:
    text = document.text
    cards = [one.card for one in matches_of(files, document) if one.where.start.line == at.line]
    if at.line == 0 and files.show_guards:
        cards += [card for _layer, card in file.brain.find_guarding(file.path)]
    if not cards:
        return None
    told = list({card.id: card for card in cards}.values())
    return _hover(describe_cards(told), text.span(at.line))


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
    card = effect.card
    seen = f"seen {card.occurrences}×" + (f", last {card.last_seen}" if card.last_seen else "")
    given = f"given {effect.injections}× in {counted(effect.sessions, 'session')}"
    checked = f"{effect.addressed} of {counted(effect.checked, 'item')} addressed"
    lines = [f"**{_plain(card.title)}**", "", f"- {seen}", f"- {given}"]
    lines += [f"- {checked}"] if effect.checked else []
    return [*lines, f"- verdict: {effect.verdict} ({effect.reason})"]


def summarise_effect(effect: Effect) -> str:
    """Return in one line what a card did."""
    card = effect.card
    parts = [f"seen {card.occurrences}×"]
    parts += [f"last {card.last_seen[:10]}"] if card.last_seen else []
    parts += [f"given {effect.injections}×"]
    parts += [f"{effect.addressed}/{effect.checked} addressed"] if effect.checked else []
    return " · ".join([*parts, effect.verdict])


def _plain(text: str) -> str:
    return clean_line(text).replace("<", "&lt;")


def _hover(lines: Iterable[str], where: Range) -> Hover:
    content = MarkupContent(kind=MarkupKind.Markdown, value="\n".join(lines).strip())
    return Hover(contents=content, range=where)


def find_symbols(
    files: Files, document: OpenDocument, _params: DocumentSymbolParams
) -> list[DocumentSymbol] | None:
    """Return the outline of a card."""
    file = files.find(document.path)
    if not isinstance(file, CardFile | DraftFile):
        return None
    text = document.text
    parsed = parse(file, text.whole)
    if parsed.card is None:
        return []
    first = parsed.body_line - 1
    body = normal_newlines(parsed.body)[:MAX_STRUCTURE]
    headings = [one for one in find_headings(body) if one.level > 1 and one.text]
    starts = [first + one.line for one in headings]
    ends = [*starts[1:], len(text.lines)][: len(starts)]
    sections = [
        _symbol(text, one.text, SymbolKind.Namespace, start, end)
        for one, start, end in zip(headings, starts, ends, strict=True)
    ]
    for item, line in zip(parsed.card.checklist, parsed.checklist_lines, strict=False):
        for section, start, end in zip(sections, starts, ends, strict=True):
            if start < line - 1 < end:
                symbol = _symbol(text, item, SymbolKind.String, line - 1, line)
                section.children = [*(section.children or ()), symbol]
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

_Item = tuple[str, str, CompletionItemKind]
"""What is inserted, what is told of it, and its icon."""


def complete(
    files: Files, document: OpenDocument, params: CompletionParams
) -> CompletionList | None:
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
