"""Find the paths of files in a text, normalise them, and show them safely."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from lessons_kb.data import read_words
from lessons_kb.text.sanitize import clean_line, defang_line, shorten

MAX_PATHS = 200
"""The maximum number of paths. A log may mention thousands, of which the first are the most
relevant."""
MAX_PATH = 400

_FILES = read_words("file_names.txt")
EXTENSIONS = _FILES["extensions"]
FILE_NAMES = _FILES["file names"]
"""Files that are recognised by their whole name."""
NOT_FILES = _FILES["not files"]
_SYSTEM_ROOTS = _FILES["system roots"]
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_DOMAINS = _FILES["domains"]

_URL = r"\b(?:https?|wss?|ftps?|s3|gs|git|ssh|git\+ssh|redis|postgres(?:ql)?|mysql)://[^\s\"'`<>]*+"
_LOCAL_URL = r"\b(?:file|webpack(?:-internal)?|vite|ng|turbopack)://(?:/(?=[A-Za-z]:/|\.\./|\./))?"
_DIFF_HEADER = r"^([ >]{0,8}(?:\+\+\+|---) )[ab]/|^([ >]{0,8}diff --git )a/(\S+) b/"
_QUOTED = r"(?:(?<=File )\"|\"(?=[A-Za-z]:[\\/]|\.{0,2}/|~/))[^\"\n]{1,400}\""
_BLANK = "\0"
"""Replaces a blank inside a quoted path while the text is split at blanks."""
_DELIMITERS = "\"'`,;|<>=\u3001\u3002\u300c\u300d\u300e\u300f\u201c\u201d\u2018\u2019\uff08\uff09"
_TO_BLANKS = dict.fromkeys(map(ord, _DELIMITERS), " ")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {close: opening for opening, close in _CLOSING.items()}
_TRAILING = ".,:;!?*_~)]}\u2026"
_LONGEST_EXTENSION = 12
_NEVER_IN_PATHS = ("*", "{", "}", "$", "%", "//", "...")


def find_paths(text: str) -> tuple[str, ...]:
    """Return the file paths that a text mentions.

    They are POSIX paths, each once, in order, and at most MAX_PATHS. The text may be prose, code
    spans, stack traces, compiler messages or diffs. Line numbers, a leading ``./`` and the ``a/``
    and ``b/`` of a diff are removed. URLs, dates, fractions and versions are not paths. A word
    without a slash is a path only if its extension or name is that of a known kind of file. The
    time is linear in the length of the text, about 0.1 s per megabyte.
    """
    if not ("/" in text or "." in text or "\\" in text or any(map(text.count, FILE_NAMES))):
        return ()
    if "://" in text:
        text = re.sub(_LOCAL_URL, "", re.sub(_URL, " ", text))
    if "--" in text or "+++" in text:
        text = re.sub(_DIFF_HEADER, r"\1\2\3 ", text, flags=re.MULTILINE)
    if '"' in text:
        text = re.sub(_QUOTED, _protect_blanks, text)
    paths: dict[str, None] = {}
    for token in dict.fromkeys(text.translate(_TO_BLANKS).split()):
        is_word = not ("/" in token or "." in token or "\\" in token)
        if len(token) > MAX_PATH or (is_word and token.rstrip(_TRAILING) not in FILE_NAMES):
            continue
        pieces = (token,) if is_word else _split_token(token)
        paths |= dict.fromkeys(filter(None, map(_path_of, pieces)))
        if len(paths) >= MAX_PATHS:
            break
    return tuple(paths)[:MAX_PATHS]


def _protect_blanks(quoted: re.Match[str]) -> str:
    """Replace the blanks of a quoted path by _BLANK, and leave other quoted texts unchanged."""
    text = quoted[0]
    return text.replace(" ", _BLANK) if _has_extension(text[1:-1]) else text


def _split_token(token: str) -> Iterator[str]:
    """Split a word at calls, links, line numbers and keys that are attached to a path."""
    host, at, _ = token.partition(":")[0].partition("@")
    if "://" in token or (at and host and "/" not in host and ":" in token):
        return  # a URL, git@host:owner/name
    for link in token.split("]("):
        word = link.lstrip("*_")
        while word and word[0] in _CLOSING and _CLOSING[word[0]] not in word[1:-1]:
            word = word[1:]
        drive = word[:2] if has_drive(word) else ""
        for part in word[len(drive) :].split(":"):
            yield from _split_call(drive + part)
            drive = ""


_CALL = re.compile(r"(?<!/)\(")


def _split_call(part: str) -> Iterator[str]:
    """Split a name from the parenthesis after it, unless the parenthesis begins a folder's name."""
    call = _CALL.search(part)
    if call is None:
        yield part
        return
    name = part[: call.start()]
    rest = part[call.end() :]
    if "/" in name or "\\" in name or not rest or rest[0].isdigit():
        yield name
    yield rest


def _path_of(name: str) -> str:
    for mark in "?#":
        before, _mark, after = name.partition(mark)
        if after and (_has_extension(before) or before.startswith("../")):
            name = before
    while name and name[-1] in _TRAILING:
        opening = _OPENING.get(name[-1])
        if opening and name.count(opening) >= name.count(name[-1]):
            break
        name = name[:-1]
    name = name.rstrip("/")
    if name[:1] == "@" and name[1:2] not in ("@", "/"):  # agents accept such mentions of files
        name = name[1:]
    if "\\" in name:
        if not (has_drive(name) or _has_extension(name.replace("\\", "/"))):
            return ""
        name = re.sub("/{2,}", "/", name.replace("\\", "/"))
    while name.startswith("./"):
        name = name[2:]
    if not name.isascii():  # Korean and Japanese particles directly follow an extension: main.py를
        stem, point, extension = name.rpartition(".")
        ascii_part = re.match(r"[\x00-\x7f]*", extension)
        if ascii_part and ascii_part[0]:
            name = stem + point + ascii_part[0]
    return name.replace(_BLANK, " ") if _is_path(name) else ""


def has_drive(name: str) -> bool:
    """Return whether a path begins with a drive letter."""
    return name[1:2] == ":" and name[2:3] in ("/", "\\") and name[0].isascii() and name[0].isalpha()


def is_absolute(name: str) -> bool:
    """Return whether a path begins with a system folder, such as ``/home``."""
    first = name[1:].partition("/")[0]
    return name.startswith("/") and "/" in name[1:] and first in _SYSTEM_ROOTS


def _is_member_of_one_letter(name: str) -> bool:
    """Return whether a name is rather code, such as ``p.x`` or ``a.b.c``, than ``main.c``."""
    if name[-2] != ".":
        return False
    return name.count(".") > 1 or name.index(".") == 1


def _is_path(name: str) -> bool:
    if any(map(name.count, _NEVER_IN_PATHS)) or not any(map(str.isalpha, name)):
        return False
    first, *rest = name.split("/")
    if not rest:
        return name in FILE_NAMES or (
            _has_extension(name)
            and name.lower() not in NOT_FILES
            and name[0] not in ".-+@"
            and not name.startswith(("this.", "self."))
            and not _is_member_of_one_letter(name)
            and all(char.isalnum() or char in "_.+-@" for char in name)
        )
    if not first:
        if len(rest) > 1 and rest[0] in _SYSTEM_ROOTS:
            return not name.startswith(_NO_FILES)
        return _has_extension(name)
    if first in ("~", "..") or has_drive(name):
        return True
    if "." in first.strip(".") and first.rsplit(".", 1)[1].lower() in _DOMAINS:
        return False
    # In a path with at least two slashes, an unknown extension counts as well.
    extension = _extension(name)
    is_short = extension.islower() and len(extension) <= _LONGEST_EXTENSION
    return (is_short and name.count("/") > 1) or _has_extension(name)


def _extension(name: str) -> str:
    """Return the extension of a file's name.

    Return "" if the text after the last dot cannot be an extension.
    """
    last = name[name.rfind("/") + 1 :]
    stem, _, extension = last.rpartition(".")
    return extension if stem and extension.isidentifier() and extension.isascii() else ""


def _has_extension(name: str) -> bool:
    last = name[name.rfind("/") + 1 :]
    return last in FILE_NAMES or _extension(name).lower() in EXTENSIONS


_REMOTE = "://"
_LONGEST = 400
_UNSAFE = "&%*\\<[\uff3b"


def relative_path(path: str, scope: str, *, cwd: str = "") -> str:
    """Return a path in POSIX form, relative to ``scope`` if it is inside.

    A relative path starts at ``cwd``, or at the scope if ``cwd`` is "". If the path or the scope
    has a drive letter, backslashes are separators and case is ignored. An address (``https://…``)
    is not changed. The scope itself is "".
    """
    if _REMOTE in path:
        return path
    path = join_path(cwd, path)
    windows = has_drive(path) or has_drive(scope)
    if windows:
        path = path.replace("\\", "/")
        scope = scope.replace("\\", "/")
    path = posixpath.normpath(path)
    inside = f"{posixpath.normpath(scope).rstrip('/')}/" if scope else ""
    fold = str.casefold if windows else str
    if inside and fold(path) + "/" == fold(inside):
        return ""
    if inside and fold(path).startswith(fold(inside)):
        path = path[len(inside) :]
    return "" if path == "." else path


def join_path(folder: str, path: str) -> str:
    """Join a folder and a path; an absolute path, or a path without a folder, is not changed."""
    if not folder or path.startswith(("/", "~")) or has_drive(path):
        return path
    return posixpath.join(folder, path)


def show_path(path: str) -> str:
    r"""Return a path as one visible line that cannot end a block or look like a tag.

    Unsafe characters become ``\u{a}``, ``\u{202e}``; ``parse_path`` reads them back. A path of more
    than 400 characters is cut.
    """
    path = shorten(path, _LONGEST)
    if path.isprintable() and "\\" not in path and defang_line(path) == path:
        return path
    last = len(path) - 1
    parts = []
    for index, char in enumerate(path):
        is_inner_blank = char == " " and 0 < index < last
        is_visible = char.isprintable() and (is_inner_blank or clean_line(char) == char)
        parts.append(char if is_visible and char not in _UNSAFE else escape(char))
    return "".join(parts)


def escape(char: str) -> str:
    r"""Return one character as ``\u{hex}``."""
    return f"\\u{{{ord(char):x}}}"


def parse_path(shown: str) -> str:
    """Return the path that ``show_path`` wrote. Text that is not an escape is not changed."""
    escaped = r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}"
    return re.sub(escaped, lambda match: chr(int(match[1], 16)), shown)
