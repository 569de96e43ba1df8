"""When no lesson fits: how large a budget would have to be."""

from __future__ import annotations

from collections.abc import Callable

from lessons_kb.brain.explain.why import find_rule
from lessons_kb.model import NOTE, Preflight

_BUDGET = "preflight.budget"
_LARGEST = 1 << 20


def is_too_small(block: Preflight) -> bool:
    """Return whether a block holds no lesson for the budget's sake alone."""
    crowded = (h for h in block.withheld if find_rule(h.reason) == _BUDGET and h.card.kind != NOTE)
    return not block.lessons and any(crowded)


def find_least_budget(attempt: Callable[[int], Preflight]) -> int | None:
    """Return the least budget, in tokens, with which ``attempt`` gives a lesson.

    None where no budget does, for ``model_context`` is a limit too. Some twenty attempts.
    """
    if not attempt(_LARGEST).lessons:
        return None
    low, high = 0, _LARGEST
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(middle).lessons:
            high = middle
        else:
            low = middle
    return high
