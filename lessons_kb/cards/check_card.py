"""Find the faults of a card, and the changes that would improve it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches

from lessons_kb.cards.check_examples import EXAMPLE_RULES, check_examples
from lessons_kb.cards.conditions import parse_condition
from lessons_kb.cards.edit import Splice, format_scalar
from lessons_kb.cards.edit_sources import check_sources
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
    HEADINGS,
    PREVENTION,
    normal_newlines,
    read_checklist,
    read_sections,
)
from lessons_kb.data import read_mapping, read_patterns
from lessons_kb.errors import InputError
from lessons_kb.model import DRAFT, INVALID_HEADER, NOTE, STRICT_GATE, Card, Document, Finding
from lessons_kb.text.paths import EXTENSIONS, is_absolute
from lessons_kb.text.patterns import check_pattern
from lessons_kb.text.sanitize import shorten
from lessons_kb.values import NamedTuple

MAX_ITEM = 240
"""In characters. The lessons share a budget of about 800 tokens."""
_MAX_SHOWN = 60
MAX_VAGUE_WORDS = 7
"""In words. A longer item has more content than its vague beginning."""

_PHRASES = {name: "|".join(lines) for name, lines in read_patterns("vague_items.toml").items()}
_VAGUE = re.compile(rf"^(?:(?:{_PHRASES['before it']})\s+)*(?:{_PHRASES['vague']})", re.IGNORECASE)
_VAGUE_KOREAN = re.compile(_PHRASES["vague in Korean"])
_PLACEHOLDER = re.compile(_PHRASES["placeholder"], re.IGNORECASE)
_SHOWN_BY = re.compile(r"<!--\s*shown[-_ ]?by\b", re.IGNORECASE)
_ODD_PATH = re.compile(r"^~|\\|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)")
_BARE_EXTENSION = re.compile(r"(?:.*/)?\.([A-Za-z0-9]{1,12})")


def check_card(document: Document) -> tuple[Finding, ...]:
    """Return the findings about a card: those of the parser, then advice, by line.

    Advice is about the parts that make a card useful to an agent: a name, a cause, symptoms, and
    a checklist of visible actions. A note, or a file that could not be parsed, gets no advice.
    """
    card = document.card
    if card is None or card.kind == NOTE:
        return document.findings
    advice = [*_check_parts(card, document), *_check_items(card, document)]
    advice += check_examples(card, document)
    advice += check_sources(document)
    if card.status == DRAFT:
        # Whoever reviews the draft is told what it lacks; until then nobody is given the card.
        advice = [finding for finding in advice if finding.rule not in _LACKS]
        message = "the card is a draft; it is given to nobody until it is accepted"
        line = document.key_lines.get("status", 0)
        advice.append(_advise(card, "draft", message, line, "info"))
    advice.sort(key=lambda finding: finding.line)
    return (*document.findings, *advice)


def is_vague(item: str) -> bool:
    """Return whether an item asks for an attitude ("be careful") instead of a check."""
    text = item.strip()
    is_short = len(text.split()) <= MAX_VAGUE_WORDS
    return bool(_VAGUE_KOREAN.match(text) or (is_short and _VAGUE.match(text)))


_ADVICE = read_mapping("lint_advice.toml")
_FIXES, _FILLS = _ADVICE["fixes"], _ADVICE["fills"]
"""Maps a rule to the suggested fix. ``_FILLS`` is for an empty section or key."""


class Summary(NamedTuple):
    """The common fault of cards that break a rule of advice."""

    one: str
    """The text after "1 card"."""
    many: str
    """The text after "7 cards"."""


_LACKS = frozenset(("no-title", "no-checklist", "no-cause", "no-symptoms"))
"""Rules about parts that a draft may still lack."""
SUMMARIES = {rule: Summary(*text.split(" | ")) for rule, text in _ADVICE["summaries"].items()}
ADVICE = frozenset((*SUMMARIES, *EXAMPLE_RULES))
"""Rules about improvements of a card that is otherwise read as its author meant it."""


def _advise(card: Card, rule: str, message: str, line: int = 0, level: str = "warning") -> Finding:
    fix = _FILLS.get(rule, _FIXES[rule]) if line else _FIXES[rule]
    return Finding(path=card.id, line=line, rule=rule, message=message, fix=fix, level=level)


def _check_parts(card: Card, document: Document) -> Iterator[Finding]:
    sections = read_sections(normal_newlines(document.body))
    origin = read_checklist(sections).origin
    keys = document.key_lines

    def heading_of(role: str) -> int:
        """Return the line of the heading of the section with this role, or 0 without a heading.

        If the role has several tiers, headings of the last tier are ambiguous and do not count.
        """
        tiers = range(max(len(HEADINGS[role]) - 1, 1))
        parts = (part for part in sections.parts if part.role == role and part.tier in tiers)
        return next((document.body_line + part.head for part in parts), 0)

    in_body = document.body_line + sections.title_line if sections.title else 0
    title_line = keys.get("title") or in_body
    if not sections.title and card.title == card.id.rpartition("/")[2].rpartition(".")[0]:
        message = "the card has no title; its file name is used"
        yield _advise(card, "no-title", message, title_line)
    elif _PLACEHOLDER.search(card.title):
        message = f"the title is a placeholder: {card.title[:60]}"
        yield _advise(card, "placeholder", message, title_line)
    if origin != "prevention":
        if card.template and origin != "fix":
            message = "the card is still the template, so it is not injected: it has no checklist"
        else:
            message = f"the card has no checklist; {_name_substitute(card, origin)}"
        level = "info" if origin == "fix" else "warning"
        yield _advise(card, "no-checklist", message, heading_of(PREVENTION), level)
    if not card.why:
        yield _advise(card, "no-cause", "the card has no root cause", heading_of(CAUSE), "info")
    if not card.symptoms:
        message = "the card has no symptoms; only its own words find it"
        yield _advise(card, "no-symptoms", message, keys.get("symptoms", 0), "info")
    for text in card.when:
        try:
            parse_condition(text)  # raises InputError if it is invalid
        except InputError as error:
            yield _advise(card, "bad-condition", f"when: {error}", find_line_of("when", keys))
    if card.gate == STRICT_GATE and not card.paths:
        message = "`gate: strict` needs `paths`; without them it is as `once`"
        yield _advise(card, "strict-gate", message, keys.get("gate", 0))
    for path in card.paths:
        if problem := find_path_problem(path):
            message = f"paths: {path[:_MAX_SHOWN]!r} {problem}"
            yield _advise(card, "odd-path", message, find_line_of("paths", keys))


def find_path_problem(path: str) -> str:
    """Return why a glob probably does not match as its author meant, or "" if it may."""
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
    """Describe the text that an agent gets instead of the missing checklist."""
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
    # `shown-by` comments without an effect: outside of an item, misspelt, or with an invalid
    # pattern.
    patterns = dict(zip(document.checklist_lines, card.shown_by, strict=False))
    lines = normal_newlines(document.body).split("\n")
    for number, text in enumerate(lines, document.body_line):
        if _SHOWN_BY.search(text):
            pattern = patterns.get(number, "")
            problem = "it belongs to no item, or holds no pattern"
            if pattern:
                problem = check_pattern(pattern)
            if problem:
                yield _advise(card, "shown-by", f"shown-by is not usable: {problem}", number)


_VALUE = re.compile(r"(?P<before>[ \t]*(?:- +)?(?:[^\s:#'\"\[{-][^:]*: +)?)(?P<value>\S.*?)[ \t]*")
_HEADER_LINE = re.compile(r"[ \t]+\S.*|#.*|- .*|[^\W\d_][\w -]*:(?: .*)?")
_EOL = re.compile(r"\r\n|\r|\n")


class QuickFix(NamedTuple):
    """An edit of a card's text."""

    title: str
    splice: Splice


def find_quick_fixes(text: str, finding: Finding, *, folders: Mapping[str, str]) -> list[QuickFix]:
    """Return the edits that resolve a finding about a file with this text, the likeliest first.

    Each edit was tried. The finding disappears, and no new error appears.
    """
    make = _QUICK_FIXES.get(finding.rule)
    if make is None:
        return []

    def check(text: str) -> tuple[tuple[Finding, ...], int]:
        findings = check_card(parse_card(text, path=finding.path, folders=folders))
        return findings, sum(finding.level == "error" for finding in findings)

    findings_before, errors_before = check(text)
    if finding not in findings_before:
        return []
    fixes = []
    for title, start, end, new in make(_CardText(text), finding):
        fix = QuickFix(title=title, splice=Splice(start=start, end=end, text=new))
        findings, errors = check(fix.splice.apply(text))
        if finding not in findings and errors <= errors_before:
            fixes.append(fix)
    return fixes


_Fix = tuple[str, int, int, str]
"""A title, the start and the end of the text to replace, and the replacement."""


class _CardText:
    """A text with the entries of its header and the offsets of its lines."""

    def __init__(self, text: str) -> None:
        split = split_header(text)
        self.text = text
        self.header = split.header
        self.first = split.header.line if split.header else 0
        """The number of the header's first line, or 0 without a header."""
        self.starts = [*line_starts(text), len(text)]
        self.entries = read_header(split).entries
        eol_match = _EOL.search(text)
        self.eol = eol_match[0] if eol_match else "\n"

    def line(self, number: int) -> str:
        """Return a line without its line end, by its number from 1."""
        return self.text[self.starts[number - 1] : self.starts[number]].rstrip("\r\n")

    def entry(self, number: int) -> HeaderEntry | None:
        """Return the entry whose key is on this line of the file."""
        entries = (entry for entry in self.entries if self.first + entry.line == number)
        return next(entries, None)

    def range(self, span: Span) -> tuple[int, int]:
        """Return the offsets in the text of a span in the header."""
        line, column, last, end = span
        first = self.first - 1
        return self.starts[first + line] + column, self.starts[first + last] + end

    def lines(self, entry: HeaderEntry) -> tuple[int, int]:
        """Return the offsets in the text of the lines of an entry."""
        return self.range((entry.line, 0, entry.end, 0))


def _rename_key(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    entry = card_text.entry(finding.line)
    similar = nearest_key(canonical(entry.key)) if entry else None
    if entry and similar:
        line = card_text.starts[finding.line - 1]
        start = card_text.text.index(entry.key, line + entry.column)
        yield f"Write `{similar}`", start, start + len(entry.key), similar


def _remove_earlier(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    last = card_text.entry(finding.line)
    for entry in card_text.entries:
        if last and entry is not last and canonical(entry.key) == canonical(last.key):
            yield f"Remove the earlier `{entry.key}`", *card_text.lines(entry), ""


def _correct_value(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    entry = card_text.entry(finding.line)
    key = KEYS.get(canonical(entry.key)) if entry else None
    if entry and key:
        value = (entry.texts[0] or "").casefold() if entry.shape == "scalar" else ""
        similar = get_close_matches(value, key.choices, n=1, cutoff=0.0)
        for choice in dict.fromkeys([*similar, *key.choices]):
            yield f"Write `{choice}`", *card_text.range(entry.span), choice
        yield f"Remove `{entry.key}`", *card_text.lines(entry), ""


def _quote_item(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    for entry in card_text.entries:
        for value in entry.values:
            if value.style == "m" and card_text.first + value.span[0] == finding.line:
                start, end = card_text.range(value.span)
                quoted = format_scalar(card_text.text[start:end].strip(), style='"')
                yield "Put the item in double quotes", start, end, quoted


def _quote_value(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    match = _VALUE.fullmatch(card_text.line(finding.line))
    if match and match["value"][0] not in "\"'[{|>":
        start = card_text.starts[finding.line - 1] + match.start("value")
        quoted = format_scalar(match["value"], style='"')
        yield "Put the value in double quotes", start, start + len(match["value"]), quoted


def _close_header(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    number = finding.line + 1
    while number < len(card_text.starts) and _HEADER_LINE.fullmatch(card_text.line(number)):
        number += 1
    offset = card_text.starts[number - 1]
    yield "Close the header", offset, offset, f"---{card_text.eol}"


def _add_section(title: str, content: str) -> Callable[[_CardText, Finding], Iterator[_Fix]]:
    def add(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
        if not finding.line:
            gap = "" if card_text.text.endswith(("\n", "\r")) else card_text.eol
            lines = card_text.eol.join(("", f"## {title}", "", content, ""))
            yield f"Add the section {title}", len(card_text.text), len(card_text.text), gap + lines

    return add


def _add_symptoms(card_text: _CardText, finding: Finding) -> Iterator[_Fix]:
    if not finding.line and card_text.header is not None:
        offset = card_text.header.end
        text = card_text.header.eol.join(("symptoms:", "  - TODO: a phrase of a future task", ""))
        yield "Add `symptoms`", offset, offset, text


_QUICK_FIXES: Mapping[str, Callable[[_CardText, Finding], Iterator[_Fix]]] = {
    "unknown-key": _rename_key,
    "duplicate-key": _remove_earlier,
    "wrong-value": _correct_value,
    "unquoted-colon": _quote_item,
    INVALID_HEADER: _quote_value,
    "cut-value": _quote_value,
    "unclosed-header": _close_header,
    "no-checklist": _add_section("Prevention Checklist", "- [ ] TODO"),
    "no-cause": _add_section("Root Cause", "TODO"),
    "no-symptoms": _add_symptoms,
}
