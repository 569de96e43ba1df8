"""Links between cards: ``[text](other.md)``, ``[[other]]`` and plain ids, outside of code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from lessons_kb.cards.outline import find_code_lines, normal_newlines, split_lines

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


@dataclass(frozen=True, kw_only=True, slots=True)
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
