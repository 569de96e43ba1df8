"""Values → text; the same words for the command line, MCP and hooks."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lessons_kb.model import Card, Check, Finding, Hit, Preflight, Unaddressed
from lessons_kb.preflight.block import shown_name
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.sanitize import clean_line, defang

_WORDS = {
    "en": {
        "footer": "Lessons: {count} ({ids})",
        "unaddressed": "⚠ Checklist items not visible in the answer:",
        "denied": "⚠ Checklist items that the answer says were not done:",
        "addressed": "✓ All {count} checklist items are visible in the answer.",
        "nothing": "No checklist items to check.",
        "not seen": "not seen: {terms}",
        "nearest": "nearest: {sentence}",
        "mistakes": "Common mistakes:",
        "mistakes at": "Common mistakes in stage {stage}:",
        "once": "1 occurrence",
        "often": "{count} occurrences",
        "files": "Files",
        "prevention": "Prevention",
    },
    "ko": {
        "footer": "교훈 {count}개 ({ids})",
        "unaddressed": "⚠ 답변에서 확인되지 않은 체크리스트 항목:",
        "denied": "⚠ 답변이 하지 않았다고 밝힌 체크리스트 항목:",
        "addressed": "✓ 체크리스트 {count}개 항목이 모두 답변에서 확인됩니다.",
        "nothing": "확인할 체크리스트 항목이 없습니다.",
        "not seen": "보이지 않는 말: {terms}",
        "nearest": "가장 가까운 문장: {sentence}",
        "mistakes": "자주 하는 실수:",
        "mistakes at": "{stage} 단계에서 자주 하는 실수:",
        "once": "1회",
        "often": "{count}회",
        "files": "파일",
        "prevention": "예방",
    },
}


_MAX_PARTS = 5
"""Files and checklist items of one card that a warning names."""


def age(date: str, today: dt.date) -> str:
    """Return how long before ``today`` an ISO date was: ``3d``, ``2w``, ``1y``; "" for no date."""
    try:
        days = (today - type(today).fromisoformat(date[:10])).days
    except ValueError:
        return ""
    for name, length in (("y", 365), ("w", 7)):
        if days >= length:
            return f"{days // length}{name}"
    return f"{max(days, 0)}d"


def scope_footer(block: Preflight, language: str = "en") -> str:
    """Return one line that names the lessons of a block, "" if it has none."""
    if not block.lessons:
        return ""
    return footer([shown_name(hit) for hit in block.lessons], language)


def footer(names: Sequence[str], language: str = "en") -> str:
    """Return one line that says how many lessons were given, and which."""
    ids = ", ".join(clean_line(name) for name in names)
    return _WORDS[language]["footer"].format(count=len(names), ids=ids)


def format_warnings(
    cards: Sequence[Card], *, stage: str | None = None, language: str = "en"
) -> str:
    """Return lessons as a list of common mistakes, "" if there are none.

    Each with how often it was seen, the files it is about and what prevents it: the form that
    workflow engines put before a stage.
    """
    if not cards:
        return ""
    words = _WORDS[language]
    lines = [words["mistakes at"].format(stage=clean_line(stage)) if stage else words["mistakes"]]
    for number, card in enumerate(cards, 1):
        seen = words["once" if card.occurrences == 1 else "often"].format(count=card.occurrences)
        lines.append(f"{number}. {_one_line(card.title)} ({seen})")
        if card.paths:
            files = ", ".join(map(_one_line, card.paths[:_MAX_PARTS]))
            lines.append(f"   {words['files']}: {files}")
        if card.checklist:
            items = "; ".join(_one_line(item).rstrip(".;") for item in card.checklist[:_MAX_PARTS])
            lines.append(f"   {words['prevention']}: {items}")
    return "\n".join(lines)


def preflight_data(block: Preflight, language: str = "en") -> dict[str, Any]:
    """Return a block as JSON data."""
    return {
        "block": block.text,
        "tokens": block.tokens,
        "footer": scope_footer(block, language),
        "lessons": [hit_data(hit) for hit in block.lessons],
        "context": [hit_data(hit) for hit in block.notes],
        "withheld": [hit_data(hit) for hit in block.withheld],
    }


def hit_data(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON data, its card reduced to what identifies it."""
    card = hit.card
    return {
        "id": shown_name(hit),
        "kind": card.kind,
        "title": card.title,
        "severity": card.severity,
        "occurrences": card.occurrences,
        "score": round(hit.score, 4),
        "bm25": round(hit.bm25, 4),
        "meaning": round(hit.meaning, 4),
        "factors": {name: round(value, 4) for name, value in hit.factors},
        "matched": list(hit.matched),
        "confidence": round(hit.confidence, 4),
        "passed": hit.passed,
        "reason": hit.reason,
    }


def explain_hit(hit: Hit, query: str = "") -> str:
    """Return two lines: how the score came about, and what the gate says.

    With the ``query`` its own words are named, not the stems that the index knows.
    """
    words = words_by_term(query)
    factors = "".join(f" × {name} {value:.2f}" for name, value in hit.factors)
    terms = ", ".join(_spoken(hit.matched, words)) or "none"
    reason = in_words(hit.reason, words)
    verdict = f"passes: {reason}" if hit.passed else reason
    text = f"bm25 {hit.bm25:.2f}"
    if hit.meaning:
        text = f"({text} + meaning {hit.meaning:.2f})"
    return (
        f"   {hit.score:.2f} = {text}{factors}; terms: {terms}\n"
        f"   confidence {hit.confidence:.2f}, {verdict}"
    )


def words_by_term(text: str) -> dict[str, str]:
    """Return each index term of a text with the first word of the text that it comes from."""
    found: dict[str, str] = {}
    for word in dict.fromkeys(re.findall(r"\w(?:[\w.'/-]*\w)?", text)):
        for term in analyze(word):
            found.setdefault(term, word)
    return found


def _spoken(terms: Iterable[str], words: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(clean_line(words.get(term, term)) for term in terms))


def in_words(reason: str, words: Mapping[str, str]) -> str:
    """Return a reason of the gate with words in the place of the terms that it lists."""
    return _TERMS.sub(lambda m: m[1] + ", ".join(_spoken(m[2].split(", "), words)), reason)


_TERMS = re.compile(r"(terms: |matched \()([^()]+)")


def check_text(check: Check, language: str = "en") -> str:
    """Return the post-check as lines, the first one its verdict."""
    words = _WORDS[language]
    if not check.checked:
        return words["nothing"]
    if not check.unaddressed:
        return words["addressed"].format(count=check.checked)
    lines = [words["unaddressed"]]
    for item in check.unaddressed:
        lines.append(f"  - {clean_line(item.item)} ({clean_line(item.card.id)})")
        if item.terms:
            terms = ", ".join(clean_line(term) for term in item.terms)
            lines.append(f"    {words['not seen'].format(terms=terms)}")
        if item.sentence:
            lines.append(f"    {words['nearest'].format(sentence=clean_line(item.sentence))}")
    return "\n".join(lines)


def denied_text(check: Check, language: str = "en") -> str:
    """Return what the answer itself says was not done, with its own sentences; "" for nothing."""
    lines = [
        f"  - {clean_line(item.item)} ({clean_line(item.card.id)})\n"
        f"    “{clean_line(item.sentence)}”"
        for item in check.unaddressed
        if item.denied
    ]
    return "\n".join((_WORDS[language]["denied"], *lines)) if lines else ""


def check_data(check: Check) -> dict[str, Any]:
    """Return the post-check as JSON data."""
    return {
        "checked": check.checked,
        "unaddressed": [
            {
                "id": item.card.id,
                "title": item.card.title,
                "item": item.item,
                "terms": list(item.terms),
                "sentence": item.sentence,
                "denied": item.denied,
            }
            for item in check.unaddressed
        ],
    }


def unaddressed_message(item: Unaddressed) -> str:
    """Return one line for an annotation."""
    return f"Not visible in this change: {clean_line(item.item)} ({clean_line(item.card.title)})"


def finding_line(finding: Finding) -> str:
    """Return a finding as one line in the style of a compiler, mend included."""
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    return (
        f"{clean_line(where)}: {finding.level} {finding.rule}: "
        f"{clean_line(finding.message)} → {clean_line(finding.mend)}"
    )


def _one_line(text: str) -> str:
    return defang(clean_line(text))
