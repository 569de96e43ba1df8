"""When a session ends: what it taught becomes drafts."""

from __future__ import annotations

from lessons_kb.session.outcomes import order_drafts
from lessons_kb.session.state import (
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
)


def answer(open_session: OpenSession, hook_event: HookEvent, _capabilities: Capabilities) -> Answer:
    """Have what the session taught become drafts."""
    order_drafts(open_session, hook_event)
    return NOTHING
