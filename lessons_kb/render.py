"""Render results as text and as JSON data; the command line, MCP and hooks use the same words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from lessons_kb.model import (
    ANSWER,
    CLAIMED,
    COMMAND,
    CONTRADICTED,
    DENIED,
    DETECTED,
    OPEN,
    SHOWN,
    Check,
    CheckedItem,
    Finding,
    Hit,
    Preflight,
)
from lessons_kb.preflight.block import WORDS, footer
from lessons_kb.preflight.offers import shown_name
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.sanitize import clean_line, defang_line, shorten_at_word

_MARKS = {CONTRADICTED: "✗", DENIED: "✗", OPEN: "?", CLAIMED: "·", SHOWN: "✓"}
"""A mapping from the state of a checklist item to its mark; problems come first."""
_MAX_REFUTED, _MAX_OPEN, _MAX_TERMS = 3, 2, 5
"""Maximum number of items that one line names."""
_MAX_QUOTE, _LEAST_QUOTE = 80, 30
"""Maximum length of an item or a quote in a line, in characters, at best and at worst."""
_MAX_LINE = 240
"""Maximum length of a line that names several items, in characters."""
_TERMS = re.compile(r"(terms: |matched \()([^();]+)")
_PART = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*")
"""A part of a path or an identifier, such as ``get`` and ``User`` in ``getUser``."""


def preflight_data(block: Preflight, language: str = "en") -> dict[str, Any]:
    """Return a block as JSON data, including the withheld hits."""
    withheld = [hit_data(hit) for hit in block.withheld]
    return block_data(block, language) | {"withheld": withheld}


def block_data(block: Preflight, language: str = "en") -> dict[str, Any]:
    """Return a block as JSON data, without the withheld hits."""
    return {
        "block": block.text,
        "tokens": block.tokens,
        "footer": footer([shown_name(hit) for hit in block.lessons], language),
        "lessons": [hit_data(hit) for hit in block.lessons],
        "context": [hit_data(hit) for hit in block.notes],
        "offered": [hit_data(hit) for hit in block.offered],
    }


def hit_data(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON data, with the fields that identify its card."""
    card = hit.card
    return {
        "id": defang_line(shown_name(hit)),
        "kind": card.kind,
        "title": defang_line(card.title),
        "severity": card.severity,
        "occurrences": card.occurrences,
        "score": round(hit.score, 4),
        "bm25": round(hit.bm25, 4),
        "meaning": round(hit.meaning, 4),
        "factors": {name: round(value, 4) for name, value in hit.factors},
        "matched": list(hit.matched),
        "confidence": round(hit.confidence, 4),
        "lesson_at": round(hit.lesson_at, 4),
        "title_at": round(hit.title_at, 4),
        "passed": hit.passed,
        "reason": hit.reason,
    }


def explain_hit(hit: Hit, query: str = "") -> str:
    """Return two lines that explain a hit: the parts of its score, and the gate's verdict.

    With the ``query``, the lines name its words instead of the index's terms.
    """
    words = words_by_term(query)
    factors = "".join(f" × {name} {value:.2f}" for name, value in hit.factors)
    terms = _name_terms(hit.matched, words) or "none"
    reason = in_words(hit.reason, words)
    least = f"of {hit.lesson_at:.2f}"
    verdict = f"{least}, passes: {reason}" if hit.passed else f"{least}, {reason}"
    text = f"bm25 {hit.bm25:.2f}"
    if hit.meaning:
        text = f"({text} + meaning {hit.meaning:.2f})"
    return (
        f"   {hit.score:.2f} = {text}{factors}; terms: {terms}\n"
        f"   confidence {hit.confidence:.2f} {verdict}"
    )


def words_by_term(text: str) -> dict[str, str]:
    """Return a mapping from each index term of a text to the first word that has this term.

    A term of one part of a compound maps to this part. For ``tests/ci/browser``, the term of ``ci``
    maps to ``ci``, because a card that shares it need not contain the whole path.
    """
    words: dict[str, str] = {}
    compounds = dict.fromkeys(re.findall(r"\w(?:[\w.'/-]*\w)?", text))
    for compound in compounds:
        terms = analyze(compound)
        parts = _PART.findall(compound) if compound.isascii() else []
        for part in parts:
            for term in analyze(part):
                if term in terms:
                    words.setdefault(term, part)
        for term in terms:
            words.setdefault(term, compound)
    return words


def in_words(reason: str, words: Mapping[str, str]) -> str:
    """Return a reason of the gate in which words replace the index terms."""
    return _TERMS.sub(lambda m: m[1] + _name_terms(m[2].split(", "), words), reason)


def _name_terms(terms: Iterable[str], words: Mapping[str, str]) -> str:
    """Return the words of some terms, each once, separated by commas."""
    return ", ".join(dict.fromkeys(clean_line(words.get(term, term)) for term in terms))


def check_text(check: Check, language: str = "en") -> str:
    """Return the post-check as lines: its verdict, then the items, problems first."""
    words = WORDS[language]
    if not check.checked:
        return words["nothing"]
    counts = Counter(item.state for item in check.items)
    summary = ", ".join(f"{counts[state]} {words[state]}" for state in _MARKS if counts[state])
    lines = [f"{'⚠' if check.unaddressed else '✓'} {words['checked'].format(told=summary)}"]
    order = list(_MARKS)
    for item in sorted(check.items, key=lambda item: order.index(item.state)):
        lines += _describe_item(item, words)
    if check.trouble:
        lines.append(f"lessons: {clean_line(check.trouble)}")
    return "\n".join(lines)


def _describe_item(item: CheckedItem, words: Mapping[str, str]) -> list[str]:
    """Return the lines of a checked item: its state, its evidence, and its reason."""
    mark, name = _MARKS[item.state], words[item.state]
    lines = [f"  {mark} {name}: {clean_line(item.item)} ({clean_line(item.card.id)})"]
    quote = clean_line(item.quote)
    if item.state == OPEN and item.terms:
        terms = ", ".join(clean_line(term) for term in item.terms[:_MAX_TERMS])
        more = ", …" if item.terms[_MAX_TERMS:] else ""
        lines.append(f"    {words['not seen'].format(terms=terms + more)}")
    if item.state == OPEN and quote and not is_touched(item):
        lines.append(f"    {words['nearest'].format(sentence=quote)}")
    elif quote and item.where == ANSWER:
        lines.append(f"    “{quote}”")
    elif quote:
        lines.append(f"    {clean_line(item.where)}: {quote}" if item.where else f"    {quote}")
    if item.reason:
        lines.append(f"    → {_because(item, words)}")
    return lines


def is_touched(item: CheckedItem) -> bool:
    """Return whether an edit contains an identifier of an open item, which may have been done."""
    return item.state == OPEN and item.where not in ("", ANSWER)


def check_line(check: Check, language: str = "en") -> str:
    """Return the post-check as one line for an agent's user; "" if every item is shown.

    The line quotes denied and contradicted items, and names open items if there are only a few. If
    it becomes too long, its parts are cut, and then it quotes fewer items. `lessons check --last`
    shows all of them.
    """
    line = ""
    for most in range(_MAX_REFUTED, 0, -1):
        for limit in range(_MAX_QUOTE, _LEAST_QUOTE - 1, -1):
            line = _format_line(check, WORDS[language], most=most, limit=limit)
            if len(line) <= _MAX_LINE:
                return line
    return line


def _format_line(check: Check, words: Mapping[str, str], *, most: int, limit: int) -> str:
    """Return the line of ``check_line`` with the first ``most`` denied and contradicted items.

    Each item and each quote has at most ``limit`` characters.
    """
    refuted = [item for item in check.items if item.state in (CONTRADICTED, DENIED)]
    unseen = [item for item in check.items if item.state == OPEN and not is_touched(item)]
    named = unseen if len(refuted) + len(unseen) <= _MAX_OPEN else list(check.ignored)
    unseen = [item for item in unseen if item not in named]
    by_form: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for item in refuted[:most]:
        form = words["left out" if item.state == DENIED else item.reason]
        place = item.where if len(refuted) > 1 else f"{item.where}: {item.quote}"
        quote = item.quote if item.where in (ANSWER, COMMAND) else place
        items, quotes = by_form.setdefault(form, ({}, {}))
        items[_shorten(item.item, limit)] = quotes[_shorten(quote, limit)] = None
    parts = [
        form.format(item="”, “".join(items), quote=", ".join(quotes))
        for form, (items, quotes) in by_form.items()
    ]
    if len(refuted) > most:
        parts.append(words["more"].format(count=len(refuted) - most))
    if named:
        names = ", ".join(f"“{_shorten(item.item, limit)}”" for item in named)
        parts.append(words["few open"].format(items=names))
    if unseen:
        form = words["one open" if len(unseen) == 1 else "many open"]
        parts.append(form.format(count=len(unseen)))
    if not parts:
        return ""
    mark = "⚠ " if refuted or check.ignored else ""
    return f"{mark}{words['checklist']}: {'; '.join(parts)}. {words['see']}"


def _because(item: CheckedItem, words: Mapping[str, str]) -> str:
    """Return the reason why a claim is refuted, as the end of a sentence for an agent's user."""
    if item.reason == DETECTED:
        return words["the mistake"]
    return words[item.reason].rsplit(", ", 1)[1]


def _shorten(text: str, limit: int = _MAX_QUOTE) -> str:
    return shorten_at_word(defang_line(text), limit)


def check_data(check: Check) -> dict[str, Any]:
    """Return the post-check as JSON data."""
    return {
        "checked": check.checked,
        "items": [
            {
                "id": defang_line(item.card.id),
                "title": defang_line(item.card.title),
                "item": defang_line(item.item),
                "state": item.state,
                "quote": defang_line(item.quote),
                "where": defang_line(item.where),
                "reason": item.reason,
                "terms": list(item.terms),
            }
            for item in check.items
        ],
        "unaddressed": [defang_line(item.item) for item in check.unaddressed],
        "trouble": check.trouble,
    }


def checked_message(item: CheckedItem) -> str:
    """Return one line about a checked item, for an annotation."""
    name = f"{defang_line(item.item)} ({defang_line(item.card.title)})"
    if is_touched(item):
        return f"Open: {name}: {_shorten(item.quote)}"
    if item.state == OPEN:
        return f"Not seen in this change: {name}"
    reason = f" ({_because(item, WORDS['en'])})" if item.reason else ""
    return f"{item.state.capitalize()}: {name}: {_shorten(item.quote)}{reason}"


def finding_line(finding: Finding) -> str:
    """Return a finding as one line in the style of a compiler, with its fix."""
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    return (
        f"{clean_line(where)}: {finding.level} {finding.rule}: "
        f"{clean_line(finding.message)} → {clean_line(finding.fix)}"
    )
