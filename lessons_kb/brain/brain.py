"""A brain, that is one brain directory, opened: its index, kept fresh, and its journals.

An index is kept fresh by four calls, which differ in what they wait for: ``Brain.refresh`` reads
all that changed, ``Brains.refresh_for_search`` waits little for another writer, ``refresh_in_hook``
reads a few files, ``ensure_indexed`` none where something is indexed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Unpack

from lessons_kb.brain.open_index import Refresh, Refreshing, SearchIndex, T, refresh
from lessons_kb.config import Semantic
from lessons_kb.errors import BrainNotFound, IndexBroken, LessonsError, StorageError
from lessons_kb.model import NOTE, as_data
from lessons_kb.on_demand import READ_CARDS, load
from lessons_kb.process.programs import begin_index
from lessons_kb.store.catalogue import CatalogueEntry
from lessons_kb.store.database import is_network
from lessons_kb.store.file_watcher import RESCAN, FolderWatch
from lessons_kb.store.files import identify_file, sqlite_error, storage_error
from lessons_kb.store.journal import JOURNAL_NAME, Journal
from lessons_kb.store.scan import count_files, find_signature, scan_brain, tell_beyond
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trust import cache_dir
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen, replace

if TYPE_CHECKING:
    from lessons_kb.brain.semantic_similarity import Meaning


REFRESHED_FILES = 64
"""Changed files that a hook reads itself: some 30 ms. The rest is for `lessons index`."""
FIRST_FILES = 1_000
"""Files that a hook reads where nothing is indexed, so that it can answer: some 0.5 s."""
PATIENCE_SECONDS = 0.05
"""How long a hook waits for another writer."""
FIRST_PATIENCE_SECONDS = 1.0
"""How long where nothing is indexed: without what the other writes there is no answer."""
_HOOK_PATIENCE = 1.0
"""Seconds that an answer to an agent waits for another writer: half of a hook's deadline."""
ENCODED_AT_ONCE = 32
"""Files a search encodes at most on its way (some 50 ms each); ``lessons index`` does them all."""
ENCODED_ON_THE_WAY = 2
"""Files a refresh that is itself bounded encodes at most: a hook waits for it."""


class Brain(SearchIndex):
    """One brain directory among those searched together; nothing is read before it is needed.

    Raises BrainNotFound when there is no such folder.
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
        """Why the last commit was searched instead of a fresh index, "" when it was fresh."""
        self.fault = ""
        """Why the disk refuses to bring the index up to date, "" if it does not."""
        self._meaning: Meaning | None = None
        self._touched = 0
        """Files that this process has written since the last refresh."""
        self.watcher: _Watcher | None = None
        """The thread of this process that keeps the index up to date."""
        self.kept = False
        """Another process keeps it so: its last commit is what there is."""
        self._read_edits: dict[str, tuple[str, CatalogueEntry]] = {}
        """Path → its signature and what was read of it, for the edits that ``show`` was given."""

    @cached_property
    def journal(self) -> Journal:
        """The open journal; StorageError when it cannot be opened."""
        return Journal(os.path.join(state_dir(self.root), JOURNAL_NAME))

    @cached_property
    def hook_journal(self) -> Journal:
        """The journal for whoever answers an agent: one that cannot be used raises nothing."""
        path = os.path.join(state_dir(self.root, create=False), JOURNAL_NAME)
        return Journal(path, patience=_HOOK_PATIENCE, fallback=True)

    @property
    def journal_trouble(self) -> str:
        """Why nothing is remembered of the session that is answered, "" while it is."""
        return self.hook_journal.trouble if "hook_journal" in vars(self) else ""

    @property
    def meaning(self) -> Meaning | None:
        """Vectors of the files; None unless ``[semantic]`` is enabled."""
        state = self._state or self.state
        settings = {} if state is None else state.settings.get("semantic", {})
        if self._meaning is not None and as_data(self._meaning.settings) != settings:
            self._meaning.close()
            self._meaning = None
        if self._meaning is None and settings.get("enabled"):
            from lessons_kb.brain.semantic_similarity import Meaning

            self._meaning = Meaning(self, Semantic(**settings))
        return self._meaning

    def refresh(self, *, leased: bool = True, **how: Unpack[Refreshing]) -> Refresh:
        """Bring the index up to date with the files; see `brain.open_index.refresh`.

        ``leased`` takes a watcher's word that nothing changed. The last commit stays, and
        ``stale`` says why, where the disk refuses what nobody asked for by ``rebuild`` or
        ``progress``. Damage found on the way leads to a rebuild, never to an error; without a
        limit it is looked for, once in a process, before the first search.
        """
        limit = how.get("limit")
        leased = leased and not self._touched and not how.get("rebuild")

        def work() -> Refresh:
            state = self.state
            if state is not None and limit is None:
                self.verify_catalogue()
            vouched = leased and self.current and (self.kept or is_leased(self.cache))
            if state is None or not vouched:
                return refresh(self, **how)
            self.silent = state.silent
            return Refresh(files=count_files(state.manifest))

        with self.lock:
            self._limit = limit
            try:
                done = self._rebuilding(work)
            except StorageError as error:
                if self._state is None or how.get("rebuild") or how.get("progress") is not None:
                    raise
                files = count_files(self._state.manifest)
                done = Refresh(files=files, stale=str(error), fault=str(error))
            self._touched = self._touched if done.stale else 0
            if (meaning := self.meaning) is not None:
                most = ENCODED_AT_ONCE if limit is None else ENCODED_ON_THE_WAY
                waiting, left = "", 0
                try:
                    left = meaning.encode(limit=most)
                except StorageError as error:
                    waiting = str(error)
                if left:
                    waiting = f"{left} files are not encoded yet; run `lessons index`"
                done = replace(done, stale=done.stale or waiting, left=done.left + left)
            self.stale, self.fault = done.stale, done.fault
            return done

    def compact(self) -> None:
        """Rewrite the index without what was deleted if that pays; see `search_index.compact`."""
        with self.lock:
            self._rebuilding(lambda: load(READ_CARDS).compact(self))

    def ensure_indexed(self) -> bool:
        """See to it, in a hook, that something is indexed, be it old; False where nothing is."""
        with self.lock:
            self._limit = REFRESHED_FILES
            if self.state is None:
                self.refresh_in_hook()
            return self.state is not None

    def refresh_in_hook(self) -> Refresh:
        """Bring the index up to date as far as a hook has time for.

        What a watcher saw edited a moment ago is read, and shown until the watcher commits it:
        waiting for the disk would take as long as the rest of the answer.
        """
        state = self.state
        indexed = state.manifest if state is not None else ""
        if (watcher := self.watcher) is not None and watcher.changes.is_replaced:
            indexed = ""  # it may have been read while the folder was being deleted
        elif indexed and watcher is not None and watcher.is_behind:
            self.stale = "what has just changed is being indexed"
            return Refresh(files=count_files(indexed), stale=self.stale)
        patience = PATIENCE_SECONDS if indexed else FIRST_PATIENCE_SECONDS
        return self.show_edits() or self.refresh(
            limit=REFRESHED_FILES, first=FIRST_FILES, patience=patience
        )

    def show_edits(self) -> Refresh | None:
        """Let searches see what was just edited; None where a scan has to tell what that is.

        A new card, and that one is gone, is seen when the watcher commits it, a moment later.
        """
        edited = self.watcher.changes.files if self.watcher is not None else None
        with self.lock:
            return self._rebuilding(partial(self._read_edited, edited)) if edited else None

    def _read_edited(self, edited: Collection[str]) -> Refresh | None:
        state = self.state
        if state is None or self._touched or not (self.current and self._knows_settings(state)):
            return None
        read: dict[str, tuple[str, CatalogueEntry]] = {}
        for path in edited:
            if signature := find_signature(self.root, path):
                known = self._read_edits.get(path)
                if known is None or known[0] != signature:
                    digest_files = load(READ_CARDS).digest_files
                    known = signature, digest_files(self.root, [path], self.settings)[0]
                read[path] = known
        self._read_edits = read
        self.show(entry for _signature, entry in read.values())
        self.silent, self.stale = state.silent, ""
        return Refresh(files=count_files(state.manifest), changed=len(read))

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

    def read(self, work: Callable[[Brain], T]) -> T:
        """Return ``work(self)``, done while no other thread uses catalogue or engine.

        Damage that it meets is fixed by a rebuild, after which it is done once more.
        """

        def again() -> T:
            if self.state is None:
                self.refresh() if self._limit is None else self.refresh_in_hook()
            if self._state is None:
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
            for journal in (vars(self).pop(name, None) for name in ("journal", "hook_journal")):
                if journal is not None:
                    journal.close()

    def encode(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Encode every file that has no vectors yet; ``progress`` is told (files done, to do).

        Does nothing without ``[semantic]``. StorageError where the disk refuses.
        """
        with self.lock:
            if self.meaning is not None:
                self.meaning.encode(progress=progress)

    def _let_go(self) -> None:
        if self._meaning is not None:
            self._meaning.close()
            self._meaning = None
        super()._let_go()


class Changes:
    """What a watch of this process knows of the files that changed since the last commit."""

    def __init__(self, cache: str, root: str) -> None:
        self.cache = cache
        self._root = root
        self._lock = threading.Lock()
        self._signs = 0
        self._pending: dict[str, int] = {}
        """Changed file → number of its last sign."""
        self._known = False
        """Whether no other file has changed."""
        self._lost = 0
        """Number of the last sign after which that was not so."""
        self._folder: tuple[int, int] | None = None
        self._next: tuple[int, int] | None = None
        """The folders that the last commit and the running refresh are about."""
        _CHANGES.append(self)

    def note(self, paths: set[str]) -> None:
        """Note a change."""
        with self._lock:
            self._signs += 1
            self._pending |= dict.fromkeys(paths, self._signs)
            if RESCAN in paths:
                self._known, self._lost = False, self._signs

    def begin(self) -> int:
        """Begin a refresh of all files; return what `finish` asks for."""
        with self._lock:
            self._next = identify_file(self._root)
            return self._signs

    def finish(self, begun: int, *, vouch: bool = True) -> None:
        """Note that what changed before ``begun`` is committed; whether the rest will be known."""
        with self._lock:
            self._folder = self._next
            self._pending = {path: sign for path, sign in self._pending.items() if sign > begun}
            self._known = vouch and self._lost <= begun

    @property
    def files(self) -> frozenset[str] | None:
        """The changed files, None where there may be others."""
        with self._lock:
            known = self._known and self._folder is not None and not self.is_replaced
            return frozenset(self._pending) if known else None

    @property
    def count(self) -> int:
        """How many changed files are known."""
        return len(self._pending)

    @property
    def is_replaced(self) -> bool:
        """Whether the last commit is about another folder than the one that is there now."""
        return self._folder is not None and self._folder != identify_file(self._root)

    def end(self) -> None:
        """Vouch for nothing any more."""
        self.note({RESCAN})
        with contextlib.suppress(ValueError):
            _CHANGES.remove(self)


_CHANGES: list[Changes] = []


def is_leased(cache: str) -> bool:
    """Tell whether a watch of this process vouches that all changes so far are indexed."""
    return any(one.cache == cache and one.files == frozenset() for one in tuple(_CHANGES))


def drop_lease(cache: str) -> None:
    """Let no watch vouch for an index before it has looked again: this process wrote a file."""
    for one in tuple(_CHANGES):
        if one.cache == cache:
            one.note({RESCAN})


LOOK_AGAIN = 10.0
"""Seconds after which a quiet folder is scanned all the same: a watch does not see what a link
inside the brain points to, or what the system dropped."""
_SHARE = 1_000
"""A scan is followed by so many times its duration without one: nobody sees it in ``top``."""
_LONGEST_QUIET = 300.0
_READ_AT_ONCE = 4
"""Edited files that are read as soon as they are seen: more at once are no person's edits."""
_MANY = 16
"""Edited files that no search waits for: they are a checkout, and each takes a millisecond."""
_FOLLOW_SECONDS = 0.1
"""Seconds between two looks at what a process of its own has committed."""
_LAST_WORDS = 2.0
"""Seconds given to a watcher to finish what it writes."""


class Watching:
    """Refreshes each brain whenever its files change, from a thread of its own, until ``stop``.

    ``say`` is told each refresh that changed something, in one line. While nothing waits, searches
    of this process are spared the scan. Every ``tick`` seconds it looks whether another folder has
    taken the place of the brain's.
    """

    def __init__(
        self,
        brains: Sequence[Brain],
        *,
        say: Callable[[str], None] = lambda _line: None,
        tick: float = LOOK_AGAIN,
    ) -> None:
        self._watchers = [_Watcher(brain, say, tick=tick) for brain in brains]
        for watcher in self._watchers:
            threading.Thread(target=watcher.run, daemon=True).start()

    def wait(self) -> None:
        """Wait until every watch has ended: its brain is gone."""
        for watcher in self._watchers:
            while not watcher.ended.wait(1.0):  # on Windows no longer wait can be interrupted
                pass

    def stop(self, *, wait: bool = False) -> None:
        """End the watches soon, or ``wait`` until they have ended."""
        for watcher in self._watchers:
            watcher.watch.stop()
            watcher.changes.end()
        until = time.monotonic() + _LAST_WORDS
        for watcher in self._watchers if wait else ():
            # Not by join: Python 3.11 takes a thread for ended once a join was interrupted.
            watcher.ended.wait(max(until - time.monotonic(), 0))


class _Watcher:
    """One brain's watch."""

    def __init__(self, brain: Brain, say: Callable[[str], None], *, tick: float) -> None:
        self.brain = brain
        self.writer: Brain
        """Another opening of the same brain: what it commits holds up no search of the first."""
        self.say = say
        self.changes = Changes(brain.cache, brain.root)
        self.leasing = not is_network(brain.root)
        self.refreshed = 0.0
        self.quiet = LOOK_AGAIN
        self.indexing = False
        """A process of its own reads what changed."""
        self.may_compact = True
        """Something may have been deleted since it was last looked whether compacting pays."""
        self.ended = threading.Event()
        self.watch = FolderWatch(
            brain.root, self.look, on_sign=self.sign, on_idle=self.idle, tick=tick
        )

    @property
    def is_behind(self) -> bool:
        """Whether more has changed than a search can read on its way."""
        return self.indexing or self.changes.count > _MANY

    def sign(self, paths: set[str]) -> None:
        """Note a change at once; called from the thread that sees it."""
        self.changes.note(paths)
        if 0 < len(self.changes.files or ()) <= _READ_AT_ONCE:
            # Read by the time that a hook, which starts a process first, asks for it.
            with contextlib.suppress(LessonsError):
                self.brain.show_edits()

    def run(self) -> None:
        brain = self.brain
        brain.watcher = self
        try:
            with contextlib.closing(Brain(brain.root, alias=brain.alias)) as self.writer:
                self.watch.run()
        except LessonsError as error:
            self.say(f"{brain.alias}: {error}")
        finally:
            brain.watcher = None
            self.changes.end()
            self.ended.set()

    def look(self, _paths: Collection[str] = ()) -> None:
        first = not self.refreshed
        begun = self.changes.begin()
        self.refreshed = time.monotonic()
        try:
            done = self.writer.refresh(leased=False, limit=REFRESHED_FILES, first=FIRST_FILES)
            beside = done.left > 0
            if beside:
                done = self.index_beside()
        except LessonsError as error:
            self.changes.note({RESCAN})
            self.say(f"{self.brain.alias}: {error}")
            return
        some = done.changed > 0 or done.removed > 0
        if not (first or some):
            spent = time.monotonic() - self.refreshed
            self.quiet = min(max(LOOK_AGAIN, _SHARE * spent), _LONGEST_QUIET)
        if done.stale:
            self.changes.note({RESCAN})
        else:
            self.changes.finish(begun, vouch=self.leasing)
        if some:
            self.may_compact = True
            with contextlib.suppress(LessonsError):
                self.brain.read(lambda one: one.reader)  # takes over the commit for them
        if first or beside:
            self.say(f"{self.brain.alias}: {counted(done.files, 'file')}, up to date")
        elif some:
            self.say(f"{self.brain.alias}: {done.changed} changed, {done.removed} removed")

    def index_beside(self) -> Refresh:
        """Leave many files to a process of its own: this one has to answer meanwhile."""
        self.indexing = True
        failed: int | None = 1
        with contextlib.suppress(OSError):  # no process can be started: it is done here
            process = begin_index(self.brain.root)
            while process.poll() is None and not self.watch.stopped:
                time.sleep(_FOLLOW_SECONDS)
                with contextlib.suppress(LessonsError):
                    self.brain.read(lambda one: one.reader)  # takes over the commit for them
            failed = process.returncode
            threading.Thread(target=process.wait, daemon=True).start()  # it may outlive us
        self.indexing = False
        return self.writer.refresh(leased=False, limit=None if failed else REFRESHED_FILES)

    def idle(self) -> None:
        lost = self.leasing and self.changes.files != frozenset()
        if lost or time.monotonic() - self.refreshed >= self.quiet:
            self.look()
        elif self.may_compact:
            self.may_compact = False
            # Deleted documents make each search slower, and the refreshes above never remove them.
            with contextlib.suppress(LessonsError):
                self.writer.compact()
                self.brain.read(lambda brain: brain.reader)


@frozen
class Census:
    """What became of the files: ``files`` = ``cards`` + ``notes`` + ``unusable``."""

    files: int
    cards: int
    notes: int
    unusable: int
    """Files that cannot be used until they are fixed."""
    problems: int
    """Findings, those of usable files included."""


def format_census(census: Census) -> str:
    """Return how many files there are and what became of them, on one line."""
    kinds = f"{counted(census.cards, 'card')}, {counted(census.notes, 'note')}"
    return f"{counted(census.files, 'file')}: {kinds}, {census.unusable} unusable"


def take_census(brain: Brain) -> Census:
    """Count the files as of the last refresh, those that the scan passes over included."""
    state = brain.state
    passed_over = scan_brain(brain.root, brain.settings, state.ignored if state else ()).findings
    known = brain.catalogue.numbers()
    unread = sum(finding.path != "." for finding in passed_over)  # "." is no file, but too many
    usable = brain.catalogue.all_cards()
    notes = sum(card.kind == NOTE for card in usable)
    return Census(
        files=len(known) + unread,
        cards=len(usable) - notes,
        notes=notes,
        unusable=len(known) - len(usable) + unread,
        problems=len(brain.catalogue.findings()) + len(passed_over),
    )
