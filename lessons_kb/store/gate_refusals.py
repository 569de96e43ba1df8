"""The refusals of a session, as files that every process reads, even the hook's second stage."""

from __future__ import annotations

import contextlib
import os

from lessons_kb.errors import StorageError
from lessons_kb.hook_gates import claim, read_token, record_path
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private
from lessons_kb.values import frozen


@frozen
class Refusals:
    """The refusals of one session: one record for each card and file.

    The hook's second stage writes the same records, so no card refuses a file twice, whichever
    process answers.
    """

    context: str
    """The session, or the subagent's part of it."""
    token: str
    """Identifies the event that is answered, across processes."""

    def claim(self, root: str, card: str, file: str) -> bool | None:
        """Record a refusal; return whether this event made it, or None if it cannot be recorded."""
        path = record_path(state_home(), self.context, root, card, file)
        with contextlib.suppress(StorageError):
            make_private(os.path.dirname(path))
        return claim(path, self.token)

    def release(self, root: str, card: str, file: str) -> None:
        """Remove this event's record, because the refusal did not reach the agent."""
        path = record_path(state_home(), self.context, root, card, file)
        if read_token(path) == self.token:
            with contextlib.suppress(OSError):
                os.unlink(path)
