"""Gitignore patterns as regular expressions that RE2 and Python can run.

The reference is git's own matcher (``dir.c`` and ``wildmatch.c``). pathspec 1.1 differs from it in
character classes, in ``src/**/``, in ``***`` and in the effect of negated patterns.
"""

from __future__ import annotations

import re

from lessons_kb.errors import InputError
from lessons_kb.values import NamedTuple

Range = tuple[str, str]
"""The first and the last character of a range."""

_CLASSES: dict[str, tuple[Range, ...]] = {
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "alpha": (("A", "Z"), ("a", "z")),
    "blank": ((" ", " "), ("\t", "\t")),
    "cntrl": (("\x00", "\x1f"), ("\x7f", "\x7f")),
    "digit": (("0", "9"),),
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": ((" ", " "), ("\t", "\n"), ("\r", "\r")),
    "upper": (("A", "Z"),),
    "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
}
"""A mapping from the name of each POSIX class to the ASCII characters that git includes in it."""

_STARS = re.compile(r"\*+")
_CLASS_NAME = re.compile(r"\[:([^\]]*):\]")


class GlobRegex(NamedTuple):
    """A translated gitignore pattern, for paths without a slash at the end."""

    source: str
    """Regular expression without anchors that matches the paths of the pattern."""
    folders_only: bool
    """Whether the pattern ends with a slash."""


def trim_line(line: str) -> str:
    """Remove the blanks at the end of a line of an ignore file, as git does."""
    line = line.removesuffix("\r")
    trimmed = line.rstrip(" ")
    backslashes = len(trimmed) - len(trimmed.rstrip("\\"))
    is_escaped = backslashes % 2 == 1 and len(trimmed) < len(line)
    return f"{trimmed} " if is_escaped else trimmed


def translate(pattern: str) -> GlobRegex:
    """Return the regular expression of a pattern without its ``!``.

    Raises InputError for a pattern that git never matches, because it contains an open bracket, an
    empty range or a backslash at the end.
    """
    folders_only = pattern.endswith("/")
    if folders_only:
        pattern = pattern[:-1]
    is_name = "/" not in pattern
    body = _translate(pattern.removeprefix("/"))
    return GlobRegex(f"(?:.*/)?{body}" if is_name else body, folders_only)


def _translate(pattern: str) -> str:
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        if stars := _STARS.match(pattern, place):
            part, place = _translate_stars(pattern, place, stars.end())
        elif sign == "?":
            part, place = "[^/]", place + 1
        elif sign == "[":
            part, place = _translate_brackets(pattern, place)
        elif sign == "\\":
            if place + 1 == len(pattern):
                raise InputError("a backslash at the end escapes nothing")
            part = re.escape(pattern[place + 1])
            place = place + 2
        else:
            part = re.escape(sign)
            place = place + 1
        parts.append(part)
    return "".join(parts)


def _translate_stars(pattern: str, start: int, end: int) -> tuple[str, int]:
    """Return the expression of a run of asterisks, and the position after the translated text.

    Two or more asterisks between slashes match any number of folders. Other runs match within one
    name.
    """
    before, after = pattern[:start], pattern[end:]
    fills_name = before[-1:] in ("", "/") and (after[:1] in ("", "/") or after[:2] == "\\/")
    if not fills_name:
        return "[^/]*", end
    if end - start == 1:
        return "[^/]+", end
    if not after:
        return ".+", end
    if after[0] == "/":
        return "(?:.*/)?", end + 1
    return ".*", end


def _translate_brackets(pattern: str, start: int) -> tuple[str, int]:
    """Return the expression of a class of characters, and the position after the class.

    The expression never matches the slash.
    """
    place = start + 1
    is_negated = pattern[place : place + 1] in ("!", "^")
    if is_negated:
        place += 1
    first = place
    ranges: list[Range] = []
    begin = ""
    """The previous character, which may begin a range."""
    while place == first or pattern[place : place + 1] != "]":
        if name := _CLASS_NAME.match(pattern, place):
            if name[1] not in _CLASSES:
                raise InputError(f"there is no class [:{name[1]}:]")
            ranges += _CLASSES[name[1]]
            begin = ""
            place = name.end()
        elif begin and _is_range(pattern, place):
            end, place = _read_member(pattern, place + 1)
            ranges.append((begin, end))
            begin = ""
        else:
            begin, place = _read_member(pattern, place)
            ranges.append((begin, begin))
    return _write_class(ranges, is_negated=is_negated), place + 1


def _is_range(pattern: str, place: int) -> bool:
    """Return whether there is a hyphen at a position, followed by the end of a range."""
    return pattern[place : place + 1] == "-" and pattern[place + 1 : place + 2] not in ("", "]")


def _read_member(pattern: str, place: int) -> tuple[str, int]:
    """Return the character at a position in brackets, and the position after it."""
    if pattern[place : place + 1] == "\\":
        place += 1
    if place >= len(pattern):
        raise InputError("a bracket is not closed")
    return pattern[place], place + 1


def _write_class(ranges: list[Range], *, is_negated: bool) -> str:
    """Return a class of some ranges, or of all other characters, that does not match the slash.

    Raises InputError if the ranges contain nothing but a slash; a negated class may be empty.
    """
    parts: list[str] = []
    for first, last in ranges:
        contains_slash = first <= "/" <= last
        if is_negated or not contains_slash:
            parts += _write_range(first, last)
        else:  # "." and "0" are the neighbours of the slash
            parts += _write_range(first, ".")
            parts += _write_range("0", last)
    inside = "".join(parts)
    if is_negated:
        return f"[^/{inside}]"
    if not inside:
        raise InputError("a class in brackets contains no character")
    return f"[{inside}]"


def _write_range(first: str, last: str) -> list[str]:
    """Return a range in the syntax of RE2 and Python; [] if it ends before it begins."""
    if first > last:
        return []
    ends = [rf"\x{ord(end):02x}" if end.isascii() else end for end in (first, last)]
    return ["-".join(ends)]
