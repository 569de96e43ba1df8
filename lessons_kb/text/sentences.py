"""Split a prompt or an answer into sentences, and detect questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lessons_kb.data import read_words

_MAX_QUESTION = 600
"""The maximum number of characters in a question. A longer prompt is not only a question."""
_QUESTION_MARKS = ("?", "\uff1f")
_ASKS = (
    r"^\W*(?:what|what's|where|when|which|who|whose|why|how|is|are|was|were|do|does|did|has|have"
    r"|explain|describe|summari[sz]e|show|list|tell me|walk me|look at)\b"
)
_REQUESTS = (
    r"\b(?:can|could|would|will) (?:you|we)\b|\bplease\b|\bhow about\b|\bwhy (?:not|don't)\b"
    r"|\b(?:and|then|so that) (?:fix|change|add|remove|rename|update|make)\b"
    r"|줄래|줄 수|주세요|주시|해\s?줘|바꿔|고쳐|수정|추가|삭제"
)

_ABBREVIATIONS = read_words("abbreviations.txt")
ABBREVIATIONS = _ABBREVIATIONS["always"]
"""The abbreviations after which a period does not end a sentence."""
BEFORE_A_NUMBER = _ABBREVIATIONS["before a number"]
"""The abbreviations after which a period does not end a sentence if a number follows: No. 5."""

_END = r"(?<![.!?\s])[.!?]++[\"')\]*_]*+(?=\s|$)"
"""The end of a sentence. A dot after a blank ends none: ``from .. import x``."""
_WIDE_ENDS = "\u3002\uff01\uff1f\uff61"
_WIDE_QUOTES = "\u300d\u300f\uff09\u201d)"
_KOREAN_ENDS = "\ub2e4\uc694\uc8e0\uae4c\uc74c\ud568\ub428"
"""The last syllables of Korean sentences. A period after such a syllable needs no blank."""
_BLOCK = r"\s*(?:[-*+>|#]|\d{1,3}[.)]\s|```|~~~|$)"
_WRAPPED = 50
"""The minimum length of a wrapped line that ends in the middle of a sentence."""


def is_question(text: str) -> bool:
    """Return whether a short text only asks questions, and requests no change."""
    if len(text) > _MAX_QUESTION or "```" in text or re.search(_REQUESTS, text, re.IGNORECASE):
        return False
    sentences = split_sentences(text)
    return bool(sentences) and all(map(_asks, sentences))


def _asks(sentence: str) -> bool:
    has_mark = sentence.rstrip("\"')]* ").endswith(_QUESTION_MARKS)
    return has_mark or re.match(_ASKS, sentence, re.IGNORECASE) is not None


def split_sentences(text: str) -> list[str]:
    """Return the stripped sentences of a text in English, Korean, Japanese or Chinese.

    List items, headings and lines of fenced code are separate sentences. A wrapped paragraph is
    joined. Abbreviations, numbers, versions and code spans are not split.
    """
    return list(_sentences(text))


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, or "" if there is none. The rest is not read."""
    return next(_sentences(text), "")


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        start = 0
        for end in [*_ends(paragraph), len(paragraph)]:
            if sentence := paragraph[start:end].strip():
                yield sentence
            start = end


def _paragraphs(text: str) -> Iterator[str]:
    waiting: list[str] = []
    fenced = False
    lines = text.splitlines()
    for line, following in pairwise([*lines, ""]):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= is_fence
        if is_fence or fenced:
            if not is_fence:
                yield line.strip()
            continue
        row = line.strip()
        waiting.append(row)
        ended = row.rstrip("\"'*_)`")[-1:] in (".", "!", "?", ":", "\u3002", "\uff01", "\uff1f")
        is_alone = not row or row.startswith("#") or re.match(_BLOCK, following)
        if is_alone or ended or len(row) < _WRAPPED:
            yield " ".join(waiting)
            waiting = []
    yield " ".join(waiting)


def _ends(paragraph: str) -> Iterator[int]:
    """Yield the positions at which sentences end, in order."""
    ends = [match.end() for match in re.finditer(_END, paragraph)]
    if not paragraph.isascii():
        ends += _wide_ends(paragraph)
    seen = ticks = 0
    all_ticks = paragraph.count("`")
    for end in sorted(ends):
        ticks += paragraph.count("`", seen, end)
        seen = end
        inside_code = ticks % 2 == 1 and ticks < all_ticks
        if not inside_code and not _goes_on(paragraph, end):
            yield end


def _wide_ends(paragraph: str) -> Iterator[int]:
    for position, (char, after) in enumerate(pairwise(f"{paragraph} "), 1):
        if char in _WIDE_ENDS and after not in _WIDE_ENDS:
            quoted = position
            while paragraph[quoted : quoted + 1] in tuple(_WIDE_QUOTES):
                quoted += 1
            # If hiragana follows a quotation, the quotation is only a part of its sentence.
            if quoted == position or not "\u3041" <= paragraph[quoted : quoted + 1] <= "\u309f":
                yield quoted
        elif char == "." and "\uac00" <= after <= "\ud7a3":
            before = paragraph[position - 2 : position - 1]
            if before in tuple(_KOREAN_ENDS):
                yield position


def _goes_on(paragraph: str, end: int) -> bool:
    """Return whether the period before ``end`` belongs to an abbreviation or a list number."""
    before = paragraph[max(end - 40, 0) : end].rstrip("\"')]*_")
    if not before.endswith(".") or before.endswith(".."):
        return False
    word = before[:-1].split()[-1:] or [""]
    name = word[0].lstrip("([\"'*_").lower()
    after = paragraph[end : end + 5].lstrip()[:1]
    return (
        name in ABBREVIATIONS
        or (len(before) == end and re.fullmatch(r"\d{1,3}", name) is not None)
        or (name in BEFORE_A_NUMBER and after.isdigit())
        or re.fullmatch("[b-hj-z]", name) is not None  # an initial
    )
