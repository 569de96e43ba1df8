"""Handle the start of a subagent by giving the titles of cards and the lessons for its prompt."""

from __future__ import annotations

from lessons_kb.find.titles import is_whole
from lessons_kb.ledger.session_memory import START, SpawnedAgent, lend_memory
from lessons_kb.session import prompt
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.session_titles import find_titles
from lessons_kb.session.state import Hook
from lessons_kb.values import replace


def answer(hook: Hook) -> Answer:
    """Return the titles of the cards and the lessons for the prompt of the subagent.

    The event has only the kind of the subagent (``tool``). Subagents of a kind start in the order
    of their calls, so the first recorded prompt for the kind is used. A subagent that inherits the
    chat has the titles already.
    """
    hook.open_brains()
    event = hook.event
    if not event.part:
        return NOTHING
    with lend_memory(hook.journal, event.session) as state:
        of_kind = [spawned for spawned in state.spawned if spawned.kind == event.tool]
        spawned_agent = of_kind[0] if of_kind else SpawnedAgent(event.tool, "")
        name = f"subagent {event.part}"
        first = state.answer_once(
            name, event.token, number=0, at=hook.now, text=spawned_agent.prompt
        )
        if first is None:
            return NOTHING  # another process has answered this event
        if spawned_agent in state.spawned and spawned_agent.prompt == first.text:
            state.spawned.remove(spawned_agent)
        prompt_text, has_all_titles = first.text, state.all_titles
    if spawned_agent.inherits:
        with hook.transaction() as state:
            state.titles_from, state.all_titles = START, has_all_titles
    if prompt_text:
        hook.event = replace(event, what="prompt", tool="", text=prompt_text, id=event.part)
        return prompt.answer(hook)
    titles = "" if hook.state.titles_from else find_titles(hook)
    if not titles:
        return NOTHING
    with hook.transaction() as state:
        return Answer(
            context=state.deliver(state.take_titles(titles, whole=is_whole(titles)), hook.can)
        )
