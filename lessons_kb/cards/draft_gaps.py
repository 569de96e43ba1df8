"""What a draft still lacks to become a card."""

from __future__ import annotations

import re

from lessons_kb.cards.check_card import is_vague
from lessons_kb.cards.sections import CAUSE, normal_newlines, read_checklist, read_sections, text_of
from lessons_kb.data import compile_patterns
from lessons_kb.model import Document

MISSING = {
    "title": "a title that names the mistake in one sentence",
    "cause": "a concrete Root Cause: the mechanism, not a lack of care",
    "items": "a Prevention Checklist item that can be checked in a diff or an answer",
    "symptoms": "two or three `symptoms`, worded like a future task",
    "symptom": "a second of the `symptoms`, in other words than the first",
}
"""Mapping from each part of a card to the description of the part if it is missing."""

_OPEN, _NO_MISTAKE, _NO_CAUSE = compile_patterns(
    "draft_gaps.toml", "open", "no mistake", "no cause"
)
_COMMENT = r"<!--.*?(?:-->|\Z)"
MIN_TITLE, _MIN_CAUSE, _MIN_ITEM = 3, 4, 2
"""Minimum numbers of words. In a script without spaces, two characters count as one word."""
_LONG_CAUSE = 14
"""The number of words from which a root cause is accepted even if a part of it is vague."""


def find_lacks(document: Document) -> tuple[str, ...]:
    """Return one line for each part that a draft needs to become a card, or () if the draft is
    complete.
    """
    card = document.card
    if card is None:
        return tuple(f"{finding.message}: {finding.fix}" for finding in document.findings[:1])
    sections = read_sections(normal_newlines(document.body))
    checklist = read_checklist(sections)
    items = checklist.items if checklist.origin == "prevention" else ()
    title = card.title
    cause = re.sub(_COMMENT, " ", text_of(sections, (CAUSE,)), flags=re.DOTALL)
    vague = _NO_CAUSE.search(cause) is not None and count_words(cause) < _LONG_CAUSE
    is_short = count_words(cause) < _MIN_CAUSE
    written = [symptom.casefold() for symptom in card.symptoms if not _is_open(symptom)]
    symptoms = {" ".join(re.findall(r"\w+", symptom)) for symptom in written}
    lacks = {
        "title": not names_mistake(title),
        "cause": _is_open(cause) or vague or is_vague(cause.strip()) or is_short,
        "items": not any(_is_concrete(item.text) for item in items),
        "symptoms": not symptoms,
        "symptom": len(symptoms) == 1,
    }
    return tuple(MISSING[part] for part, lacking in lacks.items() if lacking)


def _is_concrete(item: str) -> bool:
    is_placeholder = _is_open(item) or is_vague(item)
    return not is_placeholder and count_words(item) >= _MIN_ITEM


def names_mistake(title: str) -> bool:
    """Return whether a title may name a mistake. A placeholder or a mere topic does not."""
    return not (_is_open(title) or _NO_MISTAKE.match(title)) and count_words(title) >= MIN_TITLE


def _is_open(text: str) -> bool:
    """Return whether a text still contains a placeholder."""
    return _OPEN.search(text.strip()) is not None


def count_words(text: str) -> float:
    """Return the number of words. In a script without spaces, two characters are one word."""
    dense = len(re.findall(r"[\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3]", text))
    return len(re.findall(r"[^\W\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3]+", text)) + dense / 2
