"""Links between cards: ``[text](other.md)``, ``[[other]]`` and plain ids, outside of code."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from lessons_kb.cards.sections import find_code_lines, normal_newlines, split_lines
from lessons_kb.errors import InputError
from lessons_kb.values import frozen

MAX_BYTES = 96
"""UTF-8 bytes of a slug: room for a number, the suffix and a temporary name within 255."""

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$", "readme", "index"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
)
"""Names that Windows keeps for devices, and those that never are cards."""

_KEPT = ("L", "N", "M")
_UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u20d0-\u20f0\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_APOSTROPHES = re.compile("(?<=\\w)['\u2019\u02bc](?=\\w)")


def slug(title: str) -> str:
    """Return a file name, without suffix, that is safe on every system for any title.

    Letters of every script stay, in lower case and composed form (NFC); whatever else stood
    between them is one hyphen; of symbols alone comes ``untitled``. At most MAX_BYTES bytes, no
    name reserved by Windows. Idempotent. Raises InputError for a title in which there is nothing
    to see.
    """
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", title)).casefold()
    text = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", text))
    text = _INVISIBLE.sub("", text)
    kept = ""
    for char in text:
        category = unicodedata.category(char)[0]
        # A mark with no letter before it would combine with the hyphen.
        is_loose = category == "M" and kept[-1:] in ("", "-")
        kept += "" if is_loose else char if category in _KEPT else "-"
    name = re.sub(r"-+", "-", kept).strip("-")
    if not name:
        if all(unicodedata.category(char) in _UNSEEN for char in _INVISIBLE.sub("", title)):
            raise InputError("the title is empty; name the mistake in one sentence")
        name = "untitled"
    data = name.encode("utf-8", "ignore")
    if len(data) > MAX_BYTES:
        short = data[:MAX_BYTES].decode("utf-8", "ignore")
        word = short.rpartition("-")[0] if name[len(short)] != "-" else short
        # A single long word is cut where the limit falls.
        name = (word if len(word.encode()) > MAX_BYTES // 2 else short).strip("-")
    return f"{name}-card" if name in _RESERVED else name


def is_reserved(name: str) -> bool:
    """Tell whether a file name, with or without suffix, cannot be one on Windows."""
    return name.partition(".")[0].strip().casefold() in _RESERVED


def normal_title(title: str) -> str:
    """Return a title in the form by which two cards are the same lesson.

    Case, width, spaces, backticks, typographic quotes and dashes and the final full stop do not
    count. Everything else does: "Never use ==" and "Never use ===" are two lessons.
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
    """Where a link says what it leads to."""

    start: int
    end: int
    """Offsets of ``target`` in the text, in characters."""
    target: str
    """As written, without what follows a ``#``."""
    kind: str = "path"
    """``path`` from the file it stands in, ``wiki`` by name or id, ``id`` in the text itself."""

    def leads_to(self, card: str, *, home: str) -> bool:
        """Tell whether it leads from the file ``home`` to a card; both are ids."""
        if self.kind == "id":
            return self.target == card
        stem = posixpath.splitext(card)[0]
        if self.kind == "wiki":
            names = (card, stem, posixpath.basename(card), posixpath.basename(stem))
            return self.target.strip() in names
        path = posixpath.join(posixpath.dirname(home), unquote(self.target))
        return posixpath.normpath(path) == card

    def written_to(self, card: str, *, home: str) -> str:
        """Return what to write instead so that it leads from ``home`` to another card."""
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
    """Yield the links of a Markdown text that may lead to another file beside it."""
    if "[" not in text and ".m" not in text:
        return
    start, code = 0, find_code_lines(normal_newlines(text))
    for number, line in enumerate(split_lines(text)):
        if number not in code and ("[" in line or ".m" in line):
            bare = _CODE.sub(lambda found: "\0" * len(found[0]), line)
            for one in _LINK.finditer(bare):
                group = one.lastgroup or ""
                target = one[group].partition("#")[0]
                if target and "\0" not in target and not _SCHEME.match(target):
                    begin = start + one.start(group)
                    kind = group if group in ("wiki", "id") else "path"
                    yield Link(start=begin, end=begin + len(target), target=target, kind=kind)
        start += len(line)


def relink(text: str, change: Callable[[Link], str | None]) -> list[tuple[int, int, str]]:
    """Return (start, end, new text) of each link for which ``change`` gives another target."""
    return [
        (link.start, link.end, new)
        for link in find_links(text)
        if (new := change(link)) is not None and new != link.target
    ]
