"""Quick fixes: the edit that a finding of `lint` asks for, where only one thing can be meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from lessons_kb.cards.edit import Splice
from lessons_kb.cards.header import Entry, Header, Span, Split, canonical, line_starts, split_header
from lessons_kb.cards.keys import KEYS, nearest_key
from lessons_kb.cards.lint import check_card
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.write_values import format_scalar
from lessons_kb.model import Finding

_VALUE = re.compile(r"(?P<before>[ \t]*(?:- +)?(?:[^\s:#'\"\[{-][^:]*: +)?)(?P<value>\S.*?)[ \t]*")
_HEADER_LINE = re.compile(r"[ \t]+\S.*|#.*|- .*|[^\W\d_][\w -]*:(?: .*)?")
_EOL = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class QuickFix:
    """An edit of a card's text."""

    title: str
    splice: Splice

    def apply(self, text: str) -> str:
        """Return the text with the edit made."""
        return text[: self.splice.start] + self.splice.text + text[self.splice.end :]


def find_quick_fixes(text: str, finding: Finding, *, folders: Mapping[str, str]) -> list[QuickFix]:
    """Return the edits that settle a finding about a file of this text, the likeliest first.

    Each was tried: the finding goes, and no error comes.
    """
    make = _FIXES.get(finding.rule)
    if make is None:
        return []
    split = split_header(text)
    known = _Text(text, split)
    was = _findings(text, finding.path, folders)
    if finding not in was:
        return []
    errors = sum(one.level == "error" for one in was)
    found = []
    for fix in make(known, finding):
        now = _findings(fix.apply(text), finding.path, folders)
        if finding not in now and sum(one.level == "error" for one in now) <= errors:
            found.append(fix)
    return found


def _findings(text: str, path: str, folders: Mapping[str, str]) -> tuple[Finding, ...]:
    return check_card(parse_card(text, path=path, folders=folders))


class _Text:
    """A text with its header's entries and where its lines begin."""

    def __init__(self, text: str, split: Split) -> None:
        self.text = text
        self.header: Header | None = split.header
        self.starts = [*line_starts(text), len(text)]
        self.entries = read_header(split).entries
        found = _EOL.search(text)
        self.eol = found[0] if found else "\n"

    def line(self, number: int) -> str:
        """Return a line by its number, from 1, without its end."""
        return self.text[self.starts[number - 1] : self.starts[number]].rstrip("\r\n")

    def entry(self, number: int) -> Entry | None:
        """Return the entry whose key stands on a line of the file."""
        first = self.header.line if self.header else 0
        return next((one for one in self.entries if first + one.line == number), None)

    def range(self, span: Span) -> tuple[int, int]:
        """Return where a place in the header lies in the text."""
        first = self.header.line - 1 if self.header else 0
        line, column, last, end = span
        return self.starts[first + line] + column, self.starts[first + last] + end

    def lines(self, entry: Entry) -> Splice:
        """Return the removal of an entry's lines."""
        first = self.header.line - 1 if self.header else 0
        start, end = self.starts[first + entry.line], self.starts[first + entry.end]
        return Splice(start=start, end=end, text="")


def _rename_key(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    entry = known.entry(finding.line)
    near = nearest_key(canonical(entry.key)) if entry else None
    if entry and near:
        line = known.starts[finding.line - 1]
        at = known.text.index(entry.key, line + entry.column)
        yield _fix(f"Write `{near}`", at, at + len(entry.key), near)


def _remove_earlier(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    last = known.entry(finding.line)
    for entry in known.entries:
        if last and entry is not last and canonical(entry.key) == canonical(last.key):
            yield QuickFix(title=f"Remove the earlier `{entry.key}`", splice=known.lines(entry))


def _correct_value(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    entry = known.entry(finding.line)
    key = KEYS.get(canonical(entry.key)) if entry else None
    if entry is None or key is None:
        return
    said = (entry.texts[0] or "").casefold() if entry.shape == "scalar" else ""
    near = get_close_matches(said, key.choices, n=1, cutoff=0.0)
    for choice in dict.fromkeys([*near, *key.choices]):
        yield _fix(f"Write `{choice}`", *known.range(entry.span), choice)
    yield QuickFix(title=f"Remove `{entry.key}`", splice=known.lines(entry))


def _quote_item(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    first = known.header.line if known.header else 0
    for entry in known.entries:
        for span, style in zip(entry.spans, entry.styles, strict=False):
            if style == "m" and first + span[0] == finding.line:
                start, end = known.range(span)
                quoted = format_scalar(known.text[start:end].strip(), style='"')
                yield _fix("Put the item in double quotes", start, end, quoted)


def _quote_value(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    found = _VALUE.fullmatch(known.line(finding.line))
    if found is None or found["value"][0] in "\"'[{|>":
        return
    start = known.starts[finding.line - 1] + found.start("value")
    quoted = format_scalar(found["value"], style='"')
    yield _fix("Put the value in double quotes", start, start + len(found["value"]), quoted)


def _close_header(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    number = finding.line + 1
    while number < len(known.starts) and _HEADER_LINE.fullmatch(known.line(number)):
        number += 1
    at = known.starts[number - 1]
    yield _fix("Close the header", at, at, f"---{known.eol}")


def _correct_path(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    entry = known.entry(finding.line)
    for text, span in zip(entry.texts, entry.spans, strict=False) if entry else ():
        if text and "\\" in text:
            better = format_scalar(text.replace("\\", "/"), flow=entry is not None and entry.flow)
            yield _fix("Write slashes", *known.range(span), better)


def _remove_line(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    start, end = known.starts[finding.line - 1], known.starts[finding.line]
    yield _fix("Remove the line", start, end, "")


def _add_section(title: str, text: str) -> Callable[[_Text, Finding], Iterator[QuickFix]]:
    def add(known: _Text, finding: Finding) -> Iterator[QuickFix]:
        if not finding.line:
            gap = "" if known.text.endswith(("\n", "\r")) else known.eol
            lines = known.eol.join(("", f"## {title}", "", text, ""))
            end = len(known.text)
            yield _fix(f"Add the section {title}", end, end, gap + lines)

    return add


def _add_symptoms(known: _Text, finding: Finding) -> Iterator[QuickFix]:
    if not finding.line and known.header is not None:
        at = known.header.end
        text = known.header.eol.join(("symptoms:", "  - TODO: a phrase of a future task", ""))
        yield _fix("Add `symptoms`", at, at, text)


def _fix(title: str, start: int, end: int, text: str) -> QuickFix:
    return QuickFix(title=title, splice=Splice(start=start, end=end, text=text))


_FIXES: Mapping[str, Callable[[_Text, Finding], Iterator[QuickFix]]] = {
    "unknown-key": _rename_key,
    "duplicate-key": _remove_earlier,
    "wrong-value": _correct_value,
    "unquoted-colon": _quote_item,
    "header-not-yaml": _quote_value,
    "unclosed-header": _close_header,
    "odd-path": _correct_path,
    "placeholder": _remove_line,
    "no-checklist": _add_section("Prevention Checklist", "- [ ] TODO"),
    "no-cause": _add_section("Root Cause", "TODO"),
    "no-symptoms": _add_symptoms,
}
