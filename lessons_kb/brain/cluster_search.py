"""Search a brain in a cluster. If the cluster cannot answer, the local index does.

The cluster ranks the cards. The statistics for the gate come from the local index, which has the
same cards. Only a resident process searches the cluster, and only while the content of the cluster
is exactly that of the local index. Therefore, neither an old copy nor another brain with the same
name can answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.search_index import SearchIndex
from lessons_kb.brain.write_index import digest_files, is_note
from lessons_kb.errors import IndexBroken, InputError, LessonsError, StorageError
from lessons_kb.model import NOTE
from lessons_kb.process.installation import install_command
from lessons_kb.search.engine_protocol import Engine, Reader, order_hits
from lessons_kb.search.engine_registry import CLUSTER_ENGINE, CLUSTER_EXTRA, open_qdrant
from lessons_kb.search.sparse_vectors import sum_up
from lessons_kb.store.identity import identify
from lessons_kb.store.secrets import read_key
from lessons_kb.store.user_settings import ClusterSettings, read_user_settings
from lessons_kb.text.addresses import parse_address
from lessons_kb.values import field, frozen

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine


KEY_VARIABLE = "LESSONS_SYNC_KEY"
"""An environment variable, because every process of the machine could read an argument."""
RETRY_SECONDS = 30.0
"""The seconds after a failure in which only the local index answers."""

BATCH = 200
"""The number of files per commit. A killed run repeats at most these."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Hits = list[tuple[int, float]]
"""The numbers of files with their scores, the best first."""


def open_cluster(index: SearchIndex, location: str, *, key: str = "", create: bool) -> QdrantEngine:
    """Open the collection of a brain at ``location``, a folder or the URL of a server.

    With ``create``, a missing collection is created and a collection of another version is
    replaced. Raises InputError for a forbidden address or a missing extra, EngineUnreachable,
    IndexBroken (only without ``create``) and StorageError.
    """
    is_remote = "://" in location
    if is_remote:
        parse_address(location, instead=f"set {KEY_VARIABLE} instead")  # raises InputError
    name = index.settings.index.collection
    if name and not _NAME.fullmatch(name):
        raise InputError(
            f"lessons.toml: index.collection {name!r} must be letters, digits, `.`, `_` and `-`"
        )
    if not name and is_remote:  # the local identity of a brain differs from clone to clone
        raise InputError(
            'name this brain for the cluster: `collection = "…"` under [index] in lessons.toml'
        )
    if not name:
        identity = identify(index.root).key.encode()
        name = f"brain-{hashlib.blake2b(identity, digest_size=8).hexdigest()}"
    if find_spec("qdrant_client") is None:
        command = install_command(CLUSTER_EXTRA)
        raise InputError(f"a cluster needs an extra; run `{command}` and try again")
    try:
        return open_qdrant(location, create=create, collection=name, key=key)
    except IndexBroken as error:
        if not create:
            raise IndexBroken(
                f"{location} holds no usable index {name} ({error}); "
                f"run `lessons sync --to {location}`"
            ) from None
    from lessons_kb.search.qdrant_engine import QdrantEngine

    try:
        QdrantEngine.drop(location, collection=name, key=key)
        return open_qdrant(location, create=True, collection=name, key=key)
    except IndexBroken as error:
        raise StorageError(f"{error}; delete {location} and run this again") from None


def number_card(path: str, *, is_note: bool) -> int:
    """Return the number of a card in a cluster, which is the same on every machine.

    Notes have negative numbers. A local index skips a number that another file already has (see
    `choose_number`), so two machines that read the files in different orders may differ. With 63
    bits instead of 48, no two paths share a number in practice.
    """
    digest = hashlib.blake2b(path.encode(errors="surrogateescape"), digest_size=8).digest()
    number = int.from_bytes(digest, "big") >> 1 or 1
    return -number if is_note else number


@frozen
class _Local:
    """The content of the local index at a commit."""

    stamp: str = ""
    """The name of the commit."""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """Maps a number in the cluster to the number in the local index."""
    digest: int = 0
    """The digest of all files."""


class ClusterSearch:
    """The cluster of one brain.

    Its searches never raise. ``trouble`` is the reason why the local index answers.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._settings: ClusterSettings | None = None
        self._engine: QdrantEngine | None = None
        self._local = _Local()
        self._searching = threading.Lock()
        """Acquired while a thread searches the cluster."""
        self._retry_at = 0.0
        self.trouble = ""
        """Why the cluster did not answer, or "" while it does."""

    def begin(self) -> None:
        """Let the searches of this brain use the cluster from now on."""

        def choose_reader(local: Engine) -> Reader:
            return _ClusterReader(local, self) if self._settings_if_searched() else local

        self._index.search_elsewhere = choose_reader
        self._index.elsewhere_trouble = lambda: self.trouble

    def find_trouble(self) -> str:
        """Open the cluster, without a deadline, and return why it cannot answer; "" if it can."""
        settings = self._settings_if_searched()
        if settings is None:
            return self.trouble or "your settings name no cluster"
        try:
            self._open(settings, self._read_local().digest)
        except LessonsError as error:
            return str(error)
        finally:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
        return ""

    def _settings_if_searched(self) -> ClusterSettings | None:
        """Return the user's settings; None if no cluster should be searched now.

        It should not if the brain has another engine, if the settings name no cluster, or shortly
        after a failure. The settings are read once. Unreadable settings count as settings without a
        cluster; ``trouble`` then has the reason.
        """
        if self._index.settings.index.engine != CLUSTER_ENGINE:
            return None
        if self._settings is None:
            try:
                self._settings = read_user_settings(ClusterSettings)
            except LessonsError as error:
                self._settings = ClusterSettings()
                self.trouble = str(error)
        may_ask = bool(self._settings.url) and time.monotonic() >= self._retry_at
        return self._settings if may_ask else None

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> Hits | None:
        """Return the result of ``Reader.search``, or None if the local index has to answer.

        Call it within ``Brain.read``. A search that exceeds its deadline continues in its thread.
        No other search starts before it has ended.
        """
        settings = self._settings
        if settings is None or not self._searching.acquire(blocking=False):
            return None
        answers: queue.SimpleQueue[Hits | LessonsError] = queue.SimpleQueue()

        def search_cluster() -> None:
            answer: Hits | LessonsError
            try:
                answer = self._open(settings, local.digest).search(terms, weights, limit)
            except LessonsError as error:
                answer = error
            finally:
                # Release the lock before the answer is read, because the next search may follow at
                # once.
                self._searching.release()
            answers.put(answer)

        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._searching.release)
            local = self._read_local()
            threading.Thread(target=search_cluster, name="cluster", daemon=True).start()
            on_failure.pop_all()
        try:
            answer = answers.get(timeout=settings.seconds)
        except queue.Empty:
            self.trouble = f"{settings.url} took longer than {settings.seconds} s"
            return None
        if isinstance(answer, LessonsError):
            self.trouble = str(answer)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return None
        if any(number not in local.numbers for number, _score in answer):
            self.trouble = f"{settings.url} has just changed"
            return None
        self.trouble = ""
        hits = [(local.numbers[number], score) for number, score in answer]
        return order_hits(hits, limit)

    def _open(self, settings: ClusterSettings, digest: int) -> QdrantEngine:
        """Return the cluster's engine. Raises IndexBroken if its content has another digest."""
        if self._engine is None:
            key = read_key(settings.key_file)
            self._engine = open_cluster(self._index, settings.url, key=key, create=False)
        self._engine.reload()
        if self._engine.is_changing() or self._engine.digest() != digest:
            raise IndexBroken(
                f"{settings.url} holds another state of these files; run `lessons sync`"
            )
        return self._engine

    def _read_local(self) -> _Local:
        state = self._index.state
        stamp = f"{state.generation} {state.engine}" if state else ""
        if stamp != self._local.stamp:
            numbers: dict[int, int] = {}
            digests: dict[int, str] = {}
            for number, path, digest in self._index.catalogue.usable():
                in_cluster = number_card(path, is_note=number < 0)
                numbers[in_cluster] = number
                digests[in_cluster] = digest
            self._local = _Local(stamp=stamp, numbers=numbers, digest=sum_up(digests))
        return self._local


class _ClusterReader:
    """A ``Reader`` that searches the cluster first, and the local engine if that fails."""

    def __init__(self, local: Engine, cluster: ClusterSearch) -> None:
        self._local, self._cluster = local, cluster
        self.document_frequencies = local.document_frequencies
        self.documents, self.size = local.documents, local.size

    def search(self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int) -> Hits:
        """Return the best ``limit`` numbers with their scores, the best first."""
        hits = self._cluster.search(terms, weights, limit)
        return self._local.search(terms, weights, limit) if hits is None else hits


@frozen
class Synced:
    """The result of `sync`, as numbers of files, which are cards or notes."""

    cards: int
    """The number of files in the cluster now."""
    added: int
    changed: int
    removed: int


@frozen
class Difference:
    """The difference between a cluster and the files: the sorted ids of cards and notes."""

    cards: int
    """The files that the cluster should have."""
    held: int
    """The files that the cluster has."""
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return bool(self.missing or self.changed or self.extra)


class _File(NamedTuple):
    """The version of a card or note that a cluster should store, or that it stores."""

    id: str
    kind: str
    digest: str


def sync(
    brain: Brain, engine: QdrantEngine, *, progress: Callable[[int, int], None] | None = None
) -> Synced:
    """Push all changes since the last run, including deletions. The brain must be fresh.

    Each batch is a commit. If a later batch fails, the earlier batches stay, and the next run
    continues there. ``progress`` is called with the number of files done and the number to do.
    """
    expected = _list_expected(brain)
    present = _list_present(engine)
    todo = [number for number, file in expected.items() if present.get(number) != file]
    gone = sorted(present.keys() - expected.keys())
    needs_commit = bool(gone) or engine.is_changing()
    for start in range(0, len(todo) or int(needs_commit), BATCH):
        paths = [expected[number].id for number in todo[start : start + BATCH]]
        terms: dict[int, Mapping[str, str]] = {}
        labels: dict[int, dict[str, Any]] = {}
        for entry in digest_files(brain.root, paths, brain.settings):
            if (card := entry.card) is not None:
                number = number_card(entry.path, is_note=is_note(entry))
                terms[number] = entry.terms
                labels[number] = {  # the server filters by these
                    "id": card.id,
                    "kind": card.kind,
                    "project": card.project or "",
                    "stage": list(card.stages),
                    "severity": card.severity,
                    "status": card.status,
                    "hash": entry.digest,
                }
        engine.update(terms.items(), gone if start == 0 else (), labels=labels)
        if progress is not None:
            progress(min(start + BATCH, len(todo)), len(todo))
    if len(todo) > BATCH:
        engine.compact()  # the mean lengths of the first batch are not those of all files
    added = sum(number not in present for number in todo)
    return Synced(cards=engine.size(), added=added, changed=len(todo) - added, removed=len(gone))


def compare(brain: Brain, engine: QdrantEngine) -> Difference:
    """Compare the files and their hashes with a cluster. Raises IndexBroken if it is damaged."""
    expected = _list_expected(brain)
    present = _list_present(engine)
    engine.verify(engine.stamp())
    both = expected.keys() & present.keys()
    changed = [expected[number].id for number in both if present[number] != expected[number]]
    return Difference(
        cards=len(expected),
        held=len(present),
        missing=tuple(sorted(expected[number].id for number in expected.keys() - both)),
        changed=tuple(sorted(changed)),
        extra=tuple(sorted(present[number].id for number in present.keys() - both)),
    )


def _list_expected(brain: Brain) -> dict[int, _File]:
    """Return a mapping from numbers to the files that a cluster should have at the last commit."""
    numbers, cards = brain.read(
        lambda brain: (brain.catalogue.numbers(), brain.catalogue.all_cards())
    )
    files: dict[int, _File] = {}
    for card in cards:
        _number, digest = numbers[card.id]
        number = number_card(card.id, is_note=card.kind == NOTE)
        files[number] = _File(card.id, card.kind, digest)
    return files


def _list_present(engine: QdrantEngine) -> dict[int, _File]:
    """Return a mapping from numbers to the files that a cluster has."""
    return {
        number: _File(labels["id"], labels["kind"], labels["hash"])
        for number, labels in engine.labels().items()
    }
