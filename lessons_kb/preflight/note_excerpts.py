"""What of a note or a checklist bears on a prompt: overlap weighed by idf, cut on clean borders."""

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
"""A line that stands for what was left out."""
MAX_SOURCE = 100_000
"""Characters of a note that are looked at."""

_WORTH = 1 / 3
"""A paragraph with less than this part of the best one's overlap is not worth its tokens."""
_MAX_SCORED = 80
"""A note of more paragraphs is thinned out by plain substring search before it is analyzed."""
_FENCE = r"\s*(?:(?:[-*+>]|\d{1,9}[.)])\s+)*(`{3,}(?=[^`]*$)|~{3,})"
_HEADING = r"#{1,6}\s"
_HEADER = r"---[ \t]*\n(?s:.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)"


def weigh_terms(query: str, frequencies: Mapping[str, int], size: int) -> dict[str, float]:
    """Return each term of a query with its idf."""
    terms = dict.fromkeys(analyze(query))
    return {term: idf(max(0, frequencies.get(term, 0)), size) for term in terms}


def overlap(text: str, weights: Mapping[str, float]) -> float:
    """Return the summed weight of the query terms that occur in a text."""
    return sum(weights[term] for term in set(analyze(text)) if term in weights)


@frozen
class Paragraph:
    """A paragraph of a note."""

    number: int
    """Its place in the note."""
    overlap: float
    lines: list[str]


def weigh_paragraphs(source: str, weights: Mapping[str, float]) -> list[Paragraph]:
    """Return the paragraphs of a Markdown text that may bear on a query, in order.

    The header is left out, hidden characters and comments are gone, code fences are closed.
    """
    text = re.sub(rf"\A{_HEADER}", "", clean(source[:MAX_SOURCE]))
    blocks = _split_blocks(text)
    texts = ["\n".join(block) for block in blocks]
    numbers = list(range(len(texts)))
    if len(texts) > _MAX_SCORED:
        lowered = [text.casefold() for text in texts]
        rough = [sum(w for term, w in weights.items() if term in text) for text in lowered]
        likely = sorted(numbers, key=lambda number: (-rough[number], number))
        numbers = sorted(likely[:_MAX_SCORED])
    return [
        Paragraph(number=number, overlap=overlap(texts[number], weights), lines=blocks[number])
        for number in numbers
    ]


def build_excerpt(paragraphs: Sequence[Paragraph], limit: int) -> str:
    """Return what fits of the paragraphs with the most overlap, in their order, defanged.

    About ``limit`` characters at most. Where nothing overlaps: the beginning.
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
        if not (lines := _cut(paragraph.lines, left)):
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
    """Split at blank lines outside code fences, which are closed; a heading stays with its text."""
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
    """Return the fence that is open after a line, "" if none; ``fence`` was open before it."""
    if not fence:
        found = re.match(_FENCE, line) if "```" in line or "~~~" in line else None
        return found[1] if found else ""
    closes = line.strip()
    if len(closes) >= len(fence) and set(closes) == {fence[0]}:
        return ""
    return fence


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _cut(lines: list[str], limit: int) -> list[str]:
    """Return the first lines that fit, any open fence closed; "…" tells that something is gone."""
    if _length(lines) <= limit:
        return lines
    kept: list[str] = []
    fence = ""
    left = limit - len(GAP) - 1
    for line in lines:
        after = _fence_after(line, fence)
        if len(line) + 1 + (len(after) + 1 if after else 0) > left:
            break
        kept.append(line)
        left -= len(line) + 1
        fence = after
    if not all(re.match(_HEADING, line) for line in kept):
        return [*kept, fence, GAP] if fence else [*kept, GAP]
    line, said = lines[len(kept)], ""  # of the first one, the sentences that fit
    if not fence and not re.match(_FENCE, line):
        left = limit - _length([*kept, GAP])
        for longer in accumulate(split_sentences(line), "{} {}".format):
            said = longer if len(longer) + 2 <= left else said
    return [*kept, f"{said} {GAP}"] if said else []
