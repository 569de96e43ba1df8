"""What a preview shows of a card, of a file that cannot be used, and of a draft."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lessons_kb.brain.drafts.drafts import Draft
from lessons_kb.learn.lesson_effect import Effect
from lessons_kb.model import Card, Finding
from lessons_kb.render import finding_line
from lessons_kb.text.sanitize import clean, clean_line

MAX_SHOWN = 20_000
"""Characters of a file that a preview draws."""
_MAX_RAW = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What a preview shows of a row."""

    title: str
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    text: str = ""
    markdown: bool = True
    """False: the text is shown as it stands."""


def card_view(card: Card, body: str, findings: Sequence[Finding], effect: Effect | None) -> View:
    """Return the view of a usable card; ``body`` is its Markdown."""
    return View(
        title=clean_line(card.title),
        facts=(*_facts(card), *_measured(effect)),
        warnings=tuple(map(finding_line, findings)),
        text=re.sub(r"\A\s*# [^\n]*\n?", "", clean(body[:MAX_SHOWN])),  # the title stands above it
    )


def broken_view(path: str, raw: str, findings: Sequence[Finding]) -> View:
    """Return the view of a file that cannot be used until it is fixed."""
    return View(
        title=clean_line(path),
        facts=("not valid; press e to open and fix it",),
        warnings=tuple(map(finding_line, findings)),
        text=clean(raw[:_MAX_RAW]),
        markdown=False,
    )


def draft_view(draft: Draft, alike: Sequence[str]) -> View:
    """Return the view of a draft; ``alike`` says which cards are like it, a line each."""
    facts = [f"{draft.id} · {draft.kind} · seen {draft.seen}×"]
    if draft.card:
        facts.append(f"the same mistake is already the card {clean_line(draft.card)}")
    facts += map(clean_line, alike)
    header, body = _split(draft.text[:MAX_SHOWN])
    symptoms = re.findall(r"(?m)^symptoms:.*(?:\n[ \t]+-.*)*", header)
    shown = "".join(f"`{clean_line(found)}`\n\n" for found in symptoms)
    return View(
        title=clean_line(draft.title),
        facts=tuple(facts),
        warnings=tuple(f"missing: {line}" for line in draft.missing),
        text=shown + clean(_with_guidance(body)),
    )


def _facts(card: Card) -> tuple[str, ...]:
    last = card.last_seen or card.created
    told = (
        *(card.kind, card.severity, card.status, f"seen {card.occurrences}×"),
        f"last {last}" if last else "",
        "written by a trigger" if card.source == "auto" else "",
    )
    scope = {
        "project": card.project or "",
        "stage": ", ".join(card.stages),
        "topics": ", ".join(card.topics),
        "paths": ", ".join(card.paths),
    }
    where = " · ".join(f"{key} {value}" for key, value in scope.items() if value)
    lines = (clean_line(card.id), " · ".join(filter(None, told)), clean_line(where))
    return tuple(filter(None, lines))


def _measured(effect: Effect | None) -> tuple[str, ...]:
    if effect is None:
        return ()
    if not effect.injections:
        return ("never injected yet",)
    line = f"{effect.verdict}: injected {effect.injections}×"
    if effect.checked:
        line += f", {effect.addressed} of {effect.checked} items addressed"
    line += f", seen again {effect.recurrences}×"
    if effect.helpful or effect.harmful:
        line += f", marked helpful {effect.helpful}×, harmful {effect.harmful}×"
    proposed = f"proposed: {effect.proposal}; {effect.reason}" if effect.proposal else ""
    return tuple(filter(None, (line, clean_line(proposed))))


def _split(text: str) -> tuple[str, str]:
    """Return the header's lines and the body of a draft, which our own template began."""
    found = re.match(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*$\n?", text, re.DOTALL | re.MULTILINE)
    return (found[1], text[found.end() :]) if found else ("", text)


def _with_guidance(body: str) -> str:
    """Return a template's text with the guidance of its comments visible."""

    def shown(comment: re.Match[str]) -> str:
        line = " ".join(comment[1].split())
        return f"> … {line}" if line else ""

    return re.sub(r"<!--(.*?)-->", shown, body, flags=re.DOTALL)
