"""Find bold labels used in place of headings: ``**Problem**: …``, ``- **Rule:** …``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from lessons_kb.values import NamedTuple

if TYPE_CHECKING:
    from markdown_it.token import Token

_MARKER = r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?"
_BOLD = re.compile(
    rf"""
    (?P<before>{_MARKER})
    (?P<sign>\*\*|__)
    (?P<label>[^\W\d_][^*_\n]{{0,60}}?)
    (?: (?P<inside>[ \t]*:)? (?P=sign) [ \t]* (?P<behind>:|\u2014|\u2013|-(?=[ \t])|$)?)
    [ \t]*
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(rf"(?P<before>{_MARKER})(?P<label>[^\W\d_][^\W\d_]{{2,20}}):[ \t]+")
"""Matches a label that is not bold. It counts only in list items."""


class LeadIn(NamedTuple):
    """The text after a label, up to the next label or the end of its list item."""

    role: str
    first: int
    """The line of the label, counted from 0."""
    end: int
    """The line after the last line of the text."""
    text: str
    """The lines without the label and without the marker of the list item."""


class _Label(NamedTuple):
    role: str
    line: int
    end: int
    """The last possible end of the text: the end of its list item, or of the whole text."""
    rest: str
    """The rest of the line of the label."""
    indent: int
    """The column of the marker of the list item."""


def find_lead_ins(
    text: str,
    labels: Mapping[str, str],
    normalise: Callable[[str], tuple[str, ...]],
    parse: Callable[[str], list[Token]],
    *,
    in_section: bool,
) -> list[LeadIn]:
    """Return the labelled parts of a text, in order.

    ``labels`` maps a name to its role. ``normalise`` returns the names to look up for a label, with
    the likeliest first. ``in_section`` is for the text below a heading with a role of its own.
    There, a label applies only to its paragraph, and labels in list items do not count.
    """
    lines = text.split("\n")
    likely = [line for line in lines if ":" in line or "**" in line or "__" in line]
    if not any(_read_label(line, labels, normalise, in_item=True)[1] for line in likely):
        return []
    with_roles = list(_find_labels(parse(text), lines, labels, normalise, in_section=in_section))
    next_lines = [*(label.line for label in with_roles[1:]), len(lines)]
    lead_ins = []
    for label, next_line in zip(with_roles, next_lines, strict=False):
        end = min(label.end, next_line)
        below = (_dedent(line, label.indent) for line in lines[label.line + 1 : end])
        content = "\n".join([label.rest, *below])
        lead_ins.append(LeadIn(label.role, label.line, end, content))
    return lead_ins


def _find_labels(
    tokens: list[Token],
    lines: list[str],
    labels: Mapping[str, str],
    normalise: Callable[[str], tuple[str, ...]],
    *,
    in_section: bool,
) -> Iterator[_Label]:
    items: list[int] = []
    """The ends of the list items that are open."""
    quotes = 0
    for index, token in enumerate(tokens):
        if token.type == "list_item_open":
            items.append(token.map[1] if token.map else len(lines))
        elif token.type == "list_item_close":
            items.pop()
        elif token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        if token.type != "inline" or token.map is None or quotes:
            continue
        if tokens[index - 1].type != "paragraph_open" or (items and in_section):
            continue
        first, last = token.map
        end_outside = last if in_section else len(lines)
        end = items[-1] if items else end_outside
        for line in range(first, min(last, len(lines))):
            role, match = _read_label(lines[line], labels, normalise, in_item=bool(items))
            if match:
                indent = len(match["before"]) if items else 0
                yield _Label(role, line, end, lines[line][match.end() :], indent)


def _read_label(
    line: str,
    labels: Mapping[str, str],
    normalise: Callable[[str], tuple[str, ...]],
    *,
    in_item: bool,
) -> tuple[str, re.Match[str] | None]:
    """Return the role and the match of the label of a line, or "" and None without a label."""
    match = _BOLD.match(line)
    if match is None or not (match["inside"] or match["behind"] is not None):
        match = _PLAIN.match(line) if in_item else None
    if match is None:
        return "", None
    for name in normalise(match["label"]):
        if name in labels:
            return labels[name], match
    return "", None


def _dedent(line: str, columns: int) -> str:
    indent = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, columns) :]
