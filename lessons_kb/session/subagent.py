"""When a subagent begins: titles and lessons for what it was asked, before its own model."""

from __future__ import annotations

from lessons_kb.find.titles import is_whole
from lessons_kb.ledger.session_memory import START, SpawnedAgent, lend_memory
from lessons_kb.session import prompt
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.state import Hook
from lessons_kb.session.turn_lessons import find_titles
from lessons_kb.values import replace


def answer(hook: Hook) -> Answer:
    """Return the titles of the cards, and the lessons for the prompt that is the first asked of a
    subagent of this kind.

    Its own event names only the kind (``tool``). Subagents of a kind begin in the order of their
    calls. One that inherits the chat has the titles already.
    """
    hook.open_brains()
    event = hook.event
    if not event.part:
        return NOTHING
    with lend_memory(hook.journal, event.session) as state:
        of_kind = [spawned for spawned in state.spawned if spawned.kind == event.tool]
        begun = of_kind[0] if of_kind else SpawnedAgent(event.tool, "")
        name = f"subagent {event.part}"
        first = state.answer_once(name, event.token, number=0, at=hook.now, text=begun.prompt)
        if first is None:
            return NOTHING  # another process has answered this event
        if begun in state.spawned and begun.prompt == first.text:
            state.spawned.remove(begun)
        asked, has_all_titles = first.text, state.all_titles
    if begun.inherits:
        with hook.transaction() as state:
            state.titles_from, state.all_titles = START, has_all_titles
    if asked:
        hook.event = replace(event, what="prompt", tool="", text=asked, id=event.part)
        return prompt.answer(hook)
    titles = "" if hook.state.titles_from else find_titles(hook)
    if not titles:
        return NOTHING
    with hook.transaction() as state:
        return Answer(
            context=state.deliver(state.take_titles(titles, whole=is_whole(titles)), hook.can)
        )
