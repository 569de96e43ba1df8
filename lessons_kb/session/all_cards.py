"""Pack all cards of a brain into a block, for a trial that gives them at one moment."""

from __future__ import annotations

from functools import partial

from lessons_kb.brain.brain import Brain
from lessons_kb.ledger.given import Homes, note_given
from lessons_kb.ledger.session_memory import GivenCard
from lessons_kb.model import NOTE, Card, Hit, Preflight
from lessons_kb.session.state import Hook
from lessons_kb.values import frozen


@frozen
class AllCards:
    """The cards of the nearest brain as one block."""

    brain: Brain
    block: Preflight

    @property
    def homes(self) -> Homes:
        """Maps each card in the block to its brain."""
        return {(hit.brain, hit.card.id): self.brain for hit in self.block.lessons}

    @property
    def cards(self) -> list[GivenCard]:
        """The cards in the block."""
        return [GivenCard(self.brain.root, hit.card.id) for hit in self.block.lessons]

    def give(self, hook: Hook) -> str:
        """Record that the session gets the cards, and return their block."""
        session = hook.event.context_id
        note_given(self.homes, self.block, session, at=hook.now, occasion=hook.occasion)
        return self.block.text


def pack_all(hook: Hook) -> AllCards:
    """Return the cards of the nearest brain, as far as a block has room for them."""
    brain = hook.brains.members[0]
    cards: list[Card] = []
    if brain.ensure_indexed():
        cards = brain.read(lambda index: index.catalogue.all_cards())
    hits = [Hit(card=card, score=1.0, bm25=0.0, passed=True) for card in cards if card.kind != NOTE]
    block = hook.can.pack_known(hits, brain.settings.preflight, partial(hook.name_file, brain))
    return AllCards(brain=brain, block=block)
