"""The private folder of everything observed about one brain."""

from __future__ import annotations

import contextlib
import os
import stat

from lessons_kb.store.files import list_folder
from lessons_kb.store.identity import BRAINS_FOLDER, identify
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import OTHERS, make_private


def state_dir(root: str, *, create: bool = True) -> str:
    """Return the state folder of the brain at ``root``, made with mode 0700 if asked for.

    Raises StorageError when it cannot be made.
    """
    path = os.path.join(state_home(), BRAINS_FOLDER, identify(root).key)
    if create:
        make_private(path)
    return path


def find_open_folders(root: str | None = None) -> list[str]:
    """List our state folders (and those of one brain) that other users may enter or read."""
    if not hasattr(os, "geteuid"):
        return []
    home = state_home()
    folders = [home, os.path.join(home, "brains"), os.path.join(home, "installs")]
    if root is not None:
        mine = state_dir(root, create=False)
        folders += [mine, *(os.path.join(mine, name) for name in list_folder(mine))]
    found = []
    for folder in folders:
        with contextlib.suppress(OSError):
            info = os.lstat(folder)
            ours = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
            found += [folder] if ours and info.st_mode & OTHERS else []
    return found


def close_folder(folder: str) -> None:
    """Take the rights of all others away from a folder of ours; OSError when it is not ours."""
    os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) & ~OTHERS | stat.S_IRWXU)
