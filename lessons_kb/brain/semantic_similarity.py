"""The meaning of a brain's files: vectors kept up to date, and what is near to a text.

Only for brains with ``[semantic] enabled = true``; nothing here is imported for the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lessons_kb.brain.open_index import SearchIndex
from lessons_kb.brain.search_index import read_document
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
    widen,
)
from lessons_kb.values import frozen

_BATCH = 16
_MAX_SYMPTOMS = 8


@frozen
class Loaded:
    """The vectors of a brain as one matrix."""

    numbers: list[int]
    """Of the files that have vectors, in the order of their rows."""
    places: dict[int, int]
    """Number → its place in ``numbers``."""
    titles: Floats
    """One row a file."""
    starts: list[int]
    """First row of each file in ``rows``."""
    rows: Floats
    """Of all passages."""


class Nearness:
    """How near each file of a brain is to one text, as cosines of its nearest passage."""

    def __init__(self, loaded: Loaded, query: Floats) -> None:
        self._loaded = loaded
        self._cosines = np.maximum.reduceat(loaded.rows @ query, loaded.starts)
        self._mean = float(self._cosines.mean())

    def of(self, number: int) -> float | None:
        """Return a file's cosine; None where it has no vector."""
        place = self._loaded.places.get(number)
        return None if place is None else float(self._cosines[place])

    def nearest(self, count: int) -> list[tuple[int, float]]:
        """Return the nearest files with their cosines, best first."""
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
        """Return number → what meaning adds to the BM25 scores, of the nearest files too.

        Of those, the ones with numbers ``between`` two.
        """
        least, most = between
        near = [(n, cosine) for n, cosine in self.nearest(4 * NEAREST) if least < n < most]
        found = {number: self.of(number) for number in scores}
        found |= {n: cosine for n, cosine in near[:NEAREST] if cosine >= FARTHEST}
        above = {n: cosine - self._mean for n, cosine in found.items() if cosine is not None}
        return widen(scores, above, most=compute_most(terms, frequencies, size))

    def judge(self, hits: Sequence[Hit], numbers: Mapping[str, int], gate: Gate) -> list[Hit]:
        """Return the hits, judged by words, with the verdict on words and meaning together."""
        return judge_meaning(hits, {card: self.of(n) for card, n in numbers.items()}, gate)


class Meaning:
    """The vectors of one index. Whoever uses it holds the index's lock."""

    def __init__(self, index: SearchIndex, settings: Semantic) -> None:
        self.settings = settings
        self.trouble = ""
        """Why meaning plays no part although it is enabled, "" when it does."""
        self._index = index
        self._ready: tuple[Model, Vectors] | None = None
        self._loaded: tuple[object, Loaded] | None = None
        try:
            model = open_model(find_model(settings.model, root=index.root))
            self._ready = model, Vectors(index.cache, model.key)
        except (ModelMissing, StorageError) as error:
            self.trouble = str(error)

    def encode(
        self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Encode files that have no vectors yet, at most ``limit``; return how many are left.

        Batches are kept as they are done. StorageError where the disk refuses.
        """
        if self._ready is None:
            return 0
        _model, vectors = self._ready
        numbers = self._index.catalogue.numbers()
        paths = {digest: path for path, (_number, digest) in numbers.items() if digest}
        absent = vectors.find_absent(paths)
        todo = absent if limit is None else absent[:limit]
        for start in range(0, len(todo), _BATCH):
            self._encode(*self._ready, {d: paths[d] for d in todo[start : start + _BATCH]})
            if progress is not None:
                progress(min(start + _BATCH, len(todo)), len(todo))
        if limit is None:
            vectors.keep_only(paths.keys())
        if todo:
            self._loaded = None
        return len(absent) - len(todo)

    def near(self, text: str) -> Nearness | None:
        """Return how near each file is to ``text``; None where nothing can be said of it."""
        loaded, query = self._ask(text)
        return Nearness(loaded, query) if loaded is not None and query.any() else None

    def titled_like(self, title: str) -> list[tuple[Card, float]]:
        """Return the cards whose titles mean nearly the same, with their cosines, best first."""
        loaded, query = self._ask(title)
        if loaded is None:
            return []
        cosines = zip(loaded.numbers, (loaded.titles @ query).tolist(), strict=True)
        alike = {number: cosine for number, cosine in cosines if cosine >= NEAR_DUPLICATE}
        found = [(card, alike[number]) for number, card in self._index.cards(alike).items()]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))

    def _ask(self, text: str) -> tuple[Loaded | None, Floats]:
        """Return the vectors and that of a text; none where there are none or no text."""
        if self._ready is None or not text.strip():
            return None, np.zeros(0, dtype=np.float32)
        model, vectors = self._ready
        try:
            now = (self._index.state, vectors.version())
            if self._loaded is None or self._loaded[0] != now:
                self._loaded = (now, self._load(vectors))
        except StorageError:  # what cannot be read costs likeness in meaning, never the answer
            return None, np.zeros(0, dtype=np.float32)
        loaded = self._loaded[1]
        return loaded if loaded.numbers else None, model.encode([text])[0]

    def close(self) -> None:
        """Release the files."""
        if self._ready is not None:
            self._ready[1].close()

    def _encode(self, model: Model, vectors: Vectors, paths: dict[str, str]) -> None:
        passages = {digest: self._read_passages(path, digest) for digest, path in paths.items()}
        rows = model.encode([text for texts in passages.values() for text in texts])
        found, place = [], 0
        for digest, texts in passages.items():
            own = rows[place : place + len(texts)]
            kept = [n == 0 or bool(row.any()) for n, row in enumerate(own)]
            found.append((digest, own[kept] if sum(kept) > 1 else own[:0]))
            place += len(texts)
        vectors.add(found)

    def _read_passages(self, path: str, digest: str) -> list[str]:
        """Return the texts whose vectors stand for a file; none of one that has changed.

        Its title comes first: near-duplicates are looked for by titles alone. A symptom is worded
        as a task would be, and is nearer to one than any whole card.
        """
        settings = self._index.settings
        limit = settings.index.max_file_bytes
        try:
            data, document = read_document(self._index.root, path, settings.folders, limit)
        except StorageError:
            return []
        card = document.card
        # If it changed a moment ago, its new digest will be asked for.
        if card is None or hashlib.blake2b(data, digest_size=16).hexdigest() != digest:
            return []
        symptoms = () if card.kind == NOTE else card.symptoms[:_MAX_SYMPTOMS]
        return [card.title, document.fields.get("body", card.title), *filter(str.strip, symptoms)]

    def _load(self, vectors: Vectors) -> Loaded:
        known = list(self._index.catalogue.numbers().values())
        owners, rows = vectors.read([digest for _number, digest in known])
        firsts = [n for n, owner in enumerate(owners) if n == 0 or owners[n - 1] != owner]
        numbers = [known[owners[first]][0] for first in firsts]
        return Loaded(
            numbers=numbers,
            places={number: place for place, number in enumerate(numbers)},
            titles=rows[firsts],
            starts=[first - place for place, first in enumerate(firsts)],
            rows=np.delete(rows, firsts, axis=0),
        )
