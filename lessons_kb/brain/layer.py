"""One brain directory, opened: its settings, catalogue and engine, kept fresh."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from _thread import RLock  # what `threading` offers, without its import on a hook's path

from lessons_kb.brain.refresh import Refresh, is_current, refresh
from lessons_kb.config import Semantic, Settings, settings_from_dict
from lessons_kb.errors import BrainNotFound, IndexBroken, StorageError
from lessons_kb.recall.engines import open_engine
from lessons_kb.storage.catalogue import Catalogue, get_inode, is_disk_trouble
from lessons_kb.storage.disk import read_regular, storage_error
from lessons_kb.storage.journal import JOURNAL_NAME, Journal, open_session_journal
from lessons_kb.storage.lease import drop_lease
from lessons_kb.storage.scan import count_files, settings_signature
from lessons_kb.storage.state import state_dir
from lessons_kb.storage.tidy import GENERATION_NAME, measure_folder
from lessons_kb.storage.trust import cache_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    T = TypeVar("T")

    from lessons_kb.brain.meaning import Meaning
    from lessons_kb.model import Card
    from lessons_kb.recall.engine import Engine
    from lessons_kb.storage.catalogue import State

CATALOGUE_NAME = "catalogue.db"
REFRESHED_FILES = 64
"""Changed files that a hook reads itself: some 30 ms. The rest is for `lessons index`."""
FIRST_FILES = 1_000
"""Files that a hook reads where nothing is indexed, so that it can answer: some 0.5 s."""
PATIENCE_SECONDS = 0.05
"""How long a hook waits for another writer."""
_SMALL_BYTES = 500_000
"""A catalogue or index up to this size, some 1,000 files, is verified by hooks too: 3 ms."""
_CACHED_CARDS = 20_000
"""Cards kept in memory by a process that asks again and again."""


class Layer:
    """One brain among those searched together."""

    def __init__(self, root: str, *, alias: str, cache: str) -> None:
        self.root = root
        self.alias = alias
        self.cache = cache
        self.lock = RLock()
        """Held by whoever uses catalogue or engine: both are shared between threads."""
        self.stale = ""
        """Why the last commit was searched instead of a fresh index, "" when it was fresh."""
        self.silent: tuple[str, ...] = ()
        """Folders that the last scan left out because they are not trusted themselves."""
        self._catalogue: Catalogue | None = None
        self._engine: Engine | None = None
        self._journal: Journal | None = None
        self._session_journal: Journal | None = None
        self._meaning: Meaning | None = None
        self._state: State | None = None
        self._settings: Settings | None = None
        """Those of ``_state``."""
        self._seen = -1
        self._touched = False
        self._limit: int | None = None
        """Files that a rebuild may read at once: a hook has no time for all, nor to verify all."""
        self._verified = False
        """The engine was, by this process."""
        self._file = 0
        """Inode of the open catalogue."""
        self._catalogue_verified = False
        self._reading = False
        self._cards: dict[int, Card] = {}

    @classmethod
    def open(cls, root: str, *, alias: str | None = None) -> Layer:
        """Open the brain at ``root``; nothing is read yet.

        Raises BrainNotFound when there is no such folder.
        """
        real = os.path.realpath(root)
        if not os.path.isdir(real):
            raise BrainNotFound(f"no folder {root}; `lessons init {root}` makes a brain there")
        return cls(real, alias=alias or os.path.basename(real), cache=cache_dir(real))

    @property
    def settings(self) -> Settings:
        """Settings as ``lessons.toml`` has them now; ConfigError when it cannot be read."""
        if self._reading and self._settings is not None:
            return self._settings
        state = self.state
        if state is not None and state.manifest.startswith(settings_signature(self.root)):
            if self._settings is None:
                self._settings = settings_from_dict(state.settings)
            return self._settings
        from lessons_kb.storage.settings import read_settings

        return read_settings(self.root)[0]

    @property
    def catalogue(self) -> Catalogue:
        """The open catalogue."""
        if self._catalogue is None:
            self._catalogue = Catalogue.open(self._path)
            self._file = get_inode(self._path)
            self._catalogue_verified = False
        return self._catalogue

    @property
    def _path(self) -> str:
        return os.path.join(self.cache, CATALOGUE_NAME)

    @property
    def journal(self) -> Journal:
        """The open journal; StorageError when it cannot be opened."""
        if self._journal is None:
            self._journal = Journal(os.path.join(state_dir(self.root), JOURNAL_NAME))
        return self._journal

    @property
    def session_journal(self) -> Journal:
        """The journal for whoever answers an agent: one that cannot be used raises nothing."""
        if self._session_journal is None:
            self._session_journal = open_session_journal(self.root)
        return self._session_journal

    def use_session_journal(self, journal: Journal) -> None:
        """Take over a journal that was opened before the brain was needed."""
        self._session_journal = journal

    @property
    def journal_trouble(self) -> str:
        """Why nothing is remembered of the session that is answered, "" while it is."""
        return self._session_journal.trouble if self._session_journal else ""

    @property
    def state(self) -> State | None:
        """What holds at the last commit of any process; within ``read``, at its beginning.

        None while nothing is indexed, and where what is there is damaged.
        """
        if self._reading:
            return self._state
        with self.lock:
            self._follow()
        return self._state

    def _follow(self) -> None:
        """Take over what another process has committed; throw away what is damaged."""
        if self._is_replaced():
            self._let_go()
        try:
            version = self.catalogue.version()
            if self._state is None or version != self._seen:
                if self.catalogue.size() <= _SMALL_BYTES:
                    self.verify_catalogue()
                self._seen = version
                self._accept(self.catalogue.state())
        except (sqlite3.DatabaseError, IndexBroken) as error:
            self._discard_after(error)

    def verify_catalogue(self) -> None:
        """Raise IndexBroken where the catalogue is damaged; it is looked for once in a process."""
        if not self._catalogue_verified:
            self.catalogue.verify()
            self._catalogue_verified = True

    @property
    def engine(self) -> Engine | None:
        """The engine at the last commit; None while nothing is indexed."""
        state = self.state
        if self._engine is None and state is not None:
            directory = self.engine_directory(state)
            _check_generation(directory, state.generation)
            engine = open_engine(state.settings["index"]["engine"], directory, create=False)
            whole = self._limit is None or measure_folder(directory) <= _SMALL_BYTES
            if not self._verified:
                engine.verify(state.engine, whole=whole)
                self._verified = whole
            self._engine = engine
        return self._engine

    @property
    def meaning(self) -> Meaning | None:
        """Vectors of the files; None unless ``[semantic]`` is enabled."""
        state = self.state
        wanted = {} if state is None else state.settings.get("semantic", {})
        if self._meaning is not None and self._meaning.settings.as_dict() != wanted:
            self._meaning.close()
            self._meaning = None
        if self._meaning is None and wanted.get("enabled"):
            from lessons_kb.brain.meaning import Meaning

            self._meaning = Meaning(self, Semantic(**wanted))
        return self._meaning

    def engine_directory(self, state: State) -> str:
        """Return where the engine of this state's generation lives."""
        return os.path.join(self.cache, f"index-{state.generation}")

    def refresh(
        self,
        *,
        limit: int | None = None,
        first: int | None = None,
        patience: float = 10.0,
        workers: int = 1,
        progress: Callable[[int, int], None] | None = None,
        rebuild: bool = False,
        leased: bool = True,
        waiting: Callable[[str], None] | None = None,
    ) -> Refresh:
        """Bring the index up to date with the files.

        ``limit`` bounds the files read (``first`` does where nothing is indexed, or nothing that
        can be used: only what is read will be found), ``patience`` the seconds waited for another
        writer; ``progress`` is told (files done, files to do), and ``leased`` takes a watcher's
        word that nothing changed; ``waiting`` is told which writer is waited for. Where either
        bound cuts, ``stale`` says so, and so it does where the disk refuses what nobody asked for
        by ``rebuild`` or ``progress``: the last commit stays.
        Damage found on the way leads to a rebuild, never to an error; without ``limit`` it is
        looked for, once in a process, before the first search.
        """

        def work() -> Refresh:
            if limit is None and self.state is not None:
                self.verify_catalogue()
            usable = self.state is not None and is_current(self.state)
            return refresh(
                self,
                limit=limit if usable or first is None else first,
                patience=patience,
                workers=workers,
                progress=progress,
                rebuild=rebuild,
                leased=leased and not self._touched,
                waiting=waiting,
            )

        with self.lock:
            self._limit = limit
            try:
                done = self._mending(work)
            except StorageError as error:
                if self._state is None or rebuild or progress is not None:
                    raise
                done = Refresh(files=count_files(self._state.manifest), stale=str(error))
            self._touched = bool(done.stale)
            if self.meaning is not None:
                done = self._encode_some(done, self.meaning, bounded=limit is not None)
            self.stale = done.stale
            return done

    def prepare(self) -> None:
        """See to it, in a hook, that something is indexed; what is there may be old."""
        with self.lock:
            self._limit = REFRESHED_FILES
            if self.state is None:
                self.refresh_some()

    def refresh_some(self) -> Refresh:
        """Bring the index up to date as far as a hook has time for."""
        return self.refresh(limit=REFRESHED_FILES, first=FIRST_FILES, patience=PATIENCE_SECONDS)

    def cards(self, numbers: Iterable[int]) -> dict[int, Card]:
        """Return the cards of these numbers as of the last commit; called within ``read``."""
        wanted = list(numbers)
        if missing := [number for number in wanted if number not in self._cards]:
            if len(self._cards) > _CACHED_CARDS:
                self._cards.clear()
                missing = wanted
            self._cards |= self.catalogue.cards(missing)
        return {number: self._cards[number] for number in wanted if number in self._cards}

    def touch(self) -> None:
        """Note that this process has just written a card: no watcher knows of it yet."""
        self._touched = True
        drop_lease(self.cache)

    def _encode_some(self, done: Refresh, meaning: Meaning, *, bounded: bool) -> Refresh:
        from lessons_kb.brain.meaning import AT_ONCE, ON_THE_WAY

        try:
            left = meaning.refresh(limit=ON_THE_WAY if bounded else AT_ONCE)
        except StorageError as error:
            return done.replace(stale=done.stale or str(error))
        waiting = f"{left} files wait for their vectors from `lessons index`" if left else ""
        return done.replace(stale=done.stale or waiting)

    def read(self, work: Callable[[Layer], T]) -> T:
        """Return ``work(self)``, done while no other thread uses catalogue or engine.

        Damage that it meets is mended by a rebuild, after which it is done once more.
        """

        def again() -> T:
            if self.state is None:
                self.refresh() if self._limit is None else self.refresh_some()
            if self.state is None:
                raise StorageError(f"{self.stale}; nothing is indexed yet")
            # Another process may commit at any moment: all of one work sees one commit.
            outer, self._reading = self._reading, True
            try:
                return work(self)
            finally:
                self._reading = outer

        with self.lock:
            return self._mending(again)

    def _mending(self, work: Callable[[], T]) -> T:
        try:
            try:
                return work()
            except (sqlite3.DatabaseError, IndexBroken) as error:
                self._discard_after(error)
                return work()
        except sqlite3.Error as error:
            raise StorageError(f"{self.cache}: {error}; run `lessons doctor`") from None
        except OSError as error:
            raise storage_error(error, self.cache) from None

    def _discard_after(self, error: Exception) -> None:
        """Throw a damaged cache away, unless another process has just begun a new one."""
        if self._is_replaced():
            self._let_go()
            return
        if is_disk_trouble(error):
            raise StorageError(f"{self.cache}: {error}; free space or wait a moment") from None
        used, now = self._state, None
        with contextlib.suppress(sqlite3.Error):
            now = self.catalogue.state()
        if used is not None and now is not None and now.generation != used.generation:
            self._let_go()
        else:
            self.discard()

    def _is_replaced(self) -> bool:
        """Tell whether another process has found the catalogue damaged and made it anew."""
        return self._catalogue is not None and get_inode(self._path) != self._file

    def accept(self, state: State) -> None:
        """Take over the state that this process has just committed."""
        self._accept(state)
        self._seen = self.catalogue.version()

    def discard(self) -> None:
        """Throw the catalogue and the engine away; the next refresh builds them."""
        self._let_go()
        Catalogue.remove(self._path)

    def close(self) -> None:
        """Release the files."""
        with self.lock:
            self._let_go()
            for journal in (self._journal, self._session_journal):
                if journal is not None:
                    journal.close()
            self._journal = self._session_journal = None

    def _let_go(self) -> None:
        """Close what is a cache; the journal is in use by whoever asked."""
        self._accept(None)
        self._verified = False
        if self._catalogue is not None:
            self._catalogue.close()
        if self._meaning is not None:
            self._meaning.close()
        self._catalogue = self._meaning = None

    def _accept(self, state: State | None) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None
        self._cards = {}
        self._state = state
        self._settings = None


def _check_generation(directory: str, generation: int) -> None:
    try:
        found = read_regular(os.path.join(directory, GENERATION_NAME), limit=99, name=directory)
    except (OSError, StorageError):
        found = b""
    if found != b"%d" % generation:
        raise IndexBroken(f"{directory} is not the index of this catalogue")
