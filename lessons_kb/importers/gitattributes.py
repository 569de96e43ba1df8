"""The lines of a ``.gitattributes`` that hand cards to our merge driver."""

from __future__ import annotations

import re
from collections.abc import Sequence

DRIVER = "lessons"
"""Name of the merge driver."""

_FIRST = "# lessons_kb: cards are merged key by key (`lessons install git` in each clone)"
_LAST = "# end of lessons_kb"
_ENDINGS = ("md", "markdown")
_BLOCK = re.compile(
    rf"^{re.escape(_FIRST)}(?:\r\n|\n).*?^{re.escape(_LAST)}(?:\r\n|\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_GLOB = re.compile(r"[\\*?\[\]]")
_PLAIN = re.compile(r"[^\s\"\x00-\x1f\x7f]+")
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def build_patterns(brain: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns for the cards of a brain.

    ``brain`` is its POSIX path relative to the work tree, "" for the work tree itself; a folder
    counts wherever it lies inside, as for ``kind_of``.
    """
    start = f"/{_GLOB.sub(_escaped_glob, brain)}/" if brain else ""
    names = [folder.strip("/") for folder in folders]
    # A folder inside another one is named with it: ``.ai/lessons`` with ``lessons``.
    names = [n for n in names if not any(f"/{m}/" in f"/{n}/" for m in names if m != n)]
    paths = [f"{start}**/{_GLOB.sub(_escaped_glob, name)}/**" for name in names]
    return tuple(_quoted(f"{path}/*.{ending}") for path in paths for ending in _ENDINGS)


def put_block(text: str, patterns: Sequence[str]) -> str:
    """Return the text of an attributes file with these patterns as our block.

    A block that stands there already is replaced where it stands.
    """
    end = "\r\n" if "\r" in text else "\n"
    lines = (_FIRST, *(f"{pattern} merge={DRIVER}" for pattern in patterns), _LAST)
    block = "".join(line + end for line in lines)
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _match: block, text, count=1)
    gap = end if text and not text.endswith("\n") else ""
    return f"{text}{gap}{block}"


def take_block(text: str) -> str:
    """Return the text of an attributes file without our block."""
    return _BLOCK.sub("", text)


def find_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of our block, () when there is none."""
    found = _BLOCK.search(text)
    suffix = f" merge={DRIVER}"
    lines = found[0].splitlines() if found else []
    return tuple(line.removesuffix(suffix) for line in lines if line.endswith(suffix))


def _escaped_glob(match: re.Match[str]) -> str:
    return "\\" + match[0]


def _quoted(pattern: str) -> str:
    """Return a pattern as the file takes it: in quotes where it holds blanks or the like."""
    if _PLAIN.fullmatch(pattern) and pattern[0] not in "#!":
        return pattern
    shown = (_ESCAPES.get(c) or (c if c.isprintable() else _octal(c)) for c in pattern)
    return f'"{"".join(shown)}"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
