"""What a session has been given already, kept in each brain's journal.

A journal that cannot be used costs the memory, never the block.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence

from lessons_kb.brain.layer import Layer
from lessons_kb.model import Card, Event, Hit, Preflight
from lessons_kb.preflight.block import shown_name

OUTCOME = "lessons"
"""Key of an event's record under which `outcome` stands."""
MAX_OUTCOME = 8
"""Cards told of a block: those given, then the best of those held back."""


class Memory:
    """One prompt's view of the journals; ``session`` None remembers for `last_injected` only.

    Unless it is ``counting`` the prompt, nothing is written.
    """

    def __init__(
        self, layers: Sequence[Layer], session: str | None, *, counting: bool = True
    ) -> None:
        self.session = session
        self.turns: dict[Layer, int] = {}
        for layer in layers if session else ():
            journal = layer.session_journal
            if counting:
                self.turns[layer] = journal.next_turn(session or "")
            else:
                self.turns[layer] = journal.injections.turn(session or "") + 1

    def in_context(self, hits: Sequence[tuple[Layer, Hit]], *, reinject_after: int) -> set[str]:
        """Return the shown names of hits that the session still has as they are now."""
        given: dict[Layer, set[tuple[str, str]]] = {}
        for layer, turn in self.turns.items():
            since = turn - reinject_after
            given[layer] = layer.session_journal.in_context(self.session or "", since_turn=since)
        return {
            shown_name(hit)
            for layer, hit in hits
            if given.get(layer) and (hit.card.id, card_digest(hit.card)) in given[layer]
        }

    def record(self, hits: Sequence[tuple[Layer, Hit]], block: Preflight) -> None:
        """Journal the lessons of ``block``; its tokens are shared out evenly."""
        places = {shown_name(hit): place for place, hit in enumerate(block.lessons, 1)}
        given: dict[Layer, dict[int, tuple[str, str, int]]] = {}
        for layer, hit in hits:
            if place := places.get(shown_name(hit)):
                tokens = block.tokens // len(places)
                row = (hit.card.id, card_digest(hit.card), tokens)
                given.setdefault(layer, {})[place] = row
        for layer, cards in given.items():
            turn = self.turns.get(layer, 0)
            ranks, rows = sorted(cards), [cards[place] for place in sorted(cards)]
            layer.session_journal.record_injections(
                self.session or "", turn=turn, at=int(time.time()), cards=rows, ranks=ranks
            )


def note_preflight(layer: Layer, session: str, prompt: str, block: Preflight, scope: str) -> None:
    """Journal that lessons were asked for, and what came of it."""
    event = Event(
        kind="preflight",
        at=time.time(),
        session=session,
        scope=scope.replace("\\", "/"),
        text=prompt,
        record={OUTCOME: outcome(block)},
    )
    layer.session_journal.events.append(event)


def outcome(block: Preflight) -> list[dict[str, object]]:
    """Return what a block gave, then what it held back, eight at most, for an event's record."""
    hits = (*block.lessons, *block.notes, *block.withheld)[:MAX_OUTCOME]
    given = len(block.lessons) + len(block.notes)
    return [
        {
            "id": shown_name(hit),
            "given": place < given,
            "confidence": round(hit.confidence, 4),
            "reason": hit.reason,
        }
        for place, hit in enumerate(hits)
    ]


def last_injected(layer: Layer, session: str | None) -> set[str]:
    """Return the card ids of the latest block, of this session or of any."""
    return set(layer.session_journal.last_injected(session))


def card_digest(card: Card) -> str:
    """Return what changes when the card would read differently in a block."""
    return f"{zlib.crc32(repr((card.title, card.why, card.checklist)).encode()):08x}"
