"""An open brain: one folder, its index and its journals.

Four calls update the index. They differ in the time that they may take. ``Brain.refresh`` reads all
changed files, ``Brains.refresh_for_search`` waits at most a second for another writer,
``Brain.refresh_in_hook`` reads a few files, and ``Brain.ensure_indexed`` reads files only if
nothing is indexed yet.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import TYPE_CHECKING, Unpack

from lessons_kb.brain.changes import Changes, drop_lease, is_leased
from lessons_kb.brain.search_index import Refresh, Refreshing, SearchIndex, T, refresh
from lessons_kb.config import Semantic
from lessons_kb.errors import BrainNotFound, IndexBroken, StorageError
from lessons_kb.model import NOTE, as_data
from lessons_kb.on_demand import SEMANTIC_EXTRA, WRITE_INDEX, load
from lessons_kb.store.catalogue import PROJECT_MARK, CatalogueEntry, State
from lessons_kb.store.files import sqlite_error, storage_error
from lessons_kb.store.journal import JOURNAL_NAME, Journal
from lessons_kb.store.repositories import git_top, sign_project
from lessons_kb.store.scan import (
    count_files,
    find_signature,
    report_beyond,
    scan_brain,
)
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trust import cache_dir
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen

if TYPE_CHECKING:
    from lessons_kb.brain.semantic_similarity import Meaning


REFRESHED_FILES = 64
"""The maximum number of changed files that a hook reads itself (about 30 ms). `lessons index` reads
the rest."""
FIRST_FILES = 1_000
"""The maximum number of files that a hook reads if nothing is indexed yet (about 0.5 s)."""
PATIENCE_SECONDS = 0.05
"""The number of seconds that a hook waits for another writer."""
FIRST_PATIENCE_SECONDS = 1.0
"""The same if nothing is indexed yet, because there is no answer without the writer's commit."""
_HOOK_PATIENCE = 1.0
"""The seconds that a hook waits for another writer of the journal: half of its deadline."""
_SWITCH = "LESSONS_SEMANTIC"
"""The environment variable that disables semantic similarity in a process if it is ``0``."""
ENCODED_AT_ONCE = 8
"""A search encodes new files if there are at most this many (about 50 ms each). More files are left
to ``lessons index`` and to the daemon while it is idle. A hook encodes no files."""


class Brain(SearchIndex):
    """A brain folder. It reads nothing before it is needed.

    Raises BrainNotFound if the folder does not exist.
    """

    def __init__(self, root: str, *, alias: str = "") -> None:
        real = os.path.realpath(root)
        if not os.path.isdir(real):
            raise BrainNotFound(
                f"{root} is not a folder; create a brain there with `lessons init {root}`"
            )
        super().__init__(real, cache=cache_dir(real))
        self.alias = alias or os.path.basename(real)
        self.stale = ""
        """Why searches use the last commit instead of a fresh index, or "" if the index is
        fresh."""
        self.fault = ""
        """Why the index cannot be written to disk, or "" if it can be written."""
        self._meaning: Meaning | None = None
        self.words_only = False
        """Whether the model stays unloaded although it is installed, because a hook has no time for
        it."""
        self._touched = 0
        """The number of files that this process has written since the last refresh."""
        self.changes: Changes | None = None
        """The changes that a watcher in this process has seen, or None without a watcher."""
        self.watched_elsewhere = False
        """Whether another process keeps the index up to date. This process then reads no files."""
        self._read_edits: dict[str, _ReadEdit] = {}
        """Maps the path of an edited file to its last reading."""

    @cached_property
    def state_name(self) -> str:
        """The name of the brain's state folder, which tells its cards apart from those of other
        brains.
        """
        return os.path.basename(state_dir(self.root, create=False))

    @cached_property
    def journal(self) -> Journal:
        """The open journal. Raises StorageError if it cannot be opened."""
        return Journal(os.path.join(state_dir(self.root), JOURNAL_NAME))

    @cached_property
    def hook_journal(self) -> Journal:
        """The journal for the answer of a hook. It never raises, even if it cannot be used."""
        path = os.path.join(state_dir(self.root, create=False), JOURNAL_NAME)
        return Journal(path, patience=_HOOK_PATIENCE, fallback=True)

    @property
    def journal_trouble(self) -> str:
        """Why the session of a hook is not recorded, or "" if it is recorded."""
        return self.hook_journal.trouble if "hook_journal" in vars(self) else ""

    @property
    def meaning(self) -> Meaning | None:
        """The vectors of the files, or None if only words are searched.

        The model is loaded once per process. A brain with ``words_only`` does not load it.
        """
        if self.words_only or os.environ.get(_SWITCH) == "0":
            return None
        state = self._state or self.state
        settings = {} if state is None else state.settings.get("semantic", {})
        if self._meaning is not None and as_data(self._meaning.settings) != settings:
            self._meaning.close()
            self._meaning = None
        if self._meaning is None and settings.get("enabled"):
            if not (settings["model"] or load(SEMANTIC_EXTRA).is_installed()):
                return None
            from lessons_kb.brain.semantic_similarity import Meaning

            self._meaning = Meaning(self, Semantic(**settings))
        return self._meaning

    def refresh(self, *, leased: bool = True, **options: Unpack[Refreshing]) -> Refresh:
        """Update the index with the changes of the files. See `brain.search_index.refresh`.

        With ``leased``, no file is read if a watcher reports that nothing changed. If the disk
        cannot be written, the last commit stays valid, and ``stale`` contains the reason. With
        ``rebuild`` or ``progress``, StorageError is raised instead. A damaged index is rebuilt.
        Without a limit, each process verifies the catalogue once, before its first search.
        """
        limit = options.get("limit")
        leased = leased and not self._touched and not options.get("rebuild")

        def refresh_unless_leased() -> Refresh:
            state = self.state
            if state is not None and limit is None:
                self.verify_catalogue()
            is_watched = self.watched_elsewhere or is_leased(self.cache)
            if state is None or not (leased and self.current and is_watched):
                return refresh(self, **options)
            self.silent = state.silent
            return Refresh(files=count_files(state.manifest))

        is_requested = bool(options.get("rebuild")) or options.get("progress") is not None
        with self.lock:
            self._max_files = limit
            try:
                result = self._with_repair(refresh_unless_leased)
            except StorageError as error:
                if self._state is None or is_requested:
                    raise
                files = count_files(self._state.manifest)
                result = Refresh(files=files, stale=str(error), fault=str(error))
            if not (result.stale or result.is_partial):
                self._touched = 0
            self.stale, self.fault = result.stale, result.fault
            return result

    def encode_new(self) -> None:
        """Before a search, encode the files that have no vectors yet, if they are few."""
        with self.lock:
            meaning = self.meaning
            if meaning is None:
                return
            reason = ""
            try:
                left = meaning.encode(limit=0)
                if left <= ENCODED_AT_ONCE:
                    left = meaning.encode(limit=left)
                if left:
                    reason = f"{left} files are not encoded yet; run `lessons index`"
            except StorageError as error:
                reason = str(error)
            self.stale = self.stale or reason

    def compact(self) -> None:
        """Remove deleted documents from the index if it pays. See `write_index.compact`."""
        with self.lock:
            self._with_repair(lambda: load(WRITE_INDEX).compact(self))

    def ensure_indexed(self) -> bool:
        """Index some files in a hook if nothing is indexed; return whether there is an index."""
        return self.read_indexed_state() is not None

    def read_indexed_state(self) -> State | None:
        """Return the state after ``ensure_indexed``, or None if there is no index."""
        with self.lock:
            self._max_files = REFRESHED_FILES
            state = self.state
            if state is None:
                self.refresh_in_hook()
                state = self.state
            return state

    def is_being_built(self) -> bool:
        """Return whether the index lacks files because it is being built or rebuilt."""
        state = self.state
        return state is not None and state.unread > 0

    def refresh_in_hook(self) -> Refresh:
        """Update the index as far as a hook has time.

        Edited files that a watcher has just seen are read and overlaid on the index until the
        watcher commits them. A wait for that commit would take as long as the rest of the answer.
        """
        state = self.state
        indexed = state.manifest if state is not None else ""
        changes = self.changes
        if changes is not None and changes.is_replaced:
            indexed = ""  # the last scan may have run while the folder was being deleted
        elif indexed and changes is not None and changes.is_behind:
            self.stale = "what has just changed is being indexed"
            return Refresh(files=count_files(indexed), stale=self.stale)
        patience = PATIENCE_SECONDS if indexed else FIRST_PATIENCE_SECONDS
        return self.show_edits() or self.refresh(
            limit=REFRESHED_FILES, first=FIRST_FILES, patience=patience
        )

    def show_edits(self) -> Refresh | None:
        """Show edited files to searches. Return None if only a scan can list the changes.

        New and deleted cards appear a moment later, when the watcher commits them.
        """
        edited = self.changes.files if self.changes is not None else None
        if not edited:
            return None
        with self.lock:
            return self._with_repair(partial(self._read_edited, edited))

    def _read_edited(self, edited: Collection[str]) -> Refresh | None:
        state = self.state
        if state is None or self._touched or not (self.current and self._knows_settings(state)):
            return None
        edits: dict[str, _ReadEdit] = {}
        for path in edited:
            signature = find_signature(self.root, path)
            if not signature:
                continue
            edit = self._read_edits.get(path)
            if edit is None or edit.signature != signature:
                digest_files = load(WRITE_INDEX).digest_files
                entry = digest_files(self.root, [path], self.settings)[0]
                edit = _ReadEdit(signature=signature, entry=entry)
            edits[path] = edit
        self._read_edits = edits
        self.show(edit.entry for edit in edits.values())
        self.silent, self.stale = state.silent, ""
        return Refresh(files=count_files(state.manifest), changed=len(edits))

    def has_new_project(self) -> bool:
        """Return whether the project or the cards have changed since the standings were judged."""
        with self.lock:
            if self.state is None:
                return False
            mark = self.catalogue.read_mark(PROJECT_MARK)
        return mark != sign_project(git_top(self.root) or self.root)

    def touch(self) -> None:
        """Record that this process has just written a card, which no watcher has seen yet."""
        self._touched += 1
        drop_lease(self.cache)

    def describe_unindexed(self) -> str:
        """Return a warning if the brain has more files than its limit, or "" if it has not.

        Files that this process has just written are counted.
        """
        state = self._state
        if state is None:
            return ""
        limit = state.settings["index"]["max_files"]
        if self._touched and count_files(state.manifest) + self._touched > limit:
            self.refresh()
            state = self._state or state
        if not state.beyond[0]:
            return ""
        finding = report_beyond(state.beyond[0], limit)
        return f"{self.root}: {finding.message}; {finding.fix}"

    def read(self, work: Callable[[Brain], T]) -> T:
        """Return ``work(self)``. Meanwhile, no other thread uses the catalogue or the engine.

        If the index turns out to be damaged, it is rebuilt and ``work`` is called once more.
        """

        def read_one_commit() -> T:
            if self.state is None:
                if self._max_files is None:
                    self.refresh()
                else:
                    self.refresh_in_hook()
            if self._state is None:  # ``refresh`` sets it
                raise StorageError(f"{self.stale}; nothing is indexed yet")
            # Another process may commit at any moment, but ``work`` has to see a single commit.
            was_reading = self._reading
            self._reading = True
            try:
                return work(self)
            finally:
                self._reading = was_reading

        with self.lock:
            return self._with_repair(read_one_commit)

    def _with_repair(self, work: Callable[[], T]) -> T:
        """Return ``work()``. After damage, discard the cache and call ``work`` again."""
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
            self._close_cache()
            for name in ("journal", "hook_journal"):
                journal = vars(self).pop(name, None)
                if journal is not None:
                    journal.close()

    def encode(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        limit: int | None = None,
    ) -> int:
        """Encode at most ``limit`` files that have no vectors yet, and return how many are left.

        ``progress`` is called with the number of files done and the number to do. The method does
        nothing without ``[semantic]``. Raises StorageError if a file cannot be written.
        """
        with self.lock:
            if self.meaning is None:
                return 0
            return self.meaning.encode(progress=progress, limit=limit)

    def _close_cache(self) -> None:
        if self._meaning is not None:
            self._meaning.close()
            self._meaning = None
        super()._close_cache()


@frozen
class _ReadEdit:
    """The last reading of an edited file."""

    signature: str
    entry: CatalogueEntry


@frozen
class Census:
    """The files of a brain by kind. ``files`` is the sum of the other kinds."""

    files: int
    cards: int
    notes: int
    unusable: int
    """Files that cannot be used until they are fixed."""
    copies: int
    """Files that contain the card of another file, which counts in their place."""
    problems: int
    """The number of findings, including those about usable files."""


def format_census(census: Census) -> str:
    """Return the number of files of each kind, on one line."""
    kinds = f"{counted(census.cards, 'card')}, {counted(census.notes, 'note')}"
    copies = f", {counted(census.copies, 'copy', 'copies')}" if census.copies else ""
    return f"{counted(census.files, 'file')}: {kinds}, {census.unusable} unusable{copies}"


def count_kinds(brain: Brain) -> Census:
    """Count the files at the last refresh, including those that the scan left out."""
    state = brain.state
    skipped = scan_brain(brain.root, brain.settings, state.ignored if state else ()).findings
    numbers = brain.catalogue.numbers()
    # The path "." means "too many files". It is not a file.
    unread = sum(finding.path != "." for finding in skipped)
    usable = brain.catalogue.all_cards()
    notes = sum(card.kind == NOTE for card in usable)
    copies = len(brain.catalogue.copies())
    return Census(
        files=len(numbers) + unread,
        cards=len(usable) - notes,
        notes=notes,
        unusable=len(numbers) - len(usable) - copies + unread,
        copies=copies,
        problems=len(brain.catalogue.findings()) + len(skipped),
    )
