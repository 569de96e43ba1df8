"""The refusals of a session, as files that every process reads: also the hook's second stage."""

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
    """The refusals of one session: a file for each card and file, which every process reads.

    The hook's second stage makes them too, so that no card refuses a file twice, whichever
    process answered.
    """

    context: str
    """The session, or the subagent's part of it."""
    token: str
    """Names the event that is answered, in whatever process."""

    def claim(self, root: str, card: str, file: str) -> bool | None:
        """Record a refusal; return whether it is this event's, None where nothing is recorded."""
        path = record_path(state_home(), self.context, root, card, file)
        with contextlib.suppress(StorageError):
            make_private(os.path.dirname(path))
        return claim(path, self.token)

    def release(self, root: str, card: str, file: str) -> None:
        """Take this event's record back: nobody heard of the refusal."""
        path = record_path(state_home(), self.context, root, card, file)
        if read_token(path) == self.token:
            with contextlib.suppress(OSError):
                os.unlink(path)
