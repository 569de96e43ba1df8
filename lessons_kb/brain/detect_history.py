"""How often each card's mistake was added, by month: a fact, where the project has a history.

What was counted up to a commit is kept in the user's state, so that the next look reads only the
commits after it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from lessons_kb.brain.detect_in_change import find_detected, has_detectors
from lessons_kb.brain.layers import Layers
from lessons_kb.detect.added_code import parse_diff
from lessons_kb.detect.ast_patterns import is_available
from lessons_kb.errors import GitError, StorageError
from lessons_kb.model import Card, as_data
from lessons_kb.process.git import leads_to_head, read_head
from lessons_kb.process.git_history import read_history
from lessons_kb.store.disk import read_regular
from lessons_kb.store.user_state import state_dir, write_private

GLANCE_SECONDS = 3.0
"""After which figures that show the history beside others do without the rest, until next time."""
_MAX_COMMITS = 20_000
_MAX_KEPT = 4_000_000
"""Bytes of the file of counts."""
_KEPT = "detected-history.json"
_SAVED_EVERY = 5.0
"""Seconds."""

Months = tuple[tuple[str, int, int], ...]
"""(``2026-01``, times before the card was created, times since), oldest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """How often a card's mistake was added, by month."""

    brain: str
    """Alias of the card's brain."""
    card: str
    """Its id."""
    months: Months
    """A card without a date has all of them before."""

    @property
    def before(self) -> int:
        """Times before the card was created."""
        return sum(before for _month, before, _since in self.months)

    @property
    def since(self) -> int:
        """Times since."""
        return sum(since for _month, _before, since in self.months)


def detect_history(brain: Layers, *, seconds: float | None = None) -> list[History]:
    """Return how often each card's mistake was added by month, over the commits up to HEAD.

    Cards whose mistake was never added are left out; the others come by id. With ``seconds`` the
    oldest commits that fit are counted, and the next call goes on from there. Raises GitError.
    """
    if not has_detectors(brain):
        return []
    head = read_head(brain.directory)
    cards = _cards(brain)
    digest = _digest(cards, brain.directory)
    path = os.path.join(state_dir(brain.layers[0].root), _KEPT)
    cached = _read(path, digest, brain.directory)
    counts = Counter({(row[0], row[1], row[2], row[3]): row[4] for row in cached["counts"]})
    reached = str(cached["commit"])
    if reached != head:
        began = saved = time.monotonic()
        for commit in read_history(brain.directory, since=reached, most=_MAX_COMMITS):
            for one in find_detected(brain, parse_diff(commit.text)):
                since = one.card.created is not None and commit.date >= one.card.created
                counts[one.layer.alias, one.card.id, commit.date[:7], since] += len(one.matches)
            reached = commit.id
            now = time.monotonic()
            if seconds is not None and now - began > seconds:
                break
            if now - saved > _SAVED_EVERY:
                _write(path, digest, reached, counts)
                saved = now
        else:
            reached = head  # a merge, or all of it was looked at
        _write(path, digest, reached, counts)
    return _histories(counts)


def glance(brain: Layers) -> dict[tuple[str, str], Months]:
    """Return (alias, card id) → months, as far as a few seconds suffice; none without git."""
    try:
        found = detect_history(brain, seconds=GLANCE_SECONDS)
    except (GitError, StorageError):
        return {}
    return {(one.brain, one.card): one.months for one in found}


def _histories(counts: Counter[tuple[str, str, str, bool]]) -> list[History]:
    cards = sorted({(alias, card) for alias, card, _month, _since in counts})
    return [
        History(
            brain=alias,
            card=card,
            months=tuple(
                (month, counts[alias, card, month, False], counts[alias, card, month, True])
                for month in sorted(
                    {month for one, name, month, _s in counts if (one, name) == (alias, card)}
                )
            ),
        )
        for alias, card in cards
    ]


def _cards(brain: Layers) -> list[tuple[str, Card]]:
    return [
        (layer.alias, card)
        for layer in brain.layers
        for card in layer.read(lambda one: one.catalogue.all_cards())
        if card.detect and card.status == "active"
    ]


def _digest(cards: list[tuple[str, Card]], directory: str) -> str:
    """Return what changes when other places would be found."""
    told = [
        [alias, card.id, card.created, card.project, [as_data(one) for one in card.detect]]
        for alias, card in cards
    ]
    text = json.dumps([os.path.realpath(directory), is_available(), told], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _read(path: str, digest: str, directory: str) -> dict[str, Any]:
    """Return what was counted of these patterns in what leads to HEAD; nothing of any other."""
    with contextlib.suppress(OSError, StorageError, ValueError, KeyError, TypeError):
        cached = json.loads(read_regular(path, limit=_MAX_KEPT, name=path))
        rows = [[*map(str, row[:3]), bool(row[3]), int(row[4])] for row in cached["counts"]]
        if cached["digest"] == digest and leads_to_head(directory, cached["commit"]):
            return {"commit": cached["commit"], "counts": rows}
    return {"commit": "", "counts": []}


def _write(
    path: str, digest: str, commit: str, counts: Counter[tuple[str, str, str, bool]]
) -> None:
    rows = [[*key, n] for key, n in sorted(counts.items())]
    data = {"digest": digest, "commit": commit, "counts": rows}
    with contextlib.suppress(StorageError):  # counted anew next time
        write_private(path, json.dumps(data).encode())
