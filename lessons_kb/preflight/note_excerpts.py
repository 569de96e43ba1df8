"""Excerpts of notes: the paragraphs that share the most words with a prompt, weighted by idf."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

from lessons_kb.search.engine_protocol import idf
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.sanitize import clean, defang
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen

GAP = "…"
"""The mark for omitted text."""
MAX_SOURCE = 100_000
"""The maximum number of characters of a note that are read."""

_WORTH = 1 / 3
"""A paragraph is left out if its overlap is below this fraction of the overlap of the best
paragraph.
"""
_MAX_SCORED = 80
"""The maximum number of paragraphs that are analyzed. If a note has more, a plain substring search
chooses them.
"""
_FENCE = r"\s*(?:(?:[-*+>]|\d{1,9}[.)])\s+)*(`{3,}(?=[^`]*$)|~{3,})"
_HEADING = r"#{1,6}\s"
_HEADER = r"---[ \t]*\n(?s:.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)"


def weigh_terms(query: str, frequencies: Mapping[str, int], size: int) -> dict[str, float]:
    """Return a mapping from each term of a query to its idf."""
    terms = dict.fromkeys(analyze(query))
    return {term: idf(max(0, frequencies.get(term, 0)), size) for term in terms}


def overlap(text: str, weights: Mapping[str, float]) -> float:
    """Return the summed weight of the query terms that occur in a text."""
    return sum(weights[term] for term in set(analyze(text)) if term in weights)


def _estimate_overlap(text: str, weights: Mapping[str, float]) -> float:
    """Return the summed weight of the query terms that are substrings of a text."""
    lowered = text.casefold()
    return sum(weight for term, weight in weights.items() if term in lowered)


@frozen
class Paragraph:
    """A paragraph of a note."""

    number: int
    """Its position in the note."""
    overlap: float
    lines: list[str]


def weigh_paragraphs(source: str, weights: Mapping[str, float]) -> list[Paragraph]:
    """Return the paragraphs of a Markdown text that may be relevant to a query, in order.

    The header, hidden characters and comments are removed, and code fences are closed.
    """
    text = re.sub(rf"\A{_HEADER}", "", clean(source[:MAX_SOURCE]))
    blocks = _split_blocks(text)
    texts = ["\n".join(block) for block in blocks]
    numbers = list(range(len(texts)))
    if len(texts) > _MAX_SCORED:
        rough = [_estimate_overlap(text, weights) for text in texts]
        likely = sorted(numbers, key=lambda number: (-rough[number], number))
        numbers = sorted(likely[:_MAX_SCORED])
    return [
        Paragraph(number=number, overlap=overlap(texts[number], weights), lines=blocks[number])
        for number in numbers
    ]


def build_excerpt(paragraphs: Sequence[Paragraph], limit: int) -> str:
    """Return an excerpt of about ``limit`` characters, sanitized.

    The excerpt contains the paragraphs with the most overlap, in their order. If no paragraph
    overlaps, it contains the beginning of the note.
    """
    order = sorted(paragraphs, key=lambda paragraph: (-paragraph.overlap, paragraph.number))
    best = order[0].overlap if order else 0.0
    chosen: dict[int, list[str]] = {}
    left = limit
    for paragraph in order:
        if paragraph.overlap < best * _WORTH:
            break
        if best and chosen and _length(paragraph.lines) > left:
            continue
        lines = _cut(paragraph.lines, left)
        if not lines:
            break
        chosen[paragraph.number] = lines
        left -= _length(lines) + len(GAP) + 1
    excerpt: list[str] = []
    for number in sorted(chosen):
        if excerpt:
            excerpt.append("" if number - 1 in chosen else GAP)
        excerpt += chosen[number]
    return defang("\n".join(excerpt))


def _split_blocks(text: str) -> list[list[str]]:
    """Split a text at blank lines outside of code fences, and close an open fence.

    A heading stays with the text after it.
    """
    blocks: list[list[str]] = []
    block: list[str] = []
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
        if line.strip() or fence:
            block.append(line.rstrip())
        elif block and not re.match(_HEADING, block[-1]):
            blocks.append(block)
            block = []
    if block:
        blocks.append([*block, fence] if fence else block)
    return blocks


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after a line, or "" if no fence is open. ``fence`` was open
    before the line.
    """
    if not fence:
        match = re.match(_FENCE, line) if "```" in line or "~~~" in line else None
        return match[1] if match else ""
    text = line.strip()
    is_end = len(text) >= len(fence) and set(text) == {fence[0]}
    return "" if is_end else fence


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _cut(lines: list[str], limit: int) -> list[str]:
    """Return the first lines that fit, with any open fence closed and "…" at the end.

    If only headings fit, the first sentences of the next line are added.
    """
    if _length(lines) <= limit:
        return lines
    fitting: list[str] = []
    fence = ""
    left = limit - len(GAP) - 1
    for line in lines:
        after = _fence_after(line, fence)
        if len(line) + 1 + (len(after) + 1 if after else 0) > left:
            break
        fitting.append(line)
        left -= len(line) + 1
        fence = after
    if not all(re.match(_HEADING, line) for line in fitting):
        return [*fitting, fence, GAP] if fence else [*fitting, GAP]
    next_line = lines[len(fitting)]
    beginning = ""
    if not fence and not re.match(_FENCE, next_line):
        left = limit - _length([*fitting, GAP])
        for longer in accumulate(split_sentences(next_line), "{} {}".format):
            if len(longer) + 2 <= left:
                beginning = longer
    return [*fitting, f"{beginning} {GAP}"] if beginning else []
