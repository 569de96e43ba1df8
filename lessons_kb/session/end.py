"""When a session ends: what it taught becomes drafts."""

from __future__ import annotations

from lessons_kb.session.outcomes import order_drafts
from lessons_kb.session.state import NOTHING, Answer, Hook


def answer(hook: Hook) -> Answer:
    """Have what the session taught become drafts."""
    order_drafts(hook)
    return NOTHING
