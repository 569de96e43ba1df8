"""What is wrong with a card, and what would make it a better one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from lessons_kb.cards.edit import Splice, format_scalar
from lessons_kb.cards.keys import (
    KEYS,
    HeaderEntry,
    Span,
    canonical,
    find_line_of,
    line_starts,
    nearest_key,
    split_header,
)
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import (
    CAUSE,
    EXAMPLE_RULES,
    HEADINGS,
    PREVENTION,
    check_examples,
    normal_newlines,
    read_checklist,
    read_sections,
)
from lessons_kb.data import read_mapping, read_patterns
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.text.paths import EXTENSIONS, is_absolute
from lessons_kb.text.patterns import check_pattern
from lessons_kb.text.sanitize import shorten

MAX_ITEM = 240
"""Characters. The lessons share a budget of some 800 tokens."""
_MAX_SHOWN = 60
MAX_VAGUE_WORDS = 7
"""A longer item says more than its vague beginning."""

_PHRASES = {name: "|".join(lines) for name, lines in read_patterns("vague_items.toml").items()}
_VAGUE = re.compile(rf"^(?:(?:{_PHRASES['before it']})\s+)*(?:{_PHRASES['vague']})", re.IGNORECASE)
_VAGUE_KOREAN = re.compile(_PHRASES["vague in Korean"])
_PLACEHOLDER = re.compile(_PHRASES["placeholder"], re.IGNORECASE)
_SHOWN_BY = re.compile(r"<!--\s*shown[-_ ]?by\b", re.IGNORECASE)
_ODD_PATH = re.compile(r"^~|\\|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)")
_BARE_EXTENSION = re.compile(r"(?:.*/)?\.([A-Za-z0-9]{1,12})")


def check_card(document: Document) -> tuple[Finding, ...]:
    """Return everything to say about a card: what parsing found, then advice, by line.

    Advice is about what makes a card useful to an agent: a name, a cause, symptoms, and a
    checklist of things that can be seen to be done. A note, or a file that could not be used,
    gets no advice.
    """
    card = document.card
    if card is None or card.kind == NOTE:
        return document.findings
    advice = [*_check_parts(card, document), *_check_items(card, document)]
    advice += check_examples(card, document)
    advice.sort(key=lambda finding: finding.line)
    return (*document.findings, *advice)


def is_vague(item: str) -> bool:
    """Return whether an item asks for an attitude ("be careful") instead of a check."""
    text = item.strip()
    is_short = len(text.split()) <= MAX_VAGUE_WORDS
    return bool(_VAGUE_KOREAN.match(text) or (is_short and _VAGUE.match(text)))


_ADVICE = read_mapping("lint_advice.toml")
_FIXES, _FILLS = _ADVICE["fixes"], _ADVICE["fills"]
"""Rule → the suggested fix, and that where the section or key exists already."""


class Summary(NamedTuple):
    """What cards that break a rule of advice have in common."""

    one: str
    """After "1 card"."""
    many: str
    """After "7 cards"."""


SUMMARIES = {rule: Summary(*text.split(" | ")) for rule, text in _ADVICE["summaries"].items()}
ADVICE = frozenset((*SUMMARIES, *EXAMPLE_RULES))
"""Rules that say how a card could be better, where it means what its author meant."""


def _advise(card: Card, rule: str, message: str, line: int = 0, level: str = "warning") -> Finding:
    fix = _FILLS.get(rule, _FIXES[rule]) if line else _FIXES[rule]
    return Finding(path=card.id, line=line, rule=rule, message=message, fix=fix, level=level)


def _check_parts(card: Card, document: Document) -> Iterator[Finding]:
    sections = read_sections(normal_newlines(document.body))
    origin = read_checklist(sections).origin
    keys = document.key_lines

    def heading_of(role: str) -> int:
        """Return the line of the heading that announces a section of this meaning, 0 without one.

        A heading of the last of several tiers means something else besides.
        """
        tiers = (0, *range(len(HEADINGS[role]) - 1))
        own = (part for part in sections.parts if part.role == role and part.tier in tiers)
        return next((document.body_line + part.head for part in own), 0)

    in_body = document.body_line + sections.title_line if sections.title else 0
    title_line = keys.get("title") or in_body
    if not sections.title and card.title == card.id.rpartition("/")[2].rpartition(".")[0]:
        message = "the card has no title; its file name is used"
        yield _advise(card, "no-title", message, title_line)
    elif _PLACEHOLDER.search(card.title):
        message = f"the title is a placeholder: {card.title[:60]}"
        yield _advise(card, "placeholder", message, title_line)
    if origin != "prevention":
        message = f"the card has no checklist; {_name_substitute(card, origin)}"
        if card.template and origin != "fix":
            message = "the card is still the template, so it is not injected: it has no checklist"
        level = "info" if origin == "fix" else "warning"
        yield _advise(card, "no-checklist", message, heading_of(PREVENTION), level)
    if not card.why:
        yield _advise(card, "no-cause", "the card has no root cause", heading_of(CAUSE), "info")
    if not card.symptoms:
        message = "the card has no symptoms; only its own words find it"
        yield _advise(card, "no-symptoms", message, keys.get("symptoms", 0), "info")
    for path in card.paths:
        if problem := find_path_problem(path):
            message = f"paths: {path[:_MAX_SHOWN]!r} {problem}"
            yield _advise(card, "odd-path", message, find_line_of("paths", keys))


def find_path_problem(path: str) -> str:
    """Return why a glob is unlikely to mean what its author meant, "" if it may well do."""
    if _ODD_PATH.search(path) or is_absolute(path):
        return "cannot match any file of a project"
    extension = _BARE_EXTENSION.fullmatch(path)
    if extension and extension[1].lower() in EXTENSIONS:
        return f"names a file called .{extension[1]}; *.{extension[1]} names all of a kind"
    if _has_lone_brace(path):
        return "has a brace without its partner, which is an ordinary character there"
    return ""


def _has_lone_brace(path: str) -> bool:
    depth = 0
    for sign in re.sub(r"\\.", "", path):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return True
    return depth > 0


def _name_substitute(card: Card, origin: str) -> str:
    """Return what is given of a card instead of a checklist."""
    if origin == "fix":
        return "the items of its fix are used instead"
    if origin == "text":
        return "the items of its text are used instead"
    if origin == "sentence":
        return "one line of its text is used instead"
    if card.why:
        return "its cause is given alone"
    return "it has no cause and no fix either, so only its title is offered"


def _check_items(card: Card, document: Document) -> Iterator[Finding]:
    for item, line in zip(card.checklist, document.checklist_lines, strict=True):
        shown = shorten(item, _MAX_SHOWN)
        if is_vague(item):
            yield _advise(card, "vague-item", f"cannot be checked: {shown}", line)
        elif _PLACEHOLDER.search(item):
            yield _advise(card, "placeholder", f"is still a placeholder: {shown}", line)
        elif len(item) > MAX_ITEM:
            message = f"the item has {len(item)} characters: {shown}"
            yield _advise(card, "long-item", message, line, "info")
    # `shown-by` comments that find nothing: no item's, misspelt, or not a usable pattern.
    patterns = dict(zip(document.checklist_lines, card.shown_by, strict=False))
    lines = normal_newlines(document.body).split("\n")
    for number, text in enumerate(lines, document.body_line):
        if _SHOWN_BY.search(text):
            pattern = patterns.get(number, "")
            why = "it belongs to no item, or holds no pattern"
            if why := check_pattern(pattern) if pattern else why:
                yield _advise(card, "shown-by", f"shown-by is not usable: {why}", number)


_VALUE = re.compile(r"(?P<before>[ \t]*(?:- +)?(?:[^\s:#'\"\[{-][^:]*: +)?)(?P<value>\S.*?)[ \t]*")
_HEADER_LINE = re.compile(r"[ \t]+\S.*|#.*|- .*|[^\W\d_][\w -]*:(?: .*)?")
_EOL = re.compile(r"\r\n|\r|\n")


class QuickFix(NamedTuple):
    """An edit of a card's text."""

    title: str
    splice: Splice


def find_quick_fixes(text: str, finding: Finding, *, folders: Mapping[str, str]) -> list[QuickFix]:
    """Return the edits that settle a finding about a file of this text, the likeliest first.

    Each was tried: the finding goes, and no error comes.
    """
    make = _QUICK_FIXES.get(finding.rule)
    if make is None:
        return []

    def check(text: str) -> tuple[tuple[Finding, ...], int]:
        found = check_card(parse_card(text, path=finding.path, folders=folders))
        return found, sum(one.level == "error" for one in found)

    was, errors = check(text)
    fixes = []
    for title, start, end, new in make(_Text(text), finding) if finding in was else ():
        fix = QuickFix(title=title, splice=Splice(start=start, end=end, text=new))
        now, left = check(fix.splice.apply(text))
        if finding not in now and left <= errors:
            fixes.append(fix)
    return fixes


_Fix = tuple[str, int, int, str]
"""Title, where the text to replace begins and ends, and what stands there instead."""


class _Text:
    """A text with its header's entries and where its lines begin."""

    def __init__(self, text: str) -> None:
        split = split_header(text)
        self.text = text
        self.header = split.header
        self.first = split.header.line if split.header else 0
        """Number of the header's first line, 0 without a header."""
        self.starts = [*line_starts(text), len(text)]
        self.entries = read_header(split).entries
        found = _EOL.search(text)
        self.eol = found[0] if found else "\n"

    def line(self, number: int) -> str:
        """Return a line by its number, from 1, without its end."""
        return self.text[self.starts[number - 1] : self.starts[number]].rstrip("\r\n")

    def entry(self, number: int) -> HeaderEntry | None:
        """Return the entry whose key stands on a line of the file."""
        return next((one for one in self.entries if self.first + one.line == number), None)

    def range(self, span: Span) -> tuple[int, int]:
        """Return where a place in the header lies in the text."""
        line, column, last, end = span
        first = self.first - 1
        return self.starts[first + line] + column, self.starts[first + last] + end

    def lines(self, entry: HeaderEntry) -> tuple[int, int]:
        """Return where an entry's lines lie in the text."""
        return self.range((entry.line, 0, entry.end, 0))


def _rename_key(known: _Text, finding: Finding) -> Iterator[_Fix]:
    entry = known.entry(finding.line)
    near = nearest_key(canonical(entry.key)) if entry else None
    if entry and near:
        line = known.starts[finding.line - 1]
        at = known.text.index(entry.key, line + entry.column)
        yield f"Write `{near}`", at, at + len(entry.key), near


def _remove_earlier(known: _Text, finding: Finding) -> Iterator[_Fix]:
    last = known.entry(finding.line)
    for entry in known.entries:
        if last and entry is not last and canonical(entry.key) == canonical(last.key):
            yield f"Remove the earlier `{entry.key}`", *known.lines(entry), ""


def _correct_value(known: _Text, finding: Finding) -> Iterator[_Fix]:
    entry = known.entry(finding.line)
    key = KEYS.get(canonical(entry.key)) if entry else None
    if entry and key:
        said = (entry.texts[0] or "").casefold() if entry.shape == "scalar" else ""
        near = get_close_matches(said, key.choices, n=1, cutoff=0.0)
        for choice in dict.fromkeys([*near, *key.choices]):
            yield f"Write `{choice}`", *known.range(entry.span), choice
        yield f"Remove `{entry.key}`", *known.lines(entry), ""


def _quote_item(known: _Text, finding: Finding) -> Iterator[_Fix]:
    for entry in known.entries:
        for value in entry.values:
            if value.style == "m" and known.first + value.span[0] == finding.line:
                start, end = known.range(value.span)
                quoted = format_scalar(known.text[start:end].strip(), style='"')
                yield "Put the item in double quotes", start, end, quoted


def _quote_value(known: _Text, finding: Finding) -> Iterator[_Fix]:
    found = _VALUE.fullmatch(known.line(finding.line))
    if found and found["value"][0] not in "\"'[{|>":
        start = known.starts[finding.line - 1] + found.start("value")
        quoted = format_scalar(found["value"], style='"')
        yield "Put the value in double quotes", start, start + len(found["value"]), quoted


def _close_header(known: _Text, finding: Finding) -> Iterator[_Fix]:
    number = finding.line + 1
    while number < len(known.starts) and _HEADER_LINE.fullmatch(known.line(number)):
        number += 1
    at = known.starts[number - 1]
    yield "Close the header", at, at, f"---{known.eol}"


def _add_section(title: str, text: str) -> Callable[[_Text, Finding], Iterator[_Fix]]:
    def add(known: _Text, finding: Finding) -> Iterator[_Fix]:
        if not finding.line:
            gap = "" if known.text.endswith(("\n", "\r")) else known.eol
            lines = known.eol.join(("", f"## {title}", "", text, ""))
            yield f"Add the section {title}", len(known.text), len(known.text), gap + lines

    return add


def _add_symptoms(known: _Text, finding: Finding) -> Iterator[_Fix]:
    if not finding.line and known.header is not None:
        at = known.header.end
        text = known.header.eol.join(("symptoms:", "  - TODO: a phrase of a future task", ""))
        yield "Add `symptoms`", at, at, text


_QUICK_FIXES: Mapping[str, Callable[[_Text, Finding], Iterator[_Fix]]] = {
    "unknown-key": _rename_key,
    "duplicate-key": _remove_earlier,
    "wrong-value": _correct_value,
    "unquoted-colon": _quote_item,
    "header-not-yaml": _quote_value,
    "cut-value": _quote_value,
    "unclosed-header": _close_header,
    "no-checklist": _add_section("Prevention Checklist", "- [ ] TODO"),
    "no-cause": _add_section("Root Cause", "TODO"),
    "no-symptoms": _add_symptoms,
}
