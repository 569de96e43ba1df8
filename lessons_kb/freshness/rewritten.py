"""Find out whether a file of today contains what a card is about, although its files are gone.

Code that is rewritten elsewhere keeps much of its vocabulary, even where it keeps none of its
names.
"""

from __future__ import annotations

import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from lessons_kb.cards.anchors import find_names_in_code
from lessons_kb.process.git_history import (
    list_added_blobs,
    list_blobs,
    pick_words,
    read_objects,
    read_text_objects,
)
from lessons_kb.store.file_history import FileHistory, Match

_LEAST_SHARE = 0.33
_LEAST_FILE_SHARE = 0.45
_LEAST_NAMES_SHARE = 1e-9
"""The shares of the words of a card, of the words of a removed file, and of the names in the code
of a card that one file must have. Rare words count more, and one name is enough.

They were chosen with the cards of ``benchmarks/judged/gone_cards.jsonl``, sets 1 to 4. Set 5 was
judged afterwards.
"""
_MOST_AHEAD = 10_000
"""The number of files of HEAD that are searched although it is not yet known whether a card needs
it.
"""
_SHORTEST_WORD = 3
_ALL_BYTES = [bytes([number]) for number in range(256)]
_LOWER = b"".join(byte.lower() if byte.isalpha() else b" " for byte in _ALL_BYTES)
"""A table for ``bytes.translate`` that makes letters small, and replaces the rest by spaces."""
_METADATA = re.compile(r"(?m)^(?:##|diff --git |index |--- |\+\+\+ |@@ ).*$")
"""Matches the headings of sections, which most cards share, and the headers of a diff."""

K = TypeVar("K", bound=Hashable)


class RewrittenCode:
    """The files of HEAD that contain what cards are about. Each file is compared once."""

    def __init__(self, top: str, history: FileHistory, excluded: Sequence[str]) -> None:
        """``excluded`` are folders, relative to the top, whose files are left out."""
        self._top = top
        self._history = history
        self._excluded = excluded
        self._searched: AbstractSet[str] | None = None
        self._found: Sequence[tuple[str, Sequence[str]]] = ()
        """The words that were searched last, and which of them each file of HEAD has."""

    def read_ahead(self, bodies: Iterable[str]) -> None:
        """Search HEAD for the words of cards that may be passed to ``find``. Raises GitError.

        In a large HEAD nothing is searched, because ``find`` may not need it.
        """
        texts = [words for body in bodies for words in _list_card_words(body)]
        if texts:
            self._search(frozenset[str]().union(*texts), most=_MOST_AHEAD)

    def find(self, bodies: Mapping[K, str], removed: Mapping[K, Iterable[str]]) -> set[K]:
        """Return the cards of which HEAD has a file about the same thing.

        ``bodies`` are the texts of cards, and ``removed`` the files that were removed, as
        COMMIT:PATH. HEAD has such a file if it has a name in the code of the card, or shares
        enough words with the card or a removed file. If git cannot read all files, each card may
        have one.
        """
        if not bodies:
            return set()
        texts: dict[str, frozenset[str]] = {}
        wanted: list[tuple[K, str, float]] = []
        for key, body in bodies.items():
            shares = (_LEAST_NAMES_SHARE, _LEAST_SHARE)
            for own, least in zip(_list_card_words(body), shares, strict=True):
                name = f"{zlib.crc32(' '.join(sorted(own)).encode('utf-8', 'replace')):x}"
                texts[name] = own
                wanted.append((key, name, least))
        matches = dict(self._update(self._history.read_matches()))
        if not self._add_matches(matches, texts):
            return set(bodies)
        found = {key for key, name, least in wanted if matches[name].share >= least}
        # Removed files are compared only if they decide about a card.
        files = [(key, name) for key in bodies for name in removed.get(key, ()) if key not in found]
        unread = sorted({name for _key, name in files} - matches.keys())
        objects = [name.encode("utf-8", "surrogateescape") for name in unread]
        contents = map(_list_words, read_objects(self._top, objects))
        if not self._add_matches(matches, dict(zip(unread, contents, strict=True))):
            return set(bodies)
        found |= {key for key, name in files if matches[name].share >= _LEAST_FILE_SHARE}
        used = texts.keys() | {name for _key, name in files}
        self._history.write_matches({name: matches[name] for name in used})
        return found

    def _add_matches(self, matches: dict[str, Match], texts: Mapping[str, frozenset[str]]) -> bool:
        """Add the matches of texts, given their words. Return False if git lacks some files."""
        new = {name: words for name, words in texts.items() if name not in matches}
        if new:
            found = self._search(frozenset[str]().union(*new.values()))
            if found is None:
                return False
            matches |= _find_matches(new, found)
        return True

    def _search(
        self, words: AbstractSet[str], *, most: int = sys.maxsize
    ) -> Sequence[tuple[str, Sequence[str]]] | None:
        """Return the blob of each file of HEAD, and which of the words it has.

        The result may have more words. It is None if git lacks some files, or HEAD has more than
        ``most``. Raises GitError.
        """
        if self._searched is None or not words <= self._searched:
            blobs = list_blobs(self._top, self._excluded)
            if blobs is None or len(blobs) > most:
                return None
            self._found = list(_find_words(words, read_text_objects(self._top, blobs)))
            self._searched = words
        return self._found

    def _update(self, matches: Mapping[str, Match]) -> Mapping[str, Match]:
        """Return the matches in HEAD, given those in the HEAD that was compared last.

        A match whose file was changed or removed since is left out.
        """
        last, head = self._history.compared_head, self._history.head
        if not matches or last == head:
            return matches
        removed = set(list_added_blobs(self._top, last, base=head, excluded=self._excluded))
        added = list_added_blobs(self._top, head, base=last, excluded=self._excluded)
        kept = {name: match for name, match in matches.items() if match.blob not in removed}
        if not added:
            return kept
        words = frozenset(word for match in kept.values() for word in match.counts)
        return _improve(kept, _find_words(words, read_text_objects(self._top, added)))


def _find_matches(
    texts: Mapping[str, frozenset[str]], files: Sequence[tuple[str, Sequence[str]]]
) -> dict[str, Match]:
    """Return the file that has the largest share of the words of each text.

    ``files`` are the blobs of HEAD, each with words that it has.
    """
    counts = Counter(word for _blob, present in files for word in present)
    matches: dict[str, Match] = {}
    for name, words in texts.items():
        own = {word: counts[word] for word in words}
        matches[name] = Match(share=0.0, blob="", files=len(files), counts=own)
    return _improve(matches, files)


def _find_words(
    wanted: AbstractSet[str], files: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name of each blob, and which of the wanted words and names it has.

    A name of several words has a capital letter or an underscore, which no word has.
    """
    encoded = {word.encode("utf-8", "replace"): word for word in wanted}
    words = {word for word in encoded if word.isalpha() and word.islower()}
    names = encoded.keys() - words
    for blob, content in files:
        present = pick_words(content.translate(_LOWER), words)
        if names:
            present |= pick_words(content, names)
        yield blob, tuple(encoded[word] for word in present)


def _list_card_words(body: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names in the code of a card, and the words of its text."""
    text = _METADATA.sub("", body).encode("utf-8", "replace")
    return find_names_in_code(body), _list_words(text)


def _list_words(content: bytes) -> frozenset[str]:
    """Return the words of a text: the longer sequences of ASCII letters, in lower case."""
    words = content.translate(_LOWER).decode("ascii").split()
    return frozenset(word for word in words if len(word) >= _SHORTEST_WORD)


def _improve(
    matches: Mapping[str, Match], files: Iterable[tuple[str, Sequence[str]]]
) -> dict[str, Match]:
    """Return the matches, or better ones among ``files``: the names of blobs and their words."""
    names = list(matches)
    best = list(matches.values())
    owners: dict[str, list[tuple[int, float]]] = {}
    for number, match in enumerate(best):
        for word, weight in _weigh(match).items():
            owners.setdefault(word, []).append((number, weight))
    for blob, present in files:
        shares = [0.0] * len(best)
        for word in present:
            for number, weight in owners.get(word, ()):
                shares[number] += weight
        for number, share in enumerate(shares):
            if share > best[number].share:
                best[number] = best[number]._replace(share=share, blob=blob)
    return dict(zip(names, best, strict=True))


def _weigh(match: Match) -> dict[str, float]:
    """Return the weights of the words of a text: the fewer files have one, the more it counts.

    Together they are 1.
    """
    files = match.files + 1
    weights = {word: math.log(files / (max(n, 1) + 0.5)) for word, n in match.counts.items()}
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()} if total > 0 else {}
