"""Search a brain in a cluster, and answer from the local index where that is not to be had.

The cluster ranks; what the gate asks is asked of the local index, which holds the same cards. It
is searched only in a process that stays, and only where it holds exactly what the local index
does: then neither an old copy nor another brain of the same name can answer.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons_kb.brain.cluster.card_numbers import number_card, open_cluster
from lessons_kb.brain.index import Index
from lessons_kb.errors import IndexBroken, LessonsError
from lessons_kb.search.engine_protocol import Engine, Reader
from lessons_kb.search.query_terms import order_hits
from lessons_kb.search.sparse_vectors import sum_up
from lessons_kb.store.user_settings import ClusterSettings, read_cluster_settings, read_key

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine

RETRY_SECONDS = 30.0
"""After a failure the local index answers alone for so long."""
ENGINE = "qdrant"

Hits = list[tuple[int, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Local:
    """What the local index held at one commit."""

    stamp: str
    numbers: dict[int, int]
    """Number in a cluster → number here."""
    digest: int


class ClusterSearch:
    """The cluster of one brain. Never raises: ``trouble`` says why the local index answers."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._settings: ClusterSettings | None = None
        self._engine: QdrantEngine | None = None
        self._local = _Local(stamp="", numbers={}, digest=0)
        self._asking = threading.Lock()
        """Held by the thread that asks."""
        self._retry_at = 0.0
        self.trouble = ""
        """"" while the cluster answers."""

    def begin(self) -> None:
        """Let searches of this brain ask the cluster from here on."""
        self._index.search_elsewhere = self._put_before
        self._index.elsewhere_trouble = lambda: self.trouble

    def find_trouble(self) -> str:
        """Return what keeps the cluster from answering now, "" if nothing does; no deadline."""
        if not self._may_ask() or self._settings is None:
            return self.trouble or "your settings name no cluster"
        settings = self._settings

        try:
            self._search(settings, self._read_local().digest, {}, {}, 0)
        except LessonsError as error:
            return str(error)
        finally:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
        return ""

    def _put_before(self, local: Engine) -> Reader:
        return _ClusterReader(local, self) if self._may_ask() else local

    def _may_ask(self) -> bool:
        if self._index.settings.index.engine != ENGINE:
            return False
        if self._settings is None:
            try:
                self._settings = read_cluster_settings()
            except LessonsError as error:
                self._settings, self.trouble = ClusterSettings(), str(error)
        return bool(self._settings.url) and time.monotonic() >= self._retry_at

    def ask(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> Hits | None:
        """Return what ``Reader.search`` does, None where the local index is to answer.

        Called within ``Layer.read``. The thread that asks is left behind at the deadline, and no
        other one is begun before it has ended.
        """
        settings = self._settings
        if settings is None or not self._asking.acquire(blocking=False):
            return None
        answers: queue.SimpleQueue[Hits | Exception] = queue.SimpleQueue()

        def work() -> None:
            found: Hits | Exception
            try:
                found = self._search(settings, local.digest, terms, weights, limit)
            except Exception as error:  # a thread's outermost line: whoever waits is told
                found = error
            self._asking.release()
            answers.put(found)

        try:
            local = self._read_local()
            threading.Thread(target=work, name="cluster", daemon=True).start()
        except BaseException:
            self._asking.release()
            raise
        try:
            found = answers.get(timeout=settings.seconds)
        except queue.Empty:
            self.trouble = f"{settings.url} took longer than {settings.seconds} s"
            return None
        if isinstance(found, Exception):
            self.trouble = str(found) or type(found).__name__
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return None
        if any(number not in local.numbers for number, _score in found):
            self.trouble = f"{settings.url} has just changed"
            return None
        self.trouble = ""
        return order_hits(((local.numbers[number], score) for number, score in found), limit)

    def _search(
        self,
        settings: ClusterSettings,
        digest: int,
        terms: Mapping[str, float],
        weights: Mapping[str, float],
        limit: int,
    ) -> Hits:
        if self._engine is None:
            key = read_key(settings.key_file)
            self._engine = open_cluster(self._index, settings.url, key=key, create=False)
        self._engine.reload()
        if self._engine.is_changing() or self._engine.digest() != digest:
            raise IndexBroken(
                f"{settings.url} holds another state of these files; run `lessons sync`"
            )
        return self._engine.search(terms, weights, limit)

    def _read_local(self) -> _Local:
        state = self._index.state
        stamp = f"{state.generation} {state.engine}" if state else ""
        if stamp != self._local.stamp:
            rows = self._index.catalogue.usable()
            found = [(number_card(p, is_note=n < 0), n, digest) for n, p, digest in rows]
            self._local = _Local(
                stamp=stamp,
                numbers={there: here for there, here, _digest in found},
                digest=sum_up({there: digest for there, _here, digest in found}),
            )
        return self._local


class _ClusterReader:
    """A local engine whose searches are asked of a cluster first; see ``Reader``."""

    def __init__(self, local: Engine, cluster: ClusterSearch) -> None:
        self._local = local
        self._cluster = cluster

    def search(self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int) -> Hits:
        """Return the best ``limit`` numbers with scores, best first."""
        found = self._cluster.ask(terms, weights, limit)
        return self._local.search(terms, weights, limit) if found is None else found

    def document_frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return in how many cards' ``body`` each term stands, 0 included."""
        return self._local.document_frequencies(terms)

    def find_terms(
        self, numbers: Iterable[int], terms: Iterable[str]
    ) -> dict[int, dict[str, tuple[str, ...]]]:
        """Return, for each number that exists, field → those of the terms that stand in it."""
        return self._local.find_terms(numbers, terms)

    def count_phrases(
        self, numbers: Iterable[int], pairs: Sequence[tuple[str, str]]
    ) -> dict[int, int]:
        """Return, for each number that exists, how many of the pairs stand in its ``body`` so."""
        return self._local.count_phrases(numbers, pairs)

    def lengths(self, numbers: Iterable[int]) -> dict[int, dict[str, int]]:
        """Return, for each number that exists, field → how many terms it holds, if any."""
        return self._local.lengths(numbers)

    def size(self) -> int:
        """Return the number of live cards."""
        return self._local.size()
