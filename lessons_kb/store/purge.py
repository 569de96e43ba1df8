"""Delete the user's state home, which contains all observations."""

from __future__ import annotations

import os
import shutil

from lessons_kb.errors import StorageError
from lessons_kb.store.files import is_inside, storage_errors
from lessons_kb.store.foreign_settings import remove_empty
from lessons_kb.store.locations import (
    STATE_HOME_VARIABLE,
    cache_home,
    is_state_home_named,
    state_home,
    user_brain,
    user_settings_path,
)


def purge_state() -> None:
    """Delete the state home, and the folders above it that are then empty.

    Raises StorageError if a variable names the state home, or if deletion fails. A folder that a
    user has named may contain files of other programs.
    """
    home = state_home()
    if is_state_home_named():
        raise StorageError(f"{STATE_HOME_VARIABLE} names {home}; delete that folder yourself")
    with storage_errors(home):
        shutil.rmtree(home)
    remove_empty(_list_parents())


def _list_parents() -> list[str]:
    """Return the folders between the user's home and our own folders, such as ``.local/share``."""
    top = os.path.expanduser("~")
    parents: set[str] = set()
    for folder in (state_home(), user_brain(), cache_home(), os.path.dirname(user_settings_path())):
        parent = os.path.dirname(folder)
        while parent != top and is_inside(parent, top):
            parents.add(parent)
            parent = os.path.dirname(parent)
    return list(parents)
