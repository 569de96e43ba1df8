"""Cards that were seen once and have not been of use for long."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessons_kb.brain.layer import Layer
from lessons_kb.errors import StorageError
from lessons_kb.model import NOTE, Card
from lessons_kb.text.times import read_date

if TYPE_CHECKING:
    from lessons_kb.brain.layers import Layers


_USES = ("injected", "addressed", "bumped", "recurred", "helpful")
"""What is counted of a card that shows it is in use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """A card that may be put away."""

    card: Card
    days: int
    """Since it was last of use."""


def find_stale(brain: Layers, *, today: str, days: int | None = None) -> list[Stale]:
    """Return active cards of the nearest brain seen once and unused for ``days``.

    Those from triggers come first, then the longest unused. A use is an injection or what
    followed it, as the journal counts them by day, or a date in the card. A card without any is
    as old as its file. ``days`` is ``stale_days`` of ``lessons.toml`` by default.
    """
    layer = brain.layers[0]
    limit = layer.settings.learn.stale_days if days is None else days
    brain.refresh()
    used = _last_uses(layer)
    now = dt.date.fromisoformat(today)
    found = []
    for card in layer.read(lambda one: one.catalogue.all_cards()):
        if card.kind == NOTE or card.status != "active" or card.occurrences > 1:
            continue
        seen = [day for day in (card.last_seen, card.created, used.get(card.id)) if day]
        last = max(filter(None, map(read_date, seen)), default=None) or _written(layer, card)
        if last and (now - last).days >= limit:
            found.append(Stale(card=card, days=(now - last).days))
    return sorted(found, key=lambda s: (s.card.source != "auto", -s.days, s.card.id))


def _last_uses(layer: Layer) -> dict[str, str]:
    try:
        counts = layer.journal.counts()
    except StorageError:
        return {}
    return {card: day for card, what, day, _times in counts if what in _USES}  # by day: last wins


def _written(layer: Layer, card: Card) -> dt.date | None:
    try:
        at = os.stat(os.path.join(layer.root, *card.id.split("/"))).st_mtime
    except OSError:
        return None
    return dt.datetime.fromtimestamp(at).date()
