"""Qdrant as an engine: a cluster that many machines search, or the same code embedded in a folder.

Two collections make one index. The first holds a point for each card: its sparse vector, and as
payload its terms and what it is labelled with. The second, ``…~statistics``, holds what a vector
cannot tell: the head (which commit this is, the mean lengths), the document frequencies in
buckets, and the changes that are being made. A change is written there as a whole before the
first card is touched, so that one that is killed half-way is finished by whoever writes next.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
import warnings
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from qdrant_client import QdrantClient
from qdrant_client import models as qdrant
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from lessons_kb.errors import EngineUnreachable, IndexBroken, IndexBusy, StorageError
from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import (
    BUCKETS,
    build_vector,
    check_stamp,
    find_bucket,
    find_dimension,
    find_salt,
    join_pairs,
    join_terms,
    order_hits,
    plain_term,
    rounded,
    sum_up,
)
from lessons_kb.text.analyzer import ANALYZER_VERSION

_SIGN, WRAP = 1 << 63, 1 << 64
"""Points are numbered without a sign."""
_FORBIDDEN = (401, 403)
_MISSING = 404
_TIMEOUT_SECONDS = 30


class Store:
    """A client that all engines of this process at one place share."""

    def __init__(self, client: QdrantClient) -> None:
        self.client = client
        self.lock = threading.Lock()
        """Held by who writes."""
        weakref.finalize(self, client.close)


_folders: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
"""A folder is locked by the one client that has it open."""
_opening = threading.Lock()


def open_store(location: str, *, create: bool, key: str) -> Store:
    """Return the client of a folder or of the URL of a server.

    Raises IndexBroken where a folder holds no index and none is to be made, StorageError.
    """
    if "://" in location:
        with warnings.catch_warnings():
            # A key over plain http, which whoever opened it allowed for loopback alone.
            warnings.simplefilter("ignore", UserWarning)
            return Store(
                QdrantClient(
                    url=location,
                    api_key=key or None,
                    timeout=_TIMEOUT_SECONDS,
                    check_compatibility=False,
                )
            )
    real = os.path.realpath(location)
    if not create and not os.path.isfile(os.path.join(real, "meta.json")):
        raise IndexBroken(f"no index in {location}; rebuild it with `lessons index`")
    try:
        os.makedirs(real, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {location}: {error.strerror}") from None
    with _opening:
        store = _folders.get(real)
        if store is None:
            # Its own check of threads is about connections: all here take turns or only read.
            store = Store(QdrantClient(path=real, force_disable_check_same_thread=True))
            _folders[real] = store
        return store


@contextmanager
def translating(location: str) -> Iterator[None]:
    """Raise what the library raises as errors of ours."""
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
        said = f"{location} answers {code} {error.reason_phrase}"
        if code == _MISSING:
            raise IndexBroken(said) from None
        raise EngineUnreachable(f"{said}; try again later") from None
    except ApiException as error:
        why = str(getattr(error, "source", error)).partition("\n")[0]
        raise EngineUnreachable(
            f"{location} does not answer ({why}); check the address and that it runs"
        ) from None
    except OSError as error:
        raise StorageError(
            f"cannot use the index in {location}: {error.strerror or error}; "
            "free space or make it writable"
        ) from None
    except Exception as error:  # whatever a damaged folder makes of the library
        if "already accessed" in str(error):
            raise IndexBusy(
                f"{location} is used by another process; try again when it has ended"
            ) from None
        why = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise IndexBroken(f"the index in {location} cannot be used ({why})") from None


def where(**values: Any) -> qdrant.Filter:
    """Return the filter of points whose payload holds all these values."""
    conditions = [
        qdrant.FieldCondition(key=key, match=qdrant.MatchValue(value=value))
        for key, value in values.items()
    ]
    return qdrant.Filter(must=list(conditions))


def number_of(point: object) -> int:
    """Return the signed number that a point's id stands for."""
    number = int(str(point))
    return number - WRAP if number >= _SIGN else number


_T = TypeVar("_T")
_Fields = dict[str, str]
"""Field → its terms in order, with single blanks between; empty fields are left out."""
_Term = tuple[str, str]
"""Field and term."""

FORMAT = 1
VERSIONS = f"{FORMAT} {ANALYZER_VERSION}"
"""Stored in the head: vectors of another analyzer's terms answer nothing."""
LABELS = ("id", "kind", "project", "stage", "severity", "status", "hash")
"""Keys that a card may be labelled with; a server has an index for each."""
_VECTOR = "bm25"
_BESIDE = "~statistics"
_HEAD = 0
"""Point of the head; bucket n is point n + 1."""
_FEW = 64
"""Buckets in a folder, where each write waits for the disk."""
_MOST_DRIFT = 0.1
"""Change of a mean length from which all vectors are computed anew."""
_REQUEST_BYTES, _REQUEST_POINTS = 4_000_000, 256
"""A server refuses bodies above 32 MB."""
_PAGE = 1_000
_DOCUMENTS_KEPT, _BUCKETS_KEPT = 1_000, 100_000


class QdrantEngine:
    """An index in a collection of its own; see ``Engine`` for the contract.

    Safe to share between threads. A folder belongs to one process at a time: others get IndexBusy.
    A server has no such lock; of two that write at once one gets IndexBusy.
    """

    # Of the commit that is seen; `reload` begins them anew.
    _head: dict[str, Any]
    _documents: dict[int, _Fields]
    _buckets: dict[int, dict[_Term, int]]
    _salts: dict[_Term, int]

    def __init__(
        self, location: str, *, create: bool, collection: str = "lessons", key: str = ""
    ) -> None:
        """Open the collection at ``location``, a folder or the URL of a server.

        Raises as ``open_engine`` does, and EngineUnreachable where a server does not answer.
        """
        self.location = location
        self._cards, self._beside = collection, collection + _BESIDE
        self._remote = "://" in location
        self._store = self._guarded(lambda: open_store(location, create=create, key=key))
        try:
            self._guarded(lambda: self._prepare(create=create))
        except BaseException:
            del self._store
            raise

    def _prepare(self, *, create: bool) -> None:
        client = self._client
        if not client.collection_exists(self._beside):
            if client.collection_exists(self._cards):
                raise StorageError(
                    f"{self._cards} in {self.location} is another program's; choose another name"
                )
            if not create:
                raise IndexBroken(f"no index {self._cards} in {self.location}")
            client.create_collection(self._beside, vectors_config={})
        if not client.retrieve(self._beside, [_HEAD]):
            if not create or client.count(self._beside).count:
                raise IndexBroken(f"{self._beside} in {self.location} has no head")
            self._put_head(
                {"versions": VERSIONS, "buckets": BUCKETS if self._remote else _FEW, **_NEW_HEAD}
            )
        self._read_head()
        if self._head["versions"] != VERSIONS:
            raise IndexBroken(f"{self._cards} in {self.location} is of another version")
        if not client.collection_exists(self._cards):
            if not create or self._head["size"]:
                raise IndexBroken(f"no collection {self._cards} in {self.location}")
            idf = qdrant.SparseVectorParams(modifier=qdrant.Modifier.IDF)
            client.create_collection(
                self._cards, vectors_config={}, sparse_vectors_config={_VECTOR: idf}
            )
        if self._remote and create:
            for label in LABELS:
                client.create_payload_index(self._cards, label, qdrant.PayloadSchemaType.KEYWORD)
            client.create_payload_index(self._beside, "staged", qdrant.PayloadSchemaType.KEYWORD)
        if self._head["pending"] and not self._remote:
            with self._writing():
                self._finish()
        self.reload()

    @property
    def _client(self) -> QdrantClient:
        return self._store.client

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Sequence[str]]]],
        removed: Iterable[int] = (),
        *,
        labels: Mapping[int, Mapping[str, Any]] | None = None,
        means: Mapping[str, float] | None = None,
    ) -> None:
        """Commit these changes at once or not at all; a number that exists is replaced.

        ``labels`` maps a number to what it is labelled with: LABELS and more. ``means`` are the
        mean lengths of the fields as they will be after further changes, where they are known:
        they are counted with from the first one on.
        """
        with self._writing():
            texts = {
                number: {f: text for f in FIELDS if (text := join_terms(fields.get(f, ())))}
                for number, fields in added
            }
            gone = set(removed) - texts.keys()
            self._guarded(self._finish)
            self._guarded(lambda: self._commit(texts, gone, labels or {}, means or {}))

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with scores, best first, ties by number."""
        asked = {
            (field, plain): weight * count
            for field, weight in weights.items()
            if weight > 0 and field in FIELDS
            for term, count in terms.items()
            if count > 0 and (plain := plain_term(term))
        }
        if limit < 1 or not asked:
            return []
        return self._guarded(lambda: self._search(asked, limit))

    def _search(self, asked: Mapping[_Term, float], limit: int) -> list[tuple[int, float]]:
        values: dict[int, float] = {}
        for (field, term), n in self._count(asked).items():
            if n:  # a term of no card may have the dimension of another one
                dimension = find_dimension(field, term, self._salts.get((field, term), 0))
                values[dimension] = values.get(dimension, 0.0) + asked[field, term]
        if not values:
            return []
        query = qdrant.SparseVector(indices=list(values), values=list(values.values()))
        most = limit + 8
        while True:
            points = self._client.query_points(
                self._cards, query=query, using=_VECTOR, limit=most, with_payload=False
            ).points
            # What ties with the last place may stand below what was fetched.
            if len(points) < most or rounded(points[-1].score) < rounded(points[limit - 1].score):
                break
            most *= 4
        hits = ((number_of(point.id), float(point.score)) for point in points)
        return order_hits((hit for hit in hits if hit[1] > 0), limit)

    def document_frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many cards' ``body`` each term stands, 0 included."""
        return self.statistics("body", terms)[0]

    def statistics(self, field: str, terms: Iterable[str]) -> tuple[dict[str, int], float]:
        """Return in how many cards' ``field`` each term stands, and its mean length."""
        plain = {term: (field, plain_term(term)) for term in terms}
        counts = self._guarded(lambda: self._count(plain.values()))
        mean = self._head["means"].get(field, 0.0)
        return {term: counts[asked] for term, asked in plain.items()}, mean

    def find_terms(
        self, numbers: Iterable[int], terms: Iterable[str]
    ) -> dict[int, dict[str, tuple[str, ...]]]:
        """Return, for each number that exists, field → those of the terms that stand in it."""
        asked = [(term, plain) for term in terms if (plain := plain_term(term))]
        found: dict[int, dict[str, tuple[str, ...]]] = {}
        for number, fields in self._read_documents(numbers).items():
            words = {field: set(text.split()) for field, text in fields.items()}
            standing = {
                field: tuple(term for term, plain in asked if plain in words[field])
                for field in words
            }
            found[number] = {field: here for field, here in standing.items() if here}
        return found

    def count_phrases(
        self, numbers: Iterable[int], pairs: Sequence[tuple[str, str]]
    ) -> dict[int, int]:
        """Return, for each number that exists, how many of the pairs stand in its ``body`` so."""
        asked = join_pairs(pairs)
        bodies = {n: f" {f.get('body', '')} " for n, f in self._read_documents(numbers).items()}
        return {
            number: sum(phrase in body for _first, _second, phrase in asked)
            for number, body in bodies.items()
        }

    def lengths(self, numbers: Iterable[int]) -> dict[int, dict[str, int]]:
        """Return, for each number that exists, field → how many terms it holds, if any."""
        return {
            number: {field: len(text.split()) for field, text in fields.items()}
            for number, fields in self._read_documents(numbers).items()
        }

    def size(self) -> int:
        """Return the number of live cards."""
        return int(self._head["size"])

    def labels(self) -> dict[int, dict[str, Any]]:
        """Return what each card is labelled with, by number."""
        points = self._guarded(lambda: list(self._scroll(self._cards, list(LABELS))))
        return {number_of(point.id): point.payload or {} for point in points}

    def is_changing(self) -> bool:
        """Tell whether a change was being made, or was cut short, when the head was read."""
        return bool(self._head["pending"])

    def digest(self) -> int:
        """Return what ``sum_up`` does of all cards, with their labels ``hash``, as committed."""
        return int(self._head["digest"])

    def needs_compaction(self) -> bool:
        """Return False: the engine forgets by itself what is deleted."""
        return False

    def compact(self) -> None:
        """Compute every vector anew, with the mean lengths as they are now."""
        with self._writing():
            self._guarded(self._finish)
            self._guarded(lambda: self._commit({}, set(), {}, {}, rewrite=True))

    def stamp(self) -> str:
        """Return what names the last commit and what is stored with it."""
        return f"{self._head['commit']} {zlib.crc32(self._head['run'].encode())}"

    def verify(self, stamp: str, *, whole: bool = True) -> None:
        """Raise IndexBroken where what is stored is not that of the commit ``stamp``, or later.

        ``whole`` reads every card and finds one that is missing or is not what was written.
        """
        check_stamp(self.stamp(), stamp)
        if whole:
            self._guarded(self._verify)

    def _verify(self) -> None:
        found = {}
        for point in self._scroll(self._cards, ["fields", "sum", "hash"]):
            payload = point.payload or {}
            if _checksum(payload["fields"]) != payload["sum"]:
                raise IndexBroken(f"a card in {self.location} is not what was written")
            found[number_of(point.id)] = payload.get("hash", "")
        if len(found) != self.size() or sum_up(found) != self.digest():
            raise IndexBroken(f"{self.location} holds {len(found)} cards, not {self.size()}")

    def reload(self) -> None:
        """See what other processes have committed since."""
        self._guarded(self._read_head)
        self._documents, self._buckets = {}, {}

    @staticmethod
    def drop(location: str, *, collection: str, key: str = "") -> None:
        """Delete an index of ours that cannot be opened, one of another version say."""
        with translating(location):
            store = open_store(location, create=False, key=key)
            # Its statistics say that it is ours: they go last; after a kill it is dropped again.
            for name in (collection, collection + _BESIDE):
                store.client.delete_collection(name)

    def close(self) -> None:
        """Let go of files and memory; no other method may be called afterwards."""
        del self._store

    def _read_head(self) -> None:
        points = self._client.retrieve(self._beside, [_HEAD])
        if not points:
            raise IndexBroken(f"{self._beside} in {self.location} has no head")
        self._head = dict(points[0].payload or {})
        self._salts = {(field, term): salt for field, term, salt in self._head["salts"]}

    def _put_head(self, head: Mapping[str, Any], *, after: Mapping[str, Any] | None = None) -> bool:
        """Write the head, only over ``after`` if that is given; tell whether it was written."""
        point = qdrant.PointStruct(id=_HEAD, vector={}, payload=dict(head))
        same = where(commit=after["commit"], pending=after["pending"]) if after else None
        self._client.upsert(self._beside, [point], wait=True, update_filter=same)
        if after is None:
            return True
        found = self._client.retrieve(self._beside, [_HEAD])[0].payload or {}
        return bool((found["run"], found["pending"]) == (head["run"], head["pending"]))

    def _bucket(self, term: str) -> int:
        return int(find_bucket(term) % self._head["buckets"])

    def _count(self, terms: Iterable[_Term]) -> dict[_Term, int]:
        """Return the document frequency of each term of a field, 0 included."""
        asked = list(terms)
        buckets = self._read_buckets({self._bucket(term) for _field, term in asked})
        return {one: buckets[self._bucket(one[1])].get(one, 0) for one in asked}

    def _read_buckets(self, buckets: Iterable[int]) -> dict[int, dict[_Term, int]]:
        if sum(map(len, list(self._buckets.values()))) > _BUCKETS_KEPT:
            self._buckets = {}  # not cleared: another thread may be reading it
        known, numbers = self._buckets, set(buckets)
        if missing := numbers - known.keys():
            points = self._client.retrieve(self._beside, [n + 1 for n in missing])
            stored = {int(point.id) - 1: (point.payload or {})["terms"] for point in points}
            for number in missing:
                known[number] = {(f, term): n for f, term, n in stored.get(number, ())}
        return {number: known[number] for number in numbers}

    def _read_documents(self, numbers: Iterable[int]) -> dict[int, _Fields]:
        if len(self._documents) > _DOCUMENTS_KEPT:
            self._documents = {}
        known, distinct = self._documents, list(dict.fromkeys(numbers))
        if missing := [number for number in distinct if number not in known]:
            stored = self._guarded(lambda: self._fetch(missing))
            known |= {number: payload["fields"] for number, payload in stored.items()}
        return {number: known[number] for number in distinct if number in known}

    def _fetch(self, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for start in range(0, len(numbers), _PAGE):
            ids = [number % WRAP for number in numbers[start : start + _PAGE]]
            for point in self._client.retrieve(self._cards, ids, with_payload=["fields", "hash"]):
                found[number_of(point.id)] = point.payload or {}
        return found

    def _scroll(
        self,
        collection: str,
        payload: list[str] | Literal[True],
        matching: qdrant.Filter | None = None,
    ) -> Iterator[qdrant.Record]:
        offset: Any = None
        while True:
            points, offset = self._client.scroll(
                collection,
                scroll_filter=matching,
                limit=_REQUEST_POINTS,
                offset=offset,
                with_payload=payload,
            )
            yield from points
            if offset is None:
                return

    def _commit(
        self,
        added: Mapping[int, _Fields],
        removed: set[int],
        labels: Mapping[int, Mapping[str, Any]],
        means: Mapping[str, float],
        *,
        rewrite: bool = False,
    ) -> None:
        """Write the change down as a whole, and then make it."""
        old = self._fetch([*added, *removed])
        delta: Counter[_Term] = Counter()
        lengths: Counter[str] = Counter(self._head["lengths"])
        were = [payload["fields"] for payload in old.values()]
        for documents, sign in ((were, -1), (list(added.values()), 1)):
            for fields in documents:
                for field, text in fields.items():
                    words = text.split()
                    lengths[field] += sign * len(words)
                    for term in set(words):
                        delta[field, term] += sign
        changed = {one: n for one, n in delta.items() if n}
        buckets = self._read_buckets({self._bucket(term) for _field, term in changed})
        after = {number: dict(terms) for number, terms in buckets.items()}
        salts = dict(self._salts)
        for (field, term), n in sorted(changed.items()):
            terms = after[self._bucket(term)]
            terms[field, term] = left = terms.get((field, term), 0) + n
            if not left:
                del terms[field, term]
                salts.pop((field, term), None)
            elif left == n and (salt := self._find_salt(field, term, after, salts)):
                salts[field, term] = salt
        size = self.size() + len(added) - len(old)
        now = {field: means.get(field) or lengths[field] / size for field in FIELDS if size}
        fixed = self._head["means"]
        if rewrite or not fixed or any(_has_drifted(fixed.get(f, 0.0), now[f]) for f in now):
            fixed, rewrite = now, True
        run = uuid.uuid4().hex
        head = {
            **self._head,
            "commit": self._head["commit"] + 1,
            "run": run,
            "size": size,
            "digest": str(
                self.digest()
                + sum_up({n: labels.get(n, {}).get("hash", "") for n in added})
                - sum_up({n: payload.get("hash", "") for n, payload in old.items()})
            ),
            "lengths": dict(lengths),
            "means": fixed,
            "salts": [[field, term, salt] for (field, term), salt in sorted(salts.items())],
        }
        changes: list[dict[str, Any]] = [
            {"put": str(n), "fields": fields, "labels": dict(labels.get(n, {}))}
            for n, fields in added.items()
        ]
        changes += [{"drop": str(number)} for number in sorted(removed & old.keys())]
        changes += [
            {"bucket": number, "terms": [[f, term, n] for (f, term), n in terms.items()]}
            for number, terms in after.items()
            if terms != buckets[number]
        ]
        changes.append({"head": head, "rewrite": rewrite and self.size() > 0})
        parts = list(_split(changes))
        for part in parts:
            staged = qdrant.PointStruct(
                id=str(uuid.uuid4()), vector={}, payload={"staged": run, "changes": part}
            )
            self._client.upsert(self._beside, [staged], wait=True)
        began = {**self._head, "run": run, "pending": run, "parts": len(parts)}
        if not self._put_head(began, after=self._head):
            self._client.delete(self._beside, qdrant.FilterSelector(filter=where(staged=run)))
            raise IndexBusy(f"another process is writing {self._cards}; try again in a moment")
        self._head = began
        self._finish()

    def _find_salt(
        self,
        field: str,
        term: str,
        buckets: dict[int, dict[_Term, int]],
        salts: Mapping[_Term, int],
    ) -> int:
        """Return the salt of a term that is new; 0 unless another one has its dimension."""
        moved = {find_dimension(*one, salt) for one, salt in salts.items()}

        def is_taken(dimension: int) -> bool:
            bucket = dimension % self._head["buckets"]
            here = buckets.get(bucket) or self._read_buckets([bucket])[bucket]
            return dimension in moved or any(
                find_dimension(*one) == dimension for one in here if one != (field, term)
            )

        return find_salt(field, term, is_taken)

    def _finish(self) -> None:
        """Make the change that was written down; what was made before is made again."""
        self._read_head()
        self._documents, self._buckets = {}, {}
        began = self._head
        run = began["pending"]
        if not run:
            return
        staged = where(staged=run)
        parts = [point.payload or {} for point in self._scroll(self._beside, True, staged)]
        changes = [change for part in parts for change in part["changes"]]
        last = next((change for change in changes if "head" in change), None)
        if len(parts) != began["parts"] or last is None:
            raise IndexBroken(f"a change of {self._cards} in {self.location} was half lost")
        head = last["head"]
        salts = {(field, term): salt for field, term, salt in head["salts"]}

        def point(number: int, payload: dict[str, Any]) -> qdrant.PointStruct:
            indices, values = build_vector(payload["fields"], head["means"], salts)
            vector: dict[str, Any] = {}
            if indices:
                vector[_VECTOR] = qdrant.SparseVector(indices=indices, values=values)
            return qdrant.PointStruct(id=number % WRAP, vector=vector, payload=payload)

        added = {int(change["put"]): change for change in changes if "put" in change}
        dropped = [int(change["drop"]) % WRAP for change in changes if "drop" in change]
        if gone := list[int | str | uuid.UUID](dropped):
            self._client.delete(self._cards, qdrant.PointIdsList(points=gone), wait=True)
        payloads = (
            (number, {**change["labels"], "fields": change["fields"]})
            for number, change in added.items()
        )
        self._write(
            self._cards,
            (point(n, {**payload, "sum": _checksum(payload["fields"])}) for n, payload in payloads),
        )
        if last["rewrite"]:
            others = (
                (number_of(one.id), one.payload or {})
                for one in list(self._scroll(self._cards, True))
            )
            self._write(self._cards, (point(n, load) for n, load in others if n not in added))
        self._write(
            self._beside,
            (
                qdrant.PointStruct(
                    id=change["bucket"] + 1, vector={}, payload={"terms": change["terms"]}
                )
                for change in changes
                if "bucket" in change
            ),
        )
        self._put_head(head, after=began)
        self._client.delete(self._beside, qdrant.FilterSelector(filter=staged), wait=True)
        self._read_head()

    def _write(self, collection: str, points: Iterable[qdrant.PointStruct]) -> None:
        batch: list[qdrant.PointStruct] = []
        size = 0
        for point in points:
            batch.append(point)
            size += len(json.dumps(point.payload)) + 16 * len(_indices(point))
            if size > _REQUEST_BYTES or len(batch) >= _REQUEST_POINTS:
                self._client.upsert(collection, batch, wait=True)
                batch, size = [], 0
        if batch:
            self._client.upsert(collection, batch, wait=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        lock = self._store.lock
        if not lock.acquire(blocking=False):
            raise IndexBusy(
                f"{self.location} is being written by another part of this process; "
                "try again in a moment"
            )
        try:
            yield
        finally:
            lock.release()

    def _guarded(self, work: Callable[[], _T]) -> _T:
        with translating(self.location):
            return work()


_NEW_HEAD: Mapping[str, Any] = {
    "commit": 0,
    "run": "",
    "pending": "",
    "parts": 0,
    "size": 0,
    "digest": "0",
    "lengths": {},
    "means": {},
    "salts": [],
}


def _checksum(fields: Mapping[str, str]) -> int:
    return zlib.crc32(json.dumps(fields, sort_keys=True).encode())


def _has_drifted(fixed: float, now: float) -> bool:
    return abs(now - fixed) > _MOST_DRIFT * fixed


def _indices(point: qdrant.PointStruct) -> Sequence[int]:
    vector = point.vector.get(_VECTOR) if isinstance(point.vector, dict) else None
    return vector.indices if isinstance(vector, qdrant.SparseVector) else ()


def _split(changes: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Part changes into requests that a server takes."""
    part: list[dict[str, Any]] = []
    size = 0
    for change in changes:
        part.append(change)
        size += len(json.dumps(change))
        if size > _REQUEST_BYTES or len(part) >= _REQUEST_POINTS:
            yield part
            part, size = [], 0
    if part:
        yield part
