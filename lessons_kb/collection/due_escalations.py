"""Find the cards that need a next step.

The mistake of such a card came back, or a linter took over its work or no longer does it. No
history is read, so that `lessons doctor` can use this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.edit import Change
from lessons_kb.collection.linter_rules import Linters, find_enabled_rule
from lessons_kb.ledger.escalation import find_returns
from lessons_kb.model import NOTE, Card
from lessons_kb.text.sanitize import counted

STOP, TAKE_BACK = "stop", "take back"
"""Steps in addition to those of the ledger, for cards whose work a linter does or stopped doing."""


def find_due(brain: Brain, directory: str) -> list[tuple[Card, str]]:
    """Return the cards of a brain that need a next step, each with the reason."""
    due: list[tuple[Card, str]] = []
    linters = Linters(directory)
    for card, returns in find_candidates(brain):
        by_linter = judge_linter(card, linters)
        if by_linter is not None:
            due.append((card, by_linter.reason))
        elif returns and card.status == "active":
            due.append((card, describe_returns(returns)))
    return due


def describe_returns(returns: int) -> str:
    """Return the reason for a step if the mistake came back in ``returns`` sessions."""
    return f"the mistake came back in {counted(returns, 'session')} that had the lesson"


def find_candidates(brain: Brain) -> Iterator[tuple[Card, int]]:
    """Yield the cards that may need a step, each with the number of times its mistake returned."""
    brain.ensure_indexed()
    cards = brain.read(lambda opened: opened.catalogue.all_cards()) if brain.state else []
    cards = [card for card in cards if card.kind != NOTE]
    occasions = brain.journal.ledger.find()
    for card in cards:
        returns = len(find_returns(card, occasions))
        is_active = card.status == "active"
        if card.enforced_by or (is_active and (returns or card.detect)):
            yield card, returns


class LinterStep(NamedTuple):
    """A step that follows from the linter."""

    step: str
    reason: str
    changes: tuple[tuple[str, Change], ...]


def judge_linter(card: Card, linters: Linters) -> LinterStep | None:
    """Return the step that follows from the rules of the project's linter, or None."""
    if card.enforced_by:
        enabled = linters.is_enabled(card.enforced_by)
        if enabled and card.status == "active":
            reason = f"{card.enforced_by} is enabled and finds it"
            return LinterStep(STOP, reason, (("status", "ignored"),))
        if not enabled and card.status == "ignored":
            reason = f"{card.enforced_by} is not enabled any more"
            return LinterStep(TAKE_BACK, reason, (("status", "active"),))
        return None
    rule = find_enabled_rule(card, linters) if card.status == "active" else ""
    if not rule:
        return None
    reason = f"{rule} is enabled and finds it"
    return LinterStep(STOP, reason, (("enforced-by", rule), ("status", "ignored")))
