"""Cards for other systems: JSON, JSON lines, one Markdown digest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lessons_kb.model import Card, as_data
from lessons_kb.text.escape_controls import visible_json
from lessons_kb.text.plurals import counted
from lessons_kb.text.sanitize import clean_line

FORMAT = "lessons-kb/1"
"""Marks a line that ``jsonl.read_lines`` restores as it was."""

_HEADINGS = {"lesson": "Lessons", "playbook": "Playbooks", "qa-finding": "Review findings"}


def format_jsonl(cards: Iterable[tuple[Card, str]]) -> Iterator[str]:
    """Yield one line of JSON for each (card, text of its file), without line ends."""
    for card, text in cards:
        data = {"format": FORMAT, **as_data(card), "text": text}
        yield visible_json(json.dumps(data, ensure_ascii=False))


def format_json(cards: Iterable[tuple[Card, str]]) -> str:
    """Return one JSON document with every card."""
    data = [{**as_data(card), "text": text} for card, text in cards]
    whole = {"format": FORMAT, "cards": data}
    return visible_json(json.dumps(whole, ensure_ascii=False, indent=2))


def format_markdown(cards: Iterable[tuple[Card, str]]) -> str:
    """Return a digest for people: each card's title, marks, cause and checklist, by kind."""
    known = list(cards)
    lines = ["# Lessons", "", f"{counted(len(known), 'card')}."]
    for kind, heading in _HEADINGS.items():
        chosen = [card for card, _text in known if card.kind == kind]
        if chosen:
            lines += ["", f"## {heading}"]
        for card in chosen:
            lines += ["", f"### {_plain(card.title)}", "", _marks(card)]
            if card.why:
                lines += ["", f"Why: {_plain(card.why)}"]
            if card.checklist:
                lines += ["", *(f"- [ ] {_plain(item)}" for item in card.checklist)]
    return "\n".join(lines) + "\n"


def _marks(card: Card) -> str:
    marks = [card.severity, f"seen {card.occurrences}×"]
    if card.last_seen:
        marks.append(f"last {card.last_seen}")
    marks += [f"stage {', '.join(card.stages)}"] if card.stages else []
    marks += [f"project {card.project}"] if card.project else []
    marks += [f"topics {', '.join(card.topics)}"] if card.topics else []
    marks += [f"paths {', '.join(card.paths)}"] if card.paths else []
    marks += [card.evidence] if card.evidence else []
    marks += [f"reopen when {card.reopen_when}"] if card.reopen_when else []
    marks += [card.status] if card.status != "active" else []
    return _plain(f"{' · '.join(marks)} · {card.id}")


def _plain(text: str) -> str:
    return clean_line(text).replace("<!--", "&lt;!--")
