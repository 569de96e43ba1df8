"""The refusals of a session, stored as files for all processes and the hook's second stage."""

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
    """The refusals of one session, with one record for each card and file.

    The hook's second stage writes the same records. So no card refuses a file twice, regardless of
    the process that answers.
    """

    context: str
    """The session, or the subagent's part of it."""
    token: str
    """The id of the event that is answered, which is the same in all processes."""

    def claim(self, root: str, card: str, file: str) -> bool | None:
        """Record a refusal, and return whether the record belongs to this event.

        Return None if the refusal cannot be recorded.
        """
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
