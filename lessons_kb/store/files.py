"""Access the disk: resolve paths inside a brain, read and write atomically, and report errors."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Generic, TypeVar

from lessons_kb.errors import BrainNotFound, InputError, StorageError
from lessons_kb.on_demand import C_LIBRARY, COPY_FILES, SIGNALS, URLS, load
from lessons_kb.store.locations import real_path
from lessons_kb.text.sanitize import shell_word

with contextlib.suppress(ImportError):  # not on Windows
    import fcntl

TEMP_PREFIX = ".lessons-tmp-"
"""The prefix of temporary files beside a card. Their names do not end like the name of a card."""

T = TypeVar("T")
_SETTLED_NS = 2_000_000_000
"""The age after which the content of a file is remembered. Some file systems round their times to
two seconds."""
_MAX_CONTENTS = 256

_FORBIDDEN = frozenset({".git", ".lessons"})
_READ_TRIES = 50
"""The maximum number of attempts to open a file that is replaced while it is being opened."""


def _flags(*names: str) -> int:
    """Combine flags for ``os.open``; flags that this system lacks are left out."""
    return sum(getattr(os, name, 0) for name in names)


# O_NONBLOCK: do not wait for the writer of a FIFO.
_READ = _flags("O_RDONLY", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
_CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")

_REASONS: Mapping[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space and run it again"),
    errno.EDQUOT: ("your disk quota is used up", "free some space and run it again"),
    errno.EFBIG: ("the file would pass the size limit", "raise the limit (ulimit -f)"),
    errno.EROFS: (
        "the file system is read-only",
        "choose a place that you can write to, or leave the sandbox of an agent",
    ),
    errno.EACCES: ("no permission", "grant yourself access to the file and its folder"),
    errno.EPERM: ("not permitted", "grant yourself access to the file and its folder"),
    errno.ENOENT: ("no such file", "check the path"),
    errno.ENOTDIR: ("a part of the path is not a folder", "check the path"),
    errno.EISDIR: ("a folder, not a file", "name a file"),
    errno.ELOOP: ("a circular link", "remove the link"),
    errno.ENAMETOOLONG: ("the name is too long", "shorten it"),
    errno.ENOLCK: ("the file system does not support locks", "keep the brain on a disk that does"),
    errno.ENOSYS: ("the file system does not support locks", "keep the brain on a disk that does"),
    errno.EMFILE: ("too many open files", "raise the limit (ulimit -n)"),
}
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def storage_error(error: OSError, path: str, *, brain: str = "") -> StorageError:
    """Return an error whose message gives, in one line, the failure of the disk and the next step.

    ``path`` may be relative to the folder ``brain``.
    """
    code = error.errno or 0
    default = (error.strerror or str(error), "check the disk and try again")
    reason, fix = _REASONS.get(code, default)
    if brain and code in _REFUSED:
        place = os.path.join(brain, path)
        while not os.path.lexists(place) or os.access(place, os.W_OK):
            if place in (brain, os.path.dirname(place)):
                break
            place = os.path.dirname(place)
        is_ours = not hasattr(os, "geteuid") or os.stat(place).st_uid == os.geteuid()
        if code != errno.EROFS and is_ours:
            fix = f"run `chmod u+rwx {shell_word(place)}`"
        else:
            copy = f"~/{shell_word(f'{os.path.basename(brain)}-copy')}"
            fix = f"have access granted, or work on a copy: `cp -R {shell_word(brain)} {copy}`"
    return StorageError(f"{shown(path)}: {reason}; {fix}")


@contextlib.contextmanager
def storage_errors(path: str, *, brain: str = "") -> Iterator[None]:
    """Turn an OSError in the block into its ``storage_error``."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, path, brain=brain) from None


@contextlib.contextmanager
def on_failure(undo: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Call ``undo`` if the block raises."""
    with contextlib.ExitStack() as stack:
        stack.callback(undo, *arguments)
        yield
        stack.pop_all()


def sqlite_error(error: Exception, path: str, fix: str) -> StorageError:
    """Return an error whose message gives, in one line, the failure of SQLite with ``path``.

    ``path`` is a file or a folder with such files. ``fix`` describes the next step for the user.
    """
    return StorageError(f"{shown(path)}: {error}; {fix}")


def shown(path: str) -> str:
    """Return a path for a one-line message, with unprintable characters escaped."""
    escaped = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return escaped if escaped.isprintable() else ascii(escaped)[1:-1]


def resolve(root: str, path: str, *, follow: bool = True, writing: bool = False) -> str:
    """Return the real path of a file of a brain.

    ``path`` is POSIX and relative; the file need not exist. With ``follow``, a link anywhere in the
    path is refused, because it may lead to any file. Without it, only the folder of the file is
    resolved, so that a link itself can be moved or deleted. ``writing`` also refuses the folders of
    git and of lessons_kb. Raises InputError for a path of another form, StorageError for a path
    that leads out of the brain or through a link, and BrainNotFound if there is no such brain.
    """
    parts = path.split("/")
    absolute = os.path.isabs(path) or os.path.splitdrive(path)[0] or not path.strip("/")
    if absolute or ".." in parts or "\0" in path or (os.sep != "/" and os.sep in path):
        raise InputError(f"{shown(path)!r} must be a relative path inside the brain, with /")
    real_root = os.path.realpath(root)
    if not os.path.isdir(real_root):
        raise BrainNotFound(
            f"{shown(root)} is not a folder; create a brain there with `lessons init`"
        )
    full = os.path.normpath(os.path.join(real_root, *parts))
    real = os.path.realpath(full)
    if follow and os.path.normcase(real) != os.path.normcase(full):
        raise StorageError(
            f"{shown(path)}: a symbolic link, or below one; use the path of its target"
        )
    if not follow:
        folder, name = os.path.split(full)
        full = os.path.join(os.path.realpath(folder), name)
    if not full.startswith(real_root.rstrip(os.sep) + os.sep):
        raise StorageError(f"{shown(path)}: outside the brain; copy the file into it")
    within = full[len(real_root) :].replace(os.sep, "/").split("/")
    if writing and not _FORBIDDEN.isdisjoint(part.casefold() for part in within):
        raise InputError(
            f"{shown(path)}: cards cannot be in .git or .lessons; choose another folder"
        )
    return full


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is ``folder`` itself or inside it. ``folder`` is a real path."""
    return is_real_inside(real_path(path), folder)


def is_real_inside(real: str, folder: str) -> bool:
    """Return whether a path is ``folder`` itself or inside it. Both are real paths."""
    return f"{real}{os.sep}".startswith(folder.rstrip(os.sep) + os.sep)


def relative(root: str, full: str) -> str:
    """Return a real path relative to its brain, as a POSIX path."""
    return os.path.relpath(full, os.path.realpath(root)).replace(os.sep, "/")


def read_inside(root: str, path: str, *, limit: int) -> bytes:
    """Return the content of a regular file of a brain; no link is followed.

    ``limit`` is in bytes. The function never waits for a FIFO. Raises OSError, StorageError or
    InputError.
    """
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        resolve(root, path)  # raises the error for such a path
    full = os.path.join(root, path)
    for _ in range(_READ_TRIES):
        with open_regular(full, name=path) as opened:
            file = opened.fileno()
            # On Linux, one call returns the path of an open file, so a link that moves meanwhile
            # has no effect. On other systems, or if the root itself is a link, resolve() decides.
            place = ""
            with contextlib.suppress(OSError):
                place = os.readlink(f"/proc/self/fd/{file}")
            if place == full or os.path.samestat(os.fstat(file), os.lstat(resolve(root, path))):
                return _read_all(file, limit, path)
    raise StorageError(f"{shown(path)}: changed while being read; run this again")


def read_regular(full: str, *, limit: int, name: str) -> bytes:
    """Return the content of a regular file, which is called ``name`` in messages.

    Raises OSError, or StorageError for anything but a regular file of at most ``limit`` bytes.
    """
    with open_regular(full, name=name) as file:
        return _read_all(file.fileno(), limit, name)


def read_json(path: str, *, limit: int) -> dict[str, Any]:
    """Return the object in one of our JSON files, or {} if it cannot be read."""
    try:
        data = json.loads(read_regular(path, limit=limit, name=path))
    except (OSError, StorageError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


class SmallFiles(Generic[T]):
    """The parsed contents of small files, which are read again only after a change.

    The stamp of a file has its inode and the time of its last change, which no program can set. A
    file that has just changed is not remembered, because a later change within the same tick of the
    clock would not change the stamp (git's "racily clean" rule).
    """

    def __init__(self, read: Callable[[str], T]) -> None:
        """``read`` returns the parsed content of a file, and never raises an error."""
        self._read = read
        self._contents: dict[str, tuple[tuple[int, ...], T]] = {}

    def get(self, path: str) -> T:
        """Return the parsed content of a file. The caller must not change it."""
        try:
            info = os.stat(path)
        except OSError:
            return self._read(path)
        stamp = (info.st_dev, info.st_ino, info.st_ctime_ns, info.st_mtime_ns, info.st_size)
        stored = self._contents.get(path)
        if stored is not None and stored[0] == stamp:
            return stored[1]
        content = self._read(path)
        if time.time_ns() - max(info.st_ctime_ns, info.st_mtime_ns) > _SETTLED_NS:
            if len(self._contents) >= _MAX_CONTENTS:
                self._contents.clear()
            self._contents[path] = stamp, content
        return content


def identify_file(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file or folder, or None if there is none at this path."""
    with contextlib.suppress(OSError):
        info = os.stat(path)
        return info.st_dev, info.st_ino
    return None


def open_regular(full: str, *, name: str = "") -> BinaryIO:
    """Open a regular file for reading, without waiting for a FIFO or opening a device.

    The file is called ``name`` in messages. Raises OSError, or StorageError for anything but a
    regular file.
    """
    # Check before the open, because opening a device may have an effect.
    _check_regular(os.stat(full), name or full)
    file = os.fdopen(os.open(full, _READ), "rb")
    try:
        _check_regular(os.fstat(file.fileno()), name or full)
    except StorageError:
        file.close()
        raise
    return file


def write_temp(
    folder: str,
    data: bytes,
    *,
    like: os.stat_result | None = None,
    private: bool = False,
    name: str = "",
) -> str:
    """Write ``data`` durably to a new temporary file in ``folder`` and return its path.

    With a ``name``, a later process can find the file if this process is killed. With ``like``, the
    file gets the mode and, if permitted, the owner of that file. ``private`` sets mode 0600. Raises
    OSError and then leaves no file behind.
    """
    temp = os.path.join(folder, name or f"{TEMP_PREFIX}{os.urandom(8).hex()}")
    file = os.open(temp, _CREATE, 0o600 if like or private else 0o666)
    with on_failure(os.unlink, temp), os.fdopen(file, "wb", buffering=0):
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        if like is not None:
            _copy_owner_and_mode(file, like)
        os.fsync(file)
    return temp


@contextlib.contextmanager
def temporary(
    folder: str, data: bytes, *, like: os.stat_result | None = None, private: bool = False
) -> Iterator[str]:
    """Yield the path of a new file from ``write_temp``, and discard it if the block raises."""
    temp = write_temp(folder, data, like=like, private=private)
    with on_failure(discard, temp, data):
        yield temp


def write_unsynced(path: str, data: bytes, *, flags: int = os.O_TRUNC) -> None:
    """Write a private file without waiting for the disk; a crash may lose it. Raises OSError.

    The default ``flags`` replace the content. ``os.O_APPEND`` appends to the file, and
    ``os.O_EXCL`` refuses an existing file.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    with os.fdopen(file, "wb", buffering=0) as opened:
        opened.write(data)


def replace_whole(full: str, data: bytes, *, fresh: bool) -> None:
    """Replace a file by ``data`` atomically, or create it with ``fresh``. Raises OSError.

    A file that replaces another file gets the attributes of that file.
    """
    folder = os.path.dirname(full)
    with temporary(folder, data, like=None if fresh else os.stat(full)) as temp:
        if not fresh:
            copy_attributes(full, temp)
        os.replace(temp, full)
    sync_folder(folder)


def discard(temp: str, data: bytes) -> None:
    """Remove a temporary file, but only if it still contains the ``data`` that we wrote.

    After an interrupted exchange the file may contain the bytes of another program.
    """
    with contextlib.suppress(OSError, StorageError):
        if read_regular(temp, limit=len(data), name=temp) == data:
            os.unlink(temp)


def sync_folder(folder: str) -> None:
    """Make renames in a folder durable, if the system supports that."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    with contextlib.suppress(PermissionError):  # the folder may be written but not listed
        file = os.open(folder, _flags("O_RDONLY", "O_DIRECTORY", "O_CLOEXEC"))
        try:
            os.fsync(file)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some file systems cannot sync a folder
                raise
        finally:
            os.close(file)


def copy_attributes(source: str, target: str) -> None:
    """Copy extended attributes (access lists and labels), as far as the system allows it."""
    with contextlib.suppress(OSError, AttributeError):  # not all systems have these functions
        for name in os.listxattr(source):
            os.setxattr(target, name, os.getxattr(source, name))


def _check_regular(info: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise StorageError(f"{shown(name)}: a folder, not a file; give a file")
    if not stat.S_ISREG(info.st_mode):
        raise StorageError(f"{shown(name)}: not a regular file; replace it with one")


def _read_all(file: int, limit: int, name: str) -> bytes:
    parts = []
    left = limit + 1
    while left > 0 and (part := os.read(file, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise StorageError(f"{shown(name)}: more than {limit:,} bytes; split the file")
    return b"".join(parts)


def _copy_owner_and_mode(file: int, like: os.stat_result) -> None:
    if not hasattr(os, "fchown"):
        return
    current = os.fstat(file)
    if (current.st_uid, current.st_gid) != (like.st_uid, like.st_gid):
        # Only the superuser can change the owner; other users may be able to set the group.
        try:
            os.fchown(file, like.st_uid, like.st_gid)
        except PermissionError:
            with contextlib.suppress(PermissionError):
                os.fchown(file, -1, like.st_gid)
    os.fchmod(file, stat.S_IMODE(like.st_mode))


_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_UNSUPPORTED = frozenset(
    {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.EPERM}
)
_LEASE_POLL_SECONDS = 0.005


def exchange(temp: str, target: str) -> None:
    """Exchange the files ``temp`` and ``target`` atomically.

    Raises OSError and then changes nothing. Raises FileNotFoundError if there is no ``target``.
    """
    if _renameat2(temp, target, _RENAME_EXCHANGE):
        return
    copy = temp + ".kept"
    if not _link(target, copy):
        load(COPY_FILES).copy2(target, copy)
    with on_failure(os.unlink, copy):
        os.replace(temp, target)
    os.replace(copy, temp)


def rename_new(source: str, target: str) -> None:
    """Rename a file. Raises FileExistsError if the new name is taken."""
    if _renameat2(source, target, _RENAME_NOREPLACE):
        return
    if _link(source, target):
        os.unlink(source)
        return
    # Without hard links (FAT, some network shares), the test and the rename are two steps.
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _link(source: str, target: str) -> bool:
    """Create a hard link. Return False if the file system does not support hard links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except NotImplementedError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    return True


def read_settled(full: str, *, until: float, limit: int, name: str) -> bytes:
    """Return the content of a regular file at a moment when no process has it open for writing.

    It waits for writers ``until`` this value of ``time.monotonic()``, and then reads the file
    anyway. Raises the errors of ``read_regular``.
    """

    def read() -> bytes:
        return read_regular(full, limit=limit, name=name)

    while (data := _read_under_lease(full, read)) is None and time.monotonic() < until:
        time.sleep(_LEASE_POLL_SECONDS)
    return read() if data is None else data


def is_being_written(full: str) -> bool:
    """Return whether a process has the file open for writing; False if this is unknown."""
    return _read_under_lease(full, lambda: b"") is None


def _read_under_lease(full: str, read: Callable[[], bytes]) -> bytes | None:
    """Return the result of ``read()`` while no process can write the file.

    The system prevents writes by a lease. On a system without leases, ``read()`` is called without
    one. Return None if a process may be writing the file.
    """
    try:
        set_lease, set_signal = fcntl.F_SETLEASE, fcntl.F_SETSIG
        harmless = load(SIGNALS).SIGURG
    except (NameError, AttributeError):  # a system without leases
        return read()
    file = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # If a program opens the file during the lease, the kernel sends us a signal, and that
        # program waits until we close the file. The default signal SIGIO would end our process;
        # SIGURG has no effect.
        fcntl.fcntl(file, set_signal, harmless)
        fcntl.fcntl(file, set_lease, fcntl.F_RDLCK)
    except OSError as error:  # other codes: no leases on this file system, or for this user
        return None if error.errno == errno.EAGAIN else read()
    else:
        return read()
    finally:
        os.close(file)  # ends the lease


def _renameat2(source: str, target: str, flags: int) -> bool:
    """Call ``renameat2``; return False if the system or file system does not support the flag."""
    try:
        function = load(C_LIBRARY).CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if not function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags):
        return True
    code = load(C_LIBRARY).get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), source, None, target)


MAX_TEXT_BYTES = 20_000_000
MAX_LINE_BYTES = 20_000_000
"""The maximum length of a line that is read into memory as a whole."""
_CHUNK_BYTES = 1 << 20
_MAX_CELL_BYTES = 100_000
_BUSY_SECONDS = 2.0


def read_source(path: str) -> str:
    r"""Return the text of a file, with ``\n`` as line end. Raises InputError or StorageError."""
    with storage_errors(path):
        data = read_regular(path, limit=MAX_TEXT_BYTES, name=path)
    text = _decode(data.removeprefix(b"\xef\xbb\xbf"), path, 1)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_head(path: str, size: int) -> bytes:
    """Return the first ``size`` bytes of a file. Raises StorageError."""
    with storage_errors(path), open_regular(path) as file:
        return file.read(size)


def read_source_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield each line of a file, with its number. The file may be larger than memory.

    Raises InputError, which names a line that is too long or not UTF-8, or StorageError.
    """
    for number, data in read_byte_lines(path):
        if len(data) >= MAX_LINE_BYTES:
            raise InputError(
                f"{shown(path)}:{number}: more than {MAX_LINE_BYTES:,} bytes; split the line"
            )
        yield number, _decode(data, path, number)


def read_byte_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield each line without its end, with its number. A line is cut after MAX_LINE_BYTES."""
    with storage_errors(path), open_regular(path) as file:
        number, rest, cut = 1, b"", False
        while chunk := file.read(_CHUNK_BYTES):
            first, *others = chunk.split(b"\n")
            rest += b"" if cut else first
            for line in others:
                yield number, rest[:MAX_LINE_BYTES].removesuffix(b"\r")
                number, rest, cut = number + 1, line, False
            cut = len(rest) > MAX_LINE_BYTES
        if rest:
            yield number, rest[:MAX_LINE_BYTES]


def read_table(
    path: str, table: str, names: Sequence[str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the column names of a SQLite table, and its rows with the columns in ``names``.

    The file is opened read-only, and nothing is written beside it. A text is cut after 100,000
    bytes. Raises InputError for a file that is not a SQLite database or lacks the table, or
    StorageError.
    """
    if not read_head(path, 1):
        raise InputError(f"{shown(path)}: empty; give the database with the table {table}")
    try:
        with contextlib.closing(open_readonly(path)) as db:
            db.text_factory = lambda data: data[:_MAX_CELL_BYTES].decode("utf-8", "replace")
            rows = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = sorted(name for (name,) in rows)
            if table not in tables:
                existing = ", ".join(tables[:8]) or "no tables"
                reason = f"no table {table}, only {existing}; give another database"
                raise InputError(f"{shown(path)}: {reason}")
            columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
            chosen = [column for column in names if column in columns]
            order = " ORDER BY id" if "id" in columns else ""
            cells = ", ".join(map(_select_text, chosen))
            rows = db.execute(f"SELECT {cells or 1} FROM {table}{order}")  # noqa: S608 our names
            return columns, [dict(zip(chosen, row, strict=False)) for row in rows]
    except sqlite3.Error as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = "locked by another program; try again later"
            raise StorageError(f"{shown(path)}: {reason}") from None
        reason = f"not readable as SQLite ({error}); give another file"
        raise InputError(f"{shown(path)}: {reason}") from None


def _select_text(column: str) -> str:
    """Return SQL that selects a column and reads a blob as text, since its writer may use bytes."""
    text = f"CAST(substr({column}, 1, {_MAX_CELL_BYTES}) AS text)"
    return f"CASE typeof({column}) WHEN 'blob' THEN {text} ELSE {column} END"


def open_readonly(path: str) -> sqlite3.Connection:
    """Open a SQLite file read-only, and write nothing beside it. Raises sqlite3.Error."""
    uri = f"file:{load(URLS).quote(os.path.abspath(path))}?mode=ro"
    for mode in ("", "&immutable=1"):
        db = sqlite3.connect(uri + mode, uri=True, timeout=_BUSY_SECONDS)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            db.close()
            # A database in WAL mode cannot be opened in a read-only folder. The second mode can
            # open it, but ignores a log that its last writer left.
            may_retry = isinstance(error, sqlite3.OperationalError) and not mode
            if not may_retry or os.path.exists(f"{path}-wal"):
                raise
        else:
            return db
    raise AssertionError


def write_export(path: str, lines: Iterable[str]) -> None:
    """Write lines to a file atomically. It contains all of them or has its former content."""
    full = os.path.realpath(path)
    with storage_errors(path):
        os.makedirs(os.path.dirname(full), exist_ok=True)
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        exists = os.path.lexists(full)
        if exists and not os.path.isfile(full):
            raise StorageError(f"{shown(path)}: not a regular file; give another")
        replace_whole(full, data, fresh=not exists)


def _decode(data: bytes, path: str, first: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise InputError(f"{shown(path)}:{line}: not UTF-8; save the file as UTF-8") from None


def read_tail(path: str, offset: int | None, *, limit: int) -> tuple[bytes, int]:
    """Return the bytes after ``offset`` and the offset of the first of them.

    At most the last ``limit`` bytes are returned. An ``offset`` of None is the end of the file. A
    file that has become shorter is read from its start. A file that cannot be read counts as empty.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if offset is None:
                start = size
            elif offset > size:
                start = 0
            else:
                start = offset
            start = max(start, size - limit)
            file.seek(start)
            return file.read(size - start), start
    except (OSError, ValueError, StorageError):
        return b"", offset or 0


def list_folder(folder: str) -> list[str]:
    """Return the sorted names in a folder, or [] if it cannot be read."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def measure_folder(folder: str) -> int:
    """Return the total number of bytes in all files below a folder.

    Files that are removed meanwhile count as 0 bytes.
    """
    size = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    return size
