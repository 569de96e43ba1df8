"""How many tokens a text costs a model, without the model's vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable

TokenCounter = Callable[[str], int]

_PIECE = r" ?[A-Za-z]{1,7}|[0-9]{1,3}|\s*\n|[ \t]+|[가-힣]{1,2}|[^\sA-Za-z0-9가-힣]{1,2}|\s"


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text costs: 0 for "", else at least 1."""
    return len(re.findall(_PIECE, text))
