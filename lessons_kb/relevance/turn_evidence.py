"""Evidence that comes after the prompt: what is about to be changed, what has failed.

The text of a change and the lines of an error are judged by the gate as a prompt is. They are no
wish, so it takes more to speak; a card that the prompt nearly drew needs less.
"""

from __future__ import annotations

from math import log

# Set on the changes of commits that fixed what a lesson is about (one repository), held against
# two other repositories and against 720 changes of recorded sessions about something else.
_ALONE = 0.95
"""Confidence by the change or the error alone from which a card is given."""
_TOGETHER = 0.9
_EARLIER = 0.5
"""Part of the log odds at the prompt that counts, from those of `NEAR` on."""
NEAR = 0.02
"""Confidence at the prompt from which a card is remembered for the turn."""
_SUREST = 0.9999


def is_sure(confidence: float, *, at_prompt: float = 0.0) -> bool:
    """Tell whether a card is to be given for what happens after the prompt.

    ``confidence`` is the gate's for the text of the change or the error, ``at_prompt`` the one for
    the prompt; 0 = the prompt did not draw the card.
    """
    if confidence >= _ALONE:
        return True
    if at_prompt < NEAR or confidence <= 0:
        return False
    added = _log_odds(at_prompt) - _log_odds(NEAR)
    return _log_odds(confidence) + _EARLIER * added >= _log_odds(_TOGETHER)


def _log_odds(confidence: float) -> float:
    bounded = min(confidence, _SUREST)
    return log(bounded / (1 - bounded))
