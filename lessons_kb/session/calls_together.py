"""Which calls were made together, for agents whose payloads do not name the message of a call.

An agent runs the calls of one message side by side: each of them begins before one has ended.
Gemini CLI has a hook of ours before commands and changes alone; of its other calls the record of
the chat names the message.
"""

from __future__ import annotations

from lessons_kb.session.detected_mistakes import name_call
from lessons_kb.session.event import HookEvent
from lessons_kb.session.state import TurnState, read_state, turn_state
from lessons_kb.session.transcript_tail import find_message
from lessons_kb.store.journal import Journal

UNNAMED = ("copilot-cli", "gemini-cli")
"""Agents whose payloads name no message."""


def note_begun(journal: Journal, hook_event: HookEvent) -> None:
    """Count a call to those that have begun since one ended."""
    if hook_event.agent not in UNNAMED:
        return
    call = name_call(hook_event)
    with turn_state(journal, hook_event.context) as state:
        if state.ended:
            state.batch += 1
            state.ended = False
        state.steps.pop(call, None)  # the latest stands last
        state.steps[call] = f"batch {state.batch}"


def note_ended(state: TurnState, hook_event: HookEvent) -> None:
    """Let the next call that begins be of another message."""
    if hook_event.agent in UNNAMED:
        state.ended = True


def find_step(journal: Journal, hook_event: HookEvent) -> str:
    """Return what a call that ended has in common with those made together with it, "" if unknown.

    What began is asked first: a subagent's calls have the message in common that called it.
    """
    if hook_event.agent not in UNNAMED:
        return ""
    begun = read_state(journal, hook_event.context).steps.get(name_call(hook_event), "")
    return begun or find_message(hook_event)
