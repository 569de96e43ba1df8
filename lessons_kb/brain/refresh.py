"""Bring a brain's index up to date: scan, compare, parse what changed, commit in batches.

The engine commits first and the catalogue second, so a crash in between only repeats work.
The catalogue's manifest names the files that are done; a run that stops half-way goes on there.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypedDict

from lessons_kb.brain.search_index import GENERATION, SearchIndex, digest_files, versions
from lessons_kb.config import Settings, settings_from_dict
from lessons_kb.errors import IndexBusy
from lessons_kb.model import as_data
from lessons_kb.process.programs import map_batches
from lessons_kb.search.engine_protocol import Engine
from lessons_kb.search.engine_registry import local_engine, open_engine
from lessons_kb.store import scan as scans
from lessons_kb.store.catalogue import CatalogueEntry, State, remove_any
from lessons_kb.store.files import list_folder
from lessons_kb.store.locks import hold_writer
from lessons_kb.store.scan import Scan, scan_brain
from lessons_kb.store.settings import read_ignored, read_settings

BATCH = 2_000
"""Files a commit: a run killed half-way repeats at most these, and each commit costs 50 ms."""
_JOB = 125
"""Files handed to a worker at once: progress is told after each."""
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


class Refreshing(TypedDict, total=False):
    """How to refresh; see `refresh`."""

    limit: int | None
    patience: float
    workers: int
    progress: Callable[[int, int], None] | None
    rebuild: bool
    first: int | None
    waiting: Callable[[str], None]


def refresh(
    index: SearchIndex,
    *,
    limit: int | None = None,
    patience: float = 10.0,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
    rebuild: bool = False,
    first: int | None = None,
    waiting: Callable[[str], None] = lambda _why: None,
) -> Refresh:
    """Bring the index up to date with the files.

    ``limit`` bounds the files read (``first`` where nothing is indexed that can be used),
    ``patience`` the seconds waited for another writer, and ``waiting`` is told of it; where either
    bound cuts, ``stale`` says so. ``progress`` is told (files done, files to do).
    """
    began = time.monotonic()
    state = index.state
    if state is None or not index.current:
        limit = limit if first is None else first
    elif not rebuild:
        settings = settings_from_dict(state.settings)
        seen = scan_brain(index.root, settings, state.ignored, last=state)
        index.silent = seen.silent
        found = seen.manifest, seen.silent, seen.beyond
        if found == (state.manifest, state.silent, state.beyond):
            return Refresh(files=len(seen.files))
    lock = os.path.join(index.cache, "writer.lock")
    with hold_writer(lock, patience=patience, waiting=waiting) as refused:
        if refused and (rebuild or progress is not None):
            raise IndexBusy(refused)
        if refused:
            return Refresh(files=0, stale=refused)
        run = _Run(index, limit, workers, progress or (lambda _done, _all: None))
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
        head = scans.settings_signature(self.index.root)
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
        named = (state.silent, state.beyond) == (seen.silent, seen.beyond)
        state = replace(state, silent=seen.silent, beyond=seen.beyond)
        if not seen.manifest.startswith(head):
            started = 0  # settings changed while we looked: vouch for nothing
        return self._apply(state, seen, settings, started, named=named)

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

    def _apply(
        self, state: State, seen: Scan, settings: Settings, started: int, *, named: bool
    ) -> Refresh:
        catalogue = self.index.catalogue
        known = scans.parse_manifest(state.manifest) if state.manifest else {}
        numbers = catalogue.numbers()
        gone = {path: numbers[path][0] for path in numbers if path not in seen.files}
        todo = [path for path, sig in seen.files.items() if known.get(path) != sig]
        done = {path: sig for path, sig in known.items() if path in seen.files}
        waiting, stale = 0, ""
        if self.limit is not None and len(todo) > self.limit:
            # Those read a moment ago, too young to be vouched for, come last.
            todo.sort(key=lambda path: path in known and known[path].endswith("!"))
            new = sum(path not in known or known[path][-1] != "!" for path in todo)
            # Where something is indexed, a part would only keep the answer waiting for the disk.
            most = 0 if known and new > self.limit else self.limit
            if waiting := max(new - most, 0):
                stale = f"{waiting} changed files are not indexed yet; run `lessons index`"
            if not most:
                return Refresh(files=len(known), stale=stale, left=waiting)
            todo = todo[:most]
        if todo or gone or not named or state.manifest != seen.manifest:
            next_number = catalogue.last_number() + 1
            entries: list[tuple[int, CatalogueEntry]] = []
            replaced = list(gone.values())
            uncommitted = 0
            parts = (todo[start : start + _JOB] for start in range(0, len(todo), _JOB))
            jobs = [(self.index.root, part, settings) for part in parts]
            workers = self.workers if len(todo) >= WORTH_A_WORKER else 1
            for batch in map_batches(digest_files, jobs, workers=workers):
                for entry in batch:
                    number, digest = numbers.get(entry.path, (0, ""))
                    signature = seen.files[entry.path]
                    done[entry.path] = scans.mark_racy(signature, started_ns=started)
                    if digest == entry.digest:
                        continue
                    if number == 0 or (number < 0) != is_note(entry):
                        replaced += [number] if number else []
                        number = -next_number if is_note(entry) else next_number
                        next_number += 1
                    entries.append((number, entry))
                uncommitted += len(batch)
                if uncommitted >= BATCH:
                    state = self._commit(state, seen, entries, replaced, done)
                    entries, replaced, uncommitted = [], [], 0
                self.progress(len(done), len(seen.files))
            state = self._commit(state, seen, entries, replaced, done)
            if self.limit is None:
                with contextlib.closing(self._engine(state)) as engine:
                    if engine.needs_compaction():
                        engine.compact()
                        state = catalogue.commit(replace(state, engine=engine.stamp()))
                        self.index.accept(state)
        changed, removed = len(todo), len(gone)
        return Refresh(
            files=len(seen.files), changed=changed, removed=removed, stale=stale, left=waiting
        )

    def _commit(
        self,
        state: State,
        seen: Scan,
        entries: list[tuple[int, CatalogueEntry]],
        removed: Iterable[int],
        done: dict[str, str],
    ) -> State:
        removed = list(removed)
        if entries or removed:
            with contextlib.closing(self._engine(state)) as engine:
                engine.update(
                    ((number, entry.terms) for number, entry in entries if entry.card),
                    [*removed, *(number for number, entry in entries if not entry.card)],
                )
                state = replace(state, engine=engine.stamp())
        after = replace(state, manifest=scans.format_manifest(done, like=seen.manifest))
        after = self.index.catalogue.commit(after, entries=entries, removed=removed)
        self.index.accept(after)
        return after

    def _engine(self, state: State, *, create: bool = False) -> Engine:
        name = local_engine(state.settings["index"]["engine"])
        return open_engine(name, self.index.engine_directory(state), create=create)


def is_note(entry: CatalogueEntry) -> bool:
    """Tell notes, which have numbers below zero so that a search can part the two cheaply."""
    return entry.card is not None and entry.card.kind == "note"
