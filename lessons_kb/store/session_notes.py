"""Small files about each session: its directory, its silence, and the texts it was shown once."""

from __future__ import annotations

import contextlib
import os
import time
import zlib

from lessons_kb.errors import StorageError
from lessons_kb.hook_gates import silence_path
from lessons_kb.store.files import SmallFiles, open_regular, write_unsynced
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private, write_private

_FOLDER = "sessions"


_RETENTION_SECONDS = 30 * 86_400


_MAX_BYTES = 8_192


_FORGET_EVERY = 64
"""The average number of new sessions of which one deletes old pins."""


def pin_directory(session: str, directory: str, *, look: bool = True) -> str:
    """Return the directory of a session's first event, which that event stores as a pin.

    Return ``directory`` if the pin cannot be written, or if its folder no longer exists. Without
    ``look``, the folder is not checked, because it may be on another machine. ``is_silenced`` also
    needs the pin to determine when the session began.
    """
    path = _session_file(session)
    if pinned := _PINS.get(path):
        return pinned if not look or os.path.isdir(pinned) else directory
    with contextlib.suppress(OSError, StorageError):
        folder = os.path.dirname(path)
        make_private(folder)
        if int(path[-2:], 16) % _FORGET_EVERY == 0:
            forget_older(folder, time.time() - _RETENTION_SECONDS)
        write_unsynced(path, os.fsencode(directory)[:_MAX_BYTES], flags=os.O_EXCL)
    return directory


def _read_pin(path: str) -> str:
    """Return the directory in a pin, or "" if there is no pin."""
    with contextlib.suppress(OSError, StorageError), open_regular(path) as file:
        return os.fsdecode(file.read(_MAX_BYTES))
    return ""


_PINS = SmallFiles(_read_pin)


def silence_sessions(agent: str, project: str) -> None:
    """Silence the running sessions of an agent, all of them or those inside a project.

    A running agent continues to call the hooks that it read when it started.
    """
    write_private(silence_path(state_home(), agent), os.fsencode(project))


def end_silence(agent: str) -> None:
    """End the silence of an agent, because it was connected again."""
    with contextlib.suppress(OSError):
        os.unlink(silence_path(state_home(), agent))


def is_taken_out(agent: str) -> bool:
    """Return whether an agent was disconnected in all projects and not connected again."""
    with contextlib.suppress(OSError):
        return os.stat(silence_path(state_home(), agent)).st_size == 0
    return False


def is_silenced(agent: str, session: str, directory: str) -> bool:
    """Return whether an agent was disconnected after the session's first event."""
    try:
        with open_regular(silence_path(state_home(), agent)) as file:
            since = os.fstat(file.fileno()).st_mtime_ns
            project = os.fsdecode(file.read())
        begun = os.stat(_session_file(session)).st_mtime_ns
    except (OSError, StorageError):
        return False
    inside = f"{os.path.realpath(directory)}/".startswith(f"{project}/" if project else "")
    return begun < since and inside


def note_first(folder: str, name: str, *, unknown: bool) -> bool:
    """Record in a folder that ``name`` was shown. Return False if it was shown before.

    Return ``unknown`` if nothing can be recorded.
    """
    path = _session_file(name, folder)
    try:
        make_private(os.path.dirname(path))
        forget_older(os.path.dirname(path), time.time() - _RETENTION_SECONDS)
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
    """Remove the files of a folder that were written before a time, in seconds since the epoch."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process may remove them at the same time
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
