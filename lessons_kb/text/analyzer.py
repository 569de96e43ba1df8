"""Text → index terms: one analyzer for cards and queries.

The choices below were held against public retrieval sets in English, Korean and code. A text
that gives other terms than before needs a higher version.
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

_OWN_VERSION = 2
_MAJOR, _MINOR = map(int, Stemmer.version().split(".")[:2])
ANALYZER_VERSION = _OWN_VERSION * 10_000 + _MAJOR * 100 + _MINOR
"""Stored with an index, which is rebuilt when it differs: ours, and the stemmer's, for Snowball
corrects its rules from time to time."""

_ENGLISH = read_toml("stemming_exceptions.toml")
STOP_WORDS = frozenset(_ENGLISH["stop words"].split())
"""English function words and politeness. Words that are code as well (else, let, try …) stay."""

ONE_WORD_NAMES = frozenset(_ENGLISH["one-word names"].split())
"""Written with a capital inside, yet one word: JavaScript is not about Java."""

IRREGULAR = read_mapping("stemming_exceptions.toml")["irregular"]
"""Form → lemma, for what a suffix stemmer cannot see and failures are told in."""

MAX_WORD = 64
"""Letters and digits in a row; a longer run is encoded data that no one searches for."""

_SHORTEST = 2
"""A single Latin letter or digit says nothing; C++ and C# are read before it is looked at."""
_SHORTEST_HEAD = 3
"""python3 is about python too, es6 is not about es."""
_NUMERONYM = re.compile(r"[a-z][0-9]+[a-z]")
"""One word: e2e, i18n, k8s."""
_HASH_PARTS = 4
_HASH_PART = 3
"""Letters per part, or nearly: below it, case and digits change too often to be words."""

_LETTER = r"[^\x00-/:-@\[-`{-\x7f]"  # any non-ASCII too: a class of Unicode ranges compiles slowly
_JOINT = r"(?:[/\\]\.?_*|[.-]_*|::|_+[./\\]?)"
_COMPOUND = rf"{_LETTER}++(?:{_JOINT}{_LETTER}++)*+(?:\+\+|#)?"
_CAMEL = r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*"

_MARKS = "\u3001\u3002\u300c\u300d\u30fb\u2018\u2019\u201c\u201d\u2013\u2014\u2192"
"""The usual non-ASCII punctuation, taken out at once; `_kept` finds the rest one by one."""

_BOUNDS = [
    bound
    for first, last in read_mapping("bigram_scripts.toml")["ranges"].items()
    for bound in (int(first, 16), int(last, 16) + 1)
]


def analyze(text: str) -> list[str]:
    """Return the index terms of a text, in order, as often as they occur.

    NFKC, case and accents folded. Latin words: Snowball English stems without stop words and
    single letters; an identifier, dotted name or path gives its parts, then itself without
    separators (``get_user`` and ``getUser`` meet). Hangul, Kana, Han and the scripts of
    South-East Asia: character bigrams of each run, a run of one character as it is; a Hangul
    run also its first character, where a noun of one syllable stands before its particle.
    """
    return analyze_joined(text).split()


def analyze_joined(text: str) -> str:
    """Return the index terms of a text as `analyze` does, in one text with blanks between them."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for mark in _MARKS:
            text = text.replace(mark, " ")
    return " ".join(filter(None, map(_CHUNKS.__getitem__, _split_at_spaces(text))))


def _split_at_spaces(text: str) -> list[str]:
    """Return the chunks of a text between ASCII white space, across which no compound reaches.

    Other white space is a letter to the pattern of compounds.
    """
    if text.isascii():
        return text.split()
    for space in "\n\t\r":
        text = text.replace(space, " ")
    return text.split(" ")


def find_neighbours(text: str) -> list[tuple[str, str]]:
    """Return the pairs of index terms of a text that stand side by side, each once, in order.

    Of two neighbouring words: the last term of the first and the first term of the second, as
    `analyze` lists them one after the other. Parts of one identifier, or bigrams of one word, are
    no neighbours. Stop words between two words are passed over.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    words = filter(None, map(_TERMS.__getitem__, re.findall(_COMPOUND, text)))
    pairs = [(one[-1], other[0]) for one, other in pairwise(words) if one[-1] != other[0]]
    return list(dict.fromkeys(pairs))


_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:[.-][A-Za-z_$][\w$]*)*")
_SEVERAL_WORDS = re.compile(r"[a-z][A-Z]|_[A-Za-z]|[a-z0-9]-[a-z]|\w\.\w")


def find_names(text: str) -> set[str]:
    """Return the names of code in a text that are of several words: ``getUser``, ``get-user``.

    Of ``users.getUser`` the whole and its parts, if they are of several words.
    """
    found = set(_NAME.findall(text))
    found |= {part for name in found for part in re.split("[.-]", name)}
    return {name for name in found if _SEVERAL_WORDS.search(name)}


class _Terms(dict[str, tuple[str, ...]]):
    """Compound → its terms, worked out once per process: texts repeat their words."""

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
    """Chunk of a text without white space → its terms with blanks between them.

    To look a chunk up, its comma included, takes a tenth of the time of finding its compounds.
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
    # A Stemmer is not safe to share between threads; a new one costs less than one word.
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
        for word in words:  # with a point between digits: 1.2 is not 12
            gap = "." if whole[-1:].isdigit() and word[:1].isdigit() else ""
            whole += gap + word.lower()
        if len(whole) <= MAX_WORD and whole not in STOP_WORDS and (terms or "/" not in piece):
            terms.append(stem(whole))
    return terms


def _split_camel(word: str) -> list[str]:
    lower = word.lower()
    if word == lower and (word.isalpha() or word.isdigit()):
        return [word]
    if lower in ONE_WORD_NAMES or _NUMERONYM.fullmatch(lower):
        return [lower]
    parts = re.findall(_CAMEL, lower if word.isupper() else word)
    if len(parts) >= _HASH_PARTS and len(word) < _HASH_PART * len(parts) - 2:
        return [lower]
    return [part.lower() for part in parts]


def _terms_of_unicode(piece: str) -> list[str]:
    low, high = min(piece), max(piece)
    if (low >= "\u3041" and high <= "\u9fff") or (low >= "\uac00" and high <= "\ud7a3"):
        return _bigrams(piece)
    terms: list[str] = []
    # Marks on Latin and Greek letters alone are dropped: elsewhere a mark is a letter.
    apart = unicodedata.normalize("NFD", piece)
    plain = re.sub("([A-Za-z\u0370-\u03ff])[\u0300-\u036f]+", r"\1", apart)
    for word in "".join(map(_kept, unicodedata.normalize("NFC", plain))).split():
        for dense, group in groupby(word, lambda char: bisect_right(_BOUNDS, ord(char)) % 2):
            run = "".join(group)
            if dense:
                terms += _bigrams(run)
            elif run.isascii() or (run := run.casefold()).isascii():
                terms += analyze(run)
            else:
                words = [w for w in re.split(_JOINT, run) if _SHORTEST <= len(w) <= MAX_WORD]
                terms += words if len(words) <= 1 else [*words, "".join(words)[:MAX_WORD]]
    return terms


def _bigrams(run: str) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [run[0], *pairs] if "\uac00" <= run[0] <= "\ud7a3" or not pairs else pairs


def _kept(char: str) -> str:
    """Return a character of a word, "" for an invisible one, a space for any other."""
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
    """Return the share of passages that hold a term, None for one that is not listed.

    A passage has about 150 terms; a term is written as the analyzer gives it.
    """
    return _shares().get(term)


LATIN, OTHER, HANGUL, KANA, HAN, UNKNOWN = "latin", "other", "hangul", "kana", "han", "unknown"
BIGRAM_SCRIPTS = frozenset({HANGUL, KANA, HAN})
"""Those of Korean, Japanese and Chinese, whose terms are pairs of characters."""
_LETTERS = {HANGUL: 3, KANA: 3, HAN: 3, UNKNOWN: 3}
"""Letters of an alphabet that say as much as one character."""
_JAPANESE = 0.1
"""Kana for each Han character from which a text is Japanese."""


def find_script(words: Iterable[str]) -> str:
    """Return the script of most of some words: LATIN, OTHER alphabets, or one of the pairs'."""
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
    """Return the script of a word; that of its last character in Unicode's order, if mixed."""
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
