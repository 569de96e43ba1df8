"""Code lenses: what a card did and what can be done with it; which lessons guard a source file."""

from __future__ import annotations

from lsprotocol.types import CodeLens, CodeLensParams, Command, Position, Range

from lessons_kb.errors import CardNotFound
from lessons_kb.model import NOTE
from lessons_kb.service.lsp import commands
from lessons_kb.service.lsp.documents import Document
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, SourceFile, parse
from lessons_kb.service.lsp.hover import describe_cards, summarise_effect, title_line
from lessons_kb.service.lsp.patterns import find_patterns
from lessons_kb.text.plurals import counted

_STATUSES = {"Activate": "active", "Ignore": "ignored", "Archive": "archived"}


def find_lenses(files: Files, document: Document, _params: CodeLensParams) -> list[CodeLens]:
    """Return the lenses of an open document."""
    file = files.find(document.path)
    if isinstance(file, SourceFile):
        return _of_source(file, document) if files.show_guards else []
    return [] if file is None else find_card_lenses(file, document)


def find_card_lenses(file: CardFile | DraftFile, document: Document) -> list[CodeLens]:
    """Return the lenses of a card or a draft."""
    if isinstance(file, CardFile):
        return [*_of_card(file, document), *_of_patterns(document)]
    accept = _lens(0, "Accept this draft", commands.ACCEPT, document.uri)
    discard = _lens(0, "Discard this draft", commands.DISCARD, document.uri)
    return [accept, discard, *_of_patterns(document)]


def _of_card(file: CardFile, document: Document) -> list[CodeLens]:
    parsed = parse(file, document.text.whole)
    if parsed.card is None or parsed.card.kind == NOTE:
        return []
    line, uri = title_line(file, document), document.uri
    try:
        summary = summarise_effect(file.brain.stats.recorded(file.name))
    except CardNotFound:
        summary = "not saved yet"
    status = parsed.card.status
    return [
        _lens(line, summary, commands.STATS, uri),
        _lens(line, "Count the mistake once more", commands.BUMP, uri),
        *(
            _lens(line, title, commands.STATUS, uri, other)
            for title, other in _STATUSES.items()
            if other != status
        ),
    ]


def _of_patterns(document: Document) -> list[CodeLens]:
    return [
        _lens(line, "Test this pattern", commands.TEST, document.uri, line)
        for line, _end, pattern in find_patterns(document.text.whole)
        if pattern.kind != "command"
    ]


def _of_source(file: SourceFile, document: Document) -> list[CodeLens]:
    cards = [card for _layer, card in file.brain.find_guarding(file.path)]
    if not cards:
        return []
    verb = "guards" if len(cards) == 1 else "guard"
    lens = _lens(
        0, f"{counted(len(cards), 'lesson')} {verb} this file", commands.GUARDS, document.uri
    )
    if lens.command:
        lens.command.tooltip = "\n".join(describe_cards(cards)).strip()
    return [lens]


def _lens(line: int, title: str, command: str, *arguments: str | int) -> CodeLens:
    where = Range(start=Position(line, 0), end=Position(line, 0))
    return CodeLens(
        range=where, command=Command(title=title, command=command, arguments=list(arguments))
    )
