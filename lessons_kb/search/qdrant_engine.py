"""Qdrant as an engine: a cluster that many machines search, or the same code embedded in a folder.

Two collections form one index. The first has a point with a sparse vector for each card, and the
payload of the point contains the card's terms and labels. The second, ``…~statistics``, has a
single point, the head. The head contains the number of the commit, the mean lengths, a digest of
all cards, and a mark while a change is running. If the process is killed, the mark stays until the
next change is complete.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
import warnings
import weakref
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from qdrant_client import QdrantClient
from qdrant_client import models as qdrant
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from lessons_kb.errors import EngineUnreachable, IndexBroken, IndexBusy, StorageError
from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import (
    CardTerms,
    Engine,
    Reader,
    Terms,
    check_stamp,
    fetch_with_ties,
    join_terms,
    make_folder,
    order_hits,
    plain_term,
    read_terms,
    refused_error,
)
from lessons_kb.search.sparse_vectors import build_vector, find_dimension, sum_up
from lessons_kb.text.analyzer_version import ANALYZER_VERSION

_SIGN, _WRAP = 1 << 63, 1 << 64
"""The ids of points are unsigned."""
_FORBIDDEN = (401, 403)
_MISSING = 404
_TIMEOUT_SECONDS = 30

FORMAT = 2
VERSIONS = f"{FORMAT} {ANALYZER_VERSION}"
"""The versions that are stored in the head. Vectors of another analyzer cannot be searched."""
LABELS = ("id", "kind", "project", "stage", "severity", "status", "hash")
"""The labels of a card. A server has an index for each label."""
_VECTOR = "bm25"
_BESIDE = "~statistics"
_HEAD = 0
"""The number of the head's point."""
_NEW_HEAD: Mapping[str, Any] = {
    "commit": 0,
    "run": "",
    "pending": "",
    "size": 0,
    "digest": "0",
    "lengths": {},
    "means": {},
}
_MOST_DRIFT = 0.1
"""The share by which a mean length may change before all vectors are computed again."""
_REQUEST_BYTES, _REQUEST_POINTS = 4_000_000, 256
"""The limits of one request. A server refuses bodies above 32 MB."""

_Fields = dict[str, str]
"""A mapping from each field to its terms in order, separated by single spaces. Empty fields are
left out."""


class Store:
    """A client that all engines of this process share for one location."""

    def __init__(self, client: QdrantClient) -> None:
        self.client = client
        self.lock = threading.Lock()
        """The lock that an engine acquires while it writes."""
        weakref.finalize(self, client.close)


_folders: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
"""A mapping from each folder to its store, since only one client can open a folder."""
_opening = threading.Lock()


def open_store(location: str, *, create: bool, key: str) -> Store:
    """Return the client of a folder or of the URL of a server.

    Raises IndexBroken if a folder contains no index and ``create`` is false, and StorageError if
    the index cannot be opened.
    """
    if "://" in location:
        with warnings.catch_warnings():
            # The client warns of a key over plain http; callers allow that for loopback only.
            warnings.simplefilter("ignore", UserWarning)
            client = QdrantClient(
                url=location,
                api_key=key or None,
                timeout=_TIMEOUT_SECONDS,
                check_compatibility=False,
            )
            return Store(client)
    real = os.path.realpath(location)
    make_folder(real, "meta.json", create=create)
    with _opening:
        store = _folders.get(real)
        if store is None:
            # SQLite's check of threads concerns connections. Here, threads use a lock or only read.
            store = Store(QdrantClient(path=real, force_disable_check_same_thread=True))
            _folders[real] = store
        return store


@contextmanager
def translating(location: str) -> Iterator[None]:
    """Raise errors of the library as our errors."""
    try:
        yield
    except StorageError:
        raise
    except UnexpectedResponse as error:
        code = error.status_code
        if code in _FORBIDDEN:
            raise EngineUnreachable(
                f"{location} refuses the key ({code}); set LESSONS_SYNC_KEY to a valid one"
            ) from None
        answer = f"{location} answers {code} {error.reason_phrase}"
        if code == _MISSING:
            raise IndexBroken(answer) from None
        raise EngineUnreachable(f"{answer}; try again later") from None
    except ApiException as error:
        why = str(getattr(error, "source", error)).partition("\n")[0]
        raise EngineUnreachable(
            f"{location} does not answer ({why}); check the address and that it runs"
        ) from None
    except OSError as error:
        raise refused_error(location, error.strerror or error) from None
    except Exception as error:  # a damaged folder can cause any error in the library
        if "already accessed" in str(error):
            raise IndexBusy(
                f"{location} is used by another process; try again when it has ended"
            ) from None
        why = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise IndexBroken(f"the index in {location} cannot be used ({why})") from None


class QdrantEngine(Engine):
    """An index in a collection of its own; see ``Engine`` for the contract.

    Threads may share it. A folder belongs to one process at a time; the others get IndexBusy. A
    server has no such lock; of two simultaneous writers, one gets IndexBusy.
    """

    # These values belong to the commit that was read last. `reload` resets them.
    _head: dict[str, Any]
    _terms: dict[int, CardTerms] | None
    """The terms of every card, or None until they are needed."""

    def __init__(
        self, location: str, *, create: bool, collection: str = "lessons", key: str = ""
    ) -> None:
        """Open the collection at ``location``, a folder or the URL of a server.

        Raises the errors of ``open_engine``, and EngineUnreachable if a server does not answer.
        """
        self.location = location
        self._cards, self._beside = collection, collection + _BESIDE
        with translating(location), ExitStack() as on_failure:
            self._store = open_store(location, create=create, key=key)
            on_failure.callback(self.close)
            self._prepare(create=create)
            on_failure.pop_all()

    def _prepare(self, *, create: bool) -> None:
        client, place = self._client, f"{self._cards} in {self.location}"
        if not client.collection_exists(self._beside):
            if client.collection_exists(self._cards):
                raise StorageError(f"{place} is another program's; choose another name")
            if not create:
                raise IndexBroken(f"no index {place}")
            client.create_collection(self._beside, vectors_config={})
            self._put_head({"versions": VERSIONS, **_NEW_HEAD})
        self.reload()
        if self._head["versions"] != VERSIONS:
            raise IndexBroken(f"{place} is of another version")
        if not create and self._head["pending"]:
            raise IndexBroken(f"a change to {place} was not completed")
        if not client.collection_exists(self._cards):
            if not create or self._head["size"]:
                raise IndexBroken(f"no collection {place}")
            idf = qdrant.SparseVectorParams(modifier=qdrant.Modifier.IDF)
            client.create_collection(
                self._cards, vectors_config={}, sparse_vectors_config={_VECTOR: idf}
            )
        for label in LABELS if create and "://" in self.location else ():
            client.create_payload_index(self._cards, label, qdrant.PayloadSchemaType.KEYWORD)

    @property
    def _client(self) -> QdrantClient:
        return self._store.client

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Terms]]],
        removed: Iterable[int] = (),
        *,
        labels: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        """Commit these changes at once. A document with an existing number is replaced.

        ``labels`` maps a number to the labels of the card.
        """
        with self._writing():
            cards: dict[int, _Fields] = {}
            for number, fields in added:
                texts = {field: join_terms(fields.get(field, ())) for field in FIELDS}
                cards[number] = {field: text for field, text in texts.items() if text}
            with translating(self.location):
                self._commit(cards, set(removed) - cards.keys(), labels or {})

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with their scores, best first.

        Equal scores are ordered by number.
        """
        values: dict[int, float] = defaultdict(float)
        for field, weight in weights.items():
            if weight <= 0 or field not in FIELDS:
                continue
            for term, count in terms.items():
                plain = plain_term(term)
                if count > 0 and plain:
                    values[find_dimension(field, plain)] += weight * count
        if limit < 1 or not values:
            return []
        query = qdrant.SparseVector(indices=list(values), values=list(values.values()))

        def fetch(most: int) -> list[tuple[Any, float]]:
            answer = self._client.query_points(
                self._cards, query=query, using=_VECTOR, limit=most, with_payload=False
            )
            return [(point.id, float(point.score)) for point in answer.points]

        with translating(self.location):
            hits = [(_number_of(point), score) for point, score in fetch_with_ties(fetch, limit)]
        return order_hits((hit for hit in hits if hit[1] > 0), limit)

    def document_frequencies(self, terms: Iterable[str], field: str = "body") -> dict[str, int]:
        """Return a mapping from each term to the number of cards with it in ``field``.

        Terms without a card have the number 0.
        """
        texts = [card.get(field, "") for card in self._read_terms().values()]
        return {term: sum(f" {plain_term(term)} " in text for text in texts) for term in terms}

    def documents(self, numbers: Iterable[int]) -> dict[int, CardTerms]:
        """Return the terms of the card with each number, if it exists."""
        terms = self._read_terms()
        return {number: terms[number] for number in numbers if number in terms}

    def _read_terms(self) -> dict[int, CardTerms]:
        """Return the terms of every card.

        This is slow, so a brain uses its local index instead.
        """
        if self._terms is None:
            with translating(self.location):
                cards = self._scroll(["fields"])
                self._terms = {number: read_terms(card["fields"]) for number, card in cards}
        return self._terms

    def size(self) -> int:
        """Return the number of live cards."""
        return int(self._head["size"])

    def labels(self) -> dict[int, dict[str, Any]]:
        """Return a mapping from the number of each card to its labels."""
        with translating(self.location):
            return dict(self._scroll(list(LABELS)))

    def is_changing(self) -> bool:
        """Return whether a change was running, or had been interrupted, when the head was read."""
        return bool(self._head["pending"])

    def digest(self) -> int:
        """Return the committed digest of all cards: ``sum_up`` of their labels ``hash``."""
        return int(self._head["digest"])

    def compact(self) -> None:
        """Compute every vector again with the current mean lengths."""
        with self._writing(), translating(self.location):
            self._commit({}, set(), {}, rewrite=True)

    def stamp(self) -> str:
        """Return a text that identifies the last commit and the data stored with it."""
        return f"{self._head['commit']} {zlib.crc32(self._head['run'].encode())}"

    def verify(self, stamp: str, *, whole: bool = True) -> None:
        """Raise IndexBroken unless the stored data is that of the commit ``stamp`` or a later one.

        ``whole`` reads the hash of every card.
        """
        check_stamp(self.stamp(), stamp)
        if whole:
            hashes = {number: labels.get("hash", "") for number, labels in self.labels().items()}
            if len(hashes) != self.size() or sum_up(hashes) != self.digest():
                raise IndexBroken(f"{self.location} holds {len(hashes)} cards, not {self.size()}")

    def reload(self) -> None:
        """Read the latest commit of any process."""
        self._terms = None
        with translating(self.location):
            points = self._client.retrieve(self._beside, [_HEAD])
        if not points:
            raise IndexBroken(f"{self._beside} in {self.location} has no head")
        self._head = dict(points[0].payload or {})

    @staticmethod
    def drop(location: str, *, collection: str, key: str = "") -> None:
        """Delete an index of ours that cannot be opened, such as one of another version."""
        with translating(location):
            store = open_store(location, create=False, key=key)
            # The statistics prove that the index is ours. They are deleted last, so that the
            # deletion can be repeated after an interruption.
            for name in (collection, collection + _BESIDE):
                store.client.delete_collection(name)

    def with_edits(self, edited: Mapping[int, CardTerms]) -> Reader:  # noqa: ARG002
        """Return the index unchanged, since a cluster has only committed cards."""
        return self

    def close(self) -> None:
        """Release files and memory. No other method may be called afterwards."""
        del self._store

    def _commit(
        self,
        added: Mapping[int, _Fields],
        removed: Collection[int],
        labels: Mapping[int, Mapping[str, Any]],
        *,
        rewrite: bool = False,
    ) -> None:
        """Mark the head as changing, write the cards, and write the new head.

        With ``rewrite``, or if a mean length has changed much, the vectors of all cards are
        written.
        """
        self.reload()
        run = uuid.uuid4().hex
        head = self._head
        was_interrupted = bool(self._head["pending"])
        self._put_head({**head, "run": run, "pending": run}, over=head)
        old, totals = self._read_replaced({*added, *removed}, head, count_all=was_interrupted)
        new = [(n, {**labels.get(n, {}), "fields": fields}) for n, fields in added.items()]
        totals = totals.replace(_count(old), _count(new))
        current = {field: totals.lengths[field] / totals.size for field in FIELDS if totals.size}
        means = head["means"]
        if rewrite or was_interrupted or _has_drifted(means, current):
            means, rewrite = current, True
        if removed:
            gone: list[int | str | uuid.UUID] = [number % _WRAP for number in removed]
            self._client.delete(self._cards, qdrant.PointIdsList(points=gone), wait=True)
        self._write(new, means)
        if rewrite and totals.size > len(new):
            others = [card for card in self._scroll(None) if card[0] not in added]
            self._write(others, means)
        changing = self._head
        committed = {
            **changing,
            "commit": changing["commit"] + 1,
            "pending": "",
            "means": means,
            "size": totals.size,
            "digest": str(totals.digest),
            "lengths": dict(totals.lengths),
        }
        self._put_head(committed, over=changing)

    def _read_replaced(
        self, numbers: Collection[int], head: Mapping[str, Any], *, count_all: bool
    ) -> tuple[list[tuple[int, dict[str, Any]]], _Totals]:
        """Return the stored cards with some numbers, and the totals over all stored cards.

        The totals are those of the head. ``count_all`` counts the cards instead, since the head is
        wrong after an interrupted change.
        """
        if count_all:
            cards = list(self._scroll(["fields", "hash"]))
            return [card for card in cards if card[0] in numbers], _count(cards)
        totals = _Totals(head["size"], int(head["digest"]), Counter(head["lengths"]))
        ids = [number % _WRAP for number in numbers]
        points = self._client.retrieve(self._cards, ids, with_payload=True) if ids else ()
        return [(_number_of(point.id), point.payload or {}) for point in points], totals

    def _put_head(self, head: dict[str, Any], *, over: Mapping[str, Any] | None = None) -> None:
        """Write the head. Raises IndexBusy if the present head is not ``over``."""
        same = None
        if over is not None:
            same = qdrant.Filter(
                must=[
                    qdrant.FieldCondition(key=key, match=qdrant.MatchValue(value=over[key]))
                    for key in ("run", "pending")
                ]
            )
        point = qdrant.PointStruct(id=_HEAD, vector={}, payload=head)
        self._client.upsert(self._beside, [point], wait=True, update_filter=same)
        self.reload()
        if (self._head["run"], self._head["pending"]) != (head["run"], head["pending"]):
            raise IndexBusy(f"another process is writing {self._cards}; try again in a moment")

    def _scroll(self, payload: list[str] | None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the payload of every card, or only the keys in ``payload``."""
        offset = None
        keys = True if payload is None else payload
        while True:
            points, offset = self._client.scroll(
                self._cards, limit=_REQUEST_POINTS, offset=offset, with_payload=keys
            )
            yield from ((_number_of(point.id), point.payload or {}) for point in points)
            if offset is None:
                return

    def _write(
        self, cards: Iterable[tuple[int, dict[str, Any]]], means: Mapping[str, float]
    ) -> None:
        batch: list[qdrant.PointStruct] = []
        size = 0
        for number, payload in cards:
            indices, values = build_vector(payload["fields"], means)
            sparse = qdrant.SparseVector(indices=indices, values=values)
            vector: dict[str, Any] = {_VECTOR: sparse} if indices else {}
            batch.append(qdrant.PointStruct(id=number % _WRAP, vector=vector, payload=payload))
            size += len(json.dumps(payload)) + 16 * len(indices)
            if size > _REQUEST_BYTES or len(batch) >= _REQUEST_POINTS:
                self._client.upsert(self._cards, batch, wait=True)
                batch, size = [], 0
        if batch:
            self._client.upsert(self._cards, batch, wait=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if not self._store.lock.acquire(blocking=False):
            raise IndexBusy(
                f"{self.location} is being written by another part of this process; "
                "try again in a moment"
            )
        try:
            yield
        finally:
            self._store.lock.release()


def _number_of(point: object) -> int:
    """Return the signed number of a card from the unsigned id of its point."""
    number = int(str(point))
    return number - _WRAP if number >= _SIGN else number


class _Totals(NamedTuple):
    """The sums over some cards."""

    size: int
    digest: int
    """See `sum_up`."""
    lengths: Counter[str]
    """A mapping from each field to its number of terms."""

    def replace(self, old: _Totals, new: _Totals) -> _Totals:
        """Return the totals after some cards were replaced by others."""
        lengths = self.lengths.copy()
        lengths.subtract(old.lengths)
        lengths.update(new.lengths)
        size = self.size - old.size + new.size
        return _Totals(size, self.digest - old.digest + new.digest, lengths)


def _has_drifted(means: Mapping[str, float], current: Mapping[str, float]) -> bool:
    """Return whether the mean length of a field differs much from the mean in the vectors."""
    for field, mean in current.items():
        before = means.get(field, 0.0)
        if abs(mean - before) > _MOST_DRIFT * before:
            return True
    return False


def _count(cards: Sequence[tuple[int, Mapping[str, Any]]]) -> _Totals:
    """Return the totals over some cards."""
    lengths: Counter[str] = Counter()
    for _number, payload in cards:
        lengths.update({field: len(text.split()) for field, text in payload["fields"].items()})
    hashes = {number: payload.get("hash", "") for number, payload in cards}
    return _Totals(len(cards), sum_up(hashes), lengths)
