"""Search a brain in a cluster, and answer from the local index where that is not to be had.

The cluster ranks; what the gate asks is asked of the local index, which holds the same cards. It
is searched only in a process that stays, and only where it holds exactly what the local index
does: then neither an old copy nor another brain of the same name can answer.
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
from typing import TYPE_CHECKING, Any

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.open_index import SearchIndex
from lessons_kb.brain.search_index import digest_files, is_note
from lessons_kb.errors import IndexBroken, InputError, LessonsError, StorageError
from lessons_kb.model import NOTE
from lessons_kb.process.installation import install_command
from lessons_kb.search.engine_protocol import Engine, order_hits, sum_up
from lessons_kb.search.engine_registry import CLUSTER_ENGINE, CLUSTER_EXTRA, open_qdrant
from lessons_kb.store.identity import identify
from lessons_kb.store.secrets import read_key
from lessons_kb.store.user_settings import ClusterSettings, read_user_settings
from lessons_kb.text.addresses import parse_address
from lessons_kb.values import field, frozen

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine


KEY_VARIABLE = "LESSONS_SYNC_KEY"
"""Of the environment; an argument would be seen by every process of the machine."""
RETRY_SECONDS = 30.0
"""After a failure the local index answers alone for so long."""

BATCH = 200
"""Files a commit: a run that is killed repeats at most these."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Hits = list[tuple[int, float]]


def open_cluster(index: SearchIndex, location: str, *, key: str = "", create: bool) -> QdrantEngine:
    """Open the collection of a brain at ``location``, a folder or the URL of a server.

    ``create`` makes it where it is missing, and anew where it is of another version. Raises
    InputError for an address that may not be used and without the extra, EngineUnreachable,
    IndexBroken without ``create``, StorageError.
    """
    is_remote = "://" in location
    if is_remote:
        parse_address(location, instead=f"set {KEY_VARIABLE} instead")
    name = index.settings.index.collection
    if name and not _NAME.fullmatch(name):
        raise InputError(
            f"lessons.toml: index.collection {name!r} must be letters, digits, `.`, `_` and `-`"
        )
    if not name and is_remote:  # what tells brains apart here differs from clone to clone
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
    """Return the number of a card in a cluster, the same on every machine; notes are below zero.

    A local index chooses its own numbers (see `choose_number`): it passes over one that another
    file has, and two machines that read the same files in another order could then differ. With 63
    bits instead of 48 no number has to be passed over.
    """
    digest = hashlib.blake2b(path.encode(errors="surrogateescape"), digest_size=8).digest()
    number = int.from_bytes(digest, "big") >> 1 or 1
    return -number if is_note else number


@frozen
class _Local:
    """What the local index held at one commit."""

    stamp: str = ""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """Number in a cluster → number here."""
    digest: int = 0


class ClusterSearch:
    """The cluster of one brain. Never raises: ``trouble`` says why the local index answers."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._settings: ClusterSettings | None = None
        self._engine: QdrantEngine | None = None
        self._local = _Local()
        self._asking = threading.Lock()
        """Held by the thread that asks."""
        self._retry_at = 0.0
        self.trouble = ""
        """"" while the cluster answers."""

    def begin(self) -> None:
        """Let searches of this brain ask the cluster from here on."""
        self._index.search_elsewhere = lambda local: (
            _ClusterReader(local, self) if self._find_settings() else local
        )
        self._index.elsewhere_trouble = lambda: self.trouble

    def find_trouble(self) -> str:
        """Return what keeps the cluster from answering now, "" if nothing does; no deadline."""
        settings = self._find_settings()
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

    def _find_settings(self) -> ClusterSettings | None:
        """Return the user's settings, None where no cluster is to be asked now."""
        if self._index.settings.index.engine != CLUSTER_ENGINE:
            return None
        if self._settings is None:
            try:
                self._settings = read_user_settings(ClusterSettings)
            except LessonsError as error:
                self._settings, self.trouble = ClusterSettings(), str(error)
        is_open = self._settings.url and time.monotonic() >= self._retry_at
        return self._settings if is_open else None

    def ask(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> Hits | None:
        """Return what ``Reader.search`` does, None where the local index is to answer.

        Called within ``Brain.read``. The thread that asks is left behind at the deadline, and no
        other one is begun before it has ended.
        """
        settings = self._settings
        if settings is None or not self._asking.acquire(blocking=False):
            return None
        answers: queue.SimpleQueue[Hits | LessonsError] = queue.SimpleQueue()

        def work() -> None:
            found: Hits | LessonsError
            try:
                found = self._open(settings, local.digest).search(terms, weights, limit)
            except LessonsError as error:
                found = error
            finally:
                self._asking.release()  # before the answer is known: the next question may follow
            answers.put(found)

        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._asking.release)
            local = self._read_local()
            threading.Thread(target=work, name="cluster", daemon=True).start()
            on_failure.pop_all()
        try:
            found = answers.get(timeout=settings.seconds)
        except queue.Empty:
            self.trouble = f"{settings.url} took longer than {settings.seconds} s"
            return None
        if isinstance(found, LessonsError):
            self.trouble = str(found)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return None
        if any(number not in local.numbers for number, _score in found):
            self.trouble = f"{settings.url} has just changed"
            return None
        self.trouble = ""
        return order_hits(((local.numbers[number], score) for number, score in found), limit)

    def _open(self, settings: ClusterSettings, digest: int) -> QdrantEngine:
        """Return the cluster's engine; IndexBroken unless it holds what ``digest`` sums up."""
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
            rows = self._index.catalogue.usable()
            found = {number_card(p, is_note=n < 0): (n, digest) for n, p, digest in rows}
            self._local = _Local(
                stamp=stamp,
                numbers={there: here for there, (here, _digest) in found.items()},
                digest=sum_up({there: digest for there, (_here, digest) in found.items()}),
            )
        return self._local


class _ClusterReader:
    """A local engine whose searches are asked of a cluster first; see ``Reader``."""

    def __init__(self, local: Engine, cluster: ClusterSearch) -> None:
        self._local, self._cluster = local, cluster
        self.document_frequencies = local.document_frequencies
        self.documents, self.size = local.documents, local.size

    def search(self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int) -> Hits:
        """Return the best ``limit`` numbers with scores, best first."""
        found = self._cluster.ask(terms, weights, limit)
        return self._local.search(terms, weights, limit) if found is None else found


@frozen
class Synced:
    """What was brought to a cluster; cards and notes alike."""

    cards: int
    """How many it holds now."""
    added: int
    changed: int
    removed: int


@frozen
class Difference:
    """Where a cluster differs from the files: ids, sorted."""

    cards: int
    """Files that it should hold."""
    held: int
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.missing or self.changed or self.extra)


def sync(
    brain: Brain, engine: QdrantEngine, *, progress: Callable[[int, int], None] | None = None
) -> Synced:
    """Push what changed since the last run, deletions included; brain is to be fresh.

    Batch by batch: what is committed stays when a later one fails, and the next run goes on
    there. ``progress`` is told (files done, files to do).
    """
    expected, held = _find_expected(brain), _find_held(engine)
    todo = [number for number, one in expected.items() if held.get(number) != one]
    gone = sorted(held.keys() - expected.keys())
    for start in range(0, len(todo) or int(bool(gone) or engine.is_changing()), BATCH):
        paths = [expected[number][0] for number in todo[start : start + BATCH]]
        terms: dict[int, Mapping[str, str]] = {}
        labels: dict[int, dict[str, Any]] = {}
        for entry in digest_files(brain.root, paths, brain.settings):
            if (card := entry.card) is not None:
                number = number_card(entry.path, is_note=is_note(entry))
                terms[number] = entry.terms
                labels[number] = {  # what a server may filter by
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
        engine.compact()  # the first batch told other mean lengths than all of them do
    added = sum(number not in held for number in todo)
    return Synced(cards=engine.size(), added=added, changed=len(todo) - added, removed=len(gone))


def compare(brain: Brain, engine: QdrantEngine) -> Difference:
    """Compare counts and content hashes; IndexBroken where what is held is damaged."""
    expected, held = _find_expected(brain), _find_held(engine)
    engine.verify(engine.stamp())
    both = expected.keys() & held.keys()
    changed = (expected[number][0] for number in both if held[number] != expected[number])
    return Difference(
        cards=len(expected),
        held=len(held),
        missing=tuple(sorted(expected[number][0] for number in expected.keys() - both)),
        changed=tuple(sorted(changed)),
        extra=tuple(sorted(held[number][0] for number in held.keys() - both)),
    )


def _find_expected(brain: Brain) -> dict[int, tuple[str, str, str]]:
    """Return id, kind and hash of what a cluster should hold, by number, at the last commit."""
    digests, cards = brain.read(lambda one: (one.catalogue.numbers(), one.catalogue.all_cards()))
    return {
        number_card(one.id, is_note=one.kind == NOTE): (one.id, one.kind, digests[one.id][1])
        for one in cards
    }


def _find_held(engine: QdrantEngine) -> dict[int, tuple[str, str, str]]:
    """Return the same of what it holds."""
    return {n: (one["id"], one["kind"], one["hash"]) for n, one in engine.labels().items()}
