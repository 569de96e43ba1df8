"""Prompts that nearly drew a card: offered as symptoms, so that their like will."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.explain.why import Verdict, find_rule
from lessons_kb.brain.injected import OUTCOME
from lessons_kb.errors import LessonsError
from lessons_kb.model import Event
from lessons_kb.store.events import ASKED

LEAST = 0.15
"""Confidence from which a card that was held back is worth a question: one in ten is meant (4 of
38), below it one in fifty (5 of 242), where most prompts were typed in other projects."""
_GATE = "gate.min_confidence"
_MOST = 3
_WINDOW_SECONDS = 7 * 86_400
_LOOKED_AT = 500
_OFFERED = "offered"


@dataclass(frozen=True, kw_only=True, slots=True)
class NearMiss:
    """A prompt that a card was held back from by the gate alone."""

    card: str
    """Id, with its brain's alias where two brains have it."""
    prompt: str
    confidence: float


def nearest(prompt: str, verdicts: Sequence[Verdict]) -> NearMiss | None:
    """Return the card that was nearest to being given for a prompt that was given none, if any."""
    if any(one.given for one in verdicts):
        return None
    held = [
        NearMiss(card=one.id, prompt=prompt, confidence=one.confidence)
        for one in verdicts
        if not one.given
        and one.confidence is not None
        and one.confidence >= LEAST
        and one.rule == _GATE
        and "not-for" not in one.reason
    ]
    return max(held, key=lambda one: one.confidence, default=None) if prompt.strip() else None


def find_near_misses(brain: Brain, *, now: float | None = None) -> list[NearMiss]:
    """Return the near misses of the last week's prompts that drew nothing, the newest first.

    At most three; one that was offered before, or whose card is gone, is left out.
    """
    since = (time.time() if now is None else now) - _WINDOW_SECONDS
    asked = brain.layers[0].journal.events.find(kinds=ASKED, since=since, limit=_LOOKED_AT)
    found: dict[tuple[str, str], NearMiss] = {}
    for event in reversed(asked):
        one = nearest(event.text, _verdicts(event))
        if one is None or _is_offered(brain, one) or (one.card, one.prompt) in found:
            continue
        try:
            brain.cards.get(one.card)
        except LessonsError:
            continue
        found[one.card, one.prompt] = one
        if len(found) == _MOST:
            break
    return list(found.values())


def note_offered(brain: Brain, one: NearMiss) -> None:
    """Remember that a near miss was offered: whoever declined is not asked again."""
    brain.layers[0].journal.outcomes.note(_key(one), one.card, _OFFERED, at=time.time())


def _is_offered(brain: Brain, one: NearMiss) -> bool:
    return brain.layers[0].journal.outcomes.is_noted(_key(one), one.card, _OFFERED)


def _key(one: NearMiss) -> str:
    return f"near-miss:{zlib.crc32(one.prompt.encode('utf-8', 'replace')):08x}"


def _verdicts(event: Event) -> list[Verdict]:
    noted = event.record.get(OUTCOME)
    told = [one for one in noted if isinstance(one, dict)] if isinstance(noted, list) else []
    return [
        Verdict(
            id=str(one.get("id", "")),
            reason=str(one.get("reason", "")),
            rule=find_rule(str(one.get("reason", ""))),
            given=one.get("given") is True,
            confidence=float(one.get("confidence") or 0),
        )
        for one in told
    ]
