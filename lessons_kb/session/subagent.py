"""Handle the start of a subagent: give the titles of cards, and the lessons for its prompt."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.find.titles import is_whole
from lessons_kb.ledger.session_memory import lend_memory
from lessons_kb.session import prompt
from lessons_kb.session.state import NOTHING, Answer, Hook
from lessons_kb.session.turn_lessons import find_titles


def answer(hook: Hook) -> Answer:
    """Return the titles of the cards, and the lessons for the prompt of the subagent.

    The event has only the kind of the subagent (``tool``). Subagents of a kind start in the order
    of their calls, so the first recorded prompt for the kind is taken.
    """
    hook.open_brains()
    event = hook.event
    if not event.part:
        return NOTHING
    with lend_memory(hook.journal, event.session) as state:
        spawned_agent = next(
            (spawned for spawned in state.spawned if spawned.kind == event.tool), None
        )
        if spawned_agent is not None:
            state.spawned.remove(spawned_agent)
    if spawned_agent is not None and spawned_agent[1]:
        hook.event = replace(event, what="prompt", tool="", text=spawned_agent[1], id=event.part)
        return prompt.answer(hook)
    titles = "" if hook.state.titles_from else find_titles(hook)
    if not titles:
        return NOTHING
    with hook.transaction() as state:
        return Answer(
            context=state.deliver(state.take_titles(titles, whole=is_whole(titles)), hook.can)
        )
