"""Text → index terms: one analyzer for cards and queries."""

from __future__ import annotations

import re
import unicodedata

import Stemmer

ANALYZER_VERSION = 1
"""Raised with every change of the terms a text gives; the index is rebuilt then."""

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can cannot could couldn d did didn do does doesn doing don down during
    each few for from further had hadn has hasn have haven having he her here hers him his how i if
    in into is isn it its itself just ll m me more most my no nor of off on once only or other our
    ours out over own re s same she should shouldn so some such t than that the their theirs them
    then there these they this those through to too under until up ve very was wasn we were weren
    what when where which while who whom why will with won would wouldn you your yours
    """.split()  # noqa: SIM905 - a table is read, not parsed, by people
)

MAX_WORD = 64
"""A longer run of letters and digits is a hash or encoded data: no one searches for it."""

_BIGRAM = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3031-\u3035\u3040-"
    "\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-"
    "\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_COMPOUND_ASCII = r"[A-Za-z0-9]+(?:[_.\-/\\]+[A-Za-z0-9]+)*"
_COMPOUND = rf"[{_BIGRAM}]+|[^\W_{_BIGRAM}]+(?:[_.\-/\\]+[^\W_{_BIGRAM}]+)*"
_PART = r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+|[^\W_A-Za-z0-9]+"

_cache: dict[str, tuple[str, ...]] = {}
_CACHE_SIZE = 200_000


def analyze(text: str) -> list[str]:
    """Return the index terms of a text, in order, repeated as often as they occur.

    NFKC and case folding; identifiers and paths give their parts and one whole; English words
    are stemmed (Snowball), stop words dropped; Hangul, Kana and Han runs give character bigrams.
    """
    if text.isascii():
        pieces = re.findall(_COMPOUND_ASCII, text)
    else:
        pieces = re.findall(_COMPOUND, unicodedata.normalize("NFKC", text))
    terms: list[str] = []
    for piece in pieces:
        found = _cache.get(piece)
        terms += _terms_of(piece) if found is None else found
    return terms


def _terms_of(piece: str) -> tuple[str, ...]:
    if re.match(f"[{_BIGRAM}]", piece):
        if len(piece) == 1:
            return (piece,)
        return tuple(piece[i : i + 2] for i in range(len(piece) - 1))
    stem = Stemmer.Stemmer("english", 0).stemWord
    words = [word for word in re.split(r"[_.\-/\\]+", piece) if len(word) <= MAX_WORD]
    parts = [part.casefold() for word in words for part in re.findall(_PART, word)]
    terms = [stem(part) for part in parts if part not in STOP_WORDS]
    if len(parts) > 1:
        whole = "".join(parts)
        if len(whole) <= MAX_WORD:
            terms.append(whole)
    result = tuple(terms)
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    _cache[piece] = result
    return result
