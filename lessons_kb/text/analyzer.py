"""Turn a text into index terms, with the same analyzer for cards and queries.

The choices below were tested on public retrieval sets in English, Korean and code. A change that
alters the terms of any text needs a higher version.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain, groupby, pairwise

import Stemmer

from lessons_kb.data import read_mapping, read_toml, read_words

_ENGLISH = read_toml("stemming_exceptions.toml")
STOP_WORDS = frozenset(_ENGLISH["stop words"].split())
"""English function words and polite phrases, without words that are also code (else, let, try
…)."""

ONE_WORD_NAMES = frozenset(_ENGLISH["one-word names"].split())
"""Names with an inner capital that are one word. JavaScript, for example, is not about Java."""

IRREGULAR = read_mapping("stemming_exceptions.toml")["irregular"]
"""A mapping from irregular form to lemma, for words about failures that a suffix stemmer cannot
reduce."""

MAX_WORD = 64
"""The maximum number of characters in a word. A longer run of letters and digits is encoded data,
for which nobody searches."""

_SHORTEST = 2
"""The minimum length of a Latin term, so that a single letter or digit is not a term. C++ and C#
are recognised before this check."""
_SHORTEST_HEAD = 3
"""The minimum number of letters before a number that are a separate term. The word python3 has the
term python, but es6 does not have the term es."""
_NUMERONYM = r"[a-z][0-9]+[a-z]"
"""Abbreviations that are one word: e2e, i18n, k8s."""
_HASH_PARTS = 4
_HASH_PART = 3
"""The minimum average number of letters per part. Below it, case and digits change too often for
words, and the text is a hash."""

# Includes any non-ASCII character, because a class of Unicode ranges compiles slowly.
_LETTER = r"[^\x00-/:-@\[-`{-\x7f]"
_JOINT = r"(?:[/\\]\.?_*|[.-]_*|::|_+[./\\]?)"
_COMPOUND = rf"{_LETTER}++(?:{_JOINT}{_LETTER}++)*+(?:\+\+|#)?"
_CAMEL = r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*"

_MARKS = "\u3001\u3002\u300c\u300d\u30fb\u2018\u2019\u201c\u201d\u2013\u2014\u2192"
"""Frequent non-ASCII punctuation, removed in one step; ``_keep_character`` finds the rest."""

_BOUNDS: list[int] = []
"""The first code point and the last code point + 1 of each script that is indexed as bigrams, in
ascending order."""
for _first, _last in read_mapping("bigram_scripts.toml")["ranges"].items():
    _BOUNDS += (int(_first, 16), int(_last, 16) + 1)


def analyze(text: str) -> list[str]:
    """Return the index terms of a text in order, with repetitions.

    The text is normalised to NFKC, and case and accents are folded. Latin words become Snowball
    English stems, without stop words and single letters. An identifier, dotted name or path gives
    its parts, and then the whole without separators, so that ``get_user`` and ``getUser`` match.
    Hangul, Kana, Han and the scripts of South-East Asia give the character bigrams of each run, or
    the character itself for a run of one. A Hangul run also gives its first character, because a
    noun of one syllable is followed by a particle.
    """
    return analyze_joined(text).split()


def analyze_joined(text: str) -> str:
    """Return the terms of ``analyze`` as one text, separated by blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for mark in _MARKS:
            text = text.replace(mark, " ")
    return " ".join(filter(None, map(_CHUNKS.__getitem__, _split_at_spaces(text))))


def _split_at_spaces(text: str) -> list[str]:
    """Split a text at ASCII white space; no compound extends across it.

    The pattern of compounds treats other white space as letters.
    """
    if text.isascii():
        return text.split()
    for space in "\n\t\r":
        text = text.replace(space, " ")
    return text.split(" ")


def find_neighbours(text: str) -> list[tuple[str, str]]:
    """Return the pairs of neighbouring index terms of a text, each once, in order.

    Two neighbouring words give one pair: the last term of the first word and the first term of the
    second, in the order of ``analyze``. Parts of one identifier and bigrams of one word are not
    neighbours. Stop words between two words are ignored.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    words = filter(None, map(_TERMS.__getitem__, re.findall(_COMPOUND, text)))
    pairs = ((first[-1], second[0]) for first, second in pairwise(words))
    distinct = dict.fromkeys(pairs)
    return [(before, after) for before, after in distinct if before != after]


_NAME = r"[A-Za-z_$][\w$]*(?:[.-][A-Za-z_$][\w$]*)*"
_SEVERAL_WORDS = r"[a-z][A-Z]|_[A-Za-z]|[a-z0-9]-[a-z]|\w\.\w"


def find_names(text: str) -> set[str]:
    """Return the names of code in a text that consist of several words: ``getUser``, ``get-user``.

    ``users.getUser`` gives the whole name and those of its parts that consist of several words.
    """
    names = set(re.findall(_NAME, text))
    for name in list(names):
        names.update(re.split("[.-]", name))
    return {name for name in names if re.search(_SEVERAL_WORDS, name)}


class _Terms(dict[str, tuple[str, ...]]):
    """A cache from each compound to its terms, because texts repeat their words."""

    _SIZE = 50_000

    def __missing__(self, piece: str) -> tuple[str, ...]:
        terms = tuple(_terms_of(piece))
        if len(piece) <= MAX_WORD:
            if len(self) >= self._SIZE:
                self.clear()
            self[piece] = terms
        return terms


_TERMS = _Terms()


class _Chunks(dict[str, str]):
    """A cache from each chunk of a text without white space to its terms, separated by blanks.

    The lookup of a chunk with its punctuation takes a tenth of the time of a search for compounds.
    """

    _SIZE = 50_000

    def __missing__(self, chunk: str) -> str:
        compounds = re.findall(_COMPOUND, chunk)
        terms = " ".join(chain.from_iterable(map(_TERMS.__getitem__, compounds)))
        if len(chunk) <= MAX_WORD:
            if len(self) >= self._SIZE:
                self.clear()
            self[chunk] = terms
        return terms


_CHUNKS = _Chunks()


def _terms_of(piece: str) -> list[str]:
    if piece[-1] in "+#":
        name = piece.rstrip("+#")
        return [piece.lower()] if len(name) == 1 and name.isascii() else list(_TERMS[name])
    if not piece.isascii():
        return _terms_of_unicode(piece)
    words = [word for word in re.split(_JOINT, piece) if len(word) <= MAX_WORD]
    parts = [part for word in words for part in _split_camel(word)]
    # A Stemmer must not be shared between threads. A new Stemmer costs less than one word.
    stem = Stemmer.Stemmer("english", 0).stemWord
    terms: list[str] = []
    for part in parts:
        if len(part) >= _SHORTEST and part not in STOP_WORDS:
            terms.append(stem(IRREGULAR.get(part, part)))
            head = part.rstrip("0123456789")
            if _SHORTEST_HEAD <= len(head) < len(part):
                terms.append(stem(head))
    if len(parts) > 1:
        whole = ""
        for word in words:  # the point between digits is preserved: 1.2 is not 12
            gap = "." if whole[-1:].isdigit() and word[:1].isdigit() else ""
            whole += gap + word.lower()
        if len(whole) <= MAX_WORD and whole not in STOP_WORDS and (terms or "/" not in piece):
            terms.append(stem(whole))
    return terms


def _split_camel(word: str) -> list[str]:
    lower = word.lower()
    if word == lower and (word.isalpha() or word.isdigit()):
        return [word]
    if lower in ONE_WORD_NAMES or re.fullmatch(_NUMERONYM, lower):
        return [lower]
    parts = re.findall(_CAMEL, lower if word.isupper() else word)
    if len(parts) >= _HASH_PARTS and len(word) < _HASH_PART * len(parts) - 2:
        return [lower]
    return [part.lower() for part in parts]


def _terms_of_unicode(piece: str) -> list[str]:
    low = min(piece)
    high = max(piece)
    if (low >= "\u3041" and high <= "\u9fff") or (low >= "\uac00" and high <= "\ud7a3"):
        return _bigrams(piece)
    terms: list[str] = []
    # Marks are removed only from Latin and Greek letters. In other scripts they change the letter.
    decomposed = unicodedata.normalize("NFD", piece)
    plain = re.sub("([A-Za-z\u0370-\u03ff])[\u0300-\u036f]+", r"\1", decomposed)
    words = "".join(map(_keep_character, unicodedata.normalize("NFC", plain))).split()
    for word in words:
        for dense, group in groupby(word, lambda char: bisect_right(_BOUNDS, ord(char)) % 2):
            run = "".join(group)
            if dense:
                terms += _bigrams(run)
            elif run.isascii() or (run := run.casefold()).isascii():
                terms += analyze(run)
            else:
                pieces = re.split(_JOINT, run)
                parts = [part for part in pieces if _SHORTEST <= len(part) <= MAX_WORD]
                terms += parts
                if len(parts) > 1:
                    terms.append("".join(parts)[:MAX_WORD])
    return terms


def _bigrams(run: str) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [run[0], *pairs] if "\uac00" <= run[0] <= "\ud7a3" or not pairs else pairs


def _keep_character(char: str) -> str:
    """Return a character if words may contain it, "" if it is invisible, or else a blank."""
    if char.isalnum() or char in "_.-/\\:":
        return char
    category = unicodedata.category(char)
    if category == "Cf" or "\ufe00" <= char <= "\ufe0f":
        return ""
    return char if category[0] == "M" else " "


@cache
def _shares() -> dict[str, float]:
    table = read_words("document_frequencies.txt")
    return {term: float(share) for share, terms in table.items() for term in terms}


def get_share(term: str) -> float | None:
    """Return the share of passages that contain a term, or None for a term without an entry.

    A passage has about 150 terms. ``term`` is a term as ``analyze`` returns it.
    """
    return _shares().get(term)


LATIN, OTHER, HANGUL, KANA, HAN, UNKNOWN = "latin", "other", "hangul", "kana", "han", "unknown"
BIGRAM_SCRIPTS = frozenset({HANGUL, KANA, HAN})
"""The scripts of Korean, Japanese and Chinese, whose terms are pairs of characters."""
_LETTERS = {HANGUL: 3, KANA: 3, HAN: 3, UNKNOWN: 3}
"""The number of letters of an alphabet that contain as much information as one character."""
_JAPANESE = 0.1
"""A text is Japanese if it has more than this number of Kana per Han character."""


def find_script(words: Iterable[str]) -> str:
    """Return the prevailing script of words: LATIN, OTHER, UNKNOWN or one of BIGRAM_SCRIPTS."""
    counts: Counter[str] = Counter()
    for word in words:
        if word.isascii():
            counts[LATIN] += len(word)
            continue
        for char in word:
            script = _script_of(char)
            counts[script] += _LETTERS.get(script, 1)
    if counts[KANA] > _JAPANESE * counts[HAN]:
        counts[KANA] += counts.pop(HAN, 0)
    return max(counts, key=counts.__getitem__, default=LATIN)


def find_script_of_word(word: str) -> str:
    """Return the script of a word. The highest code point of a mixed word determines its script."""
    return _script_of(max(word))


def _script_of(char: str) -> str:
    if char < "\u0250":
        return LATIN
    if char < "\u0e00":
        return OTHER
    if "\u3041" <= char <= "\u30ff":
        return KANA
    if "\u4e00" <= char <= "\u9fff":
        return HAN
    return HANGUL if "\uac00" <= char <= "\ud7a3" else UNKNOWN
