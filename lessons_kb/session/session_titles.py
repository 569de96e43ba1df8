"""The titles of cards that a session gets at its start, or with its first prompt."""

from __future__ import annotations

from lessons_kb.brain.brains import Brains, refresh_in_hook
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.find.titles import build_titles
from lessons_kb.ledger.withheld import is_withholding
from lessons_kb.session.state import Hook
from lessons_kb.values import replace


def find_titles(hook: Hook, brains: Brains | None = None) -> str:
    """Return the titles of the cards that the agent can open, and write the files that they need.

    The files are those of ``build_titles``: each card gets a handle in the state folder, and the
    cache folder gets the file of handles. ``brains`` must be up to date. If they are missing, the
    brains of the hook are refreshed first, which may write their indexes. Cards that are withheld
    from this session are left out.

    Returns "" if there are no titles, if the event is from another machine, whose agent cannot open
    files here, or if a ConfigError or StorageError occurs.
    """
    if hook.event.posted:  # the event is from another machine
        return ""
    session = hook.event.context_id if is_withholding() else ""
    access = replace(hook.access, session=session)
    can = hook.can
    try:
        if brains is None:
            brains, _warning = refresh_in_hook(hook.brains)
        return build_titles(brains, access, most=can.tokens, max_bytes=can.max_bytes)
    except (ConfigError, StorageError):  # the answer to a prompt reports it
        return ""
