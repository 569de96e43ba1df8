"""Delete everything that was observed: the state folder of this user."""

from __future__ import annotations

import os
import shutil

from lessons_kb.errors import StorageError
from lessons_kb.store.files import storage_errors
from lessons_kb.store.locations import STATE_HOME_VARIABLE, state_home


def purge_state() -> None:
    """Delete the state folder. Raises StorageError where a variable names it, or the disk refuses.

    A folder that somebody named may hold other things than ours.
    """
    home = state_home()
    if os.environ.get(STATE_HOME_VARIABLE):
        raise StorageError(f"{STATE_HOME_VARIABLE} names {home}; delete that folder yourself")
    with storage_errors(home):
        shutil.rmtree(home)
