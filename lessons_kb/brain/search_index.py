"""How the index of a brain is brought up to date with its files.

A refresh scans, compares, parses what changed and commits in batches. The engine commits first and
the catalogue second, so a crash in between only repeats work. The catalogue's manifest names the
files that are done; a run that stops half-way goes on there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import Unpack

from lessons_kb.brain.gate_file import bring_into_step
from lessons_kb.brain.open_index import GENERATION, Look, Refresh, Refreshing, SearchIndex, versions
from lessons_kb.cards.keys import find_line_of
from lessons_kb.cards.links import normal_title
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.config import Settings, settings_from_dict
from lessons_kb.detect.matcher import measure
from lessons_kb.errors import IndexBusy, InputError, StorageError
from lessons_kb.model import NOTE, Document, Finding, as_data
from lessons_kb.process.programs import map_batches
from lessons_kb.relevance.background_prompts import measure_background
from lessons_kb.search.engine_protocol import Engine, read_terms
from lessons_kb.search.engine_registry import local_engine, open_engine
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.catalogue import (
    CatalogueEntry,
    Detector,
    State,
    remove_any,
)
from lessons_kb.store.files import list_folder
from lessons_kb.store.locks import BUSY, hold_writer
from lessons_kb.store.scan import (
    Scan,
    format_manifest,
    mark_racy,
    parse_manifest,
    scan_brain,
    settings_signature,
)
from lessons_kb.text.analyzer import analyze_joined
from lessons_kb.text.patterns import compile_globs
from lessons_kb.values import frozen, replace

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


def report_unreadable(path: str, error: StorageError) -> Finding:
    """Return the finding for a file that cannot be read."""
    fix = "grant yourself read access, or remove the file"
    message = str(error)
    return Finding(path=path, line=0, rule="unreadable", message=message, fix=fix, level="error")


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


Entries = list[tuple[int, CatalogueEntry]]
"""What was read of files, by their numbers."""


def write_index(index: SearchIndex, look: Look | None, **how: Unpack[Refreshing]) -> Refresh:
    """Read what has changed and commit it; see `open_index.refresh`."""
    lock = os.path.join(index.cache, "writer.lock")
    progress, rebuild = how.get("progress"), how.get("rebuild", False)
    patience, waiting = how.get("patience", _PATIENCE), how.get("waiting", lambda _why: None)
    with hold_writer(lock, patience=patience, waiting=waiting) as refused:
        if refused and (rebuild or progress is not None):
            raise IndexBusy(refused)
        if refused:
            return Refresh(files=0, stale=refused, fault="" if refused == BUSY else refused)
        show = progress or (lambda _done, _all: None)
        run = _Run(
            index=index, limit=how.get("limit"), workers=how.get("workers", 1), progress=show
        )
        return run.run(look, rebuild=rebuild)


def compact(index: SearchIndex) -> bool:
    """Rewrite the index without what was deleted if that pays; return whether it did.

    It takes 0.2 ms a card. A refresh with a limit leaves it to whoever has the time. Where another
    process writes, it is left to that one.
    """
    with hold_writer(os.path.join(index.cache, "writer.lock"), patience=0.0) as refused:
        state = index.state
        if refused or state is None or not index.current:
            return False
        run = _Run(index=index, limit=None, workers=1, progress=lambda _done, _all: None)
        return run.compact(state)


@frozen
class _Run:
    """One run of the writer. Whoever makes one holds the writer lock."""

    index: SearchIndex
    limit: int | None
    workers: int
    progress: Callable[[int, int], None]

    def run(self, look: Look | None, *, rebuild: bool) -> Refresh:
        """Do the work; batches already committed stay when a later one fails.

        The files are scanned, unless a ``look`` at them holds for the state and settings of now.
        """
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
        if look is not None and not look.holds(state, head):
            look = None
        state = replace(state, settings=as_data(settings), ignored=ignored)

        if look is not None:
            started, seen = look.started, look.scan
        else:
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
            self.compact(state)

    def compact(self, state: State) -> bool:
        """Rewrite the index without what was deleted if that pays; return whether it did."""
        with contextlib.closing(self._engine(state)) as engine:
            if not engine.needs_compaction():
                return False
            engine.compact()
            state = self.index.catalogue.commit(replace(state, engine=engine.stamp()))
        self.index.accept(state)
        return True

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
