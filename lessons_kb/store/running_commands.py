"""Commands that run right now; each becomes one event when it ends, whoever ends it."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.model import Event, as_data
from lessons_kb.store.database import Database
from lessons_kb.store.events import Events, prepare
from lessons_kb.store.user_state import make_private

_FOLDER = "runs"
"""Beside the journal: a file a run, locked by its process. A killed process frees its lock, which
tells more than a process id: that may be another's by now, or one of another container."""


class Runs:
    """The table of running commands."""

    def __init__(self, db: Database, events: Events) -> None:
        self._db = db
        self._events = events
        self._held: dict[str, Any] = {}

    def begin(self, event: Event) -> str:
        """Note that a command runs; return the id for ``end``.

        ``event`` is what is known by now. Should this process be killed, it is written with the
        outcome ``cancelled`` by whoever comes next.
        """
        run_id = os.urandom(8).hex()
        path = self._lock_path(run_id)
        make_private(os.path.dirname(path))
        lock = _lock(path)
        data = json.dumps(as_data(prepare(replace(event, id=run_id))), default=str)
        try:
            self._db.run("INSERT INTO runs VALUES (?, ?, ?)", (run_id, event.at, data))
        except BaseException:
            _remove(lock, path)
            raise
        self._held[run_id] = lock
        return run_id

    def end(self, run_id: str, event: Event) -> bool:
        """Write how a command ended; False, and nothing is written, when it has ended before."""
        ended = prepare(replace(event, id=run_id))
        try:
            with self._db.transaction():
                first = self._db.change("DELETE FROM runs WHERE id = ?", (run_id,)) > 0
                if first:
                    self._events.write(ended)
        finally:
            if lock := self._held.pop(run_id, None):
                _remove(lock, self._lock_path(run_id))
        return first

    def end_abandoned(self) -> int:
        """End as ``cancelled`` each command whose process is gone; return how many."""
        ended = 0
        for run_id, data in self._db.run("SELECT id, event FROM runs"):
            if run_id in self._held:
                continue
            path = self._lock_path(run_id)
            try:
                lock = _lock(path) if os.path.exists(path) else None
            except StorageError:
                continue  # its process lives
            fields = json.loads(data)
            fields["targets"] = tuple(fields["targets"])
            event = Event(**fields)
            run = {**_run_record(event), "state": "cancelled", "abandoned": True}
            record = {**event.record, "run": run}
            ended += self.end(run_id, replace(event, outcome="cancelled", record=record))
            if lock is not None:
                _remove(lock, path)
        return ended

    def _lock_path(self, run_id: str) -> str:
        return os.path.join(os.path.dirname(self._db.path), _FOLDER, f"{run_id}.lock")


def _run_record(event: Event) -> dict[str, Any]:
    known = event.record.get("run")
    return known if isinstance(known, dict) else {}


def _lock(path: str) -> Any:
    """Take the lock of one run or raise StorageError at once."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError) as error:
        raise StorageError(f"{path}: {error}; locked by another process") from None
    return lock


def _remove(lock: Any, path: str) -> None:
    if os.name == "nt":  # which removes no open file
        lock.release()
    with contextlib.suppress(OSError):
        os.unlink(path)
    lock.release()
