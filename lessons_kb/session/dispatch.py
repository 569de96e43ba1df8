"""Answer an agent's event by calling its handler, and add the parts that any answer may contain."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from importlib import import_module

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import Discovery, describe_below, describe_untrusted, look_in_agent
from lessons_kb.errors import BrainNotFound, ConfigError, LessonsError, StorageError, Untrusted
from lessons_kb.on_demand import SESSION_COMPACT, load
from lessons_kb.session.event_types import NOTHING, Answer, Capabilities, HookEvent
from lessons_kb.session.late import Unheard, add_late, keep_late
from lessons_kb.session.sent_texts import note_sent
from lessons_kb.session.state import Hook
from lessons_kb.store.locations import state_home, user_brain
from lessons_kb.store.session_notes import note_first
from lessons_kb.text.token_estimate import count_bytes
from lessons_kb.values import replace

HANDLERS: Mapping[str, str] = {
    "start": "start",
    "prompt": "prompt",
    "subagent": "subagent",
    "before": "before_tool",
    "after": "after_tool",
    "batch": "batch",
    "stop": "stop",
    "compact": "compact",
    "end": "stop",
}
"""Mapping from each kind of event to the module of this package whose ``answer`` handles it.
Without a daemon, a process answers one event and imports one of these modules.
"""
MAX_TEXT_CHARS = 1_000_000
"""Maximum characters of a prompt or answer. Only both ends of a longer text are used, because the
whole text would take seconds.
"""


def respond(
    hook_event: HookEvent,
    capabilities: Capabilities,
    *,
    look: Callable[[str], Discovery] = look_in_agent,
    find: Callable[[str], Brains] | None = None,
    leave_open: bool = False,
    deliver: Callable[[Answer], Unheard | None] | None = None,
) -> Answer:
    """Return the answer to an event. The answer is empty if no trusted brain applies.

    ``look`` discovers the brains around a directory. ``find`` is for a process that keeps brains
    open, and ``leave_open`` for a process that ends at once, because closing a journal takes time.
    ``deliver`` sends the answer and returns an Unheard if the answer did not arrive. The answer is
    then stored for the session's next event. Raises LessonsError, or any error that a damaged file
    may cause. The caller must handle it.
    """
    hook = Hook(hook_event, capabilities, look=look, find=find)
    if len(hook_event.text) > MAX_TEXT_CHARS:
        half = MAX_TEXT_CHARS // 2
        text = f"{hook_event.text[:half]}\n{hook_event.text[-half:]}"
        hook.event = replace(hook_event, text=text)
    try:
        try:
            answer = add_late(hook, _add_troubles(_answer(hook), hook))
            if not answer.language and (answer.block or answer.named or answer.check):
                with contextlib.suppress(ConfigError):  # lessons of a server need no settings
                    settings = hook.brains.members[0].settings
                    language, footer = settings.language, settings.hooks.footer
                    answer = replace(answer, language=language, footer=footer)
        except (BrainNotFound, Untrusted):
            answer = Answer(trouble=hook.found.missing)  # set only if the user has named a brain
        if capabilities.lines and (line := _name_silent(hook)):
            answer = replace(answer, lines=(line, *answer.lines))
        unheard = deliver(answer) if deliver is not None else None
        if unheard is not None:
            keep_late(hook, answer, unheard)
        elif answer.context or answer.refusal or answer.go_on:
            note_sent(hook, answer)
    finally:
        if not leave_open:
            hook.close()
    return answer


def _answer(hook: Hook) -> Answer:
    """Answer the event. The answer begins with the texts that the agent lost by a compaction
    without a hook.
    """
    what, first = hook.event.what, NOTHING
    if hook.event.moment and what in ("subagent", "compact"):
        return NOTHING
    if hook.can.rewritten and not hook.event.moment and what in ("prompt", "after"):
        try:
            first = load(SESSION_COMPACT).catch_up(hook)
        except LessonsError as error:  # the event itself is answered anyway
            first = Answer(trouble=f"{type(error).__name__}: {error}")
        if first.context:  # both share one output; if it is too small, the answer waits
            bytes_left = hook.can.max_bytes - count_bytes(f"{first.context}\n\n")
            has_room = bytes_left > hook.can.max_bytes // 2
            hook.can = replace(hook.can, max_bytes=bytes_left, inject=has_room)
    try:
        answer: Answer = import_module(f"lessons_kb.session.{HANDLERS[what]}").answer(hook)
    except ConfigError as error:
        answer = Answer(trouble=f"{type(error).__name__}: {error}", is_unasked=True)
    if first is NOTHING:
        return answer
    given = first.block.lessons if first.block is not None else ()
    return replace(
        answer,
        context="\n\n".join(filter(None, (first.context, answer.context))),
        named=(*(hit.card.title for hit in given), *answer.named),
        trouble=answer.trouble or first.trouble,
    )


def _add_troubles(answer: Answer, hook: Hook) -> Answer:
    """Add the reasons why nothing is recorded and why a brain is not used, each once per session.

    The log and the user get the reasons. The user of a client of a server does not get them,
    because they name files of the server.
    """
    brains, session = hook.brains.members, hook.event.session
    shows = hook.can.lines and not hook.event.posted
    lines = list(answer.lines)
    if broken := next((brain for brain in brains if brain.journal_trouble), None):
        trouble, cache = broken.journal_trouble, broken.cache
        if note_first(cache, f"logged {session}", unknown=not answer.trouble):
            answer = replace(answer, trouble=trouble)
        # If no mark can be stored, the trouble is shown at each prompt and stop, and logged at each
        # event.
        at_edge = hook.event.what in ("prompt", "stop")
        if shows and note_first(cache, f"told {session}", unknown=at_edge):
            lines.append(f"lessons: lessons still arrive, but nothing is recorded: {trouble}")
    with contextlib.suppress(StorageError):  # the answer already contains the error of the index
        faults = [brain.find_fault() for brain in brains if shows]
        messages = [f"{fault}; until then this brain is silent" for fault in faults if fault]
        messages += [brain.describe_unindexed() for brain in brains if shows]
        messages = [text for text in messages if text and _is_new(hook, "fault", text)]
        lines += [f"Lessons: {message}" for message in messages]
    return replace(answer, lines=tuple(lines)) if len(lines) > len(answer.lines) else answer


def _is_new(hook: Hook, kind: str, message: str) -> bool:
    """Record that ``message`` is shown in this session. Return False if it was shown before.

    If the state cannot be written, it is shown at every prompt, which is better than
    never.
    """
    often = hook.event.what in ("start", "prompt")
    session = f"{hook.event.agent} {hook.event.session}"
    return note_first(state_home(), f"{kind} {session} {message}", unknown=often)


def _name_silent(hook: Hook) -> str:
    """Return a line about brains that were found but are not used, or "" if it was shown before."""
    found = hook.found
    if found.missing and _is_new(hook, "silent", found.missing):
        return f"Lessons: {found.missing}"
    if new := [root for root in found.untrusted if _is_new(hook, "silent", root)]:
        return f"Lessons: {describe_untrusted(new, found.named)}"
    often = hook.event.what in ("start", "prompt")
    if found.untrusted or hook.event.posted or not often:
        return ""
    if set(found.trusted) <= {os.path.realpath(user_brain())} and _is_new(hook, "silent", "below"):
        hint = describe_below(hook.event.directory)
        return f"Lessons: {hint}" if hint else ""
    return ""
