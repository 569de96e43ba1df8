"""Where each session of an agent began: agents change directory, a session's brain does not.

And what a session was told already, where no journal can know it.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import open_regular
from lessons_kb.store.locate import state_home
from lessons_kb.store.user_state import make_private, write_private

_FOLDER = "sessions"
_KEPT_SECONDS = 30 * 86_400
_MAX_BYTES = 8_192
_FORGET_EVERY = 64
"""Old pins are looked for in about one of so many new sessions."""


def pin_directory(session: str, directory: str, *, look: bool = True) -> str:
    """Return the directory that was pinned at the session's first event, ``directory`` if now.

    A pin that cannot be written or that names no folder any more leaves ``directory`` as it is;
    unless we may ``look``, whatever it names is taken for a folder of another machine.
    """
    folder = os.path.join(state_home(), _FOLDER)
    name = _name(session)
    path = os.path.join(folder, name)
    try:
        with open_regular(path) as file:
            pinned = os.fsdecode(file.read(_MAX_BYTES))
        return pinned if not look or os.path.isdir(pinned) else directory
    except (OSError, StorageError):
        pass
    try:
        make_private(folder)
        if int(name[-2:], 16) % _FORGET_EVERY == 0:
            _forget_old(folder)
        # Not synced to the disk: a lost pin costs nothing, waiting for the disk is felt.
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(fresh, os.fsencode(directory)[:_MAX_BYTES])
        finally:
            os.close(fresh)
    except (OSError, StorageError):
        return directory
    return directory


def silence_sessions(agent: str, project: str) -> None:
    """Let the sessions of an agent that run now be silent, all or those below a project.

    An agent goes on with the hooks that it read when it started.
    """
    folder = os.path.join(state_home(), _FOLDER)
    make_private(folder)
    write_private(os.path.join(folder, _name(f"silenced {agent}")), os.fsencode(project))


def end_silence(agent: str) -> None:
    """Let the sessions of an agent that was set up again be heard."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(state_home(), _FOLDER, _name(f"silenced {agent}")))


def is_silenced(agent: str, session: str, directory: str) -> bool:
    """Tell whether an agent's hooks were taken out since the session's first event."""
    folder = os.path.join(state_home(), _FOLDER)
    try:
        with open_regular(os.path.join(folder, _name(f"silenced {agent}"))) as file:
            since, project = os.fstat(file.fileno()).st_mtime_ns, os.fsdecode(file.read())
        begun = os.stat(os.path.join(folder, _name(session))).st_mtime_ns
    except (OSError, StorageError):
        return False
    inside = f"{os.path.realpath(directory)}/".startswith(f"{project}/" if project else "")
    return begun < since and inside


def is_first(folder: str, what: str, *, unknown: bool) -> bool:
    """Note in a folder of ours that something was said; False when it was said before.

    ``unknown`` is returned where nothing can be noted.
    """
    folder = os.path.join(folder, _FOLDER)
    try:
        make_private(folder)
        _forget_old(folder)
        os.close(os.open(os.path.join(folder, _name(what)), os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    except (OSError, StorageError):
        return unknown
    return True


def _name(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    return f"{len(raw):x}-{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}"


def _forget_old(folder: str) -> None:
    before = time.time() - _KEPT_SECONDS
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
            except OSError:
                continue
