"""When a subagent begins: the lessons for what it was asked, in front of its own model."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.session import prompt
from lessons_kb.session.state import (
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    turn_state,
)


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Return the lessons for the prompt with which a subagent of this kind was asked for first.

    Its own event names but the kind (``tool``); subagents of a kind begin in the order of their
    calls.
    """
    if not hook_event.part:
        return NOTHING
    asked = None
    with turn_state(open_session.journal, hook_event.session) as state:
        for pair in state.spawned:
            if pair[0] == hook_event.tool:
                asked = pair
                state.spawned.remove(pair)
                break
    if asked is None or not asked[1]:
        return NOTHING
    told = replace(hook_event, what="prompt", tool="", text=asked[1], id=hook_event.part)
    return prompt.answer(open_session, told, capabilities)
