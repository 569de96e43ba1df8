"""Who else may enter or read our state folders: found by the doctor, closed on request."""

from __future__ import annotations

import contextlib
import os
import stat

from lessons_kb.store.locate import state_home
from lessons_kb.store.user_state import state_dir

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def find_open_folders(root: str | None = None) -> list[str]:
    """List our state folders (and those of one brain) that other users may enter or read."""
    if os.name == "nt":
        return []
    home = state_home()
    folders = [home, os.path.join(home, "brains"), os.path.join(home, "installs")]
    if root is not None:
        mine = state_dir(root, create=False)
        folders.append(mine)
        with contextlib.suppress(OSError):
            folders += [os.path.join(mine, name) for name in sorted(os.listdir(mine))]
    return [folder for folder in folders if _is_open(folder)]


def close_folder(folder: str) -> None:
    """Take the rights of all others away from a folder of ours; OSError when it is not ours."""
    os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) & ~_OTHERS | stat.S_IRWXU)


def _is_open(folder: str) -> bool:
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    mine = hasattr(os, "geteuid") and info.st_uid == os.geteuid()
    return stat.S_ISDIR(info.st_mode) and mine and bool(info.st_mode & _OTHERS)
