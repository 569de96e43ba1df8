"""The boundary to the disk: paths inside a brain, whole reads and writes, errors in one line."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO
from urllib.parse import quote

from lessons_kb.errors import BrainNotFound, InputError, StorageError
from lessons_kb.text.sanitize import shell_word

with contextlib.suppress(ImportError):  # not on Windows
    import fcntl

TEMP_PREFIX = ".lessons-tmp-"
"""Names of files that exist for a moment beside a card; none of them ends like a card's."""

_FORBIDDEN = frozenset({".git", ".lessons"})
_READ_TRIES = 50
"""How often a file that was replaced while it was opened is opened anew."""


def _flags(*names: str) -> int:
    """Return those of some flags for ``os.open`` that this system has."""
    return sum(getattr(os, name, 0) for name in names)


# Without waiting for the writer of a FIFO.
_READ = _flags("O_RDONLY", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
_CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")

_REASONS: Mapping[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space and run it again"),
    errno.EDQUOT: ("your disk quota is used up", "free some space and run it again"),
    errno.EFBIG: ("the file would pass the size limit", "raise the limit (ulimit -f)"),
    errno.EROFS: ("the file system is read-only", "choose a place that you can write to"),
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
    """Say in one line what the disk refused and what to do next.

    ``path`` may be relative to the folder ``brain``.
    """
    code = error.errno or 0
    what, fix = _REASONS.get(code, (error.strerror or str(error), "check the disk and try again"))
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
    return StorageError(f"{shown(path)}: {what}; {fix}")


@contextlib.contextmanager
def storage_errors(path: str, *, brain: str = "") -> Iterator[None]:
    """Raise the ``storage_error`` of what the disk refuses in the block."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, path, brain=brain) from None


@contextlib.contextmanager
def on_failure(undo: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Call ``undo`` unless the block ends well."""
    with contextlib.ExitStack() as stack:
        stack.callback(undo, *arguments)
        yield
        stack.pop_all()


def sqlite_error(error: Exception, path: str, fix: str) -> StorageError:
    """Say in one line what SQLite refused to do with ``path``, a file or a folder with such files.

    ``fix`` is what to do next.
    """
    return StorageError(f"{shown(path)}: {error}; {fix}")


def shown(path: str) -> str:
    """Return a path fit for a one-line message: what cannot be printed is escaped."""
    escaped = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return escaped if escaped.isprintable() else ascii(escaped)[1:-1]


def resolve(root: str, path: str, *, follow: bool = True, writing: bool = False) -> str:
    """Return the real path of a file of a brain.

    ``path`` is POSIX and relative. With ``follow`` the file itself is meant, and a link on the
    way is refused: what lies behind it may be anything. Else a link may be the thing that is
    meant (to move, to delete), and only its folder is resolved. The file need not exist.
    ``writing`` refuses git's and our own folders as well. Raises InputError for a path that is
    not of this form, StorageError for one that leads out of the brain or through a link,
    BrainNotFound when there is no such brain.
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
    """Tell whether a path is a folder, given by its real path, or lies in it."""
    return f"{os.path.realpath(path)}{os.sep}".startswith(folder.rstrip(os.sep) + os.sep)


def relative(root: str, full: str) -> str:
    """Return the POSIX path of a real path relative to its brain."""
    return os.path.relpath(full, os.path.realpath(root)).replace(os.sep, "/")


def read_inside(root: str, path: str, *, limit: int) -> bytes:
    """Read a regular file of a brain whole; no link is followed.

    ``limit`` in bytes. Raises OSError, StorageError or InputError; never waits for a FIFO.
    """
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        resolve(root, path)
    full = os.path.join(root, path)
    for _ in range(_READ_TRIES):
        with open_regular(full, name=path) as opened:
            file = opened.fileno()
            # Linux tells in one call where an open file lies, which no moving link can race with.
            # Elsewhere, or should the root be a link itself, resolve() decides.
            place = ""
            with contextlib.suppress(OSError):
                place = os.readlink(f"/proc/self/fd/{file}")
            if place == full or os.path.samestat(os.fstat(file), os.lstat(resolve(root, path))):
                return _read_all(file, limit, path)
    raise StorageError(f"{shown(path)}: changed while being read; run this again")


def read_regular(full: str, *, limit: int, name: str) -> bytes:
    """Read a regular file whole; ``name`` is what messages call it.

    Raises OSError, or StorageError for anything but a regular file of at most ``limit`` bytes.
    """
    with open_regular(full, name=name) as file:
        return _read_all(file.fileno(), limit, name)


def read_json(path: str, *, limit: int) -> dict[str, Any]:
    """Return the object in a JSON file of ours, {} where none can be read."""
    try:
        data = json.loads(read_regular(path, limit=limit, name=path))
    except (OSError, StorageError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def identify_file(path: str) -> tuple[int, int] | None:
    """Return what tells a file or folder from another that takes its name; None without any."""
    with contextlib.suppress(OSError):
        info = os.stat(path)
        return info.st_dev, info.st_ino
    return None


def open_regular(full: str, *, name: str = "") -> BinaryIO:
    """Open a regular file to be read; never waits for a FIFO, starts no device.

    Raises OSError, or StorageError, which calls the file ``name``, for anything else.
    """
    # Looked at before it is opened: opening a device may do something.
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

    It has a ``name`` if whoever comes after a kill is to find it.

    With ``like``, mode and (where permitted) owner are those of that file; ``private`` is mode
    0600. Raises OSError, and then leaves nothing behind.
    """
    temp = os.path.join(folder, name or f"{TEMP_PREFIX}{os.urandom(8).hex()}")
    file = os.open(temp, _CREATE, 0o600 if like or private else 0o666)
    with on_failure(os.unlink, temp), os.fdopen(file, "wb", buffering=0):
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        if like is not None:
            _imitate(file, like)
        os.fsync(file)
    return temp


@contextlib.contextmanager
def temporary(
    folder: str, data: bytes, *, like: os.stat_result | None = None, private: bool = False
) -> Iterator[str]:
    """Yield the path of a ``write_temp``, which is discarded unless the block ends well."""
    temp = write_temp(folder, data, like=like, private=private)
    with on_failure(discard, temp, data):
        yield temp


def write_unsynced(path: str, data: bytes, *, flags: int = os.O_TRUNC) -> None:
    """Write a private file whose loss costs nothing, without waiting for the disk; raise OSError.

    ``flags`` ``os.O_EXCL`` lets a file that is there stay.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    with os.fdopen(file, "wb", buffering=0) as opened:
        opened.write(data)


def replace_whole(full: str, data: bytes, *, fresh: bool) -> None:
    """Put ``data`` where a file is, or with ``fresh`` where none is, in one step; raise OSError.

    The new file has the attributes of the old one.
    """
    folder = os.path.dirname(full)
    with temporary(folder, data, like=None if fresh else os.stat(full)) as temp:
        if not fresh:
            copy_attributes(full, temp)
        os.replace(temp, full)
    sync_folder(folder)


def discard(temp: str, data: bytes) -> None:
    """Remove a temporary file if it holds what we wrote, and only then.

    An interrupt may come after an exchange: then the name holds another program's bytes.
    """
    with contextlib.suppress(OSError, StorageError):
        if read_regular(temp, limit=len(data), name=temp) == data:
            os.unlink(temp)


def sync_folder(folder: str) -> None:
    """Make renames in a folder durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    with contextlib.suppress(PermissionError):  # a folder one may write but not list
        file = os.open(folder, _flags("O_RDONLY", "O_DIRECTORY", "O_CLOEXEC"))
        try:
            os.fsync(file)
        except OSError as error:
            if error.errno != errno.EINVAL:  # file systems that cannot sync a folder
                raise
        finally:
            os.close(file)


def copy_attributes(source: str, target: str) -> None:
    """Copy extended attributes (access lists, labels) as far as the system allows."""
    with contextlib.suppress(OSError, AttributeError):  # some systems have no such functions
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


def _imitate(file: int, like: os.stat_result) -> None:
    if not hasattr(os, "fchown"):
        return
    now = os.fstat(file)
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        # Only the superuser gives files away; the group may still be ours to set.
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
    """Put ``temp`` at ``target`` atomically; what stood there is then called ``temp``.

    Raises OSError and changes nothing; FileNotFoundError when there is no ``target``.
    """
    if _renameat2(temp, target, _RENAME_EXCHANGE):
        return
    copy = temp + ".kept"
    if not _link(target, copy):
        shutil.copy2(target, copy)
    with on_failure(os.unlink, copy):
        os.replace(temp, target)
    os.replace(copy, temp)


def rename_new(source: str, target: str) -> None:
    """Rename a file to a name that is free; FileExistsError when it is not."""
    if _renameat2(source, target, _RENAME_NOREPLACE):
        return
    if _link(source, target):
        os.unlink(source)
        return
    # No hard links here (FAT, some network shares): the test and the rename are two steps.
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _link(source: str, target: str) -> bool:
    """Give a file a second name; False where its file system has no hard links."""
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
    """Read a regular file at a moment when nobody has it open for writing.

    Waits for writers ``until`` this ``time.monotonic()``, then reads what there is. Errors are
    those of ``read_regular``.
    """

    def read() -> bytes:
        return read_regular(full, limit=limit, name=name)

    while (data := _read_under_lease(full, read)) is None and time.monotonic() < until:
        time.sleep(_LEASE_POLL_SECONDS)
    return read() if data is None else data


def is_being_written(full: str) -> bool:
    """Tell whether a process has the file open for writing; False where no system call says."""
    return _read_under_lease(full, lambda: b"") is None


def _read_under_lease(full: str, read: Callable[[], bytes]) -> bytes | None:
    """Return ``read()`` while no process can write the file, None if one has it open to write."""
    try:
        set_lease, set_signal, unheard = fcntl.F_SETLEASE, fcntl.F_SETSIG, signal.SIGURG
    except (NameError, AttributeError):  # a system without them
        return read()
    file = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # A program that opens the file while we hold the lease makes the kernel tell us by
        # SIGIO, which ends a process; SIGURG does nothing. That program waits until we close.
        fcntl.fcntl(file, set_signal, unheard)
        fcntl.fcntl(file, set_lease, fcntl.F_RDLCK)
    except OSError as error:  # else this file system has no leases, or not for this user
        return None if error.errno == errno.EAGAIN else read()
    else:
        return read()
    finally:
        os.close(file)  # ends the lease


def _renameat2(source: str, target: str, flags: int) -> bool:
    """Call ``renameat2``; False where the system or the file system does not know the flag."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if not function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags):
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), source, None, target)


MAX_TEXT_BYTES = 20_000_000
MAX_LINE_BYTES = 20_000_000
"""No longer line is held in memory."""
_CHUNK_BYTES = 1 << 20
_MAX_CELL_BYTES = 100_000
_BUSY_SECONDS = 2.0


def read_source(path: str) -> str:
    r"""Return the text of a file, its lines ended by ``\n``; raise InputError or StorageError."""
    with storage_errors(path):
        data = read_regular(path, limit=MAX_TEXT_BYTES, name=path)
    text = _decoded(data.removeprefix(b"\xef\xbb\xbf"), path, 1)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_head(path: str, size: int) -> bytes:
    """Return the first bytes of a file; raise InputError or StorageError."""
    with storage_errors(path), open_regular(path) as file:
        return file.read(size)


def read_source_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of a file that may be larger than memory.

    Raises InputError naming the line that is not UTF-8 or too long, StorageError.
    """
    for number, data in read_byte_lines(path):
        if len(data) >= MAX_LINE_BYTES:
            raise InputError(
                f"{shown(path)}:{number}: more than {MAX_LINE_BYTES:,} bytes; split the line"
            )
        yield number, _decoded(data, path, number)


def read_byte_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line without its end); of a line too long the first MAX_LINE_BYTES."""
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
    """Return the names of a SQLite table's columns, and its rows by the named ones.

    The file is opened for reading only and nothing is written beside it. Text is cut after
    100,000 bytes. Raises InputError for a file that is no SQLite database or lacks the
    table, StorageError.
    """
    if not read_head(path, 1):
        raise InputError(f"{shown(path)}: empty; give the database with the table {table}")
    try:
        with contextlib.closing(open_readonly(path)) as db:
            db.text_factory = lambda data: data[:_MAX_CELL_BYTES].decode("utf-8", "replace")
            known = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = sorted(name for (name,) in known)
            if table not in tables:
                has = ", ".join(tables[:8]) or "no tables"
                why = f"no table {table}, only {has}; give another database"
                raise InputError(f"{shown(path)}: {why}")
            columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
            chosen = [column for column in names if column in columns]
            order = " ORDER BY id" if "id" in columns else ""
            # A blob is taken for text: what wrote it may have given bytes.
            cells = ", ".join(
                f"CASE typeof({c}) WHEN 'blob' THEN CAST(substr({c}, 1, {_MAX_CELL_BYTES}) AS text)"
                f" ELSE {c} END"
                for c in chosen
            )
            rows = db.execute(f"SELECT {cells or 1} FROM {table}{order}")  # noqa: S608 our names
            return columns, [dict(zip(chosen, row, strict=False)) for row in rows]
    except sqlite3.Error as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = "locked by another program; try again later"
            raise StorageError(f"{shown(path)}: {reason}") from None
        reason = f"not readable as SQLite ({error}); give another file"
        raise InputError(f"{shown(path)}: {reason}") from None


def open_readonly(path: str) -> sqlite3.Connection:
    """Open a SQLite file for reading only, and write nothing beside it; raise sqlite3.Error."""
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
    for mode in ("", "&immutable=1"):
        db = sqlite3.connect(uri + mode, uri=True, timeout=_BUSY_SECONDS)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.Error as error:
            db.close()
            # A folder that cannot be written, and a database whose last writer left a log.
            refused = isinstance(error, sqlite3.OperationalError) and not mode
            if not refused or os.path.exists(f"{path}-wal"):
                raise
        else:
            return db
    raise AssertionError


def write_export(path: str, lines: Iterable[str]) -> None:
    """Write lines to a file in one step: it holds all of them, or what it held before."""
    full = os.path.realpath(path)
    with storage_errors(path):
        os.makedirs(os.path.dirname(full), exist_ok=True)
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        there = os.path.lexists(full)
        if there and not os.path.isfile(full):
            raise StorageError(f"{shown(path)}: not a regular file; give another")
        replace_whole(full, data, fresh=not there)


def _decoded(data: bytes, path: str, first: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise InputError(f"{shown(path)}:{line}: not UTF-8; save the file as UTF-8") from None


def read_tail(path: str, offset: int | None, *, limit: int) -> tuple[bytes, int]:
    """Return what lies behind ``offset``, the last ``limit`` bytes at most, and where it starts.

    ``offset`` None is the end. A file that has become shorter is read from its begin. What
    cannot be read is empty.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            start = size if offset is None else offset if offset <= size else 0
            start = max(start, size - limit)
            file.seek(start)
            return file.read(size - start), start
    except (OSError, ValueError, StorageError):
        return b"", offset or 0


def list_folder(folder: str) -> list[str]:
    """List the names in a folder in order; none when it cannot be read."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def measure_folder(folder: str) -> int:
    """Return the bytes of all files in a folder and below; what vanishes meanwhile is nothing."""
    size = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    return size
