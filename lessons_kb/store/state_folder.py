"""The private folder with all observations about one brain."""

from __future__ import annotations

import contextlib
import os
import stat

from lessons_kb.store.files import list_folder
from lessons_kb.store.identity import BRAINS_FOLDER, identify
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import OTHERS, make_private


def state_dir(root: str, *, create: bool = True) -> str:
    """Return the state folder of the brain at ``root``.

    With ``create``, the folder is created with mode 0700. Raises StorageError if it cannot be
    created.
    """
    path = os.path.join(state_home(), BRAINS_FOLDER, identify(root).key)
    if create:
        make_private(path)
    return path


def find_open_folders(root: str | None = None) -> list[str]:
    """List the state folders that other users may enter or read.

    With ``root``, the folders of this brain are included.
    """
    if not hasattr(os, "geteuid"):
        return []
    home = state_home()
    folders = [home, os.path.join(home, "brains"), os.path.join(home, "installs")]
    if root is not None:
        state = state_dir(root, create=False)
        folders += [state, *(os.path.join(state, name) for name in list_folder(state))]
    open_folders = []
    for folder in folders:
        with contextlib.suppress(OSError):
            info = os.lstat(folder)
            is_ours = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
            if is_ours and info.st_mode & OTHERS:
                open_folders.append(folder)
    return open_folders


def close_folder(folder: str) -> None:
    """Remove all access rights of other users from a folder. Raises OSError if it is not ours."""
    os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) & ~OTHERS | stat.S_IRWXU)
