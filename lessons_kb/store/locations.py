"""Where things are: brains, repositories, the user's folders. Nothing is written here."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator

from lessons_kb.errors import StorageError
from lessons_kb.store.files import open_regular

with contextlib.suppress(ImportError):  # not on Windows
    import pwd


USER_SETTINGS_NAME = "settings.toml"


CONFIG_NAME = "lessons.toml"


CACHE_NAME = ".lessons"


_FOREIGN_TOPS = (".hg", ".jj", ".sl", ".svn/wc.db", ".bzr")
"""What lies at the top of a clone that another system than git has made."""


BORDERS = frozenset(
    {CONFIG_NAME, CACHE_NAME, ".git", *(name.partition("/")[0] for name in _FOREIGN_TOPS)}
)
"""Names of which one at least lies in every ``is_border``."""


APP_NAME = "lessons-kb"


STATE_HOME_VARIABLE = "LESSONS_STATE_HOME"
"""Overrides the state folder: for tests, containers and homes that cannot be written."""


_MAX_GIT_BYTES = 65_536


_MAX_DEPTH, _MAX_FOLDERS = 3, 1_000


_XDG = {
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}


def find_brains(cwd: str) -> list[str]:
    """List the brains that hold for a working directory, nearest first, as real paths.

    A brain is an ancestor (or ``cwd`` itself) with a file ``lessons.toml`` or a folder
    ``.lessons``. Nothing is opened.
    """
    return list(filter(is_brain, upwards(cwd)))


def find_borders(cwd: str, brain: str) -> list[str]:
    """List the repositories between a brain and a folder in it, the innermost first."""
    folders = upwards(cwd)
    below = folders[: folders.index(brain)] if brain in folders else []
    return [folder for folder in below if is_border(folder)]


def find_below(top: str) -> list[str]:
    """List the brains up to three folders below ``top``; hidden folders and repositories are left.

    Of a large tree only the first folders are looked at.
    """
    found: list[str] = []
    pending = [(top, 0)]
    for folder, depth in pending:  # grows, level by level
        if depth and is_brain(folder):
            found.append(folder)
        elif depth < _MAX_DEPTH and not (depth and is_border(folder)):
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                visible = (e for e in entries if e.name[0] != "." and e.name != "node_modules")
                inner = sorted(e.path for e in visible if e.is_dir(follow_symlinks=False))
                pending += [(path, depth + 1) for path in inner][: _MAX_FOLDERS - len(pending)]
    return found


def is_brain(folder: str) -> bool:
    """Tell whether a folder is marked as a brain."""
    return os.path.isfile(os.path.join(folder, CONFIG_NAME)) or os.path.isdir(
        os.path.join(folder, CACHE_NAME)
    )


def is_work_tree(folder: str) -> bool:
    """Tell whether a folder is the top of a git work tree."""
    mark = os.path.join(folder, ".git")
    # HEAD may be a link to a branch that is packed, and so lead nowhere.
    return os.path.lexists(os.path.join(mark, "HEAD")) or os.path.isfile(mark)


def is_border(folder: str) -> bool:
    """Tell whether a folder is a brain or a repository of its own, and so a matter of trust."""
    return (
        is_brain(folder)
        or is_work_tree(folder)
        or any(os.path.lexists(os.path.join(folder, name)) for name in _FOREIGN_TOPS)
    )


def git_top(cwd: str) -> str | None:
    """Return the real path of the git work tree around ``cwd``, None outside one.

    A work tree has a ``.git`` folder with a ``HEAD``, or a ``.git`` file (worktrees and
    submodules). No process is started.
    """
    return find_work_tree(upwards(cwd))


def find_work_tree(folders: Iterable[str]) -> str | None:
    """Return the first of some folders that is the top of a git work tree, None if none is."""
    return next(filter(is_work_tree, folders), None)


def git_home(top: str) -> str | None:
    """Return the real path of the git directory that all work trees of ``top`` share.

    None where nothing vouches for it. Anyone can write a ``.git`` file that names the directory
    of another repository, so it counts only if that directory points back: the ``gitdir`` of
    ``worktrees/<name>``, or ``core.worktree`` of a submodule. A ``.git`` that is a link, or a
    folder that borrows from another by a ``commondir``, is never made by git and does not count.
    """
    mark = os.path.join(top, ".git")
    if os.path.islink(mark):
        return None
    if os.path.isdir(mark):
        return None if os.path.lexists(os.path.join(mark, "commondir")) else mark
    named = _read_lines(mark)[0]
    if not named.startswith("gitdir:"):
        return None
    own = os.path.realpath(os.path.join(top, named.removeprefix("gitdir:").strip()))
    if common := _read_lines(os.path.join(own, "commondir"))[0]:
        shared = os.path.realpath(os.path.join(own, common))
        back = _read_lines(os.path.join(own, "gitdir"))[0]
        listed = os.path.dirname(own) == os.path.join(shared, "worktrees")
        return shared if listed and os.path.realpath(os.path.join(own, back)) == mark else None
    back = _core_worktree(os.path.join(own, "config"))
    return own if back and os.path.realpath(os.path.join(own, back)) == top else None


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


def _read_lines(path: str) -> list[str]:
    """Return the lines of a small file of git's, [""] where there is none."""
    try:
        with open_regular(path) as file:
            lines = os.fsdecode(file.read(_MAX_GIT_BYTES)).split("\n")
    except (OSError, ValueError, StorageError):
        return [""]
    return [line.strip() for line in lines]


def _core_worktree(config: str) -> str:
    """Return ``core.worktree`` as git itself writes it, "" where there is none."""
    section, found = "", ""
    for line in _read_lines(config):
        if line.startswith("["):
            section = line.casefold()
        key, _, value = line.partition("=")
        if section == "[core]" and key.strip().casefold() == "worktree":
            found = value.strip().strip('"')
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
