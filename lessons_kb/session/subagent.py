"""When a subagent begins: titles and lessons for what it was asked, before its own model."""

from __future__ import annotations

from lessons_kb.find.titles import is_whole
from lessons_kb.ledger.session_memory import lend_memory
from lessons_kb.session import prompt
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.state import Hook
from lessons_kb.session.turn_lessons import find_titles
from lessons_kb.values import replace


def answer(hook: Hook) -> Answer:
    """Return the titles of the cards, and the lessons for the prompt that is the first asked of a
    subagent of this kind.

    Its own event names but the kind (``tool``); subagents of a kind begin in the order of their
    calls.
    """
    hook.open_brains()
    event = hook.event
    if not event.part:
        return NOTHING
    with lend_memory(hook.journal, event.session) as state:
        asked = next((spawned for spawned in state.spawned if spawned.kind == event.tool), None)
        if asked is not None:
            state.spawned.remove(asked)
    if asked is not None and asked[1]:
        hook.event = replace(event, what="prompt", tool="", text=asked[1], id=event.part)
        return prompt.answer(hook)
    titles = "" if hook.state.titles_from else find_titles(hook)
    if not titles:
        return NOTHING
    with hook.transaction() as state:
        return Answer(
            context=state.deliver(state.take_titles(titles, whole=is_whole(titles)), hook.can)
        )
