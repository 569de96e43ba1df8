"""The steps by which a lesson gets stronger when its mistake occurs again in spite of the
lesson.
"""

from __future__ import annotations

from collections.abc import Iterable

from lessons_kb.model import FAILED, NO_GATE, WITHHELD, Card, Occasion
from lessons_kb.text.times import read_time

TITLE, CALL, GATE, DETECT, LINTER = STEPS = ("title", "call", "gate", "detect", "linter")
"""With TITLE, the lesson is given with a prompt. With CALL, it is given before a change of the
files that it guards, or of code that a pattern finds. With GATE, the first such call is refused.
With DETECT, a pattern finds the mistake itself, and the call is refused as well. With LINTER, a
rule of the project's linter finds the mistake.
"""


def find_step(card: Card) -> str:
    """Return the step that a card has reached."""
    if card.enforced_by:
        return LINTER
    if card.gate != NO_GATE:
        return DETECT if card.detect else GATE
    return CALL if card.paths or card.detect else TITLE


def find_next_step(card: Card) -> str:
    """Return the step after the step that a card has reached, or "" after the last step."""
    place = STEPS.index(find_step(card)) + 1
    return STEPS[place] if place < len(STEPS) else ""


def find_returns(card: Card, occasions: Iterable[Occasion]) -> list[Occasion]:
    """Return the sessions in which the mistake occurred although the lesson had been given.

    Sessions before the last step of the card are left out, because the step was the answer to them.
    """
    since = read_time(card.escalated or "")
    returns = []
    for occasion in occasions:
        is_return = occasion.outcome in FAILED and occasion.told != WITHHELD
        if occasion.card == card.id and is_return and occasion.at > since:
            returns.append(occasion)
    return returns
