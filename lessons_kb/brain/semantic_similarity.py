"""Semantic similarity: the vectors of a brain's files, and the files most similar to a text.

This module is imported only where the extra ``[semantic]`` is installed and not turned off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from lessons_kb.brain.search_index import SearchIndex
from lessons_kb.brain.write_index import read_document
from lessons_kb.config import Gate, Semantic
from lessons_kb.errors import ModelMissing, StorageError
from lessons_kb.model import NOTE, Card, Hit
from lessons_kb.search.embeddings import (
    FARTHEST,
    NEAR_DUPLICATE,
    NEAREST,
    Floats,
    Model,
    Vectors,
    compute_most,
    find_model,
    judge_meaning,
    open_model,
    open_packaged_model,
    widen,
)
from lessons_kb.values import frozen

_BATCH = 16
"""The number of files that are encoded and stored at once."""
_COMPLETE = 0.9
"""The share of the files that must have vectors before similarity is used."""
_MAX_SYMPTOMS = 8
"""The maximum number of symptoms of a card that get a vector each."""


@frozen
class Loaded:
    """The vectors of a brain as one matrix."""

    numbers: list[int]
    """The files that have vectors, in the order of their rows."""
    places: dict[int, int]
    """Maps the number of a file to its place in ``numbers``."""
    titles: Floats
    """The vectors of the titles, one row per file."""
    starts: list[int]
    """The first row of each file in ``rows``."""
    rows: Floats
    """The vectors of all other passages."""
    files: int
    """The number of files in the index, with and without vectors."""


class Nearness:
    """The similarity of each file of a brain to a text, as the cosine of its nearest passage."""

    def __init__(self, loaded: Loaded, query: Floats) -> None:
        self._loaded = loaded
        self._cosines = np.maximum.reduceat(loaded.rows @ query, loaded.starts)
        self._mean = float(self._cosines.mean())

    def of(self, number: int) -> float | None:
        """Return the cosine of a file, or None if it has no vector."""
        place = self._loaded.places.get(number)
        return None if place is None else float(self._cosines[place])

    def nearest(self, count: int) -> list[tuple[int, float]]:
        """Return the nearest files with their cosines, the best first."""
        order = np.argsort(-self._cosines, kind="stable")[:count]
        return [(self._loaded.numbers[place], float(self._cosines[place])) for place in order]

    def add_to(
        self,
        scores: Mapping[int, float],
        between: tuple[float, float],
        *,
        terms: Mapping[str, float],
        frequencies: Mapping[str, int],
        size: int,
    ) -> dict[int, float]:
        """Return a mapping from numbers to the increases of the BM25 score by similarity.

        The result contains the files in ``scores``, and the nearest files whose numbers are
        ``between`` two limits, both exclusive.
        """
        least, most = between
        nearest = [pair for pair in self.nearest(4 * NEAREST) if least < pair[0] < most]
        cosines = {number: self.of(number) for number in scores}
        cosines |= {number: cosine for number, cosine in nearest[:NEAREST] if cosine >= FARTHEST}
        above = {n: cosine - self._mean for n, cosine in cosines.items() if cosine is not None}
        return widen(scores, above, most=compute_most(terms, frequencies, size))

    def judge(self, hits: Sequence[Hit], numbers: Mapping[str, int], gate: Gate) -> list[Hit]:
        """Return hits that were judged by their words, judged again with their similarity."""
        cosines = {card: self.of(number) for card, number in numbers.items()}
        return judge_meaning(hits, cosines, gate)


class Meaning:
    """The vectors of an index. Callers hold the lock of the index."""

    def __init__(self, index: SearchIndex, settings: Semantic) -> None:
        self.settings = settings
        self.trouble = ""
        """Why similarity is not used although it is enabled, or "" if it is used."""
        self._index = index
        self._ready: tuple[Model, Vectors] | None = None
        self._loaded: tuple[object, Loaded] | None = None
        self._absent: tuple[object, dict[str, str]] | None = None
        """The last result of `_find_absent`, with the state of the index and vectors before it."""
        try:
            if settings.model:
                model = open_model(find_model(settings.model, root=index.root))
            else:
                model = open_packaged_model()
            self._ready = model, Vectors(index.cache, model.key)
        except (ModelMissing, StorageError) as error:
            self.trouble = str(error)

    def encode(
        self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Encode at most ``limit`` files that have no vectors. Return how many are left.

        Each batch is stored once it is complete. Raises StorageError if a write fails.
        """
        if self._ready is None:
            return 0
        _model, vectors = self._ready
        if limit is None:
            self._absent = None
        absent = self._find_absent(vectors)
        todo = list(absent)[:limit]
        for start in range(0, len(todo), _BATCH):
            self._encode(*self._ready, {d: absent[d] for d in todo[start : start + _BATCH]})
            if progress is not None:
                progress(min(start + _BATCH, len(todo)), len(todo))
        if limit is None:
            vectors.keep_only({digest for _n, digest in self._index.catalogue.numbers().values()})
        if todo:
            self._loaded = None
        return len(absent) - len(todo)

    def _find_absent(self, vectors: Vectors) -> dict[str, str]:
        """Return a mapping from the digests that have no vectors to their paths.

        All files are read again only if the index or the vectors have changed.
        """
        now = (self._index.state, vectors.version())
        if self._absent is None or self._absent[0] != now:
            files = self._index.catalogue.numbers().items()
            paths = {digest: path for path, (_number, digest) in files if digest}
            self._absent = now, {digest: paths[digest] for digest in vectors.find_absent(paths)}
        return self._absent[1]

    @property
    def key(self) -> str:
        """The digest of the model in use, or "" without a model."""
        return self._ready[0].key if self._ready is not None else ""

    def is_complete(self) -> bool:
        """Return whether nearly all files have vectors.

        Until then, files are found only by their words, because files without vectors could not
        compete.
        """
        loaded = self._load_current()
        if loaded is None:
            return False
        return len(loaded.numbers) >= _COMPLETE * loaded.files

    def near(self, text: str) -> Nearness | None:
        """Return each file's similarity to ``text``, or None without a text, a model or vectors."""
        if not self.is_complete():
            return None
        loaded, query = self._ask(text)
        return Nearness(loaded, query) if loaded is not None and query.any() else None

    def titled_like(self, title: str) -> list[tuple[Card, float]]:
        """Return the cards whose titles have nearly this meaning, with cosines, the best first."""
        loaded, query = self._ask(title)
        if loaded is None:
            return []
        cosines = zip(loaded.numbers, (loaded.titles @ query).tolist(), strict=True)
        similar = {number: cosine for number, cosine in cosines if cosine >= NEAR_DUPLICATE}
        cards = [(card, similar[number]) for number, card in self._index.cards(similar).items()]
        return sorted(cards, key=lambda pair: (-pair[1], pair[0].id))

    def _ask(self, text: str) -> tuple[Loaded | None, Floats]:
        """Return the vectors of the files, or None if there are none, and the vector of a text."""
        loaded = self._load_current() if text.strip() else None
        if self._ready is None or loaded is None:
            return None, np.zeros(0, dtype=np.float32)
        return loaded, self._ready[0].encode([text])[0]

    def _load_current(self) -> Loaded | None:
        """Return the current vectors of the files, or None if there are none."""
        if self._ready is None:
            return None
        vectors = self._ready[1]
        try:
            now = (self._index.state, vectors.version())
            if self._loaded is None or self._loaded[0] != now:
                self._loaded = (now, self._load(vectors))
        except StorageError:  # without its vectors, a brain is still searched by words
            return None
        return self._loaded[1] if self._loaded[1].numbers else None

    def close(self) -> None:
        """Release the files."""
        if self._ready is not None:
            self._ready[1].close()

    def _encode(self, model: Model, vectors: Vectors, paths: dict[str, str]) -> None:
        passages = {digest: self._read_passages(path, digest) for digest, path in paths.items()}
        all_rows = model.encode(list(chain.from_iterable(passages.values())))
        encoded, place = [], 0
        for digest, texts in passages.items():
            rows = all_rows[place : place + len(texts)]
            # The row of the title stays even if it is zero. A file without another row gets no
            # vector.
            is_used = [n == 0 or bool(row.any()) for n, row in enumerate(rows)]
            encoded.append((digest, rows[is_used] if sum(is_used) > 1 else rows[:0]))
            place += len(texts)
        vectors.add(encoded)

    def _read_passages(self, path: str, digest: str) -> list[str]:
        """Return the texts of a file that get a vector, or none if the file has changed.

        The title comes first, because near-duplicates are searched only by title. Each symptom gets
        its own vector, because it is worded like a task and is more similar to a task than a whole
        card is.
        """
        settings = self._index.settings
        limit = settings.index.max_file_bytes
        try:
            data, document = read_document(self._index.root, path, settings.folders, limit)
        except StorageError:
            return []
        card = document.card
        # If it changed a moment ago, its new digest will be requested.
        if card is None or hashlib.blake2b(data, digest_size=16).hexdigest() != digest:
            return []
        symptoms = () if card.kind == NOTE else card.symptoms[:_MAX_SYMPTOMS]
        return [card.title, document.fields.get("body", card.title), *filter(str.strip, symptoms)]

    def _load(self, vectors: Vectors) -> Loaded:
        files = list(self._index.catalogue.numbers().values())
        owners, rows = vectors.read([digest for _number, digest in files])
        firsts = [row for row, owner in enumerate(owners) if row == 0 or owners[row - 1] != owner]
        numbers = [files[owners[first]][0] for first in firsts]
        return Loaded(
            numbers=numbers,
            places={number: place for place, number in enumerate(numbers)},
            titles=rows[firsts],
            starts=[first - place for place, first in enumerate(firsts)],
            rows=np.delete(rows, firsts, axis=0),
            files=len(files),
        )
