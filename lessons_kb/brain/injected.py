"""The lessons that the last prompt brought: those an answer is held against."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.memory import OUTCOME, last_injected
from lessons_kb.errors import StorageError
from lessons_kb.model import NOTE, Card, Event
from lessons_kb.preflight.block import IN_CONTEXT
from lessons_kb.store.events import ASKED


def find_given(layers: Sequence[Layer], session: str | None = None) -> list[Card]:
    """Return the lessons that the latest prompt of a session, or of any, was given or had already.

    Those given since, before a guarded file was touched, are among them. A prompt that was given
    nothing has none, whatever an earlier one was given. Where nobody noted what came of a prompt,
    those of the latest block are returned; a journal that cannot be used knows none.
    """
    try:
        chosen = _since_asked(layers, session)
    except (sqlite3.Error, StorageError):
        chosen = None
    if chosen is None:
        chosen = {layer: last_injected(layer, session) for layer in layers}
    return [
        card
        for layer, ids in chosen.items()
        if ids
        for card in layer.read(lambda one: one.catalogue.all_cards())
        if card.id in ids and card.kind != NOTE
    ]


def _since_asked(layers: Sequence[Layer], session: str | None) -> dict[Layer, set[str]] | None:
    asked = layers[0].journal.events.find(session=session, kinds=ASKED, limit=1)
    noted = asked[0].record.get(OUTCOME) if asked else None
    if not isinstance(noted, list):
        return None
    if _is_outdated(layers, asked[0], any_session=session is None):
        return None
    names = {str(one.get("id", "")) for one in noted if isinstance(one, dict) and _counts(one)}
    chosen = {}
    for layer in layers:
        begin = f"{layer.alias}:"
        ids = {name.removeprefix(begin) for name in names}
        rows = layer.journal.injections.of(asked[0].session) if asked[0].session else ()
        chosen[layer] = ids.union(row.card for row in rows if row.at > int(asked[0].at))
    return chosen


def _is_outdated(layers: Sequence[Layer], asked: Event, *, any_session: bool) -> bool:
    """Return whether something was given since for a prompt that nobody noted."""
    for layer in layers:
        newest = layer.journal.injections.newest()
        if newest is None or newest[1] <= int(asked.at):
            continue
        elsewhere = newest[0] != asked.session
        if any_session if elsewhere else not newest[0]:
            return True
    return False


def _counts(one: Mapping[str, object]) -> bool:
    return one.get("given") is True or str(one.get("reason", "")).startswith(IN_CONTEXT)


def find_cards(layer: Layer, ids: set[str]) -> list[Card]:
    """Return the cards of a brain by their ids, by path; those that are gone are left out."""
    if not ids:
        return []
    layer.prepare()
    if layer.state is None:
        return []

    def fetch(one: Layer) -> list[Card]:
        # One by one: a session was given a few, the brain may have twelve thousand.
        rows = [row for path in ids for row in one.catalogue.numbers(path).values()]
        numbers = [number for number, _digest in rows]
        return sorted(one.catalogue.cards(numbers).values(), key=lambda card: card.id)

    return layer.read(fetch)
