"""Make file names from titles, and find and change the links between cards.

A link is ``[text](other.md)``, ``[[other]]`` or a plain id, outside of code.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from lessons_kb.cards.sections import find_code_lines, normal_newlines, split_lines
from lessons_kb.errors import InputError
from lessons_kb.values import frozen

MAX_CHARACTERS = 60
"""The maximum length of a file name without its suffix, so that a list shows it in a line of a
terminal. Names of older cards may have up to MAX_BYTES bytes."""
MAX_BYTES = 96
"""In UTF-8 bytes, so that a number, the suffix and a temporary name fit into 255 bytes."""

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$", "readme", "index"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
)
"""Names that Windows reserves for devices, and names that are never card names."""

_KEPT = ("L", "N", "M")
_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u20d0-\u20f0\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_APOSTROPHES = re.compile("(?<=\\w)['\u2019\u02bc](?=\\w)")


def slug(title: str) -> str:
    """Return a file name for a title, without a suffix, that is safe on every system.

    Letters of every script stay, in lower case and in composed form (NFC). Each run of other
    characters becomes one hyphen. A title that contains only symbols becomes ``untitled``. The name
    has at most MAX_CHARACTERS characters and MAX_BYTES bytes, and is not reserved by Windows. The
    function is idempotent. Raises InputError if no character of the title is visible.
    """
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", title)).casefold()
    text = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", text))
    text = _INVISIBLE.sub("", text)
    kept = ""
    for char in text:
        category = unicodedata.category(char)[0]
        if category == "M" and kept[-1:] in ("", "-"):
            continue  # a mark without a letter before it would combine with the hyphen
        kept += char if category in _KEPT else "-"
    name = re.sub(r"-+", "-", kept).strip("-")
    if not name:
        if all(unicodedata.category(char) in _UNSEEN for char in _INVISIBLE.sub("", title)):
            raise InputError("the title is empty; name the mistake in one sentence")
        name = "untitled"
    data = name[:MAX_CHARACTERS].encode("utf-8", "ignore")
    short = data[:MAX_BYTES].decode("utf-8", "ignore")
    if len(short) < len(name):
        word = short.rpartition("-")[0] if name[len(short)] != "-" else short
        # A single long word is cut at the limit.
        name = (word if len(word) > len(short) // 2 else short).strip("-")
    return f"{name}-card" if name in _RESERVED else name


def is_reserved(name: str) -> bool:
    """Return whether Windows refuses a file name, with or without a suffix."""
    return name.partition(".")[0].strip().casefold() in _RESERVED


def normal_title(title: str) -> str:
    """Return a form of a title that is equal for two cards with the same lesson.

    It ignores case, width, spaces, backticks, the final full stop, and the form of quotes and
    dashes. Everything else counts: "Never use ==" and "Never use ===" are two lessons.
    """
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", title)).casefold()
    text = unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY)
    return " ".join(text.split()).rstrip(" .\u3002").strip()


_TYPOGRAPHY = {
    ord("`"): None,
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u2033\u00ab\u00bb"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-"),
}


_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(
    r"""
    (?<!\\)\]\(<(?P<angled>[^<>\n]+)>
    | (?<!\\)\]\((?P<plain>[^\s()<>]+)
    | (?<!\\)\[\[(?P<wiki>[^\[\]|#\n]+)
    | ^[ ]{0,3}\[[^\]\n]+\]:[ \t]*<?(?P<defined>[^\s<>]+)
    | (?<![^\s(\[*_"'])(?P<id>[^\W_.][\w.-]*/[\w./-]*\w\.(?:md|markdown))(?![\w/-]|\.\w)
    """,
    re.VERBOSE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#")


@frozen
class Link:
    """The target of a link and its position."""

    start: int
    end: int
    """The offset of the end of ``target`` in the text, in characters."""
    target: str
    """The target as written, without the part after ``#``."""
    kind: str = "path"
    """``path`` for a path relative to the file, ``wiki`` for a name or an id, ``id`` for a plain
    id."""

    def leads_to(self, card: str, *, home: str) -> bool:
        """Return whether the link leads from the file ``home`` to a card. Both are ids."""
        if self.kind == "id":
            return self.target == card
        stem = posixpath.splitext(card)[0]
        if self.kind == "wiki":
            names = (card, stem, posixpath.basename(card), posixpath.basename(stem))
            return self.target.strip() in names
        path = posixpath.join(posixpath.dirname(home), unquote(self.target))
        return posixpath.normpath(path) == card

    def written_to(self, card: str, *, home: str) -> str:
        """Return the target that leads from ``home`` to another card, in the same style."""
        if self.kind == "id":
            return card
        if self.kind == "path":
            path = posixpath.relpath(card, posixpath.dirname(home) or ".")
            path = f"./{path}" if self.target.startswith("./") and path[:1] != "." else path
            return quote(path) if self.target == quote(unquote(self.target)) else path
        stem = posixpath.splitext(card)[0]
        path = stem if "/" in self.target else posixpath.basename(stem)
        return f"{path}.md" if self.target.strip().endswith(".md") else path


def find_links(text: str) -> Iterator[Link]:
    """Yield the links of a Markdown text that may lead to another file of its brain."""
    if "[" not in text and ".m" not in text:
        return
    start = 0
    code = find_code_lines(normal_newlines(text))
    for number, line in enumerate(split_lines(text)):
        if number not in code and ("[" in line or ".m" in line):
            bare = _CODE.sub(lambda code_match: "\0" * len(code_match[0]), line)
            for match in _LINK.finditer(bare):
                group = match.lastgroup or ""
                target = match[group].partition("#")[0]
                if target and "\0" not in target and not _SCHEME.match(target):
                    begin = start + match.start(group)
                    kind = group if group in ("wiki", "id") else "path"
                    yield Link(start=begin, end=begin + len(target), target=target, kind=kind)
        start += len(line)


def relink(text: str, change: Callable[[Link], str | None]) -> list[tuple[int, int, str]]:
    """Return (start, end, new target) for each link to which ``change`` gives another target."""
    return [
        (link.start, link.end, new)
        for link in find_links(text)
        if (new := change(link)) is not None and new != link.target
    ]
