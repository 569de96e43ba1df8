"""The private folder in which everything observed about one brain is kept, and whose it is.

It lies under the user's state home, never in the repository, and belongs to one folder, not to
whatever stands at a path. That folder is known by a token: a random text in the record here and
in a mark there, in git's own directory, which all work trees share and no checkout or
``git clean`` touches, else in ``.lessons/``. No repository can bring it. A brain without a mark
(one that was only named, one that cannot be written, the user's own) is known by its path.

The locks between this user's processes lie there, too.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import LessonsError, StorageError
from lessons_kb.store.files import (
    list_folder,
    open_regular,
    read_json,
    read_regular,
    shown,
    storage_error,
    storage_errors,
    sync_folder,
    temporary,
    write_unsynced,
)
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import shell_word

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


def purge_state() -> None:
    """Delete the state folder. Raises StorageError where a variable names it, or the disk refuses.

    A folder that somebody named may hold other things than ours.
    """
    home = state_home()
    if os.environ.get(STATE_HOME_VARIABLE):
        raise StorageError(f"{STATE_HOME_VARIABLE} names {home}; delete that folder yourself")
    with storage_errors(home):
        shutil.rmtree(home)


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


_RECORD = "brain.json"
_MAX_RECORD_BYTES = 4 * MAX_CONFIG_BYTES + 100_000
_MARK_FOLDER = "lessons-kb"
_MARK_NAME = "identity"
_MARK = re.compile(r"([0-9a-f]{16}) ([0-9a-f]{32})")
"""Key and token."""
_MOST_MARKS, _MAX_MARKS_BYTES = 8, 1_000
"""In one file, the newest: one for each state of this user that trusts the folder."""

_BRAINS = "brains"
_UNSAFE = re.compile(rf"[^A-Za-z0-9._{re.escape(os.sep)}-]+")
_MAX_KEY_BYTES = 200
_KEPT_OF_LONG_KEY = 150
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What tells one brain from all others that may stand at its path."""

    key: str
    """Name of its state folder."""
    place: str
    """Where its mark belongs, there or not."""
    record: dict[str, Any] | None
    """What this user's state knows of it, None when nothing (usable)."""
    mark: str = ""
    """Where a mark with the token of the record lies; "" if the path is all that is known."""
    copied: bool = False
    """The mark is that of another folder, which is still there."""


def identify(root: str) -> Identity:
    """Return the identity of the brain at ``root``; nothing is written."""
    real = os.path.realpath(root)
    places = _places(real)
    copied = False
    for place in places if real != os.path.realpath(user_brain()) else ():
        for key, token in _read_marks(place):
            record = read_record_of(key) or {}
            known = str(record.get("place", ""))
            # In git only a brain that was none before keeps its mark in .lessons.
            if record.get("token") != token or place not in (places[0], known):
                continue
            if not _is_elsewhere(known, place, (key, token)):
                return Identity(key=key, place=places[0], record=record, mark=place)
            copied = True
    key = brain_key(real)
    found = read_record_of(key)
    if found is not None and found.get("root") != real:
        found = None
    return Identity(key=key, place=places[0], record=found, copied=copied)


def new_mark() -> tuple[str, str]:
    """Return a key and a token that nobody can guess."""
    return os.urandom(8).hex(), os.urandom(16).hex()


def write_mark(place: str, key: str, token: str) -> None:
    """Write a mark where it belongs, beside those of other states. Raises StorageError."""
    folder = os.path.dirname(place)
    with storage_errors(folder):
        if os.path.basename(folder) == CACHE_NAME:
            make_cache_folder(folder)
        elif not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
    if not _is_folder(folder):
        raise StorageError(f"{folder}: a link or a file is in its place; remove it")
    # Another home that shares the folder, such as a container's, has a mark of its own there.
    others = [mark for mark in _read_marks(place) if read_record_of(mark[0]) is None]
    marks = [*(mark for mark in others if mark[0] != key), (key, token)][-_MOST_MARKS:]
    write_private(place, "".join(f"{one} {other}\n" for one, other in marks).encode())


def rename_state(old: str, new: str) -> None:
    """Give a state folder, if there is one, the name of another key. Raises StorageError."""
    before, after = (os.path.join(state_home(), _BRAINS, key) for key in (old, new))
    with storage_errors(before), contextlib.suppress(FileNotFoundError):
        os.rename(before, after)


def write_record_of(key: str, record: dict[str, Any]) -> None:
    """Write the record in the state folder ``key``. Raises StorageError."""
    path = os.path.join(state_home(), _BRAINS, key, _RECORD)
    write_private(path, json.dumps(record).encode())


def can_be_marked(place: str) -> bool:
    """Tell whether a mark could be written at ``place`` once nothing is in the way."""
    folder = os.path.dirname(place)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return not _is_folder(folder) or os.access(folder, os.W_OK | os.X_OK)


def make_cache_folder(folder: str) -> None:
    """Make ``.lessons`` or a folder in it, which git ignores; one that is there stays.

    Raises OSError.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o755)
    # A strange .lessons may have brought a .gitignore of its own: it stays.
    if _is_folder(folder):
        ignore = os.path.join(folder, ".gitignore")
        with contextlib.suppress(FileExistsError), open(ignore, "xb") as file:
            file.write(b"*\n")


def read_record_of(key: str) -> dict[str, Any] | None:
    """Return the record in the state folder ``key``, None when there is none that can be used."""
    path = os.path.join(state_home(), _BRAINS, key, _RECORD)
    record = read_json(path, limit=_MAX_RECORD_BYTES)
    return record if isinstance(record.get("cache_token"), str) else None


def read_records() -> dict[str, dict[str, Any]]:
    """Return the name of each state folder of a brain → its record."""
    names = list_folder(os.path.join(state_home(), _BRAINS))
    return {key: record for key in names if (record := read_record_of(key)) is not None}


def list_marked(top: str) -> list[str]:
    """List the folders of a work tree that marks in its git directory name, trusted or not.

    All work trees of a repository have the same.
    """
    home = git_home(top)
    folder = os.path.join(home, _MARK_FOLDER) if home is not None else ""
    found = []
    # Of most repositories the top alone is a brain: it needs no record.
    for name in {*list_folder(folder)} - {_quote(os.sep)} if folder else ():
        records = (read_record_of(key) for key, _token in _read_marks(os.path.join(folder, name)))
        record: dict[str, Any] = next(filter(None, records), {})
        known = str(record.get("root", ""))  # wherever that was, its end is the path in here
        ends = (known[at:] for at, character in enumerate(known) if character == os.sep)
        if end := next((end for end in ends if _quote(end) == name), ""):
            root = os.path.realpath(top + end)
            if os.path.isdir(root) and find_work_tree(above(root)) == top:
                found.append(root)
    return sorted(found)


def _places(real: str) -> list[str]:
    """List where the mark of a brain may lie, the proper place first."""
    inside = os.path.join(real, CACHE_NAME, _MARK_NAME)
    top = find_work_tree(above(real))
    home = git_home(top) if top is not None else None
    if top is None or home is None:
        return [inside]
    within = os.sep + real[len(top.rstrip(os.sep)) + 1 :]
    return [os.path.join(home, _MARK_FOLDER, _quote(within)), inside]


def _read_marks(place: str) -> list[tuple[str, str]]:
    """Return key and token of each mark in a file, none where there is no regular one."""
    try:
        if not _is_folder(os.path.dirname(place)) or os.path.islink(place):
            return []
        text = read_regular(place, limit=_MAX_MARKS_BYTES, name=place).decode("ascii", "replace")
    except (OSError, StorageError):
        return []
    return [(found[1], found[2]) for found in map(_MARK.fullmatch, text.splitlines()) if found]


def _is_elsewhere(known: str, place: str, mark: tuple[str, str]) -> bool:
    """Tell whether a mark at ``place`` is a copy of one that still lies where it was seen."""
    if known == place or mark not in _read_marks(known):
        return False
    try:  # one folder may be mounted twice; folders, unlike files, have no hard links
        return not os.path.samefile(os.path.dirname(known), os.path.dirname(place))
    except OSError:
        return True


def _is_folder(folder: str) -> bool:
    return os.path.isdir(folder) and not os.path.islink(folder)


def brain_key(root: str) -> str:
    """Return a readable folder name that no other path has.

    The real path with ``+`` for its separators; a run of other characters is ``=``, the
    hexadecimal of its bytes, ``=``. A key beyond 200 bytes is cut and ends with ``==`` and a
    hash, which no short key contains.
    """
    return _quote(os.path.realpath(root))


def _quote(path: str) -> str:
    key = _UNSAFE.sub(lambda run: f"={os.fsencode(run[0]).hex()}=", path).replace(os.sep, "+")
    if len(key) <= _MAX_KEY_BYTES:
        return key

    digest = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return f"{key[:_KEPT_OF_LONG_KEY]}=={digest}"


def state_dir(root: str, *, create: bool = True) -> str:
    """Return the state folder of the brain at ``root``, made with mode 0700 if asked for.

    Raises StorageError when it cannot be made.
    """
    path = os.path.join(state_home(), _BRAINS, identify(root).key)
    if create:
        make_private(path)
    return path


def make_private(folder: str) -> None:
    """Make a folder, and those above it that are missing, for this user alone.

    Raises StorageError when it cannot be made.
    """
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        make_private(os.path.dirname(folder))
        make_private(folder)  # by now another process may have made it
    except OSError as error:
        if not isinstance(error, FileExistsError) or not os.path.isdir(folder):
            if isinstance(error, PermissionError) or error.errno == errno.EROFS:
                raise StorageError(
                    f"{shown(folder)}: {error.strerror}; grant yourself access, or set HOME or "
                    f"{STATE_HOME_VARIABLE} to a folder that you can write to"
                ) from None
            raise storage_error(error, folder) from None


def read_private(path: str, *, limit: int) -> bytes:
    """Return a file that holds a secret; StorageError where others than its user can read it.

    Raises OSError too, and StorageError for no regular file or one of more than ``limit`` bytes.
    """
    if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & _OTHERS:
        raise StorageError(f"others can read {path}; run `chmod 600 {shell_word(path)}`")
    return read_regular(path, limit=limit, name=path)


def write_private(path: str, data: bytes) -> None:
    """Write a whole file for this user alone, atomically and durably, and the folders above it.

    Raises StorageError and leaves the old file as it was.
    """
    folder = os.path.dirname(path)
    make_private(folder)
    with storage_errors(path):
        with temporary(folder, data, private=True) as temp:
            os.replace(temp, path)
        sync_folder(folder)


_KEY_NAME, _KEY_BYTES = "withhold.key", 32


def withhold_key() -> bytes:
    """Return this user's secret that decides what is withheld, made by the first who asks.

    Raises StorageError or OSError where it can be neither read nor kept.
    """
    path = os.path.join(state_home(), _KEY_NAME)
    if not os.path.exists(path):
        write_private(path, os.urandom(_KEY_BYTES))
    return read_private(path, limit=_KEY_BYTES)


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
            found += [folder] if ours and info.st_mode & _OTHERS else []
    return found


def close_folder(folder: str) -> None:
    """Take the rights of all others away from a folder of ours; OSError when it is not ours."""
    os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) & ~_OTHERS | stat.S_IRWXU)


_FOLDER = "sessions"
_KEPT_SECONDS = 30 * 86_400
_MAX_BYTES = 8_192
_FORGET_EVERY = 64
"""Old pins are looked for in about one of so many new sessions."""


def pin_directory(session: str, directory: str, *, look: bool = True) -> str:
    """Return the directory that was pinned at the session's first event, ``directory`` if now.

    Of a session without a pin ``is_silenced`` cannot tell when it began.
    A pin that cannot be written or that names no folder any more leaves ``directory`` as it is;
    unless we may ``look``, whatever it names is taken for a folder of another machine.
    """
    path = _session_file(session)
    with contextlib.suppress(OSError, StorageError), open_regular(path) as file:
        pinned = os.fsdecode(file.read(_MAX_BYTES))
        return pinned if not look or os.path.isdir(pinned) else directory
    with contextlib.suppress(OSError, StorageError):
        folder = os.path.dirname(path)
        make_private(folder)
        if int(path[-2:], 16) % _FORGET_EVERY == 0:
            forget_older(folder, time.time() - _KEPT_SECONDS)
        write_unsynced(path, os.fsencode(directory)[:_MAX_BYTES], flags=os.O_EXCL)
    return directory


def silence_sessions(agent: str, project: str) -> None:
    """Let the sessions of an agent that run now be silent, all or those below a project.

    An agent goes on with the hooks that it read when it started.
    """
    path = _session_file(f"silenced {agent}")
    write_private(path, os.fsencode(project))


def end_silence(agent: str) -> None:
    """Let the sessions of an agent that was set up again be heard."""
    with contextlib.suppress(OSError):
        os.unlink(_session_file(f"silenced {agent}"))


def is_taken_out(agent: str) -> bool:
    """Tell whether an agent's hooks were taken out of all projects, and not set up again."""
    with contextlib.suppress(OSError):
        return os.stat(_session_file(f"silenced {agent}")).st_size == 0
    return False


def is_silenced(agent: str, session: str, directory: str) -> bool:
    """Tell whether an agent's hooks were taken out since the session's first event."""
    try:
        with open_regular(_session_file(f"silenced {agent}")) as file:
            since, project = os.fstat(file.fileno()).st_mtime_ns, os.fsdecode(file.read())
        begun = os.stat(_session_file(session)).st_mtime_ns
    except (OSError, StorageError):
        return False
    inside = f"{os.path.realpath(directory)}/".startswith(f"{project}/" if project else "")
    return begun < since and inside


def note_first(folder: str, what: str, *, unknown: bool) -> bool:
    """Note in a folder of ours that something was said; False when it was said before.

    ``unknown`` is returned where nothing can be noted.
    """
    path = _session_file(what, folder)
    try:
        make_private(os.path.dirname(path))
        forget_older(os.path.dirname(path), time.time() - _KEPT_SECONDS)
        write_unsynced(path, b"", flags=os.O_EXCL)
    except FileExistsError:
        return False
    except (OSError, StorageError):
        return unknown
    return True


def _session_file(name: str, home: str = "") -> str:
    raw = name.encode("utf-8", "replace")
    plain = f"{len(raw):x}-{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}"
    return os.path.join(home or state_home(), _FOLDER, plain)


def forget_older(folder: str, before: float) -> None:
    """Remove the files of a folder that were written before a moment."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process does the same
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)


LOG_NAME = "hook.log"
MAX_LOG_BYTES = 128_000
_MAX_LINE_CHARS = 600


@dataclass(frozen=True, slots=True)
class Trouble:
    """One line of the log."""

    at: str
    """Local time, ISO, to the second."""
    agent: str
    hook_event: str
    message: str


def log_trouble(agent: str, hook_event: str, message: str) -> None:
    """Add a line; half of the file is forgotten when it grows past MAX_LOG_BYTES.

    Never raises: whoever logs has trouble enough.
    """
    fields = (time.strftime("%Y-%m-%dT%H:%M:%S"), agent, hook_event, message)
    with contextlib.suppress(OSError, ValueError, LessonsError):  # there is nowhere left to say it
        clean = (" ".join(redact(field).split())[:_MAX_LINE_CHARS] for field in fields)
        line = ("\t".join(clean) + "\n").encode("utf-8", "replace")
        make_private(state_home())
        path = os.path.join(state_home(), LOG_NAME)
        # A FIFO is refused at once.
        flags = os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        write_unsynced(path, line, flags=flags)
        if os.stat(path).st_size > MAX_LOG_BYTES:
            with open_regular(path) as whole:
                whole.seek(-MAX_LOG_BYTES // 2, os.SEEK_END)
                kept = whole.read()
            write_private(path, kept[kept.find(b"\n") + 1 :])


def read_troubles(limit: int = 20) -> list[Trouble]:
    """Return the newest lines, oldest first; none when there is no log."""
    try:
        with open_regular(os.path.join(state_home(), LOG_NAME)) as file:
            lines = file.read(2 * MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, StorageError):
        return []
    return [Trouble(*line.split("\t", 3)) for line in lines if line.count("\t") > 2][-limit:]  # noqa: PLR2004


_BUCKETS = 64
_LOCK_SECONDS = 30.0
_POLL_SECONDS = 0.005


def locked(full: str) -> AbstractContextManager[object]:
    """Hold the lock of one real path; a killed holder frees it.

    Paths share 64 lock files, so that their number stays small, and two brains that contain the
    same file share its lock: never hold two at once. Raises StorageError after 30 seconds.
    """
    return _hold(full, "")


def hold_new(root: str) -> AbstractContextManager[object]:
    """Hold what lets one process at a time look for near-duplicates and write a new card.

    Taken before a ``locked``, never within one. Raises StorageError after 30 seconds.
    """
    return _hold(root, "new-")


def _hold(full: str, kind: str) -> AbstractContextManager[object]:
    name = f"{kind}{zlib.crc32(os.fsencode(full)) % _BUCKETS:02d}.lock"
    return take_lock(os.path.join(state_home(), "locks", name), full, seconds=_LOCK_SECONDS)


def take_lock(path: str, what: str, *, seconds: float) -> AbstractContextManager[object]:
    """Take a lock of a file and return what holds it, a context; ``what`` is what is locked.

    A killed holder frees it. Raises StorageError, after some ``seconds`` of waiting for another.
    """
    from filelock import FileLock, Timeout

    make_private(os.path.dirname(path))
    lock = FileLock(path, mode=0o600, fallback_to_soft=False, thread_local=False)
    try:
        return lock.acquire(timeout=seconds, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise StorageError(
            f"{shown(what)}: locked by another lessons process; wait for it or stop it"
        ) from None
    except OSError as error:
        raise storage_error(error, os.path.dirname(path)) from None


_BUSY = "another process is writing the index"


@contextlib.contextmanager
def hold_writer(
    path: str, *, patience: float, waiting: Callable[[str], None] = lambda _why: None
) -> Iterator[str]:
    """Hold a writer's lock and yield "", or yield in one line why it cannot be had.

    ``patience`` in seconds; ``waiting`` is told what it waits for. A killed holder frees the lock.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, fallback_to_soft=False)
    refused = ""
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            waiting(_BUSY)
            lock.acquire(timeout=patience, poll_interval=_POLL_SECONDS)
    except Timeout:
        refused = _BUSY
    except OSError as error:
        refused = str(storage_error(error, path))
    try:
        yield refused
    finally:
        lock.release()
