"""What is wrong with a card, and what would make it a better one."""

from __future__ import annotations

import re

from lessons_kb.cards.code_examples import EXAMPLE_RULES, check_examples
from lessons_kb.cards.outline import normal_newlines
from lessons_kb.cards.sections import (
    CAUSE,
    HEADINGS,
    PREVENTION,
    Sections,
    read_checklist,
    read_sections,
)
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.text.sentence_patterns import check_pattern

MAX_ITEM = 240
"""Characters. The lessons share a budget of some 800 tokens."""
MAX_VAGUE_WORDS = 7
"""A longer item says more than its vague beginning."""

_VAGUE = re.compile(
    r"^(?:(?:always|please|just|you (?:should|must)|remember to|try to|make sure to"
    r"|next time,?)\s+)*"
    r"(?:be (?:more |very |extra |really )?(?:careful|cautious|mindful|aware|thorough|vigilant)"
    r"|pay (?:more |close )?attention|take (?:more |extra )?care|watch out|keep (?:this )?in mind"
    r"|think (?:twice|harder|carefully|before)"
    r"|double[- ]check(?: (?:everything|your work|the code|it))?\W*$"
    r"|do(?:n['\u2019]?t| not) (?:forget|make (?:this|the same) mistakes?|repeat this)"
    r"|avoid (?:this|mistakes|errors|bugs|the same mistake)"
    r"|test (?:more|better|everything|thoroughly)"
    r"|(?:write|use) (?:good|better|clean) code|follow best practi[cs]es|do it (?:right|properly)"
    r"|make sure (?:it|everything|this) works|review (?:it|everything|carefully)|know what you)",
    re.IGNORECASE,
)
_VAGUE_KOREAN = re.compile(
    r"^(?:항상|꼭|반드시|더|좀|다음에는|다음부터|잘|\s)*"
    r"(?:조심|주의|유의|신중|꼼꼼|명심|실수하지\s*(?:않|말))\S*"
    r"(?:\s*(?:하기|할 것|하자|한다|확인\S*(?:\s*것)?))?[.!]?$"
)
_PLACEHOLDER = re.compile(
    r"^(?:todo|tbd|fixme|xxx|\.{3}|\u2026|n/?a|none|-+)\W*(?:\s|$)|\{\{.*?\}\}|<placeholder",
    re.IGNORECASE,
)

_SHOWN_BY = re.compile(r"<!--\s*shown[-_ ]?by\b", re.IGNORECASE)
_ODD_PATH = re.compile(r"^~|\\|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)")


def check_card(document: Document) -> tuple[Finding, ...]:
    """Return everything to say about a card: what parsing found, then advice, by line.

    Advice is about what makes a card useful to an agent: a name, a cause, symptoms, and a
    checklist of things that can be seen to be done. A note, or a file that could not be used,
    gets no advice.
    """
    card = document.card
    if card is None or card.kind == NOTE:
        return document.findings
    advice = [*_check_parts(card, document), *_check_items(card, document)]
    advice += check_examples(card, document)
    advice.sort(key=lambda finding: finding.line)
    return (*document.findings, *advice)


def is_vague(item: str) -> bool:
    """Return whether an item asks for an attitude ("be careful") instead of a check."""
    text = item.strip()
    if _VAGUE_KOREAN.match(text):
        return True
    return bool(_VAGUE.match(text)) and len(text.split()) <= MAX_VAGUE_WORDS


_FIXES = {
    "no-title": "write `title: …`, naming the mistake in one sentence",
    "no-checklist": "add `## Prevention Checklist` with items such as `- Cover … with a test`",
    "no-cause": "add a section `## Root Cause`; its first sentence is shown to the agent",
    "no-symptoms": "add `symptoms:` with two or three phrases, worded like a future task",
    "vague-item": "describe what a diff or an answer shows when it is done",
    "placeholder": "fill it in, or remove it",
    "long-item": "shorten it to one line and move the rest to the section Fix",
    "shown-by": "write a regular expression of RE2: `<!-- shown-by: test\\w*reject -->`",
    "odd-path": "write it as in .gitignore, relative to the project root, such as src/**/*.py",
}


_FILLS = {
    "no-checklist": "fill this section with items such as `- Cover … with a test`",
    "no-cause": "fill this section; its first sentence is shown to the agent",
    "no-symptoms": "fill `symptoms:` with two or three phrases, worded like a future task",
}
"""The suggested fix where the section or key exists already."""


ADVICE = frozenset((*_FIXES, *EXAMPLE_RULES))
"""Rules that say how a card could be better, where nothing is wrong with its file."""


def _advise(card: Card, rule: str, message: str, line: int = 0, level: str = "warning") -> Finding:
    fix = _FILLS.get(rule) if line else None
    fix = fix or _FIXES[rule]
    return Finding(path=card.id, line=line, rule=rule, message=message, fix=fix, level=level)


def _check_parts(card: Card, document: Document) -> list[Finding]:
    sections = read_sections(normal_newlines(document.body))
    origin = read_checklist(sections).origin
    keys = document.key_lines
    found = []
    in_body = document.body_line + sections.title_line if sections.title else 0
    title_line = keys.get("title") or in_body
    if not sections.title and card.title == card.id.rpartition("/")[2].rpartition(".")[0]:
        message = "the card has no title; its file name is used"
        found.append(_advise(card, "no-title", message, title_line))
    elif _PLACEHOLDER.search(card.title):
        message = f"the title is a placeholder: {card.title[:60]}"
        found.append(_advise(card, "placeholder", message, title_line))
    if origin in ("", "sentence"):
        message = "the card has no checklist; one line of its text is used instead"
        if card.template:
            message = "the card is still the template, so it is not injected: it has no checklist"
        found.append(_advise(card, "no-checklist", message, _place(document, sections, PREVENTION)))
    elif origin == "fix":
        message = "the card has no checklist; the items of its fix are used instead"
        place = _place(document, sections, PREVENTION)
        found.append(_advise(card, "no-checklist", message, place, level="info"))
    if not card.why:
        place = _place(document, sections, CAUSE)
        found.append(_advise(card, "no-cause", "the card has no root cause", place, level="info"))
    if not card.symptoms:
        message = "the card has no symptoms; only its own words find it"
        place = keys.get("symptoms", 0)
        found.append(_advise(card, "no-symptoms", message, place, level="info"))
    odd = [path for path in card.paths if _ODD_PATH.search(path)]
    message, place = "paths: {!r} cannot match any file of a project", keys.get("paths", 0)
    found += [_advise(card, "odd-path", message.format(path), place) for path in odd]
    return found


def _place(document: Document, sections: Sections, role: str) -> int:
    """Return the line of the heading that announces a section of this meaning, 0 without one.

    A heading of the last of several tiers means something else besides.
    """
    tiers = len(HEADINGS[role])
    for part in sections.parts:
        if part.role == role and (part.tier == 0 or part.tier < tiers - 1):
            return document.body_line + part.line - 1
    return 0


def _check_items(card: Card, document: Document) -> list[Finding]:
    found = []
    for item, line in zip(card.checklist, document.checklist_lines, strict=True):
        shown = item if len(item) <= 60 else f"{item[:59]}\u2026"  # noqa: PLR2004
        if is_vague(item):
            found.append(_advise(card, "vague-item", f"cannot be checked: {shown}", line))
        elif _PLACEHOLDER.search(item):
            found.append(_advise(card, "placeholder", f"is still a placeholder: {shown}", line))
        elif len(item) > MAX_ITEM and item != card.title:
            message = f"the item has {len(item)} characters: {shown}"
            found.append(_advise(card, "long-item", message, line, level="info"))
    return found + _check_patterns(card, document)


def _check_patterns(card: Card, document: Document) -> list[Finding]:
    """Find `shown-by` comments that find nothing: no item's, misspelt, or not a usable pattern."""
    lines = normal_newlines(document.body).split("\n")
    patterns = dict(zip(document.checklist_lines, card.shown_by, strict=False))
    found = []
    for number, text in enumerate(lines, document.body_line):
        if not _SHOWN_BY.search(text):
            continue
        pattern = patterns.get(number, "")
        why = check_pattern(pattern) if pattern else "it belongs to no item, or holds no pattern"
        if why:
            found.append(_advise(card, "shown-by", f"shown-by is not usable: {why}", number))
    return found
