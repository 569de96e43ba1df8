"""Drafts of a session: order a process that makes them, and count those that wait."""

from __future__ import annotations

from lessons_kb.process.detached import start_drafts
from lessons_kb.session.event import HookEvent
from lessons_kb.session.open_session import OpenSession
from lessons_kb.store.draft_files import DraftFolder


def order_drafts(open_session: OpenSession, hook_event: HookEvent) -> None:
    """Start a detached run of ``draft_session``: git and thousands of events take their time."""
    if hook_event.posted or open_session.journal.trouble:
        return  # its repository is elsewhere, or what this session did was not written

    layers = open_session.brain.layers
    roots = [layer.root for layer in layers]
    start_drafts(
        hook_event.agent,
        hook_event.session,
        open_session.directory,
        roots=roots,
        cache=layers[0].cache,
    )


def count_drafts(open_session: OpenSession, hook_event: HookEvent) -> int:
    """Return how many drafts wait for this user; those of a posted session are the server's."""
    return 0 if hook_event.posted else len(DraftFolder(open_session.brain.layers[0].root).ids())
