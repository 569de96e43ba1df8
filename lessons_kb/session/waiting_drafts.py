"""Drafts of a session: order a process that makes them, and tell of those that wait."""

from __future__ import annotations

from lessons_kb.process.detached import start_drafts
from lessons_kb.session.event import HookEvent, OpenSession
from lessons_kb.store.draft_files import DraftFolder


def order_drafts(open_session: OpenSession, hook_event: HookEvent) -> None:
    """Start a detached run of ``draft_session``: git and thousands of events take their time."""
    if open_session.journal.trouble:
        return  # what this session did was not written

    layers = open_session.brain.layers
    roots = [layer.root for layer in layers]
    start_drafts(
        hook_event.agent,
        hook_event.session,
        open_session.directory,
        roots=roots,
        cache=layers[0].cache,
    )


def offer_drafts(open_session: OpenSession) -> tuple[str, ...]:
    """Return one line about drafts that wait, none if none do."""
    count = len(DraftFolder(open_session.brain.layers[0].root).ids())
    wait = "1 draft is ready" if count == 1 else f"{count} drafts are ready"
    return (f"lessons: {wait} for `lessons review`",) if count else ()
