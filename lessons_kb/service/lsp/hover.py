"""Hover, outline and completion.

Hover shows the meaning of a key, the effect of a card, or the checklists of a file's lessons.
"""

from __future__ import annotations

import datetime as dt
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

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
    """Return the help for the position under the pointer."""
    file = files.find(document.path)
    text = document.text
    at = params.position
    if file is None:
        return None
    lines = []
    where = text.span(at.line)
    if isinstance(file, SourceFile):
        lines = _describe_source_line(files, file, document, at.line)
    else:
        key_range = _find_key_range(text, at)
        if key_range is not None:
            name, where = key_range
            lines = _describe_key(name)
        elif not file.draft and at.line == title_line(file, document):
            lines = describe_effect(file.brains.stats.effect(file.name, look=False))
    if not lines:
        return None
    content = MarkupContent(kind=MarkupKind.Markdown, value="\n".join(lines).strip())
    return Hover(contents=content, range=where)


def _describe_source_line(
    files: Files, file: SourceFile, document: OpenDocument, line: int
) -> list[str]:
    """Return the cards of the marks on a line. The first line also has the cards that guard the
    file.
    """
    cards = [mark.card for mark in find_marks(files, document, range(line, line + 1))]
    if line == 0 and files.show_guards:
        cards += file.guards
    return describe_cards({card.id: card for card in cards}.values())


def _find_key_range(text: Text, at: Position) -> tuple[str, Range] | None:
    """Return the key of the header at a position, and its range."""
    key_place = find_key(text, at.line)
    if key_place is None:
        return None
    name, start, end = key_place
    if not start <= text.column(at) < end:
        return None
    return name, text.part(at.line, start, end)


def _describe_key(name: str) -> list[str]:
    """Return lines of Markdown with the meaning of a key, or [] if the key is unknown."""
    key = KEYS.get(name)
    if key is None or not key.meaning:
        return []
    return [f"**{name}** ({describe_form(key)})", "", key.meaning]


def title_line(file: CardFile, document: OpenDocument) -> int:
    """Return the line, from 0, of a card's title, or 0 if its text has no title."""
    parsed = file.parse(document.text.whole)
    if "title" in parsed.key_lines:
        return parsed.key_lines["title"] - 1
    headings = find_headings(normal_newlines(parsed.body))
    first = next((heading.line for heading in headings if heading.level == 1), None)
    return 0 if first is None else parsed.body_line - 1 + first


def describe_cards(cards: Iterable[Card]) -> list[str]:
    """Return lines of Markdown with each card's title, cause and checklist."""
    lines: list[str] = []
    for card in cards:
        seen = f"seen {card.occurrences}×" if card.occurrences > 1 else ""
        facts = filter(None, (card.severity, seen, card.id))
        lines += [f"**{_plain(card.title)}** ({' · '.join(facts)})", ""]
        if card.why:
            lines += [_plain(card.why), ""]
        lines += [*(f"- [ ] {_plain(item)}" for item in card.checklist), ""]
    return lines


def describe_effect(effect: Effect) -> list[str]:
    """Return lines of Markdown with the effect of a card."""
    parts = [f"- {part}" for part in list_effect(effect)[:-1]]
    verdict = f"- verdict: {effect.verdict} ({effect.reason})"
    return [f"**{_plain(effect.card.title)}**", "", *parts, verdict]


def list_effect(effect: Effect) -> list[str]:
    """Return the figures of a card's effect, followed by its verdict."""
    card = effect.card
    parts = [f"seen {card.occurrences}×"]
    if card.last_seen:
        parts.append(f"last {card.last_seen[:10]}")
    parts.append(f"given {effect.injections}×")
    if effect.checked:
        parts.append(f"{effect.addressed}/{effect.checked} addressed")
    return [*parts, effect.verdict]


def _plain(text: str) -> str:
    """Return a text as one line without HTML tags."""
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
    headings = [heading for heading in find_headings(body) if heading.level > 1 and heading.text]
    starts = [parsed.body_line - 1 + heading.line for heading in headings]
    sections = [
        _symbol(text, heading.text, SymbolKind.Namespace, start, end)
        for heading, start, end in zip(
            headings, starts, [*starts[1:], len(text.lines)], strict=False
        )
    ]
    items = [
        _symbol(text, item, SymbolKind.String, line - 1, line)
        for item, line in zip(parsed.card.checklist, parsed.checklist_lines, strict=False)
    ]
    for section in sections:
        first, last = section.range.start.line, section.range.end.line
        section.children = [item for item in items if first < item.range.start.line <= last] or None
    root = _symbol(text, parsed.card.title, SymbolKind.Class, 0, len(text.lines))
    root.selection_range = text.span(title_line(file, document))
    root.children = sections
    return [root]


def _symbol(text: Text, name: str, kind: SymbolKind, start: int, end: int) -> DocumentSymbol:
    """Return the symbol of some lines. ``end`` is the line after the last line."""
    last = text.position(end - 1, len(text.line(end - 1)))
    where = Range(start=text.position(start, 0), end=last)
    return DocumentSymbol(name=name, kind=kind, range=where, selection_range=text.span(start))


MOST = 200
"""Maximum number of completion items in one answer."""
TRIGGERS = (" ", "[", "(", "/", "-", '"', "'", "#")
_OPTIONS = ("files", "language", "unless")
"""Keys that a pattern may have besides its kind."""

_USED: Mapping[str, Callable[[Card], Iterable[str]]] = {
    "topics": lambda card: card.topics,
    "stages": lambda card: card.stages,
    "project": lambda card: (card.project or "",),
}
"""Mapping from a field of a card to its words, which are offered to other cards."""

_Item = tuple[str, str, CompletionItemKind]
"""The inserted text, its description, and its icon."""


def complete(
    files: Files, document: OpenDocument, params: CompletionParams
) -> CompletionList | None:
    """Return the completion items at a position in a card."""
    file = files.find(document.path)
    text = document.text
    at = params.position
    if not isinstance(file, CardFile):
        return None
    cursor = find_cursor(text, at)
    typed = cursor.typed.casefold()
    is_key = cursor.kind == "key"
    offers = _find_offers(files, file, cursor, text)
    matching = [offer for offer in offers if typed in offer[0].casefold()]
    where = Range(start=text.position(at.line, cursor.start), end=at)
    is_quoted = text.line(at.line)[cursor.start - 1 : cursor.start] in ("'", '"')
    items = []
    for place, (name, detail, kind) in enumerate(matching[:MOST]):
        new = f"{name}: " if is_key else name
        meaning = None
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
    return CompletionList(is_incomplete=len(matching) > MOST, items=items)


def _find_offers(files: Files, file: CardFile, cursor: Cursor, text: Text) -> list[_Item]:
    """Return all items that may be inserted at a cursor, regardless of the text that is typed
    there.
    """
    kinds = CompletionItemKind
    if cursor.kind == "value":
        return _find_values(files, file, cursor)
    if cursor.kind == "heading":
        return [(tiers[0][0].title(), "", kinds.Struct) for tiers in HEADINGS.values()]
    if cursor.kind == "key" and cursor.parent:
        return [(name, "", kinds.Property) for name in (*PATTERNS, *_OPTIONS)]
    if cursor.kind == "key":
        return _find_keys(cursor, text)
    if cursor.kind in ("wiki", "link"):
        return _find_links(files, file, cursor)
    return []


def _find_keys(cursor: Cursor, text: Text) -> list[_Item]:
    """Return the documented keys that the header does not have yet."""
    lines = range(*find_header(text))
    present = {key[0] for key in (find_key(text, line) for line in lines) if key}
    present.discard(cursor.typed)
    return [
        (name, describe_form(key), CompletionItemKind.Property)
        for name, key in KEYS.items()
        if key.meaning and name not in present
    ]


def _find_links(files: Files, file: CardFile, cursor: Cursor) -> list[_Item]:
    """Return the other cards of the brain as targets of a link or of a wiki link."""
    folder = posixpath.dirname(file.id) or "."
    links = []
    for card in files.cards(file.brain):
        if card.id == file.id:
            continue
        if cursor.kind == "wiki":
            target = posixpath.splitext(card.id)[0]
        else:
            target = posixpath.relpath(card.id, folder)
        icon = CompletionItemKind.File if card.kind == NOTE else CompletionItemKind.Reference
        links.append((target, clean_line(card.title), icon))
    return links


def _find_values(files: Files, file: CardFile, cursor: Cursor) -> list[_Item]:
    """Return the values for the key at a cursor."""
    kinds = CompletionItemKind
    key = KEYS.get(cursor.key)
    if (cursor.parent, cursor.key) == ("detect", "language"):
        names = sorted(set(read_mapping("languages.toml")["extensions"].values()))
        return [(name, "", kinds.EnumMember) for name in names]
    if cursor.key == "paths" or (cursor.parent, cursor.key) == ("detect", "files"):
        return _find_paths(file, cursor.typed)
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
    counts: Counter[str] = Counter()
    for card in cards:
        counts.update(filter(None, _USED[key.field](card)))
    if key.field == "project" and file.brains.project:
        counts.setdefault(file.brains.project, 0)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return [(clean_line(word), counted(counts[word], "card"), kinds.Value) for word in words]


def _find_paths(file: CardFile, typed: str) -> list[_Item]:
    """Return the files and folders directly in the folder that the user has typed."""
    folder = typed[: typed.rfind("/") + 1]
    paths = [path for path in list_tree(file.brains.directory) if path.startswith(folder)]
    children = {path[len(folder) :].partition("/")[:2] for path in paths}
    icons = {"": CompletionItemKind.File, "/": CompletionItemKind.Folder}
    entries = sorted(children, key="".join)
    return [(f"{folder}{name}{slash}", "", icons[slash]) for name, slash in entries]
