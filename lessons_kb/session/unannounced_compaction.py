"""A compaction that no hook tells of: the agent's record of the chat shows it.

Gemini CLI compresses a chat before a request, by itself and without an event of its own. It then
writes the messages that are left as one line into the file of the chat. A lesson that stands
neither there nor behind it is no longer before the model.
"""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.brain.layers import Layers
from lessons_kb.session import compact
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent
from lessons_kb.session.open_session import OpenSession
from lessons_kb.session.state import read_state, turn_state
from lessons_kb.store.file_tail import read_tail

_REWRITTEN = b'{"$set":{"messages":'
"""How the line begins with which Gemini CLI replaces all messages of a chat."""
_MAX_BYTES = 4_000_000
_LONG = 200_000
"""Bytes that are not read once more."""


def answer_first(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Return what is to be said of a compaction since the last hook, `NOTHING` if there was none.

    ``hook_event`` is the one that came now: its own answer follows.
    """
    if not capabilities.context or not hook_event.transcript:
        return NOTHING
    state = read_state(open_session.journal, hook_event.context)
    offset = state.offset if state.transcript == hook_event.transcript else None
    data, start = read_tail(hook_event.transcript, offset, limit=_MAX_BYTES)
    place = data.rfind(_REWRITTEN)
    if offset is None or place >= 0 or len(data) > _LONG:
        whole = data.rfind(b"\n") + 1
        with turn_state(open_session.journal, hook_event.context) as state:
            state.transcript = hook_event.transcript
            state.offset = start + (place + 1 if place >= 0 else whole)
    if place < 0 or not _is_missing(open_session.brain, hook_event.context, data[place:]):
        return NOTHING
    compacted = replace(hook_event, what="compact", id="", text="", within=0.0)
    return compact.answer(open_session, compacted, capabilities)


def _is_missing(brain: Layers, session: str, chat: bytes) -> bool:
    """Tell whether a lesson that the session was given does not stand in its chat."""
    for layer in brain.layers:
        journal = layer.session_journal
        turn = journal.next_turn(session, by=0)
        since = turn - layer.settings.preflight.reinject_after
        for card, _digest in journal.in_context(session, since_turn=since):
            if f"{card})".encode() not in chat:
                return True
    return False
