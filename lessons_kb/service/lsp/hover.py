"""Hover: what a key means, what a card did, the checklists of lessons that concern a file."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol.types import Hover, HoverParams, MarkupContent, MarkupKind, Position, Range

from lessons_kb.cards.keys import KEYS, describe_form
from lessons_kb.cards.outline import find_headings, normal_newlines
from lessons_kb.learn.lesson_effect import Effect
from lessons_kb.model import Card
from lessons_kb.service.lsp.cursor_position import find_key
from lessons_kb.service.lsp.diagnostics import matches_of
from lessons_kb.service.lsp.documents import Document
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, SourceFile, parse
from lessons_kb.text.plurals import counted
from lessons_kb.text.sanitize import clean_line


def hover(files: Files, document: Document, params: HoverParams) -> Hover | None:
    """Return what is known of the place under the pointer."""
    file = files.find(document.path)
    if isinstance(file, SourceFile):
        return _in_source(files, file, document, params.position)
    return _in_card(file, document, params.position) if file is not None else None


def _in_card(file: CardFile | DraftFile, document: Document, at: Position) -> Hover | None:
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


def title_line(file: CardFile | DraftFile, document: Document) -> int:
    """Return the line, from 0, at which a card says its title; the first where it does not."""
    parsed = parse(file, document.text.whole)
    if "title" in parsed.key_lines:
        return parsed.key_lines["title"] - 1
    headings = find_headings(normal_newlines(parsed.body))
    first = next((one.line for one in headings if one.level == 1), None)
    return 0 if first is None else parsed.body_line - 1 + first


def _in_source(files: Files, file: SourceFile, document: Document, at: Position) -> Hover | None:
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
