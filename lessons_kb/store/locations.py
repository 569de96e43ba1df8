"""The user's folders: state, cache, settings and own brain. This module writes nothing."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache

from lessons_kb.errors import StorageError

with contextlib.suppress(ImportError):  # not on Windows
    import pwd


USER_SETTINGS_NAME = "settings.toml"


CONFIG_NAME = "lessons.toml"


CACHE_NAME = ".lessons"


APP_NAME = "lessons-kb"


STATE_HOME_VARIABLE = "LESSONS_STATE_HOME"
"""The variable that overrides the state home, for tests, containers and read-only homes."""


_XDG = {
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}


FIRST_LESSON = "lessons/first-lesson.md"
"""The id of the card in the user's brain with which `lessons setup` shows that lessons arrive."""
FIRST_LESSON_TITLE = "The first lesson has arrived"
"""The title of that card, unless the user has edited it."""


def user_brain() -> str:
    """Return the path of the user's own brain, which need not exist."""
    return _user_dir("data")


def is_user_brain(real: str) -> bool:
    """Return whether a real path is that of the user's own brain, which need not exist."""
    own = user_brain()
    if os.path.basename(real) != os.path.basename(own) and not os.path.lexists(own):
        return False  # the real path of a missing folder ends with its name, and takes long to find
    return real == real_path(own)


def state_home() -> str:
    """Return the folder for all observations about this user. It need not exist."""
    if override := os.environ.get(STATE_HOME_VARIABLE):
        return os.path.abspath(override)
    state = _user_dir("state")
    if state == _user_dir("data"):
        # macOS and Windows have one folder for state and data, which is the user's own brain. The
        # state is in a hidden folder, so that a scan does not mistake drafts for cards.
        return os.path.join(state, ".state")
    return state


def is_state_home_named() -> bool:
    """Return whether STATE_HOME_VARIABLE names the state home."""
    return bool(os.environ.get(STATE_HOME_VARIABLE))


def user_settings_path() -> str:
    """Return the path of the user's own settings, which need not exist."""
    return os.path.join(_user_dir("config"), USER_SETTINGS_NAME)


def cache_home() -> str:
    """Return the folder for caches that cannot be inside their brain; it need not exist."""
    return _user_dir("cache")


def real_path(path: str) -> str:
    """Return ``os.path.realpath(path)``.

    On Linux, the kernel knows the path of an open file. That takes a fifth of the time, and each
    event needs about twenty paths. For a missing file, the kernel is asked about its folder.
    """
    if sys.platform == "linux" and hasattr(os, "O_PATH"):
        try:
            file = os.open(path, os.O_PATH)
            try:
                real = os.readlink(f"/proc/self/fd/{file}")
            finally:
                os.close(file)
        except FileNotFoundError:
            folder, name = os.path.split(path)
            is_plain = folder and name not in ("", os.curdir, os.pardir)
            if is_plain and not os.path.islink(path):
                return os.path.join(real_path(folder), name)
            return os.path.realpath(path)
        except OSError:
            return os.path.realpath(path)
        # The kernel marks a file that was removed, or that is outside of this root folder.
        if real.startswith(os.sep) and not real.endswith(" (deleted)"):
            return real
    return os.path.realpath(path)


def upwards(cwd: str) -> list[str]:
    """Return the real path of a folder and its parents, innermost first."""
    return above(real_path(cwd))


def above(folder: str) -> list[str]:
    """Return a folder, given by its real path, and its parents, innermost first."""
    folders = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        folders.append(folder)
    return folders


def account_home() -> str:
    """Return the home folder of this account, regardless of environment variables."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except (NameError, KeyError):
        return os.path.expanduser("~")


@lru_cache(maxsize=64)
def _find_xdg_dir(kind: str, base: str, home: str) -> str:
    """Return the user's folder by the rule of XDG, or "" if ``base`` and ``home`` name no folder.

    ``base`` is the value of the kind's variable, and ``home`` is the user's home.
    """
    if not os.path.isabs(base):  # the XDG specification says to ignore it
        base = os.path.join(home, _XDG[kind][1])
    return os.path.join(base, APP_NAME) if os.path.isabs(base) else ""


def _user_dir(kind: str) -> str:
    # Importing platformdirs takes a third of the start of the interpreter; on Linux, its rule is
    # short enough to repeat.
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        home = os.environ.get("HOME", "")
        if not home.startswith(os.sep):
            home = account_home()
        if folder := _find_xdg_dir(kind, os.environ.get(_XDG[kind][0], ""), home):
            return folder

    import platformdirs

    find: Callable[..., str] = getattr(platformdirs, f"user_{kind}_dir")
    folder = ""
    with contextlib.suppress(RuntimeError):
        folder = find(APP_NAME, appauthor=False)
    if not os.path.isabs(folder):
        raise StorageError("no home folder; set HOME to a folder that you can write to")
    return folder


@contextlib.contextmanager
def private_state_home(folder: str) -> Iterator[None]:
    """Use ``folder`` for state, settings and caches in the block, not the user's own folders.

    This is for replayed sessions. Without the user's settings, no server receives their prompts.
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
