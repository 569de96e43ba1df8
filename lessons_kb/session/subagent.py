"""When a subagent begins: the lessons for what it was asked, in front of its own model."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.session import prompt
from lessons_kb.session.state import NOTHING, Answer, Hook, turn_state


def answer(hook: Hook) -> Answer:
    """Return the lessons for the prompt with which a subagent of this kind was asked for first.

    Its own event names but the kind (``tool``); subagents of a kind begin in the order of their
    calls.
    """
    event = hook.event
    if not event.part:
        return NOTHING
    with turn_state(hook.journal, event.session) as state:
        asked = next((pair for pair in state.spawned if pair[0] == event.tool), None)
        if asked is None:
            return NOTHING
        state.spawned.remove(asked)
    hook.event = replace(event, what="prompt", tool="", text=asked[1], id=event.part)
    return prompt.answer(hook) if asked[1] else NOTHING
