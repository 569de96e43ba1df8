"""Links between cards: ``[text](other.md)`` and ``[[other]]``, outside of code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(
    r"\]\(<(?P<angled>[^<>\n]+)>|\]\((?P<plain>[^\s()<>]+)|\[\[(?P<wiki>[^\[\]|#\n]+)"
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
    wiki: bool = False

    def leads_to(self, card: str, *, home: str) -> bool:
        """Tell whether it leads from the file ``home`` to a card; both are ids."""
        stem = posixpath.splitext(card)[0]
        if self.wiki:
            return self.target.strip() in (card, stem, posixpath.basename(stem))
        path = posixpath.join(posixpath.dirname(home), unquote(self.target))
        return posixpath.normpath(path) == card

    def written_to(self, card: str, *, home: str) -> str:
        """Return what to write instead so that it leads from ``home`` to another card."""
        if not self.wiki:
            path = posixpath.relpath(card, posixpath.dirname(home) or ".")
            path = f"./{path}" if self.target.startswith("./") and path[:1] != "." else path
            return quote(path) if self.target == quote(unquote(self.target)) else path
        stem = posixpath.splitext(card)[0]
        path = stem if "/" in self.target else posixpath.basename(stem)
        return f"{path}.md" if self.target.strip().endswith(".md") else path


def find_links(text: str) -> Iterator[Link]:
    """Yield the links of a Markdown text that may lead to another file beside it."""
    fence, start = "", 0
    for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text):
        found = _FENCE.match(line)
        if found and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and ("](" in line or "[[" in line):
            bare = _CODE.sub(lambda code: "\0" * len(code[0]), line)
            for one in _LINK.finditer(bare):
                kind = one.lastgroup or ""
                target = one[kind].partition("#")[0]
                if target and "\0" not in target and not _SCHEME.match(target):
                    begin = start + one.start(kind)
                    yield Link(
                        start=begin, end=begin + len(target), target=target, wiki=kind == "wiki"
                    )
        start += len(line)


def relink(text: str, change: Callable[[Link], str | None]) -> list[tuple[int, int, str]]:
    """Return (start, end, new text) of each link for which ``change`` gives another target."""
    return [
        (link.start, link.end, new)
        for link in find_links(text)
        if (new := change(link)) is not None and new != link.target
    ]
