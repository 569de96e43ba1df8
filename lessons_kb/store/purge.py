"""Delete everything that was observed: the state folder of this user."""

from __future__ import annotations

import shutil

from lessons_kb.errors import StorageError
from lessons_kb.store.files import storage_errors
from lessons_kb.store.locations import STATE_HOME_VARIABLE, is_state_home_named, state_home


def purge_state() -> None:
    """Delete the state folder. Raises StorageError where a variable names it, or the disk refuses.

    A folder that somebody named may hold other things than ours.
    """
    home = state_home()
    if is_state_home_named():
        raise StorageError(f"{STATE_HOME_VARIABLE} names {home}; delete that folder yourself")
    with storage_errors(home):
        shutil.rmtree(home)
