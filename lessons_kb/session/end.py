"""When a session ends: what it taught becomes drafts."""

from __future__ import annotations

from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent
from lessons_kb.session.open_session import OpenSession
from lessons_kb.session.waiting_drafts import order_drafts


def answer(open_session: OpenSession, hook_event: HookEvent, _capabilities: Capabilities) -> Answer:
    """Have what the session taught become drafts."""
    order_drafts(open_session, hook_event)
    return NOTHING
