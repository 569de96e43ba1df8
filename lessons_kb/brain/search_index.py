"""What is kept of a brain's files to search them, and how it is brought up to date.

A refresh scans, compares, parses what changed and commits in batches. The engine commits first and
the catalogue second, so a crash in between only repeats work. The catalogue's manifest names the
files that are done; a run that stops half-way goes on there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from threading import RLock
from typing import TypedDict, TypeVar, Unpack

from lessons_kb.brain.gate_file import bring_into_step
from lessons_kb.cards import read_header as origins
from lessons_kb.cards.keys import find_line_of
from lessons_kb.cards.links import normal_title
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.config import Settings, settings_from_dict
from lessons_kb.detect.matcher import Matcher, Rule, measure
from lessons_kb.errors import ConfigError, IndexBroken, IndexBusy, InputError, StorageError
from lessons_kb.model import NOTE, Card, Document, Finding, as_data
from lessons_kb.process.programs import map_batches
from lessons_kb.relevance.background_prompts import measure_background
from lessons_kb.search.engine_protocol import Engine, Reader, read_terms
from lessons_kb.search.engine_registry import engine_format, local_engine, open_engine
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.catalogue import (
    FORMAT,
    Catalogue,
    CatalogueEntry,
    Detector,
    State,
    is_disk_trouble,
    remove_any,
)
from lessons_kb.store.files import identify_file, list_folder, measure_folder, sqlite_error
from lessons_kb.store.gate_files import has_gate_file
from lessons_kb.store.locks import hold_writer
from lessons_kb.store.scan import (
    Scan,
    format_manifest,
    mark_racy,
    parse_manifest,
    scan_brain,
    settings_signature,
)
from lessons_kb.text.analyzer import ANALYZER_VERSION, analyze_joined
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.version import __version__

_WORTH_NUMPY = 100
"""Cards whose backgrounds take longer to measure one by one than to import numpy."""


def digest_files(root: str, paths: list[str], settings: Settings) -> list[CatalogueEntry]:
    """Read, parse and analyse files; one that cannot be read yields an entry without a card."""
    entries = [_digest_file(root, path, settings) for path in paths]
    cards = [place for place, entry in enumerate(entries) if entry.card is not None]
    bodies = [entries[place].terms.get("body", "").split() for place in cards]
    for place, background in zip(cards, _measure_backgrounds(bodies), strict=True):
        entries[place] = replace(entries[place], background=background)
    return entries


def _measure_backgrounds(bodies: list[list[str]]) -> list[float]:
    if len(bodies) < _WORTH_NUMPY:
        return [measure_background(terms) for terms in bodies]
    from lessons_kb.relevance.background_batch import measure_backgrounds  # imports numpy

    return measure_backgrounds(bodies)


def read_document(
    root: str, path: str, folders: Mapping[str, str], max_bytes: int
) -> tuple[bytes, Document]:
    """Read and parse one file of a brain; StorageError when it cannot be read."""
    data = read_bytes(root, path, limit=max_bytes)
    return data, parse_bytes(data, path=path, folders=folders)


def check_globs(document: Document) -> list[Finding]:
    """Return what keeps the ``paths`` of a card from guarding anything; the card stays in use."""
    card = document.card
    try:
        compile_globs(card.paths if card else ())
    except InputError as error:
        message, _, fix = str(error).partition("; ")
        line = find_line_of("paths", document.key_lines)
        path = card.id if card else ""
        return [Finding(path=path, line=line, rule="bad-glob", message=message, fix=fix)]
    return []


def _digest_file(root: str, path: str, settings: Settings) -> CatalogueEntry:
    try:
        data, document = read_document(root, path, settings.folders, settings.index.max_file_bytes)
    except StorageError as error:
        return CatalogueEntry(path=path, findings=(report_unreadable(path, error),))
    card, bad = document.card, check_globs(document)
    findings = (*document.findings, *bad)
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    if card is None:
        return CatalogueEntry(path=path, digest=digest, findings=findings)
    terms = read_terms({name: analyze_joined(text) for name, text in document.fields.items()})
    return CatalogueEntry(
        path=path,
        digest=digest,
        card=card,
        terms=terms,
        findings=findings,
        title_key="" if card.kind == NOTE else normal_title(card.title),
        globs=() if bad else compile_globs(card.paths),
        detectors=tuple(
            Detector(pattern=one, globs=compile_globs(one.files), size=measure(one))
            for one in (card.detect if card.status == "active" else ())
        ),
    )


def versions(engine: str) -> str:
    """Return every version that an index depends on as one text; ``engine`` as settings name it."""
    local = local_engine(engine)
    return f"{__version__} {FORMAT} {ANALYZER_VERSION} {local} {engine_format(local)}"


def report_unreadable(path: str, error: StorageError) -> Finding:
    """Return the finding for a file that cannot be read."""
    fix = "grant yourself read access, or remove the file"
    message = str(error)
    return Finding(path=path, line=0, rule="unreadable", message=message, fix=fix, level="error")


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
            self._matcher = Matcher(
                Rule(card=str(number), pattern=one.pattern, globs=one.globs)
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
        try:
            return read_document(self.root, path, settings.folders, limit)[1].body
        except StorageError:
            return ""

    def read_sources(self, path: str) -> frozenset[str]:
        """Return the names of the files that a card was imported from; none where it vanished."""
        try:
            data = read_bytes(self.root, path, limit=self.settings.index.max_file_bytes)
        except StorageError:
            return frozenset()
        return origins.read_sources(data.decode(errors="replace"))

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


BATCH = 2_000
"""Files of the first commit: with them a search can answer while the others are read."""
_FURTHER = 10_000
"""Files of each further commit, which a run that is killed half-way repeats. Many small ones would
leave an index in pieces."""
_JOB = 125
"""Files handed to a worker at once: progress is told after each."""
_PATIENCE = 10.0
WORTH_A_WORKER = 400
"""Changed files from which starting further processes (about 0.3 s each) pays."""


@dataclass(frozen=True, kw_only=True, slots=True)
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


Entries = list[tuple[int, CatalogueEntry]]
"""What was read of files, by their numbers."""


class Refreshing(TypedDict, total=False):
    """How to refresh; see `refresh`."""

    limit: int | None
    patience: float
    workers: int
    progress: Callable[[int, int], None] | None
    rebuild: bool
    first: int | None
    waiting: Callable[[str], None]


def refresh(index: SearchIndex, **how: Unpack[Refreshing]) -> Refresh:
    """Bring the index up to date with the files.

    ``limit`` bounds the files read (``first`` where nothing is indexed that can be used),
    ``patience`` the seconds waited for another writer, and ``waiting`` is told of it; where either
    bound cuts, ``stale`` says so. ``progress`` is told (files done, files to do).
    """
    began, state = time.monotonic(), index.state
    limit, progress, rebuild = how.get("limit"), how.get("progress"), how.get("rebuild", False)
    if state is None or not index.current:
        first = how.get("first")
        limit = limit if first is None else first
    elif not rebuild:
        settings = settings_from_dict(state.settings)
        seen = scan_brain(index.root, settings, state.ignored, last=state)
        index.silent = seen.silent
        found = seen.manifest, seen.silent, seen.beyond
        if found == (state.manifest, state.silent, state.beyond):
            if state.gates and not has_gate_file(index.root):
                bring_into_step(index.root, index.catalogue, state)
            return Refresh(files=len(seen.files))
    lock = os.path.join(index.cache, "writer.lock")
    patience, waiting = how.get("patience", _PATIENCE), how.get("waiting", lambda _why: None)
    with hold_writer(lock, patience=patience, waiting=waiting) as refused:
        if refused and (rebuild or progress is not None):
            raise IndexBusy(refused)
        if refused:
            return Refresh(files=0, stale=refused)
        run = _Run(index, limit, how.get("workers", 1), progress or (lambda _done, _all: None))
        done = run.run(rebuild=rebuild)
    return replace(done, seconds=time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the writer. Whoever makes one holds the writer lock."""

    index: SearchIndex
    limit: int | None
    workers: int
    progress: Callable[[int, int], None]

    def run(self, *, rebuild: bool) -> Refresh:
        """Do the work; batches already committed stay when a later one fails."""
        head = settings_signature(self.index.root)
        settings, _origins = read_settings(self.index.root)
        ignored = read_ignored(self.index.root)
        state = self.index.state
        if state is not None:
            self.index.verify_catalogue()  # what is built upon must be whole
        old = settings_from_dict(state.settings) if state else settings
        same_rules = old.index == settings.index and old.folders == settings.folders
        if rebuild or state is None or not (same_rules and self.index.current):
            state = self._new_generation(state, settings)
        state = replace(state, settings=as_data(settings), ignored=ignored)

        started = time.time_ns()
        seen = scan_brain(self.index.root, settings, ignored, last=state)
        self.index.silent = seen.silent
        if not seen.manifest.startswith(head):
            started = 0  # settings changed while we looked: vouch for nothing
        done = self._apply(state, seen, settings, started)
        if (committed := self.index.state) is not None:
            bring_into_step(self.index.root, self.index.catalogue, committed)
        return done

    def _new_generation(self, old: State | None, settings: Settings) -> State:
        # Never one that was used before: other processes may still read the folder of that name.
        generation = max(old.generation + 1 if old else 0, time.time_ns())
        now, kept = versions(settings.index.engine), as_data(settings)
        fresh = State(versions=now, generation=generation, manifest="", settings=kept)
        directory = self.index.engine_directory(fresh)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(remove_any, directory)
            os.makedirs(directory)
            with contextlib.closing(self._engine(fresh, create=True)) as engine:
                fresh = replace(fresh, engine=engine.stamp())
            fresh = self.index.catalogue.commit(fresh, afresh=True)
            on_failure.pop_all()
        self.index.accept(fresh)
        for name in list_folder(self.index.cache):
            folder = os.path.join(self.index.cache, name)
            if name.startswith(GENERATION) and folder != directory:
                # On Windows a reader may hold the files; the next generation tries again.
                with contextlib.suppress(OSError):
                    remove_any(folder)
        return fresh

    def _apply(self, state: State, seen: Scan, settings: Settings, started: int) -> Refresh:
        catalogue = self.index.catalogue
        before = state.manifest, state.silent, state.beyond
        state = replace(state, silent=seen.silent, beyond=seen.beyond)
        known = parse_manifest(state.manifest) if state.manifest else {}
        numbers = catalogue.numbers()
        gone = {path: numbers[path][0] for path in numbers if path not in seen.files}
        todo = [path for path, sig in seen.files.items() if known.get(path) != sig]
        done = {path: sig for path, sig in known.items() if path in seen.files}
        waiting, stale = 0, ""
        if self.limit is not None and len(todo) > self.limit:
            # Those read a moment ago, too young to be vouched for, come last.
            todo.sort(key=lambda path: known.get(path, "").endswith("!"))
            new = sum(not known.get(path, "").endswith("!") for path in todo)
            # Where something is indexed, a part would only keep the answer waiting for the disk.
            most = 0 if known and new > self.limit else self.limit
            if waiting := max(new - most, 0):
                stale = f"{waiting} changed files are not indexed yet; run `lessons index`"
            if not most:
                return Refresh(files=len(known), stale=stale, left=waiting)
            todo = todo[:most]
        if todo or gone or before != (seen.manifest, seen.silent, seen.beyond):
            reading = _Reading(
                seen,
                todo,
                self._digest(todo, settings),
                numbers=numbers,
                done=done,
                started=started,
                progress=self.progress,
            )
            self._commit_all(state, reading, [*gone.values()])
        changed, removed = len(todo), len(gone)
        return Refresh(
            files=len(seen.files), changed=changed, removed=removed, stale=stale, left=waiting
        )

    def _digest(self, todo: list[str], settings: Settings) -> Iterator[list[CatalogueEntry]]:
        """Yield what was read of the files, in order, by this process or several."""
        parts = [todo[start : start + _JOB] for start in range(0, len(todo), _JOB)]
        jobs = [(self.index.root, part, settings) for part in parts]
        workers = self.workers if len(todo) >= WORTH_A_WORKER else 1
        return map_batches(digest_files, jobs, workers=workers)

    def _commit_all(self, state: State, reading: _Reading, gone: list[int]) -> None:
        """Commit what is read, batch by batch, and what is gone with the first."""
        state = self._commit(state, reading, BATCH, gone)
        while reading.left:
            state = self._commit(state, reading, _FURTHER, [])
        if self.limit is None:
            with contextlib.closing(self._engine(state)) as engine:
                if engine.needs_compaction():
                    engine.compact()
                    state = self.index.catalogue.commit(replace(state, engine=engine.stamp()))
                    self.index.accept(state)

    def _commit(self, state: State, reading: _Reading, most: int, gone: list[int]) -> State:
        """Store what is read and what is gone: the engine first, then the catalogue.

        The engine is written while further files are read.
        """
        entries: Entries = []
        stream = reading.take(most)

        def add(first: tuple[int, CatalogueEntry]) -> Iterator[tuple[int, Mapping[str, str]]]:
            for number, entry in chain([first], stream):
                # The terms are many, and the catalogue does not keep them.
                entries.append((number, replace(entry, terms={})))
                if entry.card is not None:
                    yield number, entry.terms

        first = next(stream, None)
        if first is not None or gone:
            with contextlib.closing(self._engine(state)) as engine:
                engine.update(add(first) if first else (), gone)
                replaced = reading.find_replaced(entries)
                if replaced:
                    engine.update((), replaced)
                state = replace(state, engine=engine.stamp())
        state = replace(state, manifest=reading.format_manifest())
        stored = {number for number, _entry in entries}
        removed = [n for n in (*gone, *reading.find_replaced(entries)) if n not in stored]
        state = self.index.catalogue.commit(state, entries=entries, removed=removed)
        self.index.accept(state)
        return state

    def _engine(self, state: State, *, create: bool = False) -> Engine:
        name = local_engine(state.settings["index"]["engine"])
        return open_engine(name, self.index.engine_directory(state), create=create)


class _Reading:
    """Changed files as they are read, with their numbers."""

    def __init__(
        self,
        seen: Scan,
        todo: Collection[str],
        batches: Iterator[list[CatalogueEntry]],
        *,
        numbers: Mapping[str, tuple[int, str]],
        done: dict[str, str],
        started: int,
        progress: Callable[[int, int], None],
    ) -> None:
        self.left = len(todo)
        """Files that are still to be read."""
        self._seen = seen
        self._batches = batches
        self._numbers = numbers
        """Number and digest of each file at the last commit."""
        self._taken = {abs(number) for number, _digest in numbers.values()}
        self._done = done
        """Files that are committed, or are to be with this batch, with their signatures."""
        self._started = started
        self._progress = progress

    def take(self, most: int) -> Iterator[tuple[int, CatalogueEntry]]:
        """Yield number and content of the next files, about ``most``, whose content changed."""
        left = max(self.left - most, 0)
        while self.left > left:
            batch = next(self._batches)
            for entry in batch:
                signature = self._seen.files[entry.path]
                self._done[entry.path] = mark_racy(signature, started_ns=self._started)
                number, digest = self._numbers.get(entry.path, (0, ""))
                if digest == entry.digest:
                    continue
                if number == 0 or (number < 0) != is_note(entry):
                    self._taken.discard(abs(number))
                    number = choose_number(entry.path, self._taken)
                    self._taken.add(number)
                    number = -number if is_note(entry) else number
                yield number, entry
            self.left -= len(batch)
            self._progress(len(self._done), len(self._seen.files))

    def find_replaced(self, entries: Entries) -> list[int]:
        """Return the numbers under which the engine must hold these files no longer.

        A file that became a note, or was one, has another number now.
        """
        replaced = []
        for number, entry in entries:
            before = self._numbers.get(entry.path, (0, ""))[0]
            if before and (before != number or entry.card is None):
                replaced.append(before)
        return replaced

    def format_manifest(self) -> str:
        """Return the manifest that holds with this batch."""
        return format_manifest(self._done, like=self._seen.manifest)


def choose_number(path: str, taken: Collection[int]) -> int:
    """Return the number of a file: a digest of its path, which is the same in every index.

    Equal scores are ordered by it. A number that another file has is passed over, once in
    10,000,000 brains of 10,000 files.
    """
    number = int.from_bytes(hashlib.blake2b(os.fsencode(path), digest_size=6).digest(), "big") or 1
    while number in taken:
        number += 1
    return number


def is_note(entry: CatalogueEntry) -> bool:
    """Tell notes, which have numbers below zero so that a search can part the two cheaply."""
    return entry.card is not None and entry.card.kind == "note"
