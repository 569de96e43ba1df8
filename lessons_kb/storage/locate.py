"""Where brains lie, and where this user's own state, cache and brain are kept."""

from __future__ import annotations

import os
import sys

from lessons_kb.errors import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG_NAME = "lessons.toml"
CACHE_NAME = ".lessons"
APP_NAME = "lessons-kb"
STATE_HOME_VARIABLE = "LESSONS_STATE_HOME"
"""Overrides the state folder: for tests, containers and homes that cannot be written."""

_XDG = {
    "state": ("XDG_STATE_HOME", "~/.local/state"),
    "cache": ("XDG_CACHE_HOME", "~/.cache"),
    "data": ("XDG_DATA_HOME", "~/.local/share"),
}


def find_brains(cwd: str) -> list[str]:
    """List the brains that hold for a working directory, nearest first, as real paths.

    A brain is an ancestor (or ``cwd`` itself) with a file ``lessons.toml`` or a folder
    ``.lessons``. Nothing is opened.
    """
    return [
        folder
        for folder in _upwards(cwd)
        if os.path.isfile(os.path.join(folder, CONFIG_NAME))
        or os.path.isdir(os.path.join(folder, CACHE_NAME))
    ]


def git_top(cwd: str) -> str | None:
    """Return the real path of the git work tree around ``cwd``, None outside one.

    A work tree has a ``.git`` folder with a ``HEAD``, or a ``.git`` file (worktrees and
    submodules). No process is started.
    """
    for folder in _upwards(cwd):
        mark = os.path.join(folder, ".git")
        if os.path.isfile(os.path.join(mark, "HEAD")) or os.path.isfile(mark):
            return folder
    return None


def user_brain() -> str:
    """Return the path of the user's own brain, which need not exist."""
    return _user_dir("data")


def state_home() -> str:
    """Return the folder of everything observed by this user, which need not exist."""
    if override := os.environ.get(STATE_HOME_VARIABLE):
        return os.path.abspath(override)
    state = _user_dir("state")
    if state == _user_dir("data"):
        # macOS and Windows keep state and data in one folder, and that is the user's own brain:
        # behind a dot, no scan mistakes drafts for cards.
        return os.path.join(state, ".state")
    return state


def cache_home() -> str:
    """Return the folder for caches of brains that cannot hold their own; it need not exist."""
    return _user_dir("cache")


def _upwards(cwd: str) -> list[str]:
    folder = os.path.realpath(cwd)
    found = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        found.append(folder)
    return found


def _user_dir(what: str) -> str:
    # platformdirs costs a hook a third of a bare interpreter's start; on Linux its rule is short.
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        variable, default = _XDG[what]
        base = os.environ.get(variable, "")
        # The XDG specification: a relative path is invalid and to be ignored.
        return os.path.join(base if os.path.isabs(base) else _expand(default), APP_NAME)
    import platformdirs

    find: Callable[..., str] = getattr(platformdirs, f"user_{what}_dir")
    return os.path.abspath(find(APP_NAME, appauthor=False))


def _expand(path: str) -> str:
    home = os.environ.get("HOME")
    if home is not None and not os.path.isabs(home):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
        expanded = home + path[1:]
    else:
        expanded = os.path.expanduser(path)
    if not os.path.isabs(expanded):
        raise StorageError(f"no home folder is known; set HOME or {STATE_HOME_VARIABLE}")
    return expanded
