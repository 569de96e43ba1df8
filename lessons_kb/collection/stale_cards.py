"""Find cards to archive: harmful cards, cards without recent use, and cards whose code is gone."""

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
"""The counts of the journal that show that a card is in use."""


@frozen
class Stale:
    """A card to archive."""

    card: Card
    days: int
    """The number of days since its last use."""
    harm: str = ""
    """Why it is harmful, or "" if it is only unused."""


def find_stale(brains: Brains) -> list[Stale]:
    """Return the active cards of the nearest brain that are harmful or stale.

    A card is stale if its mistake was seen once and it was unused for ``stale_days``, unless the
    ledger shows that it helps. Harmful cards come first, then cards from triggers, then the cards
    without use for the longest time. A use is a date in the card, or an injection or a later
    outcome that the journal counts by day. A card without any use is as old as its file.
    """
    brain = brains.members[0]
    limit = brain.settings.learn.stale_days
    brains.refresh()
    used: dict[str, str] = {}
    with contextlib.suppress(StorageError):
        counts = brain.journal.counts()  # by day, so that the latest wins
        used = {card_id: day for card_id, outcome, day, _times in counts if outcome in _USES}
    now = dt.date.fromisoformat(today())
    stale: list[Stale] = []
    cards = brain.read(lambda brain: brain.catalogue.all_cards())
    effects = weigh_cards(brain, [card for card in cards if card.kind != NOTE])
    for card in cards:
        effect = effects.get(card.id)
        harm = effect.reason if effect and effect.verdict == "harms" else ""
        helps = effect is not None and effect.verdict == "helps"
        idle = card.occurrences == 1 and not helps
        if card.kind == NOTE or card.status != "active" or not (idle or harm):
            continue
        days_used = [day for day in (card.last_seen, card.created, used.get(card.id)) if day]
        last = max(filter(None, map(read_date, days_used)), default=None)
        if last is None:
            with contextlib.suppress(OSError):
                written = os.stat(os.path.join(brain.root, *card.id.split("/"))).st_mtime
                last = dt.date.fromtimestamp(written)
        days = (now - last).days if last else 0
        if harm or (last and days >= limit):
            stale.append(Stale(card=card, days=days, harm=harm))
    return sorted(stale, key=_sort_key)


def _sort_key(stale: Stale) -> tuple[bool, bool, int, str]:
    return not stale.harm, stale.card.source != "auto", -stale.days, stale.card.id


def find_gone(brains: Brains) -> list[Card]:
    """Return the active cards of the nearest brain that name only code that is gone, by path."""
    brain = brains.members[0]
    brain.refresh()
    refresh_standings(brain)
    cards = brain.read(lambda opened: opened.catalogue.all_cards())
    return [card for card in cards if card.status == "active" and card.standing.silenced]
