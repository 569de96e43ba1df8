"""Delete the user's state home, which contains all observations."""

from __future__ import annotations

import shutil

from lessons_kb.errors import StorageError
from lessons_kb.store.files import storage_errors
from lessons_kb.store.foreign_settings import remove_empty
from lessons_kb.store.locations import STATE_HOME_VARIABLE, is_state_home_named, state_home
from lessons_kb.store.private_files import list_made_folders


def purge_state() -> None:
    """Delete the state home, and the folders above our own that we made and that are then empty.

    Raises StorageError if a variable names the state home, or if deletion fails. A folder that a
    user has named may contain files of other programs.
    """
    home = state_home()
    if is_state_home_named():
        raise StorageError(f"{STATE_HOME_VARIABLE} names {home}; delete that folder yourself")
    made = list_made_folders()
    with storage_errors(home):
        shutil.rmtree(home)
    remove_empty(made)
