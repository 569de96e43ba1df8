"""Document symbols: a card's title, its sections, its checklist."""

from __future__ import annotations

from lsprotocol.types import DocumentSymbol, DocumentSymbolParams, Range, SymbolKind

from lessons_kb.cards.outline import MAX_STRUCTURE, find_headings, normal_newlines
from lessons_kb.service.lsp.documents import Document
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, parse
from lessons_kb.service.lsp.hover import title_line
from lessons_kb.service.lsp.text import Text


def find_symbols(
    files: Files, document: Document, _params: DocumentSymbolParams
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
