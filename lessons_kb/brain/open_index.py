"""A brain's catalogue and engine at the last commit of any process: what searches read.

How they are brought up to date with the files stands in `search_index`, which is loaded when files
have changed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from lessons_kb.config import Settings, settings_from_dict
from lessons_kb.errors import ConfigError, IndexBroken, StorageError
from lessons_kb.model import NOTE, Card
from lessons_kb.on_demand import GATE_FILE, MATCH_PATTERNS, READ_CARDS, READ_ORIGINS, load
from lessons_kb.search.engine_protocol import Engine, Reader
from lessons_kb.search.engine_registry import engine_format, local_engine, open_engine
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.catalogue import FORMAT, Catalogue, CatalogueEntry, State, is_disk_trouble
from lessons_kb.store.files import identify_file, measure_folder, sqlite_error
from lessons_kb.store.gate_seal import is_gate_file_current
from lessons_kb.store.scan import Scan, scan_brain, settings_signature
from lessons_kb.text.analyzer import ANALYZER_VERSION
from lessons_kb.text.patterns import match_globs
from lessons_kb.values import frozen, replace
from lessons_kb.version import __version__

if TYPE_CHECKING:
    from lessons_kb.detect.matcher import Matcher

T = TypeVar("T")
CATALOGUE_NAME = "catalogue.db"
GENERATION = "index-"
"""What the names of engine folders in a cache begin with."""
_SMALL_BYTES = 500_000
"""A catalogue or index up to this size, some 1,000 files, is verified by hooks too: 3 ms."""
MAX_DETECTORS = 20_000
"""Size of the patterns looked for, in instructions of RE2: some 500 of them. The worst that can be
written takes 60 ms over an edit, and a process without a daemon compiles them in 20 ms."""


class SearchIndex:
    """Catalogue and engine of one brain, at the last commit of any process."""

    def __init__(self, root: str, *, cache: str) -> None:
        self.root = root
        self.cache = cache
        self._path = os.path.join(cache, CATALOGUE_NAME)
        self.lock = RLock()
        """Held by whoever uses catalogue or engine: both are shared between threads."""
        self.silent: tuple[str, ...] = ()
        """Folders that the last scan left out because they are not trusted themselves."""
        self.search_elsewhere: Callable[[Engine], Reader] | None = None
        """Puts what a cluster answers before the local engine, in a process that stays."""
        self.elsewhere_trouble: Callable[[], str] = str
        """Says why the cluster does not answer, "" while it does or none is asked."""
        self._catalogue: Catalogue | None = None
        self._engine: Engine | None = None
        self._state: State | None = None
        self.current = False
        """Whether this code can use what ``_state`` describes."""
        self._settings: Settings | None = None
        """Those of ``_state``."""
        self._seen = -1
        self._limit: int | None = None
        """Files that a rebuild may read at once: a hook has no time for all, nor to verify all."""
        self._verified = False
        """The engine was, by this process."""
        self._file: tuple[int, int] | None = None
        """What tells the file of the open catalogue from another."""
        self._catalogue_verified = False
        self._reading = False
        self._cards: dict[int, Card] = {}
        self._matcher: Matcher | None = None
        self._backgrounds: dict[int, float] = {}
        self._edited: dict[int, CatalogueEntry] = {}
        """What files say that were edited since the commit, by their numbers."""
        self._edited_reader: Reader | None = None
        """The engine with these edits."""

    @property
    def settings(self) -> Settings:
        """Settings as ``lessons.toml`` has them now; ConfigError when it cannot be read."""
        if self._reading and self._settings is not None:
            return self._settings
        state = self.state
        if state is None or not self._knows_settings(state):
            return read_settings(self.root)[0]
        if self._settings is None:
            self._settings = settings_from_dict(state.settings)
        return self._settings

    def _knows_settings(self, state: State) -> bool:
        return state.manifest.startswith(settings_signature(self.root))

    def find_fault(self) -> str:
        """Return path, line and fault of a settings file that cannot be used, "" if all can be."""
        state = self.state
        if state is not None and self._knows_settings(state):
            return ""
        try:
            read_settings(self.root)
            read_ignored(self.root)
        except ConfigError as error:
            return os.path.join(self.root, str(error))
        return ""

    @property
    def catalogue(self) -> Catalogue:
        """The open catalogue."""
        if self._catalogue is None:
            self._catalogue = Catalogue.open(self._path)
            self._file = identify_file(self._path)
            self._catalogue_verified = False
        return self._catalogue

    @property
    def state(self) -> State | None:
        """What holds at the last commit of any process; within ``read``, at its beginning.

        None while nothing is indexed, and where what is there is damaged.
        """
        if self._reading:
            return self._state
        with self.lock:
            if self._is_replaced():
                self._let_go()
            try:
                catalogue = self._catalogue or self.catalogue
                version = catalogue.version()
                if self._state is None or version != self._seen:
                    if catalogue.size() <= _SMALL_BYTES:
                        self.verify_catalogue()
                    self._seen = version
                    self._accept(catalogue.state())
            except (sqlite3.DatabaseError, IndexBroken) as error:
                self._discard_after(error)
        return self._state

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
            engine = open_engine(
                local_engine(state.settings["index"]["engine"]), directory, create=False
            )
            whole = self._limit is None or measure_folder(directory) <= _SMALL_BYTES
            if not self._verified:
                engine.verify(state.engine, whole=whole)
                self._verified = whole
            self._engine = engine
        return self._engine

    @property
    def reader(self) -> Reader | None:
        """What searches ask: the engine, with the edits that ``show`` was given, or a cluster."""
        engine = self.engine
        if engine is None:
            return None
        if not self._edited:
            return self.search_elsewhere(engine) if self.search_elsewhere else engine
        if self._edited_reader is None:
            cards = {number: entry.terms for number, entry in self._edited.items()}
            self._edited_reader = engine.with_edits(cards)
        return self._edited_reader

    def show(self, entries: Iterable[CatalogueEntry]) -> None:
        """Let ``read`` see these files, and no others, as they are now: until the next commit.

        What is not an edited card of this commit is left out.
        """
        edited: dict[int, CatalogueEntry] = {}
        for entry in entries:
            number, digest = self.catalogue.numbers(entry.path).get(entry.path, (0, ""))
            same_kind = entry.card is not None and (number < 0) == (entry.card.kind == NOTE)
            if number and same_kind and digest != entry.digest:
                edited[number] = entry
        if {n: id(e) for n, e in edited.items()} != {n: id(e) for n, e in self._edited.items()}:
            self._edited, self._matcher, self._edited_reader = edited, None, None

    def engine_directory(self, state: State) -> str:
        """Return where the engine of this state's generation lives."""
        return os.path.join(self.cache, f"{GENERATION}{state.generation}")

    def cards(self, numbers: Iterable[int]) -> dict[int, Card]:
        """Return the cards of these numbers as of the last commit; called within ``read``."""
        found = _look_up(self._cards, self.catalogue.cards, numbers)
        return found | {n: e.card for n, e in self._edited.items() if n in found and e.card}

    def guarding(self, paths: Sequence[str]) -> dict[int, tuple[str, ...]]:
        """Return what ``Catalogue.guarding`` does, edits included; called within ``read``."""
        found = self.catalogue.guarding(paths)
        for number, entry in self._edited.items():
            found.pop(number, None)
            if guarded := tuple(path for path in paths if match_globs(entry.globs, path)):
                found[number] = guarded
        return found

    def matcher(self) -> Matcher:
        """Return the patterns of the last commit, compiled once; called within ``read``.

        The name of a rule's card is the number of its file.
        """
        if self._matcher is None:
            found = self.catalogue.detectors(most=MAX_DETECTORS)
            found = [one for one in found if one[0] not in self._edited]
            found += [(number, d) for number, e in self._edited.items() for d in e.detectors]
            patterns = load(MATCH_PATTERNS)
            self._matcher = patterns.Matcher(
                patterns.Rule(card=str(number), pattern=one.pattern, globs=one.globs)
                for number, one in found
            )
        return self._matcher

    def backgrounds(self, numbers: Collection[int]) -> dict[int, float]:
        """Return number → the background of its card, as `cards` does the cards."""
        found = _look_up(self._backgrounds, self.catalogue.backgrounds, numbers)
        edited = {n: e.background for n, e in self._edited.items() if n in numbers}
        return found | {n: one for n, one in edited.items() if one is not None}

    def read_body(self, path: str) -> str:
        """Return the text of a file behind its header, "" if it vanished meanwhile."""
        settings = self.settings
        limit = settings.index.max_file_bytes
        read_document = load(READ_CARDS).read_document
        try:
            _data, document = read_document(self.root, path, settings.folders, limit)
        except StorageError:
            return ""
        body: str = document.body
        return body

    def read_sources(self, path: str) -> frozenset[str]:
        """Return the names of the files that a card was imported from; none where it vanished."""
        try:
            data = read_bytes(self.root, path, limit=self.settings.index.max_file_bytes)
        except StorageError:
            return frozenset()
        sources: frozenset[str] = load(READ_ORIGINS).read_sources(data.decode(errors="replace"))
        return sources

    def _discard_after(self, error: Exception) -> None:
        """Throw a damaged cache away, unless another process has just begun a new one."""
        if self._is_replaced():
            self._let_go()
            return
        if is_disk_trouble(error):
            raise sqlite_error(error, self.cache, "free space or wait a moment") from None
        used, now = self._state, None
        with contextlib.suppress(sqlite3.Error):
            now = self.catalogue.state()
        self._let_go()
        if used is None or now is None or now.generation == used.generation:
            Catalogue.remove(self._path)  # the next refresh builds catalogue and engine

    def _is_replaced(self) -> bool:
        """Tell whether another process has found the catalogue damaged and made it anew."""
        return self._catalogue is not None and identify_file(self._path) != self._file

    def accept(self, state: State) -> None:
        """Take over the state that this process has just committed."""
        self._accept(state)
        self._seen = self.catalogue.version()

    def _let_go(self) -> None:
        """Close what is a cache; the journal is in use by whoever asked."""
        self._accept(None)
        self._verified = False
        if self._catalogue is not None:
            self._catalogue.close()
        self._catalogue = None

    def _accept(self, state: State | None) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None
        self._cards = {}
        self._matcher = None
        self._backgrounds = {}
        self._edited = {}
        self._edited_reader = None
        self._state = state
        self._settings = None
        self.current = bool(state and state.versions == versions(state.settings["index"]["engine"]))


def _look_up(
    known: dict[int, T], fetch: Callable[[list[int]], Mapping[int, T]], numbers: Iterable[int]
) -> dict[int, T]:
    """Return what is known of these numbers; what is missing is fetched and kept."""
    wanted = list(numbers)
    if missing := [number for number in wanted if number not in known]:
        known |= fetch(missing)
    return {number: known[number] for number in wanted if number in known}


def versions(engine: str) -> str:
    """Return every version that an index depends on as one text; ``engine`` as settings name it."""
    local = local_engine(engine)
    return f"{__version__} {FORMAT} {ANALYZER_VERSION} {local} {engine_format(local)}"


@frozen
class Refresh:
    """What a refresh did."""

    files: int
    """Files in the index afterwards."""
    changed: int = 0
    removed: int = 0
    seconds: float = 0.0
    stale: str = ""
    """Why files were left for the next run, "" if none were."""
    left: int = 0
    """How many of them the limit has cut off."""
    fault: str = ""
    """Why the disk refuses to bring the index up to date, "" if it does not."""


class Refreshing(TypedDict, total=False):
    """How to refresh; see `refresh`."""

    limit: int | None
    patience: float
    workers: int
    progress: Callable[[int, int], None] | None
    rebuild: bool
    first: int | None
    waiting: Callable[[str], None]


@frozen
class Look:
    """A scan of the files by the settings of the last commit."""

    state: State
    """That commit."""
    scan: Scan
    started: int
    """When the scan began, in nanoseconds; it may miss what changed since."""

    def is_unchanged(self) -> bool:
        """Return whether the files are those of the commit."""
        scan, state = self.scan, self.state
        seen = scan.manifest, scan.silent, scan.beyond
        return seen == (state.manifest, state.silent, state.beyond)

    def holds(self, state: State, head: str) -> bool:
        """Return whether the scan holds for this commit and the settings with this signature."""
        is_same = self.state is state
        return is_same and self.scan.manifest.startswith(head) and state.manifest.startswith(head)


def look_at_files(index: SearchIndex, state: State) -> Look:
    """Scan the files, to find out whether any has changed since ``state``."""
    settings = settings_from_dict(state.settings)
    started = time.time_ns()
    scan = scan_brain(index.root, settings, state.ignored, last=state)
    index.silent = scan.silent
    return Look(state=state, scan=scan, started=started)


def refresh(index: SearchIndex, **how: Unpack[Refreshing]) -> Refresh:
    """Bring the index up to date with the files.

    ``limit`` bounds the files read (``first`` where nothing is indexed that can be used),
    ``patience`` the seconds waited for another writer, and ``waiting`` is told of it; where either
    bound cuts, ``stale`` says so. ``progress`` is told (files done, files to do).
    """
    began, state = time.monotonic(), index.state
    look: Look | None = None
    if state is None or not index.current:
        first = how.get("first")
        how["limit"] = how.get("limit") if first is None else first
    elif not how.get("rebuild"):
        look = look_at_files(index, state)
        if look.is_unchanged():
            if state.gates and not is_gate_file_current(index.root, state):
                load(GATE_FILE).bring_into_step(index.root, index.catalogue, state)
            return Refresh(files=len(look.scan.files))
    done: Refresh = load(READ_CARDS).write_index(index, look, **how)
    return replace(done, seconds=time.monotonic() - began)
