"""Names of files: made comparable, and shown so that no name can pose as anything else."""

from __future__ import annotations

import posixpath
import re

from lessons_kb.text.paths import has_drive
from lessons_kb.text.sanitize import clean_line, defang_line, shorten

_REMOTE = "://"
_LONGEST = 400
_UNSAFE = "&%*\\<[\uff3b"


def relative_path(path: str, scope: str, *, cwd: str = "") -> str:
    """Return a path in POSIX form, relative to ``scope`` if it lies inside.

    A relative path starts at ``cwd``, else at the scope. Where the path or the scope has a drive
    letter, backslashes separate and case is ignored. An address (``https://…``) stays as it is;
    "" stands for the scope itself.
    """
    if _REMOTE in path:
        return path
    path = join_path(cwd, path)
    windows = has_drive(path) or has_drive(scope)
    if windows:
        path, scope = path.replace("\\", "/"), scope.replace("\\", "/")
    path = posixpath.normpath(path)
    inside = f"{posixpath.normpath(scope).rstrip('/')}/" if scope else ""
    fold = str.casefold if windows else str
    if inside and fold(path) + "/" == fold(inside):
        return ""
    if inside and fold(path).startswith(fold(inside)):
        path = path[len(inside) :]
    return "" if path == "." else path


def join_path(folder: str, path: str) -> str:
    """Return a path below a folder, itself where it is absolute or the folder is not known."""
    if not folder or path.startswith(("/", "~")) or has_drive(path):
        return path
    return posixpath.join(folder, path)


def show_path(path: str) -> str:
    r"""Return a path as one visible line that closes no block and poses as no tag.

    Odd characters become ``\u{a}``, ``\u{202e}``; ``parse_path`` reads them back. A name longer
    than 400 characters is cut.
    """
    path = shorten(path, _LONGEST)
    if path.isprintable() and "\\" not in path and defang_line(path) == path:
        return path
    last = len(path) - 1
    return "".join(
        char
        if char.isprintable()
        and char not in _UNSAFE
        and (clean_line(char) == char or (char == " " and 0 < index < last))
        else escape(char)
        for index, char in enumerate(path)
    )


def escape(char: str) -> str:
    r"""Return one character as ``\u{hex}``."""
    return f"\\u{{{ord(char):x}}}"


def parse_path(shown: str) -> str:
    """Read back what ``show_path`` wrote; what is no escape stays as it stands."""
    escaped = r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}"
    return re.sub(escaped, lambda match: chr(int(match[1], 16)), shown)
