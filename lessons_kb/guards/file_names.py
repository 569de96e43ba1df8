"""Names of files: made comparable, and shown so that no name can pose as anything else."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line, defang_line


def check_state(state: object, like: object) -> Any:
    """Return ``state`` if it has the shape of ``like``, else raise InputError.

    A list holds any number of what its one item is like, a dict whose one key is "" any keys.
    """
    if type(state) is not type(like):
        raise InputError(f"a guard's state holds {state!r:.60}; start a new guard")
    if isinstance(state, list) and isinstance(like, list):
        for item in state:
            check_state(item, like[0])
    if isinstance(state, dict) and isinstance(like, dict):
        if "" not in like and state.keys() != like.keys():
            raise InputError(f"a guard's state has the keys {sorted(state)}; start a new guard")
        for key, value in state.items():
            check_state(value, like[key] if key in like else like[""])
    return state


def check_limit(limit: int) -> int:
    """Return a count at which a guard speaks; InputError below 1."""
    if limit < 1:
        raise InputError(f"a guard's limit must be at least 1, not {limit}")
    return limit


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
    windows = _has_drive(path) or _has_drive(scope)
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
    if not folder or path.startswith(("/", "~")) or _has_drive(path):
        return path
    return posixpath.join(folder, path)


def show_path(path: str) -> str:
    r"""Return a path as one visible line that closes no block and poses as no tag.

    Odd characters become ``\u{a}``, ``\u{202e}``; ``parse_path`` reads them back. A name longer
    than 400 characters is cut.
    """
    if len(path) > _LONGEST:
        path = path[: _LONGEST - 1] + "…"
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
    if "\\" not in shown:
        return shown

    return re.sub(
        r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}", lambda match: chr(int(match[1], 16)), shown
    )


def _has_drive(path: str) -> bool:
    return path[:1].isalpha() and path[1:3] in (":\\", ":/")
