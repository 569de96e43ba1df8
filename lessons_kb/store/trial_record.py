"""What a trial writes down: the arm that a process belongs to, and what came of each run.

The arm is named by a variable and held against the record in the trial's own state home.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
from collections.abc import Mapping
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.files import read_regular, storage_errors, write_unsynced
from lessons_kb.store.journal import JOURNAL_NAME, Journal
from lessons_kb.store.user_state import read_private, state_home, write_private

TRIAL_VARIABLE = "LESSONS_TRIAL"
WITHOUT, WITH, PLACEBO = ARMS = ("without", "with", "placebo")
"""No lessons; lessons as always; cards of the same length that give general advice."""
_RECORD, _EVENTS = "trial.json", "trial.events"


def write_arm(state: str, token: str, arm: str) -> None:
    """Record in a trial's own state home what its variable stands for. Raises StorageError."""
    path = os.path.join(state, _RECORD)
    write_private(path, json.dumps({"token": token, "arm": arm}).encode())


def read_arm(environment: Mapping[str, str]) -> str:
    """Return the arm, "" outside of a trial: the variable alone switches nothing off."""
    if not (token := environment.get(TRIAL_VARIABLE)):
        return ""
    with contextlib.suppress(OSError, StorageError, ValueError):
        record = json.loads(read_private(os.path.join(state_home(), _RECORD), limit=1_000))
        if record.get("token") == token:
            return str(record["arm"])
    return ""


def note_event() -> None:
    """Count an event of an agent, so that a trial knows that its hooks are called."""
    with contextlib.suppress(OSError):
        write_unsynced(os.path.join(state_home(), _EVENTS), b".", flags=os.O_APPEND)


def count_events(state: str) -> int:
    """Return how many events were noted in a trial's state home."""
    with contextlib.suppress(OSError):
        return os.path.getsize(os.path.join(state, _EVENTS))
    return 0


def read_injected(state: str) -> list[dict[str, str]]:
    """Return each card that a trial's state home tells of, with ``id``, ``how`` and ``outcome``.

    It was ``given``, ``opened``, or both: ``given,opened``. The outcome is "" where no fact shows
    it; of several it is the worst.
    """
    found: dict[str, dict[str, str]] = {}
    pattern = os.path.join(glob.escape(state), "**", JOURNAL_NAME)
    for path in sorted(glob.glob(pattern, recursive=True)):
        with contextlib.suppress(StorageError), contextlib.closing(Journal(path)) as journal:
            for card, how, outcome in journal.run(_INJECTED):
                found.setdefault(card, {"id": card, "how": how, "outcome": outcome})
    return list(found.values())


_INJECTED = """
    SELECT card, group_concat(DISTINCT how), coalesce(max(nullif(outcome, 'unknown')), '')
    FROM (SELECT session, card, source AS how FROM injections
      UNION SELECT session, card, what FROM outcomes WHERE what = 'opened' ORDER BY how)
    LEFT JOIN ledger USING (session, card) GROUP BY card ORDER BY card
"""  # in the alphabet ``left`` comes last and ``avoided`` first
_RESULTS = "results.jsonl"
_MAX_BYTES = 100_000_000


def append_result(folder: str, row: Mapping[str, Any]) -> None:
    """Add what came of a run to a trial's folder. Raises StorageError."""
    path = os.path.join(folder, _RESULTS)
    with storage_errors(path):
        line = json.dumps(row, ensure_ascii=False) + "\n"
        write_unsynced(path, line.encode("utf-8", "replace"), flags=os.O_APPEND)


def read_rows(folder: str) -> list[dict[str, Any]]:
    """Return what was added to a trial's folder; a line that was cut off by a crash is left out."""
    path = os.path.join(folder, _RESULTS)
    text = read_output(path) if os.path.exists(path) else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]


def read_output(path: str) -> str:
    """Return the text of a file that a run printed or a trial keeps. Raises StorageError."""
    with storage_errors(path):
        return read_regular(path, limit=_MAX_BYTES, name=path).decode("utf-8", "replace")
