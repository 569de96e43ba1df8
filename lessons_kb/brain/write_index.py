"""Update the index of a brain with the changes of its files.

A refresh scans the files, compares them with the catalogue, parses the changed files, and commits
in batches. The engine commits first and the catalogue second, so that a crash between them only
repeats work. The manifest of the catalogue lists the finished files. An interrupted run continues
there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import Unpack

from lessons_kb.brain.copied_cards import find_freed_copies, find_new_copies
from lessons_kb.brain.gate_file import update_gate_file
from lessons_kb.brain.search_index import (
    GENERATION,
    Look,
    Refresh,
    Refreshing,
    SearchIndex,
    versions,
)
from lessons_kb.cards.anchors import format_claims
from lessons_kb.cards.file_kinds import kind_of
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
"""From this number of cards on, numpy saves more time than its import takes."""


def digest_files(root: str, paths: list[str], settings: Settings) -> list[CatalogueEntry]:
    """Read, parse and analyse files. The entry of an unreadable file has no card."""
    entries = [_digest_file(root, path, settings) for path in paths]
    places = [place for place, entry in enumerate(entries) if entry.card is not None]
    bodies = [entries[place].terms.get("body", "").split() for place in places]
    for place, background in zip(places, _measure_backgrounds(bodies), strict=True):
        entries[place] = replace(entries[place], background=background)
    return entries


def _measure_backgrounds(bodies: list[list[str]]) -> list[float]:
    if len(bodies) < _WORTH_NUMPY:
        return [measure_background(terms) for terms in bodies]
    from lessons_kb.relevance.background_batch import measure_backgrounds  # imports numpy

    return measure_backgrounds(bodies)


def read_document(
    root: str, path: str, folders: Mapping[str, str], max_bytes: int, *, skip_notes: bool = False
) -> tuple[bytes, Document]:
    """Read and parse one file of a brain. Raises StorageError if it cannot be read.

    With ``skip_notes``, the sections of a file that is not a card are not parsed.
    """
    data = read_bytes(root, path, limit=max_bytes)
    return data, parse_bytes(data, path=path, folders=folders, skip_notes=skip_notes)


_NAMES_A_KIND = re.compile(rb"^type:\s*[\"']?(?:lesson|playbook|qa-finding)\b", re.MULTILINE)


def is_left_out(path: str, data: bytes, document: Document, settings: Settings) -> bool:
    """Return whether a file is not a card, in a brain that reads only cards (`notes = false`).

    A file that cannot be parsed counts as a card if its folder or its header says so.
    """
    if settings.notes:
        return False
    if document.card is not None:
        return document.card.kind == NOTE
    return kind_of(path, settings.folders) == NOTE and not _NAMES_A_KIND.search(data)


def check_globs(document: Document) -> list[Finding]:
    """Return a finding if the ``paths`` of a card are invalid. The card stays in use."""
    card = document.card
    try:
        compile_globs(card.paths if card else ())  # raises InputError for an invalid glob
    except InputError as error:
        message, _, fix = str(error).partition("; ")
        line = find_line_of("paths", document.key_lines)
        path = card.id if card else ""
        return [Finding(path=path, line=line, rule="bad-glob", message=message, fix=fix)]
    return []


def _digest_file(root: str, path: str, settings: Settings) -> CatalogueEntry:
    try:
        limit = settings.index.max_file_bytes
        data, document = read_document(
            root, path, settings.folders, limit, skip_notes=not settings.notes
        )
    except StorageError as error:
        return CatalogueEntry(path=path, findings=(report_unreadable(path, error),))
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    if is_left_out(path, data, document, settings):
        return CatalogueEntry(path=path, digest=digest, left_out=True)
    card = document.card
    bad = check_globs(document)
    findings = (*document.findings, *bad)
    if card is None:
        return CatalogueEntry(path=path, digest=digest, findings=findings)
    terms = read_terms({name: analyze_joined(text) for name, text in document.fields.items()})
    patterns = card.detect if card.status == "active" else ()
    return CatalogueEntry(
        path=path,
        digest=digest,
        card=card,
        terms=terms,
        findings=findings,
        title_key="" if card.kind == NOTE else normal_title(card.title),
        globs=() if bad else compile_globs(card.paths),
        claims=format_claims(document),
        detectors=tuple(
            Detector(pattern=pattern, globs=compile_globs(pattern.files), size=measure(pattern))
            for pattern in patterns
        ),
    )


def report_unreadable(path: str, error: StorageError) -> Finding:
    """Return the finding for a file that cannot be read."""
    fix = "grant yourself read access, or remove the file"
    message = str(error)
    return Finding(path=path, line=0, rule="unreadable", message=message, fix=fix, level="error")


BATCH = 2_000
"""The files of the first commit, which lets searches answer while the others are read."""
_FURTHER = 10_000
"""The files of each further commit. A killed run repeats them. Smaller commits would fragment the
index."""
_JOB = 125
"""The files that a worker gets at once. Progress is reported after each job."""
_PATIENCE = 10.0
WORTH_A_WORKER = 400
"""The number of changed files from which further processes (0.3 s each to start) pay."""


Entries = list[tuple[int, CatalogueEntry]]
"""The numbers of files, with the entries that were read from them."""


def write_index(index: SearchIndex, look: Look | None, **options: Unpack[Refreshing]) -> Refresh:
    """Read the changed files and commit them. See `search_index.refresh`."""
    lock = os.path.join(index.cache, "writer.lock")
    progress, rebuild = options.get("progress"), options.get("rebuild", False)
    patience = options.get("patience", _PATIENCE)
    waiting = options.get("waiting", lambda _reason: None)
    with hold_writer(lock, patience=patience, waiting=waiting) as refused:
        if refused and (rebuild or progress is not None):
            raise IndexBusy(refused)
        if refused:
            return Refresh(files=0, stale=refused, fault="" if refused == BUSY else refused)
        report = progress or (lambda _done, _all: None)
        run = _Run(
            index=index,
            limit=options.get("limit"),
            workers=options.get("workers", 1),
            progress=report,
        )
        return run.run(look, rebuild=rebuild)


def compact(index: SearchIndex) -> bool:
    """Remove deleted documents from the index if it pays. Return whether this was done.

    It takes 0.2 ms per card, so a refresh with a limit does not do it. It is skipped while another
    process writes.
    """
    with hold_writer(os.path.join(index.cache, "writer.lock"), patience=0.0) as refused:
        state = index.state
        if refused or state is None or not index.current:
            return False
        run = _Run(index=index, limit=None, workers=1, progress=lambda _done, _all: None)
        return run.compact(state)


@frozen
class _Run:
    """A run of the writer. The caller holds the writer lock."""

    index: SearchIndex
    limit: int | None
    workers: int
    progress: Callable[[int, int], None]

    def run(self, look: Look | None, *, rebuild: bool) -> Refresh:
        """Scan, read and commit. If a batch fails, the earlier batches stay committed.

        The scan is skipped if ``look`` is valid for the current state and settings.
        """
        head = settings_signature(self.index.root)
        settings, _origins = read_settings(self.index.root)
        ignored = read_ignored(self.index.root)
        state = self.index.state
        if state is not None:
            self.index.verify_catalogue()  # never build on a damaged catalogue
        old = settings_from_dict(state.settings) if state else settings
        same_rules = (old.index, old.folders, old.notes) == (
            settings.index,
            settings.folders,
            settings.notes,
        )
        if rebuild or state is None or not (same_rules and self.index.current):
            state = self._new_generation(state, settings)
        if look is not None and not look.is_valid_for(state, head):
            look = None
        state = replace(state, settings=as_data(settings), ignored=ignored)

        if look is not None:
            started, scan = look.started, look.scan
        else:
            started = time.time_ns()
            scan = scan_brain(self.index.root, settings, ignored, last=state)
        self.index.silent = scan.silent
        if not scan.manifest.startswith(head):
            started = 0  # the settings changed during the scan: no file counts as read for good
        result = self._apply(state, scan, settings, started)
        committed = self.index.state
        if committed is not None:
            update_gate_file(self.index.root, self.index.catalogue, committed)
        return result

    def _new_generation(self, old: State | None, settings: Settings) -> State:
        # The number must be new, because other processes may still read the folder of an old
        # number.
        generation = max(old.generation + 1 if old else 0, time.time_ns())
        fresh = State(
            versions=versions(settings.index.engine),
            generation=generation,
            manifest="",
            settings=as_data(settings),
            unread=1,
        )
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
                # On Windows, a reader may have the files open. The next generation tries again.
                with contextlib.suppress(OSError):
                    remove_any(folder)
        return fresh

    def _apply(self, state: State, scan: Scan, settings: Settings, started: int) -> Refresh:
        """Read and commit the differences between the catalogue and a scan."""
        catalogue = self.index.catalogue
        before = state.manifest, state.silent, state.beyond
        state = replace(state, silent=scan.silent, beyond=scan.beyond)
        signatures = parse_manifest(state.manifest) if state.manifest else {}
        numbers = catalogue.numbers()
        gone = [number for path, (number, _digest) in numbers.items() if path not in scan.files]
        todo = [path for path, sig in scan.files.items() if signatures.get(path) != sig]
        done = {path: sig for path, sig in signatures.items() if path in scan.files}
        left, stale = 0, ""
        if self.limit is not None and len(todo) > self.limit:

            def was_just_read(path: str) -> bool:
                return signatures.get(path, "").endswith("!")  # see `mark_racy`

            todo.sort(key=was_just_read)
            new = sum(not was_just_read(path) for path in todo)
            # If an index exists, reading only a part of the files would only delay the answer.
            most = 0 if signatures and new > self.limit else self.limit
            left = max(new - most, 0)
            if left:
                stale = f"{left} changed files are not indexed yet; run `lessons index`"
            if not most:
                return Refresh(files=len(signatures), stale=stale, left=left)
            todo = todo[:most]
        removed_paths = [path for path in numbers if path not in scan.files]
        changed = {*todo, *removed_paths}
        freed = find_freed_copies(catalogue, changed) if changed else []
        freed = [path for path in freed if path in scan.files]
        todo += [path for path in freed if path not in changed]
        if todo or gone or before != (scan.manifest, scan.silent, scan.beyond):
            reading = _Reading(
                scan,
                todo,
                self._digest(todo, settings),
                numbers=numbers,
                freed=freed,
                done=done,
                started=started,
                progress=self.progress,
                beyond_limit=left,
            )
            self._commit_all(state, reading, gone)
        return Refresh(
            files=len(scan.files), changed=len(todo), removed=len(gone), stale=stale, left=left
        )

    def _digest(self, todo: list[str], settings: Settings) -> Iterator[list[CatalogueEntry]]:
        """Yield the entries of the files in order. One or several processes read them."""
        parts = [todo[start : start + _JOB] for start in range(0, len(todo), _JOB)]
        jobs = [(self.index.root, part, settings) for part in parts]
        workers = self.workers if len(todo) >= WORTH_A_WORKER else 1
        return map_batches(digest_files, jobs, workers=workers)

    def _commit_all(self, state: State, reading: _Reading, gone: list[int]) -> None:
        """Commit all changed files in batches. The first batch also removes the deleted files."""
        state = self._commit(state, reading, BATCH, gone)
        while reading.left:
            state = self._commit(state, reading, _FURTHER, [])
        if self.limit is None:
            self.compact(state)

    def compact(self, state: State) -> bool:
        """Remove deleted documents from the index if it pays. Return whether this was done."""
        with contextlib.closing(self._engine(state)) as engine:
            if not engine.needs_compaction():
                return False
            engine.compact()
            state = self.index.catalogue.commit(replace(state, engine=engine.stamp()))
        self.index.accept(state)
        return True

    def _commit(self, state: State, reading: _Reading, most: int, gone: list[int]) -> State:
        """Commit a batch: first to the engine, then to the catalogue.

        The engine writes while further files are read.
        """
        entries: Entries = []
        stream = reading.take(most)

        def add(first: tuple[int, CatalogueEntry]) -> Iterator[tuple[int, Mapping[str, str]]]:
            for number, entry in chain([first], stream):
                # The catalogue does not store the terms, which need much memory.
                entries.append((number, replace(entry, terms={})))
                if entry.card is not None:
                    yield number, entry.terms

        first = next(stream, None)
        if first is not None or gone:
            with contextlib.closing(self._engine(state)) as engine:
                engine.update(add(first) if first else (), gone)
                state = replace(state, engine=engine.stamp())
        in_use = [(number, entry) for number, entry in entries if not entry.left_out]
        copies = self._find_copies(in_use, reading, gone)
        replaced = [*reading.find_replaced(entries), *copies]
        if replaced:
            with contextlib.closing(self._engine(state)) as engine:
                engine.update((), replaced)
                state = replace(state, engine=engine.stamp())
        entries = [(number, copies.get(number, entry)) for number, entry in in_use]
        stored = {number for number, _entry in entries}
        entries += [(number, copy) for number, copy in copies.items() if number not in stored]
        stored.update(copies)
        unread = reading.left + reading.beyond_limit if state.unread else 0
        state = replace(state, manifest=reading.format_manifest(), unread=unread)
        removed = [number for number in (*gone, *replaced) if number not in stored]
        state = self.index.catalogue.commit(state, entries=entries, removed=removed)
        self.index.accept(state)
        return state

    def _find_copies(
        self, entries: Entries, reading: _Reading, gone: Collection[int]
    ) -> dict[int, CatalogueEntry]:
        """Return a mapping from numbers to files that are copies once the entries are stored."""
        catalogue = self.index.catalogue
        absent = {*reading.unread, *reading.find_paths(gone)}
        copies = find_new_copies(catalogue, [entry for _number, entry in entries], absent)
        if not copies:
            return {}
        numbers = {path: number for path, (number, _digest) in catalogue.numbers().items()}
        numbers |= {entry.path: number for number, entry in entries}
        return {numbers[copy.path]: copy for copy in copies}

    def _engine(self, state: State, *, create: bool = False) -> Engine:
        name = local_engine(state.settings["index"]["engine"])
        return open_engine(name, self.index.engine_directory(state), create=create)


class _Reading:
    """The changed files, which are numbered as they are read."""

    def __init__(
        self,
        scan: Scan,
        todo: Collection[str],
        batches: Iterator[list[CatalogueEntry]],
        *,
        numbers: Mapping[str, tuple[int, str]],
        freed: Collection[str],
        done: dict[str, str],
        started: int,
        progress: Callable[[int, int], None],
        beyond_limit: int,
    ) -> None:
        self.left = len(todo)
        """The number of files that still have to be read."""
        self.beyond_limit = beyond_limit
        """The number of further files that this run does not read."""
        self.unread = set(todo)
        """The paths of the files that still have to be read."""
        self._scan = scan
        self._batches = batches
        self._numbers = numbers
        """The number and the digest of each file at the last commit."""
        self._taken = {abs(number) for number, _digest in numbers.values()}
        self._freed = frozenset(freed)
        """Copies whose originals changed, which the index has to include as separate cards."""
        self._done = done
        """Maps paths to signatures, for files that are committed or belong to this batch."""
        self._started = started
        self._progress = progress

    def take(self, most: int) -> Iterator[tuple[int, CatalogueEntry]]:
        """Read about ``most`` more files. Yield the number and the entry of each changed file."""
        left = max(self.left - most, 0)
        while self.left > left:
            batch = next(self._batches)
            for entry in batch:
                signature = self._scan.files[entry.path]
                self._done[entry.path] = mark_racy(signature, started_ns=self._started)
                self.unread.discard(entry.path)
                number, digest = self._numbers.get(entry.path, (0, ""))
                if digest == entry.digest and entry.path not in self._freed:
                    continue
                if number == 0 or (number < 0) != is_note(entry):
                    self._taken.discard(abs(number))
                    number = choose_number(entry.path, self._taken)
                    self._taken.add(number)
                    number = -number if is_note(entry) else number
                yield number, entry
            self.left -= len(batch)
            self._progress(len(self._done), len(self._scan.files))

    def find_paths(self, numbers: Collection[int]) -> list[str]:
        """Return the paths that the files with these numbers had at the last commit."""
        return [path for path, (number, _digest) in self._numbers.items() if number in numbers]

    def find_replaced(self, entries: Entries) -> list[int]:
        """Return the old numbers of these files, which the engine must remove.

        A file gets another number if a card becomes a note, or a note becomes a card.
        """
        replaced = []
        for number, entry in entries:
            before = self._numbers.get(entry.path, (0, ""))[0]
            if before and (before != number or entry.card is None):
                replaced.append(before)
        return replaced

    def format_manifest(self) -> str:
        """Return the manifest for the commit of this batch."""
        return format_manifest(self._done, like=self._scan.manifest)


def choose_number(path: str, taken: Collection[int]) -> int:
    """Return the number of a file: a digest of its path, which is the same in every index.

    It decides the order of equal scores. If another file has the number, the next free number is
    used. This happens once in 10,000,000 brains of 10,000 files.
    """
    number = int.from_bytes(hashlib.blake2b(os.fsencode(path), digest_size=6).digest(), "big") or 1
    while number in taken:
        number += 1
    return number


def is_note(entry: CatalogueEntry) -> bool:
    """Return whether a file is a note. Notes have negative numbers, so that a search skips them."""
    return entry.card is not None and entry.card.kind == "note"
