"""Find out whether a file of today contains what a card is about, although its files are gone.

Code that is rewritten elsewhere keeps much of its vocabulary, even where it keeps none of its
names.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from lessons_kb.process.git_history import list_added_blobs, list_blobs, read_text_objects
from lessons_kb.store.file_history import FileHistory, Match

_LEAST_SHARE = 0.33
_LEAST_FILE_SHARE = 0.45
"""The shares of the words of a card, and of a removed file, that one file must have. Rare words
count more.

They were chosen with the cards of ``benchmarks/judged/gone_cards.jsonl``, sets 1 to 4. Set 5 was
judged afterwards.
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

    def find(self, bodies: Mapping[K, str], removed: Mapping[K, Iterable[bytes]]) -> set[K]:
        """Return the cards of which HEAD has a file about the same thing.

        ``bodies`` are the texts of cards, and ``removed`` the contents of the files that were
        removed. HEAD has such a file if it shares enough words with one of these.
        """
        if not bodies:
            return set()
        texts: dict[str, frozenset[str]] = {}
        wanted: list[tuple[K, str, float]] = []
        for key, body in bodies.items():
            parts = [(_METADATA.sub("", body).encode("utf-8", "replace"), _LEAST_SHARE)]
            parts += [(content, _LEAST_FILE_SHARE) for content in removed.get(key, ())]
            for content, least in parts:
                words = frozenset(_split(content))
                texts[_name(words)] = words
                wanted.append((key, _name(words), least))
        matches = self._update(self._history.read_matches())
        new = {name: words for name, words in texts.items() if name not in matches}
        if new:
            blobs = list_blobs(self._top, self._excluded)
            matches |= _find_matches(new, read_text_objects(self._top, blobs))
        self._history.write_matches({name: matches[name] for name in texts})
        return {key for key, name, least in wanted if matches[name].share >= least}

    def _update(self, matches: Mapping[str, Match]) -> dict[str, Match]:
        """Return the matches in HEAD, given those in the HEAD that was compared last.

        A match whose file was changed or removed since is left out.
        """
        last, head = self._history.compared_head, self._history.head
        if not matches or last == head:
            return dict(matches)
        removed = set(list_added_blobs(self._top, last, base=head, excluded=self._excluded))
        added = list_added_blobs(self._top, head, base=last, excluded=self._excluded)
        kept = {name: match for name, match in matches.items() if match.blob not in removed}
        weights = {name: _weigh(match) for name, match in kept.items()}
        for blob, content in read_text_objects(self._top, added):
            present = set(_split(content))
            for name, match in kept.items():
                share = sum(weights[name].get(word, 0.0) for word in present)
                if share > match.share:
                    kept[name] = match._replace(share=share, blob=blob)
        return kept


def _find_matches(
    texts: Mapping[str, frozenset[str]], files: Iterable[tuple[str, bytes]]
) -> dict[str, Match]:
    """Return the file that has the largest share of the words of each text.

    ``files`` are the names and contents of blobs.
    """
    wanted = frozenset[str]().union(*texts.values())
    counts: Counter[str] = Counter()
    found: list[tuple[str, tuple[str, ...]]] = []
    for blob, content in files:
        present = wanted.intersection(_split(content))
        counts.update(present)
        found.append((blob, tuple(present)))
    matches = {}
    owners: dict[str, list[tuple[str, float]]] = {}
    for name, words in texts.items():
        own = {word: counts[word] for word in words}
        matches[name] = Match(share=0.0, blob="", files=len(found), counts=own)
        for word, weight in _weigh(matches[name]).items():
            owners.setdefault(word, []).append((name, weight))
    for blob, present_words in found:
        shares: dict[str, float] = {}
        for word in present_words:
            for name, weight in owners[word]:
                shares[name] = shares.get(name, 0.0) + weight
        for name, share in shares.items():
            if share > matches[name].share:
                matches[name] = matches[name]._replace(share=share, blob=blob)
    return matches


def _weigh(match: Match) -> dict[str, float]:
    """Return the weights of the words of a text: the fewer files have one, the more it counts.

    Together they are 1.
    """
    files = match.files + 1
    weights = {word: math.log(files / (max(n, 1) + 0.5)) for word, n in match.counts.items()}
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()} if total > 0 else {}


def _name(words: Iterable[str]) -> str:
    """Return a checksum under which the match of a text with these words is stored."""
    return f"{zlib.crc32(' '.join(sorted(words)).encode()):x}"


def _split(content: bytes) -> Iterator[str]:
    """Yield the words of a text: the sequences of ASCII letters, in lower case."""
    for word in content.translate(_LOWER).decode("ascii").split():
        if len(word) >= _SHORTEST_WORD:
            yield word
