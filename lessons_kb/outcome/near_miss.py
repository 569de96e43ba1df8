"""The near miss: the card that came nearest to a prompt that was given none.

`lessons why` asks the user about it: was it meant? Start with `find_near_miss`.
"""

from __future__ import annotations

from lessons_kb.outcome.why import GATE, Verdict, Why

LEAST_CONFIDENCE = 0.4
"""From this confidence on the user is asked about the card. Of the cards above it, three of five
were about the prompt; of fifteen below it, none was."""


def find_near_miss(why: Why) -> Verdict | None:
    """Return the card that the gate alone held back, with the highest confidence.

    None if the prompt was given a card, or if no card came near.
    """
    was_given = any(verdict.given for verdict in why.verdicts)
    if was_given or not why.prompt.strip():
        return None
    candidates = [verdict for verdict in why.verdicts if _came_near(verdict)]
    return max(candidates, key=lambda verdict: verdict.confidence or 0, default=None)


def _came_near(verdict: Verdict) -> bool:
    if verdict.rule != GATE or "not-for" in verdict.reason:
        return False
    return (verdict.confidence or 0) >= LEAST_CONFIDENCE
