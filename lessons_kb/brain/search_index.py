"""The index for searches: a brain's catalogue and engine at the last commit of any process.

The module `write_index` updates it. It is loaded only when files have changed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from _thread import RLock
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from lessons_kb.config import Settings, settings_from_dict
from lessons_kb.errors import ConfigError, IndexBroken, StorageError
from lessons_kb.model import NOTE, Card
from lessons_kb.on_demand import (
    CARD_FILES,
    DETECT_MATCHER,
    EDITED_CARDS,
    GATE_FILE,
    GATE_SEAL,
    READ_HEADER,
    WRITE_INDEX,
    load,
)
from lessons_kb.search.engine_protocol import Engine, Reader
from lessons_kb.search.engine_registry import engine_format, local_engine, open_engine
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.catalogue import (
    FORMAT,
    Catalogue,
    CatalogueEntry,
    Detector,
    State,
    Title,
    is_disk_trouble,
)
from lessons_kb.store.files import identify_file, measure_folder, sqlite_error
from lessons_kb.store.scan import Scan, scan_brain, settings_signature
from lessons_kb.text.analyzer_version import ANALYZER_VERSION
from lessons_kb.text.patterns import match_globs
from lessons_kb.values import frozen, replace
from lessons_kb.version import __version__

if TYPE_CHECKING:
    from lessons_kb.detect.matcher import Matcher

T = TypeVar("T")
CATALOGUE_NAME = "catalogue.db"
GENERATION = "index-"
"""The prefix of the names of engine folders in a cache."""
_SMALL_BYTES = 500_000
"""Hooks also verify a catalogue or an engine up to this size (about 1,000 files, in 3 ms)."""
MAX_DETECTORS = 20_000
"""The maximum total size of the ``detect`` patterns in use, in instructions of RE2. It is enough
for about 500 patterns. In the worst case, a search of an edit takes 60 ms, and compiling takes 20
ms."""


class SearchIndex:
    """The catalogue and the engine of one brain, at the last commit of any process."""

    def __init__(self, root: str, *, cache: str) -> None:
        self.root = root
        self.cache = cache
        self._path = os.path.join(cache, CATALOGUE_NAME)
        self.lock = RLock()
        """Acquired while the catalogue or the engine is used, because threads share both."""
        self.silent: tuple[str, ...] = ()
        """The folders that the last scan left out because they are not trusted themselves."""
        self.search_elsewhere: Callable[[Engine], Reader] | None = None
        """In a resident process, wraps the local engine so that a cluster is searched first."""
        self.elsewhere_trouble: Callable[[], str] = str
        """Returns why the cluster does not answer, or "" if it does or is not in use."""
        self._catalogue: Catalogue | None = None
        self._engine: Engine | None = None
        self._state: State | None = None
        self.current = False
        """Whether this version of the code can use the index that ``_state`` describes."""
        self._settings: Settings | None = None
        """The settings in ``_state``."""
        self._seen = -1
        """The version of the catalogue from which ``_state`` was read."""
        self._max_files: int | None = None
        """The maximum number of files that a rebuild may read, or None outside of a hook."""
        self._is_whole_verified = False
        """Whether this process has verified the whole engine."""
        self._file: tuple[int, int] | None = None
        """The identity of the file of the open catalogue."""
        self._catalogue_verified = False
        self._reading = False
        """While it is set, ``state`` does not look for a newer commit."""
        self._cards: dict[int, Card] = {}
        self._matcher: Matcher | None = None
        self._backgrounds: dict[int, float] = {}
        self._thresholds: str | None = None
        self._project_words: str | None = None
        self._successors: dict[int, int] | None = None
        self._repeated_names: frozenset[str] | None = None
        self._titles: dict[tuple[str | None, int, str], list[Title]] = {}
        self._title_counts: dict[tuple[str | None, str], int] = {}
        self._edited: dict[int, CatalogueEntry] = {}
        """Maps the number of a file that was edited after the commit to its content."""
        self._edited_reader: Reader | None = None
        """The engine with these edits."""

    @property
    def settings(self) -> Settings:
        """The current settings of ``lessons.toml``. Raises ConfigError if it cannot be read."""
        if self._reading and self._settings is not None:
            return self._settings
        state = self.state
        if state is None or not self._knows_settings(state):
            return read_settings(self.root)[0]
        return self.settings_of(state)

    def settings_of(self, state: State) -> Settings:
        """Return the settings at a commit. Those of the latest commit are built only once."""
        if state is not self._state:
            return settings_from_dict(state.settings)
        if self._settings is None:
            self._settings = settings_from_dict(state.settings)
        return self._settings

    def _knows_settings(self, state: State) -> bool:
        return state.manifest.startswith(settings_signature(self.root))

    def find_fault(self) -> str:
        """Return the path, line and fault of a settings file, or "" if the file is usable."""
        state = self.state
        if state is not None and self._knows_settings(state):
            return ""
        try:
            read_settings(self.root)  # raises ConfigError
            read_ignored(self.root)  # raises ConfigError
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
        """The state at the last commit of any process or, within ``read``, at the call of ``read``.

        The state is None if nothing is indexed or if the catalogue is damaged.
        """
        if self._reading:
            return self._state
        with self.lock:
            if self._is_replaced():
                self._close_cache()
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
        """Raise IndexBroken if the catalogue is damaged. Each process checks it only once."""
        if not self._catalogue_verified:
            self.catalogue.verify()
            self._catalogue_verified = True

    @property
    def engine(self) -> Engine | None:
        """The engine at the last commit, or None if nothing is indexed."""
        state = self.state
        if self._engine is None and state is not None:
            directory = self.engine_directory(state)
            engine = open_engine(
                local_engine(state.settings["index"]["engine"]), directory, create=False
            )
            if not self._is_whole_verified:
                whole = self._max_files is None or measure_folder(directory) <= _SMALL_BYTES
                engine.verify(state.engine, whole=whole)
                self._is_whole_verified = whole
            self._engine = engine
        return self._engine

    @property
    def reader(self) -> Reader | None:
        """The source for searches: the engine with the edits from ``show``, or a cluster."""
        engine = self.engine
        if engine is None:
            return None
        if not self._edited:
            return self.search_elsewhere(engine) if self.search_elsewhere else engine
        if self._edited_reader is None:
            terms = {number: entry.terms for number, entry in self._edited.items()}
            self._edited_reader = engine.with_edits(terms)
        return self._edited_reader

    def show(self, entries: Iterable[CatalogueEntry]) -> None:
        """Let ``read`` use these contents instead of the committed ones until the next commit.

        They replace the contents of an earlier call. Files that are not in the commit are ignored.
        """
        edited: dict[int, CatalogueEntry] = {}
        copies = self.catalogue.copies()
        for entry in entries:
            if entry.path in copies:
                continue
            number, digest = self.catalogue.numbers(entry.path).get(entry.path, (0, ""))
            same_kind = entry.card is not None and (number < 0) == (entry.card.kind == NOTE)
            if number and same_kind and digest != entry.digest:
                edited[number] = entry
        # Entries are compared by identity, which is cheap: an unchanged file keeps its entry.
        before = {number: id(entry) for number, entry in self._edited.items()}
        if {number: id(entry) for number, entry in edited.items()} != before:
            self._edited, self._matcher, self._edited_reader = edited, None, None

    def engine_directory(self, state: State) -> str:
        """Return the folder of the engine of this state's generation."""
        return os.path.join(self.cache, f"{GENERATION}{state.generation}")

    def cards(self, numbers: Iterable[int]) -> dict[int, Card]:
        """Return a mapping from numbers to cards at the last commit, including edits.

        Call it within ``read``.
        """
        cards = _look_up(self._cards, self.catalogue.cards, numbers)
        for number, entry in self._edited.items():
            if number in cards and entry.card is not None:
                cards[number] = entry.card
        return cards

    def successors(self) -> dict[int, int]:
        """Return the cached result of ``Catalogue.successors``. Call it within ``read``."""
        if self._state is None or not self._state.successions:
            return {}
        if self._successors is None:
            self._successors = self.catalogue.successors()
        return self._successors

    def repeated_names(self) -> frozenset[str]:
        """Return the cached result of ``Catalogue.repeated_names``. Call it within ``read``."""
        if self._repeated_names is None:
            self._repeated_names = self.catalogue.repeated_names()
        return self._repeated_names

    def count_titles(self, project: str | None, *, today: str) -> int:
        """Return the cached result of ``Catalogue.count_titles``. Call it within ``read``."""
        key = (project, today)
        if key not in self._title_counts:
            self._title_counts[key] = self.catalogue.count_titles(project, today=today)
        return self._title_counts[key]

    def titles(
        self, project: str | None, *, limit: int, today: str, paths: Collection[str] = ()
    ) -> list[Title]:
        """Return the cached result of ``Catalogue.titles``, and the further cards at ``paths``.

        Call it within ``read``.
        """
        key = (project, limit, today)
        if key not in self._titles:
            self._titles[key] = self.catalogue.titles(project, limit=limit, today=today)
        titles = self._titles[key]
        missing = set(paths).difference([title.path for title in titles])
        if not missing:
            return titles
        return titles + self.catalogue.titles_at(project, missing, today=today)

    def find_successor(self, number: int) -> Card | None:
        """Return the active card that replaces another card, or None if there is none."""
        successors = self.successors()
        seen = {number}
        current = number
        while (following := successors.get(current)) is not None and following not in seen:
            seen.add(following)
            current = following
        if current == number:
            return None
        card = self.cards([current]).get(current)
        return card if card is not None and card.is_injectable else None

    def guarding(self, paths: Sequence[str]) -> dict[int, tuple[str, ...]]:
        """Return the result of ``Catalogue.guarding``, including edits. Call it within ``read``."""
        guarding = self.catalogue.guarding(paths)
        for number, entry in self._edited.items():
            guarding.pop(number, None)
            guarded = tuple(path for path in paths if match_globs(entry.globs, path))
            if guarded:
                guarding[number] = guarded
        return guarding

    def matcher(self) -> Matcher:
        """Return the patterns of the last commit, compiled once. Call it within ``read``.

        The card of each rule is the number of its file as a text.
        """
        if self._matcher is None:
            patterns = load(DETECT_MATCHER)
            rules = [
                patterns.Rule(card=str(number), pattern=detector.pattern, globs=detector.globs)
                for number, detector in self._list_detectors()
            ]
            self._matcher = patterns.Matcher(rules)
        return self._matcher

    def _list_detectors(self) -> Iterator[tuple[int, Detector]]:
        """Yield the detectors of all files with their numbers, with those of edited files last."""
        for number, detector in self.catalogue.detectors(most=MAX_DETECTORS):
            if number not in self._edited:
                yield number, detector
        for number, entry in self._edited.items():
            for detector in entry.detectors:
                yield number, detector

    def backgrounds(self, numbers: Collection[int]) -> dict[int, float]:
        """Return a mapping from numbers to the backgrounds of their cards, including edits.

        Call it within ``read``.
        """
        backgrounds = _look_up(self._backgrounds, self.catalogue.backgrounds, numbers)
        for number, entry in self._edited.items():
            if number in numbers and entry.background is not None:
                backgrounds[number] = entry.background
        return backgrounds

    @property
    def thresholds(self) -> str:
        """The thresholds that were fitted to this brain, in the form of `format_thresholds`.

        The value is "" if they were not fitted yet.
        """
        if self._thresholds is None:
            self._thresholds = self.catalogue.read_thresholds()
        return self._thresholds

    def store_thresholds(self, thresholds: str) -> None:
        """Store the thresholds of this brain, only in memory if they cannot be written to disk."""
        with self.lock:
            with contextlib.suppress(sqlite3.Error):
                self.catalogue.write_thresholds(thresholds)
            self._thresholds = thresholds

    @property
    def project_words(self) -> str:
        """The everyday words of the project, in the form of `project_words.format_words`.

        The value is "" if they were not counted yet.
        """
        if self._project_words is None:
            self._project_words = self.catalogue.read_project_words()
        return self._project_words

    def store_project_words(self, words: str) -> None:
        """Store the words of the project, only in memory if they cannot be written to disk."""
        with self.lock:
            with contextlib.suppress(sqlite3.Error):
                self.catalogue.write_project_words(words)
            self._project_words = words

    def read_body(self, path: str) -> str:
        """Return the text of a file after its header, or "" if the file no longer exists."""
        settings = self.settings
        limit = settings.index.max_file_bytes
        read_document = load(WRITE_INDEX).read_document
        try:
            _data, document = read_document(self.root, path, settings.folders, limit)
        except StorageError:
            return ""
        body: str = document.body
        return body

    def read_sources(self, path: str) -> frozenset[str]:
        """Return the names of the files from which a card was imported, or none if it is gone."""
        try:
            read_bytes = load(CARD_FILES).read_bytes
            data = read_bytes(self.root, path, limit=self.settings.index.max_file_bytes)
        except StorageError:
            return frozenset()
        sources: frozenset[str] = load(READ_HEADER).read_sources(data.decode(errors="replace"))
        return sources

    def _discard_after(self, error: Exception) -> None:
        """Discard a damaged cache, unless another process has just created a new one."""
        if self._is_replaced():
            self._close_cache()
            return
        if is_disk_trouble(error):
            raise sqlite_error(error, self.cache, "free space or wait a moment") from None
        damaged, current = self._state, None
        with contextlib.suppress(sqlite3.Error):
            current = self.catalogue.state()
        self._close_cache()
        if damaged is None or current is None or current.generation == damaged.generation:
            Catalogue.remove(self._path)  # the next refresh builds catalogue and engine

    def _is_replaced(self) -> bool:
        """Return whether another process has replaced the catalogue because it was damaged."""
        return self._catalogue is not None and identify_file(self._path) != self._file

    def accept(self, state: State) -> None:
        """Use the state that this process has just committed."""
        self._accept(state)
        self._seen = self.catalogue.version()

    def _close_cache(self) -> None:
        """Close the catalogue and the engine, but not the journal, which is still in use."""
        self._accept(None)
        self._is_whole_verified = False
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
        self._thresholds = None
        self._project_words = None
        self._successors = None
        self._repeated_names = None
        self._titles = {}
        self._title_counts = {}
        self._edited = {}
        self._edited_reader = None
        self._state = state
        self._settings = None
        self.current = bool(state and state.versions == versions(state.settings["index"]["engine"]))


def _look_up(
    cache: dict[int, T], fetch: Callable[[list[int]], Mapping[int, T]], numbers: Iterable[int]
) -> dict[int, T]:
    """Return a mapping from numbers to values. Fetch missing values and add them to the cache."""
    wanted = list(numbers)
    missing = [number for number in wanted if number not in cache]
    if missing:
        cache |= fetch(missing)
    return {number: cache[number] for number in wanted if number in cache}


def versions(engine: str) -> str:
    """Return one text with every version on which an index depends.

    ``engine`` is the name of the engine in the settings.
    """
    local = local_engine(engine)
    return f"{__version__} {FORMAT} {ANALYZER_VERSION} {local} {engine_format(local)}"


@frozen
class Refresh:
    """The result of a refresh."""

    files: int
    """The number of files in the index afterwards."""
    changed: int = 0
    removed: int = 0
    seconds: float = 0.0
    stale: str = ""
    """Why files were left for the next run, or "" if none were."""
    left: int = 0
    """The number of files left because of the limit."""
    fault: str = ""
    """Why the index cannot be written to disk, or "" if it can be written."""
    is_partial: bool = False
    """Whether edited cards were not read because only the names were needed."""


class Refreshing(TypedDict, total=False):
    """The options of `refresh`."""

    limit: int | None
    patience: float
    workers: int
    progress: Callable[[int, int], None] | None
    rebuild: bool
    first: int | None
    waiting: Callable[[str], None]
    only_names: bool


@frozen
class Look:
    """A scan of the files with the settings of the last commit."""

    state: State
    """The state at that commit."""
    scan: Scan
    started: int
    """The time at which the scan began, in nanoseconds. Later changes may be missing."""

    def is_unchanged(self) -> bool:
        """Return whether the files are the same as at the commit."""
        scan, state = self.scan, self.state
        scanned = scan.manifest, scan.silent, scan.beyond
        return scanned == (state.manifest, state.silent, state.beyond)

    def is_valid_for(self, state: State, head: str) -> bool:
        """Return whether the scan used this commit and the settings with this signature."""
        is_same = self.state is state
        return is_same and self.scan.manifest.startswith(head) and state.manifest.startswith(head)


def look_at_files(index: SearchIndex, state: State) -> Look:
    """Scan the files to find out whether any of them has changed since ``state``."""
    settings = index.settings_of(state)
    started = time.time_ns()
    scan = scan_brain(index.root, settings, state.ignored, last=state)
    index.silent = scan.silent
    return Look(state=state, scan=scan, started=started)


def refresh(index: SearchIndex, **options: Unpack[Refreshing]) -> Refresh:
    """Update the index with the changes of the files.

    ``limit`` is the maximum number of files to read (``first`` instead, if no usable index exists),
    and ``patience`` is the maximum number of seconds to wait for another writer. If either bound
    applies, ``stale`` of the result contains the reason. ``waiting`` is called with a text when the
    wait begins, and ``progress`` with the number of files done and the number to do. With
    ``only_names``, edited cards are not read if each card can be found by its name without that.
    """
    began = time.monotonic()
    state = index.state
    look: Look | None = None
    if state is None or not index.current:
        first = options.get("first")
        if first is not None:
            options["limit"] = first
    elif not options.get("rebuild"):
        look = look_at_files(index, state)
        if look.is_unchanged():
            if state.gates and not load(GATE_SEAL).is_gate_file_current(index.root, state):
                load(GATE_FILE).update_gate_file(index.root, index.catalogue, state)
            return Refresh(files=len(look.scan.files))
        if options.get("only_names") and load(EDITED_CARDS).are_names_known(index, look):
            return Refresh(files=len(look.scan.files), is_partial=True)
    result: Refresh = load(WRITE_INDEX).write_index(index, look, **options)
    return replace(result, seconds=time.monotonic() - began)
