"""After the answer: which checklist items are visible neither in it nor in what the agent did.

Precision first: a wrong flag is noise, and what an item asks for can be told in words that share
nothing with it.
"""

from __future__ import annotations

import math
import re

from lessons_kb.model import Check, Unaddressed
from lessons_kb.recall.reading import Reading
from lessons_kb.recall.wanted import AVOID, is_wide, read_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.model import Card
    from lessons_kb.recall.reading import Shown

FLAG_FROM = 0.7
"""Likelihood of not being addressed from which an item is flagged: the highest at which seven of
ten missing items are found, by weights that were learnt without their author: of dev, fresh and
hard cases together .93 of the flags are right there, of each by itself .98, .94 and .84. Of
held-out cases it is .82, of untouched ones, made to be hard, .68, and at a higher threshold
hardly more: what an item asks for is often told in words that share nothing with it and in no way
that the tables know. Likeness in meaning (cosines of MiniLM), rarity of the terms, the size of
the evidence, how many ways one sentence tells, other weights of terms, topics of rarer fields and
pairs of a verb and its object do not help either; deeper tables of the commonest topics do.
"""
INTERCEPT = 4.40
WEIGHTS = {
    "score": -4.85,
    "denied": 2.39,
    "action": -0.88,
    "terms": -0.71,
    "ways": -1.44,
    "known": 0.46,
    "hardly said": -0.84,
    "avoids untold": 1.59,
    "doubt": -7.31,
    "foreign": -0.96,
}
MAX_TEXT = 400_000
"""Characters of the answer, and of the evidence in all, that are looked at."""
MAX_ITEM = 1_000
_WIDE = "[\u2e80-\ud7ff]"
_HARDLY_SAID = 6
"""Words of an answer such as "Done, see the diff."."""


def find_unaddressed_items(
    answer: str, cards: Sequence[Card], evidence: Sequence[str] = ()
) -> Check:
    """Return the checklist items that neither ``answer`` nor ``evidence`` visibly addresses.

    ``evidence`` is what the agent did: edits (path and new text, or a diff) and commands, each one
    string. An item without a telling word cannot be looked for and is neither flagged nor counted.
    """
    rated = rate_items(answer, cards, evidence)
    flagged = [
        Unaddressed(card=card, item=item, terms=shown.missing, sentence=shown.sentence)
        for card, item, shown, likelihood in rated
        if likelihood >= FLAG_FROM
    ]
    return Check(unaddressed=tuple(flagged), checked=len(rated))


def rate_items(
    answer: str, cards: Sequence[Card], evidence: Sequence[str] = ()
) -> list[tuple[Card, str, Shown, float]]:
    """Return each item that can be looked for, how it is shown, and how likely it is not done."""
    items = [(card, item, read_item(item[:MAX_ITEM])) for card in cards for item in card.checklist]
    items = [entry for entry in items if entry[2].total]
    reading = Reading([wanted for _, _, wanted in items])
    answer = answer[:MAX_TEXT]
    reading.read_answer(answer)
    left = MAX_TEXT
    for piece in evidence:
        reading.read_evidence(piece[:left])
        left = max(0, left - len(piece))
    said, wide = len(answer.split()), is_wide_text(answer)
    rated = []
    for number, (card, item, _) in enumerate(items):
        shown = reading.judge(number)
        rated.append((card, item, shown, compute_likelihood(shown, said=said, wide=wide)))
    return rated


def compute_likelihood(shown: Shown, *, said: int, wide: bool) -> float:
    """Return how likely an item is not addressed by an answer of ``said`` words, 0 to 1.

    ``wide`` tells whether the answer is in a script such as Hangul: a Korean item is hard to find
    in an English answer.

    A logistic regression; ``python -m benchmarks.fit_postcheck`` fits it.
    """
    weighed = sum(
        WEIGHTS[name] * value for name, value in describe(shown, said=said, wide=wide).items()
    )
    return 1 / (1 + math.exp(-INTERCEPT - weighed))


def describe(shown: Shown, *, said: int, wide: bool) -> dict[str, float]:
    """Return what the regression is about: name → value, names as in ``WEIGHTS``."""
    wanted = shown.wanted
    return {
        "score": shown.score,
        "denied": float(shown.is_denied),
        "action": shown.action,
        "terms": math.log(1 + len(wanted.words)),
        "ways": math.log(1 + shown.ways),
        "known": math.log(1 + len(wanted.ways)),
        "hardly said": float(said < _HARDLY_SAID),
        "avoids untold": float(wanted.aim == AVOID and not shown.told),
        "doubt": wanted.doubt,
        "foreign": float(any(map(is_wide, wanted.words)) != wide),
    }


def is_wide_text(text: str) -> bool:
    """Tell whether a text is written, in part at least, in a script such as Hangul or Kana."""
    return bool(re.search(_WIDE, text))
