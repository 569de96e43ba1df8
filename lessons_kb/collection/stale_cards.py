"""Cards that may be put away: they do harm, are long unused, or name code that is gone."""

from __future__ import annotations

import contextlib
import datetime as dt
import os

from lessons_kb.brain.brains import Brains
from lessons_kb.collection.card_edits import today
from lessons_kb.errors import StorageError
from lessons_kb.freshness.refresh import refresh_standings
from lessons_kb.ledger.effect import weigh_cards
from lessons_kb.model import NOTE, Card
from lessons_kb.text.times import read_date
from lessons_kb.values import frozen

_USES = ("injected", "addressed", "bumped", "helpful")
"""What is counted of a card that shows it is in use."""


@frozen
class Stale:
    """A card that may be put away."""

    card: Card
    days: int
    """Since it was last of use."""
    harm: str = ""
    """Why it does harm, "" where it is merely unused."""


def find_stale(brains: Brains) -> list[Stale]:
    """Return active cards of the nearest brain that do harm, or were seen once and are unused.

    Harmful ones come first, of the others those from triggers, then those longest unused, for
    ``stale_days`` at least; one that is known to help is never among them. A use is an injection
    or what followed it, as the journal counts them by day, or a date in the card. A card without
    any is as old as its file.
    """
    brain = brains.members[0]
    limit = brain.settings.learn.stale_days
    brains.refresh()
    used: dict[str, str] = {}
    with contextlib.suppress(StorageError):
        counts = brain.journal.counts()  # by day: the last wins
        used = {card: day for card, what, day, _times in counts if what in _USES}
    now = dt.date.fromisoformat(today())
    found = []
    cards = brain.read(lambda one: one.catalogue.all_cards())
    effects = weigh_cards(brain, [card for card in cards if card.kind != NOTE])
    for card in cards:
        effect = effects.get(card.id)
        harm = effect.reason if effect and effect.verdict == "harms" else ""
        helps = effect is not None and effect.verdict == "helps"
        idle = card.occurrences == 1 and not helps
        if card.kind == NOTE or card.status != "active" or not (idle or harm):
            continue
        seen = [day for day in (card.last_seen, card.created, used.get(card.id)) if day]
        last = max(filter(None, map(read_date, seen)), default=None)
        if last is None:
            with contextlib.suppress(OSError):
                written = os.stat(os.path.join(brain.root, *card.id.split("/"))).st_mtime
                last = dt.date.fromtimestamp(written)
        days = (now - last).days if last else 0
        if harm or (last and days >= limit):
            found.append(Stale(card=card, days=days, harm=harm))
    return sorted(found, key=lambda s: (not s.harm, s.card.source != "auto", -s.days, s.card.id))


def find_gone(brains: Brains) -> list[Card]:
    """Return the active cards of the nearest brain that name only code that is gone, by path."""
    brain = brains.members[0]
    brain.refresh()
    refresh_standings(brain)
    cards = brain.read(lambda one: one.catalogue.all_cards())
    return [card for card in cards if card.status == "active" and card.standing.silenced]
