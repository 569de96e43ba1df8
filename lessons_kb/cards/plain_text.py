"""A line of Markdown as the plain text it shows."""

from __future__ import annotations

import re
from html import unescape

from lessons_kb.text.sanitize import clean_line

MAX_LENGTH = 1_000
"""Characters. What is longer is cut: nobody checks an item of this size."""

# Stands for a piece set aside; a card that holds NUL is refused as a whole.
_HOLD = "\x00"
_MARKUP = re.compile(r"[`*_~\[\]<>\\&]")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_HELD = re.compile(rf"{_HOLD}(\d+){_HOLD}")
_TAGS = (
    "a|b|br|code|del|details|em|i|img|ins|kbd|mark|p|q|s|small|span|strong|sub|summary|sup|u|wbr"
)
_TARGET = r"(?:<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*"
# Emphasis is short; the limit keeps a line of asterisks from costing its square.
_STARS = r"(?<![\w*])(\*{1,3})(?=[^\s*])(.{1,300}?)(?<=[^\s*])\1(?![\w*])"
_LINES = r"(?<![\w_])(_{1,3})(?=[^\s_])(.{1,300}?)(?<=[^\s_])\1(?![\w_])"
_STEPS = tuple(
    (sign, re.compile(pattern, re.DOTALL), shown)
    for sign, pattern, shown in (
        ("<!--", r"<!--.*?(?:-->|\Z)", ""),
        ("[[", r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]", r"\1"),
        ("](", rf"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\({_TARGET}\)", r"\1"),
        ("][", r"!?\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
        ("<", r"<((?:https?://|mailto:)[^<>\s]+)>", r"\1"),
        ("<", rf"(?i)</?(?:{_TAGS})(?:\s[^<>]*)?/?>", ""),
        # Twice, for one kind may stand inside the other.
        ("*", _STARS, r"\2"),
        ("_", _LINES, r"\2"),
        ("*", _STARS, r"\2"),
        ("~~", r"~~(?=\S)(.{1,300}?)(?<=\S)~~", r"\1"),
    )
)
"""Sign without which there is nothing to do, what is found, what it shows."""

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def one_line(text: str) -> str:
    """Return a text on one line, without anything that steers a terminal or cannot be seen."""
    line = " ".join(text.split())
    if line.isprintable():
        return line

    return clean_line(line)


def plain_text(markdown: str) -> str:
    """Return the text of one paragraph on one line: without emphasis, links, code ticks and HTML.

    Code keeps every character, so that ``**kwargs`` in backticks is not taken for emphasis.
    """
    markdown = markdown[:MAX_LENGTH]
    if not _MARKUP.search(markdown):
        return one_line(markdown)
    held: list[str] = []

    def hold(text: str) -> str:
        held.append(text)
        return f"{_HOLD}{len(held) - 1}{_HOLD}"

    text = markdown.replace(_HOLD, "")
    text = _CODE.sub(lambda match: hold(match[2].strip()), text)
    text = _ESCAPED.sub(lambda match: hold(match[1]), text)
    for sign, pattern, shown in _STEPS:
        if sign in text:
            text = pattern.sub(shown, text)
    if "&" in text:
        text = unescape(text)
    text = _HELD.sub(lambda match: held[int(match[1])], text)
    return one_line(text)
