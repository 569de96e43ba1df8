"""Where the user's folders are: state, cache, settings, own brain. Nothing is written here."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from lessons_kb.errors import StorageError

with contextlib.suppress(ImportError):  # not on Windows
    import pwd


USER_SETTINGS_NAME = "settings.toml"


CONFIG_NAME = "lessons.toml"


CACHE_NAME = ".lessons"


APP_NAME = "lessons-kb"


STATE_HOME_VARIABLE = "LESSONS_STATE_HOME"
"""Overrides the state folder: for tests, containers and homes that cannot be written."""


_XDG = {
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}


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


def is_state_home_named() -> bool:
    """Return whether a variable of ours names the state folder."""
    return bool(os.environ.get(STATE_HOME_VARIABLE))


def user_settings_path() -> str:
    """Return the path of the user's own settings, which need not exist."""
    return os.path.join(_user_dir("config"), USER_SETTINGS_NAME)


def cache_home() -> str:
    """Return the folder for caches of brains that cannot hold their own; it need not exist."""
    return _user_dir("cache")


def upwards(cwd: str) -> list[str]:
    """List the real path of a folder and of all above it, the innermost first."""
    return above(os.path.realpath(cwd))


def above(folder: str) -> list[str]:
    """List a folder, given by its real path, and all above it, the innermost first."""
    found = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        found.append(folder)
    return found


def account_home() -> str:
    """Return the home of this account, whatever variables say."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except (NameError, KeyError):
        return os.path.expanduser("~")


def _user_dir(what: str) -> str:
    # platformdirs costs a hook a third of a bare interpreter's start; on Linux its rule is short.
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        variable, default = _XDG[what]
        base, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
        if not os.path.isabs(base):  # to be ignored, by the XDG specification
            base = os.path.join(home if os.path.isabs(home) else account_home(), default)
        if os.path.isabs(base):
            return os.path.join(base, APP_NAME)

    import platformdirs

    find: Callable[..., str] = getattr(platformdirs, f"user_{what}_dir")
    found = ""
    with contextlib.suppress(RuntimeError):
        found = find(APP_NAME, appauthor=False)
    if not os.path.isabs(found):
        raise StorageError("no home folder; set HOME to a folder that you can write to")
    return found


@contextlib.contextmanager
def private_state_home(folder: str) -> Iterator[None]:
    """Keep what is observed in the block, and this user's settings, out of the user's own folders.

    For sessions that are played and never happened: no server is asked about them, either.
    """
    names = (STATE_HOME_VARIABLE, "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    before = {name: os.environ.get(name) for name in names}
    for name in names:
        os.environ[name] = os.path.join(folder, name.lower())
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
