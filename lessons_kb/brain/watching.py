"""Watch open brains, and refresh their indexes when files change."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import FIRST_FILES, REFRESHED_FILES, Brain
from lessons_kb.brain.changes import Changes
from lessons_kb.brain.search_index import Refresh
from lessons_kb.errors import LessonsError
from lessons_kb.on_demand import PROGRAMS, load
from lessons_kb.store.database import is_network
from lessons_kb.store.file_watcher import FolderWatch
from lessons_kb.store.scan import RESCAN, parse_manifest
from lessons_kb.text.sanitize import counted

if TYPE_CHECKING:
    import subprocess

_JUDGE_AGAIN = 10.0
"""The seconds between two comparisons of the cards with their project."""
LOOK_AGAIN = 10.0
"""The seconds after which a quiet folder is scanned anyway. A watch misses changes behind a
symbolic link inside the brain, and events that the system dropped."""
_SHARE = 1_000
"""The pause after a scan as a multiple of its duration, so that scans take 0.1 % of the time."""
_LONGEST_QUIET = 300.0
_READ_AT_ONCE = 4
"""The maximum number of edited files read at once. More are not the edits of a person."""
_FOLLOW_SECONDS = 0.1
"""The seconds between two checks of the commits of the separate process."""
_LAST_WORDS = 2.0
"""The seconds that a stopped watcher gets to finish a write."""


class Watching:
    """Refresh each brain when its files change, in one thread per brain, until ``stop``.

    ``say`` receives one line for each change of the index, regardless of the process that indexed
    it. While every change is indexed, searches of this process need no scan. Every ``tick``
    seconds, each thread checks whether the project has a new commit, and whether another folder
    has replaced the folder of the brain.
    """

    def __init__(
        self,
        brains: Sequence[Brain],
        *,
        say: Callable[[str], None] | None = None,
        tick: float = LOOK_AGAIN,
        on_idle: Callable[[Brain], None] = lambda _brain: None,
    ) -> None:
        self._watchers = [_Watcher(brain, say, tick=tick, on_idle=on_idle) for brain in brains]
        for watcher in self._watchers:
            threading.Thread(target=watcher.run, daemon=True).start()

    def wait(self) -> None:
        """Wait until every watch has ended because its brain is gone."""
        for watcher in self._watchers:
            while not watcher.ended.wait(1.0):  # Windows cannot interrupt a longer wait
                pass

    def stop(self, *, wait: bool = False) -> None:
        """End the watches. With ``wait``, return only after they have ended."""
        for watcher in self._watchers:
            watcher.watch.stop()
            watcher.changes.end()
        until = time.monotonic() + _LAST_WORDS
        for watcher in self._watchers if wait else ():
            # Python 3.11 treats a thread as ended after an interrupted ``join``, so there is no
            # ``join``.
            watcher.ended.wait(max(until - time.monotonic(), 0))


class _Watcher:
    """The watch of one brain."""

    def __init__(
        self,
        brain: Brain,
        say: Callable[[str], None] | None,
        *,
        tick: float,
        on_idle: Callable[[Brain], None],
    ) -> None:
        self.brain = brain
        self.on_idle = on_idle
        """Called with an opening of the brain while no change of its files waits."""
        self.writer: Brain
        """The same brain, opened a second time so that its commits do not block searches."""
        self.listener = say
        self.reported = ""
        """The manifest at the time of the last report."""
        self.changes = Changes(brain.cache, brain.root)
        self.leasing = not is_network(brain.root)
        self.refreshed = 0.0
        self.quiet = LOOK_AGAIN
        self.may_compact = True
        """Whether documents may have been deleted since the last check whether compacting pays."""
        self.judging: subprocess.Popen[bytes] | None = None
        self.judged = -_JUDGE_AGAIN
        """The time of the last comparison of the cards with the project."""
        self.ended = threading.Event()
        self.watch = FolderWatch(
            brain.root, self.look, on_sign=self.sign, on_idle=self.idle, tick=tick
        )

    def sign(self, paths: set[str]) -> None:
        """Record a change at once. Called in the thread that saw the change."""
        self.changes.note(paths)
        if 0 < len(self.changes.files or ()) <= _READ_AT_ONCE:
            # A hook first starts a process. These files are read before it asks for them.
            with contextlib.suppress(LessonsError):
                self.brain.show_edits()

    def run(self) -> None:
        brain = self.brain
        brain.changes = self.changes
        try:
            with contextlib.closing(Brain(brain.root, alias=brain.alias)) as self.writer:
                self.watch.run()
        except LessonsError as error:
            self.say(f"{brain.alias}: {error}")
        finally:
            brain.changes = None
            self.changes.end()
            self.ended.set()

    def look(self, _paths: Collection[str] = ()) -> None:
        first = not self.refreshed
        begun = self.changes.begin()
        self.refreshed = time.monotonic()
        try:
            result = self.writer.refresh(leased=False, limit=REFRESHED_FILES, first=FIRST_FILES)
            is_large = result.left > 0
            if is_large:
                result = self.index_in_process()
        except LessonsError as error:
            self.changes.note({RESCAN})
            self.say(f"{self.brain.alias}: {error}")
            return
        has_changed = result.changed > 0 or result.removed > 0
        if not (first or has_changed):
            spent = time.monotonic() - self.refreshed
            self.quiet = min(max(LOOK_AGAIN, _SHARE * spent), _LONGEST_QUIET)
        if result.stale:
            self.changes.note({RESCAN})
        else:
            self.changes.finish(begun, vouch=self.leasing)
        if has_changed:
            self.may_compact = True
            self.load_commit()
        if self.listener is not None:
            self.report(result, is_whole=first or is_large)

    def say(self, line: str) -> None:
        if self.listener is not None:
            self.listener(line)

    def report(self, result: Refresh, *, is_whole: bool) -> None:
        """Report the changes of the index since the last report.

        Another process, such as the daemon, may have indexed it before this one.
        """
        state = self.writer.state
        manifest = state.manifest if state else ""
        before, self.reported = self.reported, manifest
        if is_whole:
            self.say(f"{self.brain.alias}: {counted(result.files, 'file')}, up to date")
        elif before != manifest:
            self.say(f"{self.brain.alias}: {_describe_changes(before, manifest)}")

    def load_commit(self) -> None:
        """Load the commit of the writer now, so that the next search does not have to."""
        with contextlib.suppress(LessonsError):
            self.brain.read(lambda brain: brain.reader)

    def index_in_process(self) -> Refresh:
        """Let a separate process read many files, because this process has to answer meanwhile."""
        self.changes.is_indexing = True
        failed: int | None = 1
        with contextlib.suppress(OSError):  # without a new process, the files are read here
            process = load(PROGRAMS).begin_index(self.brain.root)
            while process.poll() is None and not self.watch.stopped:
                time.sleep(_FOLLOW_SECONDS)
                self.load_commit()
            failed = process.returncode
            threading.Thread(target=process.wait, daemon=True).start()  # it may outlive us
        self.changes.is_indexing = False
        return self.writer.refresh(leased=False, limit=None if failed else REFRESHED_FILES)

    def judge_beside(self) -> None:
        """Let a separate process compare the cards with the project, because this starts git."""
        if self.judging is not None and self.judging.poll() is None:
            return
        if time.monotonic() - self.judged >= _JUDGE_AGAIN:
            self.judged = time.monotonic()
            with contextlib.suppress(OSError):
                self.judging = load(PROGRAMS).begin_index(self.brain.root)
                threading.Thread(target=self.judging.wait, daemon=True).start()

    def idle(self) -> None:
        if self.writer.has_new_project():
            self.judge_beside()
        lost = self.leasing and self.changes.files != frozenset()
        if lost or time.monotonic() - self.refreshed >= self.quiet:
            self.look()
        elif self.may_compact:
            self.may_compact = False
            # Deleted documents slow down each search, and a refresh with a limit does not remove
            # them.
            with contextlib.suppress(LessonsError):
                self.writer.compact()
            self.load_commit()
        else:
            with contextlib.suppress(LessonsError):
                self.on_idle(self.writer)


_MOST_NAMED = 3
"""If more files have changed, they are counted and not named."""


def _describe_changes(before: str, after: str) -> str:
    """Describe the files that differ between two manifests."""
    old = parse_manifest(before) if before else {}
    new = parse_manifest(after) if after else {}
    changed: list[str] = []
    for path, signature in new.items():
        # A mark at the end means that the file is read again, not that it differs.
        if old.get(path, "").rstrip("!") != signature.rstrip("!"):
            changed.append(path)
    removed = sorted(old.keys() - new.keys())
    parts = []
    for verb, paths in (("changed", changed), ("removed", removed)):
        if len(paths) > _MOST_NAMED:
            parts.append(f"{verb} {counted(len(paths), 'file')}")
        elif paths:
            parts.append(f"{verb} {', '.join(paths)}")
    return "; ".join(parts) or "settings changed"
