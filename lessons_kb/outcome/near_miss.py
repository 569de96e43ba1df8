"""The near miss, which is the likeliest card for a prompt that got no card.

`lessons why` asks the user whether that card was meant. Start with `find_near_miss`.
"""

from __future__ import annotations

from lessons_kb.outcome.why import Verdict, Why

LEAST_CONFIDENCE = 0.4
"""The minimum confidence for which the user is asked. Of the cards above it, three of five were
about the prompt. Of the cards below it, none of fifteen was.
"""


def find_near_miss(why: Why) -> Verdict | None:
    """Return the card with the highest confidence that only the threshold suppressed.

    Return None if the prompt got a card, or if no card has the minimum confidence.
    """
    missed = find_missed(why)
    is_near = missed is not None and (missed.confidence or 0) >= LEAST_CONFIDENCE
    return missed if is_near else None


def find_missed(why: Why) -> Verdict | None:
    """Return the card with the highest confidence that only the threshold suppressed, however low.

    Return None if the prompt got a card.
    """
    was_given = any(verdict.given for verdict in why.verdicts)
    if was_given or not why.prompt.strip():
        return None
    candidates = [verdict for verdict in why.verdicts if verdict.is_below_threshold]
    return max(candidates, key=lambda verdict: verdict.confidence or 0, default=None)
