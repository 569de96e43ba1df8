"""Links of Markdown files to a card, so that they can follow it to another name."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote, unquote

_INLINE = re.compile(r"(?<=\]\()(\s*<?)([^()\s<>]+)")
"""The target of `[text](target)`."""
_DEFINED = re.compile(r"(?m)^( {0,3}\[[^\]\n]+\]:[ \t]*<?)([^\s<>]+)")
"""The target of `[label]: target`."""
_WIKI = re.compile(r"(\[\[)([^\[\]|#\n]+)")
_SUFFIXES = (".md", ".markdown")


def follow(text: str, *, at: str, old: str, new: str) -> str:
    """Return a file's text in which links to the card ``old`` lead to ``new``.

    ``at`` is the file's own path; all paths are POSIX, relative to the brain. Links are those of
    Markdown, relative to their file, wiki links by name or path, and the card's id in the text.
    """
    moved = posixpath.relpath(new, posixpath.dirname(at) or ".")

    def link(found: re.Match[str]) -> str:
        target, mark, rest = _cut(found[2])
        place = posixpath.normpath(posixpath.join(posixpath.dirname(at), unquote(target)))
        return found[1] + (quote(moved) + mark + rest if place == old else found[2])

    def wiki(found: re.Match[str]) -> str:
        target = found[2].strip()
        bare = _bare(target)
        if bare not in (_bare(old), _bare(posixpath.basename(old))):
            return found[0]
        name = posixpath.basename(new) if "/" not in target else new
        return found[1] + (name if target.endswith(_SUFFIXES) else _bare(name))

    text = _INLINE.sub(link, text)
    text = _DEFINED.sub(link, text)
    text = _WIKI.sub(wiki, text)
    mention = rf"(?<![\w./-]){re.escape(old)}(?![\w/-]|\.\w)"
    return re.sub(mention, lambda _: new, text)


def _cut(target: str) -> tuple[str, str, str]:
    return target.partition("#")


def _bare(path: str) -> str:
    return next((path.removesuffix(end) for end in _SUFFIXES if path.endswith(end)), path)
