"""Paths of files: found in a text, made comparable, and shown so that none poses as more."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from lessons_kb.data import read_words
from lessons_kb.text.sanitize import clean_line, defang_line, shorten

MAX_PATHS = 200
"""A log may name thousands; the first ones are those it is about."""
MAX_PATH = 400

_FILES = read_words("file_names.txt")
EXTENSIONS = _FILES["extensions"]
FILE_NAMES = _FILES["file names"]
"""Files known by their whole name."""
NOT_FILES = _FILES["not files"]
_SYSTEM_ROOTS = _FILES["system roots"]
_NO_FILES = ("/dev/", "/proc/", "/sys/")
_DOMAINS = _FILES["domains"]

_URL = r"\b(?:https?|wss?|ftps?|s3|gs|git|ssh|git\+ssh|redis|postgres(?:ql)?|mysql)://[^\s\"'`<>]*+"
_LOCAL_URL = r"\b(?:file|webpack(?:-internal)?|vite|ng|turbopack)://(?:/(?=[A-Za-z]:/|\.\./|\./))?"
_DIFF_HEADER = r"^([ >]{0,8}(?:\+\+\+|---) )[ab]/|^([ >]{0,8}diff --git )a/(\S+) b/"
_QUOTED = r"(?:(?<=File )\"|\"(?=[A-Za-z]:[\\/]|\.{0,2}/|~/))[^\"\n]{1,400}\""
_BLANK = "\0"
"""Stands for a blank inside a quoted path while a text is taken apart at its blanks."""
_DELIMITERS = "\"'`,;|<>=\u3001\u3002\u300c\u300d\u300e\u300f\u201c\u201d\u2018\u2019\uff08\uff09"
_TO_BLANKS = dict.fromkeys(map(ord, _DELIMITERS), " ")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {close: opening for opening, close in _CLOSING.items()}
_TRAILING = ".,:;!?*_~)]}\u2026"
_LONGEST_EXTENSION = 12
_NEVER_IN_PATHS = ("*", "{", "}", "$", "%", "//", "...")


def find_paths(text: str) -> tuple[str, ...]:
    """Return the file paths a text mentions: POSIX, each once, in order, at most MAX_PATHS.

    Prose, code spans, stack traces, compiler messages and diffs; line numbers, a leading ``./``
    and the ``a/`` and ``b/`` of a diff are taken off. No URLs, dates, fractions or versions. A
    bare word is a path only with the extension or the name of a known kind of file. Time grows
    with the length of the text, about 0.1 s for a megabyte.
    """
    if not ("/" in text or "." in text or "\\" in text or any(map(text.count, FILE_NAMES))):
        return ()
    if "://" in text:
        text = re.sub(_LOCAL_URL, "", re.sub(_URL, " ", text))
    if "--" in text or "+++" in text:
        text = re.sub(_DIFF_HEADER, r"\1\2\3 ", text, flags=re.MULTILINE)
    if '"' in text:
        text = re.sub(
            _QUOTED,
            lambda name: name[0].replace(" ", _BLANK) if _has_extension(name[0][1:-1]) else name[0],
            text,
        )
    found: dict[str, None] = {}
    for token in dict.fromkeys(text.translate(_TO_BLANKS).split()):
        is_word = not ("/" in token or "." in token or "\\" in token)
        if len(token) > MAX_PATH or (is_word and token.rstrip(_TRAILING) not in FILE_NAMES):
            continue
        pieces = (token,) if is_word else _pieces(token)
        found |= dict.fromkeys(filter(None, map(_path_of, pieces)))
        if len(found) >= MAX_PATHS:
            break
    return tuple(found)[:MAX_PATHS]


def _pieces(token: str) -> Iterator[str]:
    """Take a word apart where calls, links, line numbers and keys are glued to a path."""
    host, at, _ = token.partition(":")[0].partition("@")
    if "://" in token or (at and host and "/" not in host and ":" in token):
        return  # a URL, git@host:owner/name
    for link in token.split("]("):
        word = link.lstrip("*_")
        while word and word[0] in _CLOSING and _CLOSING[word[0]] not in word[1:-1]:
            word = word[1:]
        drive = word[:2] if has_drive(word) else ""
        for part in word[len(drive) :].split(":"):
            yield from _callees(drive + part)
            drive = ""


def _callees(part: str) -> Iterator[str]:
    """Part a name from what stands in round brackets behind it, (group)/ folders apart."""
    cut = next((i for i, char in enumerate(part) if char == "(" and part[i - 1 : i] != "/"), -1)
    if cut < 0:
        yield part
        return
    name, rest = part[:cut], part[cut + 1 :]
    if "/" in name or "\\" in name or not rest or rest[0].isdigit():
        yield name
    yield rest


def _path_of(name: str) -> str:
    for mark in "?#":
        before, found, after = name.partition(mark)
        if found and after and (_has_extension(before) or before.startswith("../")):
            name = before
    while name and name[-1] in _TRAILING:
        opening = _OPENING.get(name[-1])
        if opening and name.count(opening) >= name.count(name[-1]):
            break
        name = name[:-1]
    name = name.rstrip("/")
    if name[:1] == "@" and name[1:2] not in ("@", "/"):  # how agents let a file be named
        name = name[1:]
    if "\\" in name:
        if not (has_drive(name) or _has_extension(name.replace("\\", "/"))):
            return ""
        name = re.sub("/{2,}", "/", name.replace("\\", "/"))
    while name.startswith("./"):
        name = name[2:]
    if not name.isascii():  # Korean or Japanese writes right behind an extension: main.py를
        stem, point, extension = name.rpartition(".")
        kept = re.match(r"[\x00-\x7f]*", extension)
        name = stem + point + kept[0] if kept and kept[0] else name
    return name.replace(_BLANK, " ") if _is_path(name) else ""


def has_drive(name: str) -> bool:
    """Tell whether a path begins with the letter of a drive."""
    return name[1:2] == ":" and name[2:3] in ("/", "\\") and name[0].isascii() and name[0].isalpha()


def is_absolute(name: str) -> bool:
    """Return whether a path begins with a folder of the system, such as ``/home``."""
    first = name[1:].partition("/")[0]
    return name.startswith("/") and "/" in name[1:] and first in _SYSTEM_ROOTS


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
            and (name[-2] != "." or name.rfind(".") == name.find(".") > 1)  # p.x, a.b.c are code
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
    extension = _extension(name)  # in a path that is deep enough, one that no table knows
    is_odd = extension.islower() and len(extension) <= _LONGEST_EXTENSION and name.count("/") > 1
    return is_odd or _has_extension(name)


def _extension(name: str) -> str:
    """Return what stands behind the last point of a file's name, "" if it could be no extension."""
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
