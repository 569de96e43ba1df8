"""One brain directory, opened: its index, kept fresh, and its journals."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lessons_kb.brain.index import Index
from lessons_kb.brain.refresh import Refresh, is_current, refresh
from lessons_kb.config import Semantic
from lessons_kb.errors import BrainNotFound, IndexBroken, StorageError
from lessons_kb.model import as_data
from lessons_kb.store.catalogue import Entry
from lessons_kb.store.disk import sqlite_error, storage_error
from lessons_kb.store.journal import JOURNAL_NAME, Journal, open_session_journal
from lessons_kb.store.scan import count_files, find_signature, settings_signature, tell_beyond
from lessons_kb.store.trust import cache_dir
from lessons_kb.store.user_state import state_dir
from lessons_kb.store.watcher_lease import drop_lease

if TYPE_CHECKING:
    from lessons_kb.brain.embeddings import Meaning

T = TypeVar("T")


REFRESHED_FILES = 64
"""Changed files that a hook reads itself: some 30 ms. The rest is for `lessons index`."""
FIRST_FILES = 1_000
"""Files that a hook reads where nothing is indexed, so that it can answer: some 0.5 s."""
PATIENCE_SECONDS = 0.05
"""How long a hook waits for another writer."""
FIRST_PATIENCE_SECONDS = 1.0
"""How long where nothing is indexed: without what the other writes there is no answer."""


class Layer(Index):
    """One brain among those searched together: its index, kept fresh, and its journals."""

    def __init__(self, root: str, *, alias: str, cache: str) -> None:
        super().__init__(root, cache=cache)
        self.alias = alias
        self.stale = ""
        """Why the last commit was searched instead of a fresh index, "" when it was fresh."""
        self._journal: Journal | None = None
        self._session_journal: Journal | None = None
        self._meaning: Meaning | None = None
        self.behind = ""
        """Why searches see none of what changed since the last commit, "" while they do: a
        watcher of this process has found too much of it, and has it indexed beside them."""
        self._touched = 0
        """Files that this process has written since the last refresh."""
        self._find_edited: Callable[[], frozenset[str] | None] | None = None
        self._read_edits: dict[str, tuple[str, Entry]] = {}
        """Path → its signature and what was read of it, for the edits that ``show`` was given."""

    @classmethod
    def open(cls, root: str, *, alias: str | None = None) -> Layer:
        """Open the brain at ``root``; nothing is read yet.

        Raises BrainNotFound when there is no such folder.
        """
        real = os.path.realpath(root)
        if not os.path.isdir(real):
            raise BrainNotFound(
                f"{root} is not a folder; create a brain there with `lessons init {root}`"
            )
        return cls(real, alias=alias or os.path.basename(real), cache=cache_dir(real))

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
    def meaning(self) -> Meaning | None:
        """Vectors of the files; None unless ``[semantic]`` is enabled."""
        state = self.state
        settings = {} if state is None else state.settings.get("semantic", {})
        if self._meaning is not None and as_data(self._meaning.settings) != settings:
            self._meaning.close()
            self._meaning = None
        if self._meaning is None and settings.get("enabled"):
            from lessons_kb.brain.embeddings import Meaning

            self._meaning = Meaning(self, Semantic(**settings))
        return self._meaning

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
        only: Collection[str] | None = None,
        waiting: Callable[[str], None] | None = None,
    ) -> Refresh:
        """Bring the index up to date with the files.

        ``limit`` bounds the files read (``first`` does where nothing is indexed, or nothing that
        can be used: only what is read will be found), ``patience`` the seconds waited for another
        writer; ``progress`` is told (files done, files to do), and ``leased`` takes a watcher's
        word that nothing changed; ``only`` names all files that did, where a watcher knows them;
        ``waiting`` is told which writer is waited for. Where either
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
                only=only,
                waiting=waiting,
            )

        with self.lock:
            self._limit = limit
            try:
                done = self._rebuilding(work)
            except StorageError as error:
                if self._state is None or rebuild or progress is not None:
                    raise
                done = Refresh(files=count_files(self._state.manifest), stale=str(error))
            self._touched = self._touched if done.stale else 0
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
        """Bring the index up to date as far as a hook has time for.

        What a watcher saw edited a moment ago is read, and shown until the watcher commits it:
        waiting for the disk would take as long as the rest of the answer.
        """
        indexed = self.state is not None and self.state.manifest
        if indexed and self.behind:
            self.stale = self.behind
            return Refresh(files=count_files(indexed), stale=self.behind)
        patience = PATIENCE_SECONDS if indexed else FIRST_PATIENCE_SECONDS
        return self.show_edits() or self.refresh(
            limit=REFRESHED_FILES, first=FIRST_FILES, patience=patience
        )

    def follow_edits(self, find: Callable[[], frozenset[str] | None] | None) -> None:
        """Let ``find`` tell which files were edited since the last commit, None if it is unsure.

        It belongs to a watcher of this process, which commits them; None: there is none any more.
        """
        self._find_edited = find

    @property
    def is_watched(self) -> bool:
        """Whether a thread of this process keeps the index up to date."""
        return self._find_edited is not None

    def follow(self) -> None:
        """Take over the last commit now, so that the next search need not."""
        self.read(lambda one: one.reader)

    def show_edits(self) -> Refresh | None:
        """Let searches see what was just edited; None where a scan has to tell what that is.

        A new card, and that one is gone, is seen when the watcher commits it, a moment later.
        """
        with self.lock:
            shown = self._rebuilding(self._show_edits)
            if shown is None:
                self.show(())
            return shown

    def _show_edits(self) -> Refresh | None:
        edited = self._find_edited() if self._find_edited is not None else None
        state = self.state
        if not edited or state is None or self._touched:
            return None
        known = state.manifest.startswith(settings_signature(self.root)) and is_current(state)
        if not known:
            return None
        signatures = ((path, find_signature(self.root, path)) for path in edited)
        found = {path: signature for path, signature in signatures if signature}

        # Only a process that stays comes here, and a watcher has loaded the parsers.
        from lessons_kb.brain.index_entry import digest_files

        settings, read = self.settings, self._read_edits
        for path, signature in found.items():
            if path not in read or read[path][0] != signature:
                (entry,) = digest_files(
                    self.root, [path], settings.folders, settings.index.max_file_bytes
                )
                read[path] = signature, entry
        self._read_edits = {path: read[path] for path in found}
        self.show(entry for _signature, entry in self._read_edits.values())
        self.silent, self.stale = state.silent, ""
        return Refresh(files=count_files(state.manifest), changed=len(found))

    def touch(self) -> None:
        """Note that this process has just written a card: no watcher knows of it yet."""
        self._touched += 1
        drop_lease(self.cache)

    def tell_beyond(self) -> str:
        """Say that files are not indexed, counting those just written; "" if all are."""
        state = self._state
        if state is None:
            return ""
        limit = state.settings["index"]["max_files"]
        if self._touched and count_files(state.manifest) + self._touched > limit:
            self.refresh()
            state = self._state or state
        if not state.beyond[0]:
            return ""
        finding = tell_beyond(state.beyond[0], limit)
        return f"{self.root}: {finding.message}; {finding.fix}"

    def _encode_some(self, done: Refresh, meaning: Meaning, *, bounded: bool) -> Refresh:
        from lessons_kb.brain.embeddings import AT_ONCE, ON_THE_WAY

        try:
            left = meaning.refresh(limit=ON_THE_WAY if bounded else AT_ONCE)
        except StorageError as error:
            return replace(done, stale=done.stale or str(error))
        waiting = f"{left} files are not encoded yet; run `lessons index`" if left else ""
        return replace(done, stale=done.stale or waiting, left=done.left + left)

    def read(self, work: Callable[[Layer], T]) -> T:
        """Return ``work(self)``, done while no other thread uses catalogue or engine.

        Damage that it meets is fixed by a rebuild, after which it is done once more.
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
            return self._rebuilding(again)

    def _rebuilding(self, work: Callable[[], T]) -> T:
        try:
            try:
                return work()
            except (sqlite3.DatabaseError, IndexBroken) as error:
                self._discard_after(error)
                return work()
        except sqlite3.Error as error:
            raise sqlite_error(error, self.cache, "run `lessons doctor`") from None
        except OSError as error:
            raise storage_error(error, self.cache) from None

    def close(self) -> None:
        """Release the files."""
        with self.lock:
            self._let_go()
            for journal in (self._journal, self._session_journal):
                if journal is not None:
                    journal.close()
            self._journal = self._session_journal = None

    def encode(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Encode every file that has no vectors yet; ``progress`` is told (files done, to do).

        Does nothing without ``[semantic]``. StorageError where the disk refuses.
        """
        with self.lock:
            if self.meaning is not None:
                self.meaning.refresh(progress=progress)

    def _let_go(self) -> None:
        if self._meaning is not None:
            self._meaning.close()
            self._meaning = None
        super()._let_go()
