"""One call from an agent's event to the response: dispatch, and what every response may add."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module

from lessons_kb.brain.discovery import (
    Discovery,
    look_in_agent,
    tell_below,
    tell_untrusted,
)
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import (
    BrainNotFound,
    ConfigError,
    LessonsError,
    StorageError,
    Untrusted,
)
from lessons_kb.session.compact import answer_first
from lessons_kb.session.state import (
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
)
from lessons_kb.store.user_state import is_first, state_home, user_brain

HANDLERS: Mapping[str, str] = {
    "start": "start",
    "prompt": "prompt",
    "subagent": "subagent",
    "before": "before_tool",
    "after": "after_tool",
    "stop": "stop",
    "compact": "compact",
    "end": "end",
}
"""Kind of event → the file of this room whose ``answer`` answers it. A process that answers one
event, because there is no daemon, loads one of them."""
UNANNOUNCED = ("gemini-cli",)
"""Agents that compact a session without telling any hook."""
MAX_TEXT_CHARS = 1_000_000
"""Of a longer prompt or answer the two ends are looked at: all of it would take seconds."""


def respond(
    hook_event: HookEvent,
    capabilities: Capabilities,
    *,
    look: Callable[[str], Discovery] = look_in_agent,
    find: Callable[[str], Layers] | None = None,
    leave_open: bool = False,
) -> Answer:
    """Return the answer to an event, `NOTHING` where no trusted brain holds.

    ``look`` finds the brains around a directory, ``find`` is for a process that keeps them open;
    ``leave_open`` for one that ends at once, for closing a journal costs time. Raises
    LessonsError, or anything that a damaged file may cause: the caller decides what to do then.
    """
    open_session = OpenSession(
        hook_event.directory, hook_event.what, look, find, posted=hook_event.posted
    )
    if len(hook_event.text) > MAX_TEXT_CHARS:
        half = MAX_TEXT_CHARS // 2
        hook_event = replace(
            hook_event, text=f"{hook_event.text[:half]}\n{hook_event.text[-half:]}"
        )
    try:
        try:
            first = _answer_compaction(open_session, hook_event, capabilities)
            answer = _handler(hook_event.what)(open_session, hook_event, capabilities)
            answer = _joined(first, answer)
        except ConfigError as error:
            answer = Answer(trouble=f"{type(error).__name__}: {error}")
        answer = _with_trouble(answer, open_session, hook_event, capabilities)
        answer = _with_faults(answer, open_session, hook_event, capabilities)
    except (BrainNotFound, Untrusted):
        # No brain is no trouble, unless the user has named one.
        missing = open_session.found.missing
        answer = Answer(trouble=missing) if missing else NOTHING
    finally:
        if not leave_open:
            open_session.close()
    if capabilities.lines and (line := _name_silent(open_session, hook_event)):
        return replace(answer, lines=(line, *answer.lines))
    return answer


def _answer_compaction(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Answer a compaction that only the agent's record tells of, before the event itself."""
    if hook_event.agent not in UNANNOUNCED or hook_event.what not in ("prompt", "after"):
        return NOTHING

    try:
        return answer_first(open_session, hook_event, capabilities)
    except LessonsError as error:  # the event itself is still answered
        return Answer(trouble=f"{type(error).__name__}: {error}")


def _joined(first: Answer, second: Answer) -> Answer:
    """Return two answers as one."""
    if first is NOTHING or second is NOTHING:
        return second if first is NOTHING else first
    block = first.block or second.block
    if first.block and second.block:
        lessons = (*first.block.lessons, *second.block.lessons)
        block = replace(first.block, lessons=lessons)
    context = "\n\n".join(text for text in (first.context, second.context) if text)
    return replace(
        second,
        context=context,
        block=block,
        lines=(*first.lines, *second.lines),
        trouble=second.trouble or first.trouble,
    )


def _handler(what: str) -> Callable[[OpenSession, HookEvent, Capabilities], Answer]:
    handler: Callable[[OpenSession, HookEvent, Capabilities], Answer]
    handler = import_module(f"lessons_kb.session.{HANDLERS[what]}").answer
    return handler


def _with_trouble(
    answer: Answer, open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Log and tell, once a session, that the answer was given without a journal."""
    trouble, cache = open_session.find_trouble()
    if not trouble:
        return answer

    if is_first(cache, f"logged {hook_event.session}", unknown=not answer.trouble):
        answer = replace(answer, trouble=trouble)
    # Where no mark can be kept it is said once a turn at most.
    ends_turn = hook_event.what in ("prompt", "stop")
    if _may_tell(hook_event, capabilities) and is_first(
        cache, f"told {hook_event.session}", unknown=ends_turn
    ):
        line = f"lessons: lessons still arrive, but nothing is recorded: {trouble}"
        answer = replace(answer, lines=(*answer.lines, line))
    return answer


def _with_faults(
    answer: Answer, open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Answer:
    """Tell, once a session, which settings silence a brain or leave out files."""
    try:
        faults = open_session.find_faults() if _may_tell(hook_event, capabilities) else []
    except StorageError:  # what the index said of it is in the answer already
        return answer
    session = f"{hook_event.agent} {hook_event.session}"
    often = hook_event.what in ("start", "prompt")
    lines = tuple(
        f"Lessons: {fault}"
        for fault in faults
        if is_first(state_home(), f"fault {session} {fault}", unknown=often)
    )
    return replace(answer, lines=(*answer.lines, *lines)) if lines else answer


def _may_tell(hook_event: HookEvent, capabilities: Capabilities) -> bool:
    """Tell whether troubles may be shown: they name files, which are no business of a client's."""
    return capabilities.lines and not hook_event.posted


def _name_silent(open_session: OpenSession, hook_event: HookEvent) -> str:
    """Return a line on brains that were found and are silent, "" when it was said already."""
    # Where the state cannot be written it is said at every prompt, which is better than never.
    often = hook_event.what in ("start", "prompt")
    session = f"{hook_event.agent} {hook_event.session}"

    def is_new(what: str) -> bool:
        return is_first(state_home(), f"silent {session} {what}", unknown=often)

    found = open_session.found
    if found.missing and is_new(found.missing):
        return f"Lessons: {found.missing}"
    if new := [root for root in found.untrusted if is_new(root)]:
        return f"Lessons: {tell_untrusted(new, found.named)}"
    if found.untrusted or hook_event.posted or not often:
        return ""
    if set(found.trusted) <= {os.path.realpath(user_brain())} and is_new("below"):
        hint = tell_below(hook_event.directory)
        return f"Lessons: {hint}" if hint else ""
    return ""
