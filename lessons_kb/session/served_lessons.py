"""Lessons of the server that the user shares with others, beside those of the local brain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lessons_kb.config import PreflightSettings
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import Preflight
from lessons_kb.session.event import Answer, Capabilities, HookEvent
from lessons_kb.session.open_session import OpenSession
from lessons_kb.session.state import BLOCK, TurnState, pack_known, turn_state
from lessons_kb.store.journal import Journal
from lessons_kb.store.locate import state_home, user_settings_path
from lessons_kb.store.session_roots import is_first

if TYPE_CHECKING:
    from lessons_kb.brain.shared_server.ask_server import Asking


def ask(open_session: OpenSession, hook_event: HookEvent, prompt: str) -> Asking | None:
    """Begin to ask the server that the user shares with others, if there is one."""
    if hook_event.posted or not os.path.exists(user_settings_path()):
        return None
    from lessons_kb.brain.shared_server.ask_server import (
        ask_server,  # few users have settings of their own
    )

    try:
        project = open_session.brain.project
    except ConfigError:  # told where the brain itself is asked
        project = None
    return ask_server(
        prompt,
        directory=hook_event.directory,
        project=project,
        seconds=hook_event.patience,
    )


def answer_alone(
    asking: Asking | None,
    journal: Journal,
    hook_event: HookEvent,
    capabilities: Capabilities,
    error: StorageError | ConfigError,
) -> Answer:
    """Answer with the server's lessons alone; raises ``error`` where there are none."""
    hits = asking.collect() if asking is not None else ()
    if not hits:
        raise error
    settings = PreflightSettings()
    block = pack_known(hits[: settings.max_lessons], settings, capabilities)
    with turn_state(journal, hook_event.context) as state:
        context = state.deliver([(BLOCK, block.text)], capabilities)
        state.cards = [["", hit.card.id] for hit in block.lessons]
        remember(state, asking, block)
    return Answer(context=context, block=block, trouble=f"{type(error).__name__}: {error}")


def remember(state: TurnState, asking: Asking | None, block: Preflight) -> None:
    """Remember the server's lessons that were given: no file here holds them."""
    told = {one["id"]: one for one in asking.told} if asking is not None else {}
    given = [told[hit.card.id] for hit in block.lessons if hit.card.id in told]
    names = {one["id"] for one in given}
    state.served = [one for one in state.served if one.get("id") not in names] + given


def tell(
    asking: Asking | None, hook_event: HookEvent, capabilities: Capabilities
) -> tuple[str, ...]:
    """Return the line on a server that does not answer, once a session."""
    line = asking.tell() if asking is not None and capabilities.lines else ""
    session = f"server {hook_event.agent} {hook_event.session}"
    return (line,) if line and is_first(state_home(), session, unknown=True) else ()


def find_trouble(asking: Asking | None) -> str:
    """Return what keeps the server from answering, for the log, where it came up just now."""
    return asking.tell() if asking is not None and asking.is_new else ""
