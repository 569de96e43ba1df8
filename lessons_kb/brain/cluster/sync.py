"""Bring a cluster up to date with the files of a brain, and tell where the two differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lessons_kb.brain.cluster.card_numbers import number_card
from lessons_kb.brain.index_entry import digest_files
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.refresh import is_note
from lessons_kb.model import FIELDS, NOTE
from lessons_kb.store.catalogue import Entry

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine

BATCH = 200
"""Files a commit: a run that is killed repeats at most these."""
_ASKED = 5
"""Words of each file of a batch by which the local index tells a mean: it wants one it knows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """What was brought to a cluster; cards and notes alike."""

    cards: int
    """How many it holds now."""
    added: int
    changed: int
    removed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Where a cluster differs from the files: ids, sorted."""

    cards: int
    """Files that it should hold."""
    held: int
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self.missing or self.changed or self.extra)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Expected:
    path: str
    digest: str
    kind: str

    def is_held(self, labels: Mapping[str, Any] | None) -> bool:
        return labels is not None and (labels["hash"], labels["kind"]) == (self.digest, self.kind)


def sync(
    layer: Layer, engine: QdrantEngine, *, progress: Callable[[int, int], None] | None = None
) -> Synced:
    """Push what changed since the last run, deletions included; layer is to be fresh.

    Batch by batch: what is committed stays when a later one fails, and the next run goes on
    there. ``progress`` is told (files done, files to do).
    """
    expected, held = _find_expected(layer), engine.labels()
    todo = [number for number, one in expected.items() if not one.is_held(held.get(number))]
    gone = sorted(held.keys() - expected.keys())
    settings = layer.settings
    means: dict[str, float] = {}
    for start in range(0, len(todo) or len(gone[:1]), BATCH):
        entries = digest_files(
            layer.root,
            [expected[number].path for number in todo[start : start + BATCH]],
            settings.folders,
            settings.index.max_file_bytes,
        )
        usable = {_number_of(entry): entry for entry in entries if entry.card}
        means = means or _find_means(layer, usable.values())
        engine.update(
            ((number, entry.terms) for number, entry in usable.items()),
            gone if start == 0 else (),
            labels={number: _label(entry) for number, entry in usable.items()},
            means=means,
        )
        if progress is not None:
            progress(min(start + BATCH, len(todo)), len(todo))
    added = sum(number not in held for number in todo)
    return Synced(cards=engine.size(), added=added, changed=len(todo) - added, removed=len(gone))


def compare(layer: Layer, engine: QdrantEngine) -> Difference:
    """Compare counts and content hashes; IndexBroken where what is held is damaged."""
    expected, held = _find_expected(layer), engine.labels()
    engine.verify(engine.stamp())
    both = expected.keys() & held.keys()
    return Difference(
        cards=len(expected),
        held=len(held),
        missing=_ids(expected[number].path for number in expected.keys() - both),
        changed=_ids(expected[n].path for n in both if not expected[n].is_held(held[n])),
        extra=_ids(held[number]["id"] for number in held.keys() - both),
    )


def _ids(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(paths))


def _find_expected(layer: Layer) -> dict[int, _Expected]:
    """Return what a cluster should hold, by number, as of the last commit."""

    def read(one: Layer) -> dict[int, _Expected]:
        digests = one.catalogue.numbers()
        return {
            number_card(card.id, is_note=card.kind == NOTE): _Expected(
                path=card.id, digest=digests[card.id][1], kind=card.kind
            )
            for card in one.catalogue.all_cards()
        }

    return layer.read(read)


def _find_means(layer: Layer, entries: Iterable[Entry]) -> dict[str, float]:
    """Return the mean lengths of fields in all files: those of the first batch would mislead."""
    some = list(entries)
    terms = {f: {t for entry in some for t in entry.terms.get(f, ())[:_ASKED]} for f in FIELDS}

    def read(one: Layer) -> dict[str, float]:
        local = one.engine
        return {f: local.statistics(f, terms[f])[1] for f in FIELDS if local and terms[f]}

    return layer.read(read)


def _number_of(entry: Entry) -> int:
    return number_card(entry.path, is_note=is_note(entry))


def _label(entry: Entry) -> dict[str, Any]:
    """Return what a server may filter by, and what the gate needs beside the terms."""
    card = entry.card
    if card is None:
        return {}
    return {
        "id": card.id,
        "kind": card.kind,
        "project": card.project or "",
        "stage": list(card.stages),
        "severity": card.severity,
        "status": card.status,
        "hash": entry.digest,
        "background": entry.background,
    }
