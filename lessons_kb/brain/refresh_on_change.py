"""Keep brains fresh while their files are edited."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

import lessons_kb.brain.index_entry  # noqa: F401 (loads the parsers before an edit has to wait for them)
from lessons_kb.brain.layer import FIRST_FILES, REFRESHED_FILES, Layer
from lessons_kb.brain.refresh import Refresh
from lessons_kb.errors import LessonsError
from lessons_kb.process.detached import begin_index
from lessons_kb.store.file_watcher import RESCAN, Watch
from lessons_kb.store.mounts import is_network
from lessons_kb.store.watcher_lease import Lease
from lessons_kb.text.plurals import counted

LOOK_AGAIN = 10.0
"""Seconds after which a quiet folder is scanned all the same: a watch does not see what a link
inside the brain points to, or what the system dropped."""
_SHARE = 1_000
"""A scan is followed by so many times its duration without one: nobody sees it in ``top``."""
_LONGEST_QUIET = 300.0
_RENEWAL = 1.0
"""Seconds between two renewals of a lease that other processes believe."""
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
    of this process are spared the scan, and if ``shared`` those of others: ``store.watcher_lease``.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        *,
        say: Callable[[str], None] = lambda _line: None,
        shared: bool = False,
    ) -> None:
        self._watchers = [_Watcher(layer, say, shared=shared) for layer in layers]
        for watcher in self._watchers:
            threading.Thread(target=watcher.run, daemon=True).start()

    def wait(self) -> None:
        """Wait until every watch has ended: its brain is gone."""
        for watcher in self._watchers:
            while not watcher.ended.wait(1.0):  # on Windows no longer wait can be interrupted
                pass

    def stop(self, *, wait: bool = False) -> None:
        """Take all leases away and end the watches soon, or ``wait`` until they have ended."""
        for watcher in self._watchers:
            watcher.watch.stop()
            watcher.lease.end()  # the process may end before the thread does
        until = time.monotonic() + _LAST_WORDS
        for watcher in self._watchers if wait else ():
            # Not by join: Python 3.11 takes a thread for ended once a join was interrupted.
            watcher.ended.wait(max(until - time.monotonic(), 0))


class _Watcher:
    """One brain's watch."""

    def __init__(self, layer: Layer, say: Callable[[str], None], *, shared: bool) -> None:
        self.layer = layer
        # Another opening of the same brain: what it commits holds up no search of the first.
        self.writer = Layer(layer.root, alias=layer.alias, cache=layer.cache)
        self.say = say
        self.shared = shared
        self.lease = Lease(layer.cache, layer.root)
        self.leasing = not is_network(layer.root)
        self.refreshed = 0.0
        self.quiet = LOOK_AGAIN
        self.ended = threading.Event()
        self.guard = threading.Lock()
        self.edited: dict[str, int] = {}
        """Changed files that are not committed yet, each with the number of its last sign."""
        self.signs = 0
        self.indexing = False
        """A process of its own reads them."""
        self.sure = False
        """They are all that changed since the last commit."""
        self.unsure = 0
        """The last sign after which that was not so."""
        self.watch = Watch(
            layer.root,
            self.refresh,
            on_sign=self.sign,
            on_idle=self.idle,
            tick=_RENEWAL if shared else LOOK_AGAIN,
        )

    def sign(self, paths: set[str]) -> None:
        """Note a change at once; called from the thread that sees it."""
        with self.guard:
            self.signs += 1
            self.edited |= dict.fromkeys(paths, self.signs)
            if RESCAN in paths or self.lease.is_taken():
                self.sure, self.unsure = False, self.signs
            few = self.sure and len(self.edited) <= _READ_AT_ONCE
            self.tell_behind()
        self.lease.drop()
        if few:  # read by the time that a hook, which starts a process first, asks for it
            with contextlib.suppress(LessonsError):
                self.layer.show_edits()

    def tell_behind(self) -> None:
        """Keep searches from looking at what changed where that is too much to read on the way."""
        many = len(self.edited) > _MANY or self.indexing
        self.layer.behind = "what has just changed is being indexed" if many else ""

    def find_edited(self) -> frozenset[str] | None:
        """Return the changed files that are not committed yet, None unless all are known."""
        with self.guard:
            return frozenset(self.edited) if self.sure and not self.lease.is_taken() else None

    def run(self) -> None:
        self.layer.follow_edits(self.find_edited)
        try:
            self.watch.run()
        except LessonsError as error:
            self.say(f"{self.layer.alias}: {error}")
        finally:
            with self.guard:
                self.sure = False
            self.layer.follow_edits(None)
            self.layer.behind = ""
            self.lease.drop()
            self.writer.close()
            self.ended.set()

    def refresh(self, paths: set[str]) -> None:
        first = not self.refreshed
        with self.guard:
            signs = self.signs
            known = paths and RESCAN not in paths and self.sure and not self.lease.is_taken()
            only = frozenset(self.edited) if known and self.edited else None
        self.lease.settle()
        if only is None:
            self.refreshed = time.monotonic()
        try:
            done = self.writer.refresh(
                leased=False, only=only, limit=REFRESHED_FILES, first=FIRST_FILES
            )
            beside = done.left > 0
            if beside:
                done = self.index_beside()
        except LessonsError as error:
            with self.guard:
                self.sure = False
                self.tell_behind()
            self.lease.drop()
            self.say(f"{self.layer.alias}: {error}")
            return
        if only is None and not (first or done.changed or done.removed):
            spent = time.monotonic() - self.refreshed
            self.quiet = min(max(LOOK_AGAIN, _SHARE * spent), _LONGEST_QUIET)
        with self.guard:
            if done.stale:
                self.sure = False
            else:
                self.edited = {path: sign for path, sign in self.edited.items() if sign > signs}
                if only is None:
                    self.sure = self.leasing and self.unsure <= signs
            self.tell_behind()
        if done.stale:
            self.lease.drop()
        elif self.leasing and not self.watch.stopped:
            self.lease.renew()
        if done.changed or done.removed:
            with contextlib.suppress(LessonsError):
                self.layer.follow()
        if first or beside:
            self.say(f"{self.layer.alias}: {counted(done.files, 'file')}, up to date")
        elif done.changed or done.removed:
            self.say(f"{self.layer.alias}: {done.changed} changed, {done.removed} removed")

    def index_beside(self) -> Refresh:
        """Leave many files to a process of its own: this one has to answer meanwhile."""
        with self.guard:
            self.indexing = True
            self.tell_behind()
        failed: int | None = 1
        try:
            with contextlib.suppress(OSError):  # no process can be started: it is done here
                process = begin_index(self.layer.root)
                while process.poll() is None and not self.watch.stopped:
                    time.sleep(_FOLLOW_SECONDS)
                    with contextlib.suppress(LessonsError):
                        self.layer.follow()
                failed = process.returncode
                threading.Thread(target=process.wait, daemon=True).start()  # it may outlive us
        finally:
            with self.guard:
                self.indexing = False
        return self.writer.refresh(leased=False, limit=None if failed else REFRESHED_FILES)

    def idle(self) -> None:
        lost = self.leasing and not self.lease.holds()
        if lost or time.monotonic() - self.refreshed >= self.quiet:
            self.refresh(set())
        elif self.shared:
            self.lease.renew()
