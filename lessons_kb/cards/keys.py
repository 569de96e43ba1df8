"""Split headers from bodies, and read the values of the keys in a header.

A wrong value of an optional key gives a finding, and the default is used. Keys of other systems are
mapped to fields of a card. Their wrong values give no findings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from lessons_kb.cards.sections import one_line
from lessons_kb.data import read_json, read_mapping, read_toml
from lessons_kb.model import (
    EVIDENCE,
    GATES,
    KINDS,
    SEVERITIES,
    SOURCES,
    STATUSES,
    Finding,
    Pattern,
)
from lessons_kb.on_demand import DETECT_KEY, load
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.sanitize import counted
from lessons_kb.values import NamedTuple, frozen, replace

MAX_HEADER = 64_000
"""In characters. A longer header is refused before a parser reads it."""

_OPEN = re.compile(r"(\ufeff?)((?:[ \t]*(?:\r\n|\r|\n)){0,20})---[ \t]*(\r\n|\r|\n)")
_CLOSE = re.compile(r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\r|\n|\Z)")
_EOL = re.compile(r"\r\n|\r|\n")
KEY_FIRST = re.compile(
    r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*[ \t]*[{\"']?[^\W\d_][\w .-]*[\"']?[ \t]*:"
)
_TOML_OPEN = re.compile(r"\ufeff?\s{0,20}\+\+\+[ \t]*(?:\r\n|\r|\n)")
_TOML_CLOSE = re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE)
_LONG_OPEN = re.compile(r"\ufeff?\s{0,20}-{4,}[ \t]*(?:\r\n|\r|\n)")
_LONG_CLOSE = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_KEY_BELOW = re.compile(r"[^\W\d_][\w-]*[ \t]*:(?:[ \t]|$)", re.MULTILINE)
_KEY_LINE = re.compile(
    r"""
    ^[ \t]*[\[{"'<]            # a list or a mapping in brackets, a quoted key, a conflict marker
    | ^[ \t]*[?-](?:[ \t]|$)   # an item of a list
    | ^[^\s:=][^:=\r\n]{0,63}[:=](?:[ \t]|$)
    | ^\W*:
    """,
    re.MULTILINE | re.VERBOSE,
)
"""Matches a line that is meant as `key: value` or as another part of a header."""

NestedMapping = tuple[tuple[str, "str | tuple[str, ...] | None"], ...]
"""The keys of a nested mapping with their texts. None is YAML's null or a deeper value."""
Span = tuple[int, int, int, int]
"""The first line and column, and the last line and the column after the end, from 0."""


class Value(NamedTuple):
    """A scalar or an item of a header."""

    text: str | None
    """The text, or None for YAML's null or a nested value."""
    style: str
    r"""One letter: ``p``\ lain, ``'``, ``"``, ``|``, ``>``, ``n``\ ested or ``a``\ n alias. The
    letter ``m`` marks a plain text that YAML reads as a mapping (``- Error: no such file``)."""
    span: Span
    """The position of the value, including its quotes."""
    holds: NestedMapping | None = None
    """The content of a nested mapping."""
    items: tuple[Value, ...] | None = None
    """The items of a nested list."""


@frozen
class HeaderEntry:
    """One ``key: value`` of a header with its position."""

    key: str
    """The key as written, without quotes."""
    shape: str
    """``scalar``, ``list`` or ``nested`` (anything deeper)."""
    values: tuple[Value, ...]
    """The scalar, or each item of the list."""
    line: int
    end: int
    """The line after the last line of the entry, which begins at ``line``."""
    column: int
    """The column of the key."""
    span: Span
    """The position of the whole value."""
    flow: bool = False
    """Whether the value is in brackets."""
    is_alias: bool = False
    """Whether the value is an alias (`*name`) for a list elsewhere in the header."""

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text of each value."""
        return tuple([value.text for value in self.values])

    @property
    def spans(self) -> tuple[Span, ...]:
        """The span of each value."""
        return tuple([value.span for value in self.values])

    @property
    def styles(self) -> str:
        """The style letter of each value."""
        return "".join([value.style for value in self.values])


@frozen
class Header:
    """A header with its position in the file."""

    lines: tuple[str, ...]
    """The lines between the fences, without their ends."""
    start: int
    """The offset of the first line in the text."""
    end: int
    """The offset of the closing fence."""
    line: int
    """The 1-based number of the first line."""
    eol: str
    """The line end after the opening fence."""


@frozen
class Split:
    """A file divided into header and body."""

    header: Header | None
    body: str
    body_line: int
    """The 1-based number of the body's first line."""
    problem: str = ""
    """Why a header cannot be read: ``unclosed``, ``too-large``, ``toml`` (its fences are ``+++``)
    or ``dashes`` (its fences have more than three)."""


def split_header(text: str) -> Split:
    """Split a file at its ``---`` fences into header and body.

    A byte order mark and empty lines may precede the first fence. A first line ``---`` is a
    thematic break of the body if no key follows it or if it is above plain prose.
    """
    plain = Split(header=None, body=text.removeprefix("\ufeff"), body_line=1)
    opening = _OPEN.match(text)
    if not opening:
        return replace(plain, problem=_find_other_header(text))
    start = opening.end()
    begins_with_key = KEY_FIRST.match(text, start) is not None
    limit = start + MAX_HEADER
    closing = _CLOSE.search(text, start, limit)
    # At the limit, the closing line may continue.
    is_cut = closing is not None and closing.end() == limit and limit < len(text)
    if closing is None or is_cut:
        problem = "too-large" if _CLOSE.search(text, start) else "unclosed"
        return replace(plain, problem=problem if begins_with_key else "")
    inside = text[start : closing.start()]
    if inside.strip() and not begins_with_key and (opening[2] or not _KEY_LINE.search(inside)):
        return plain
    above = 1 + len(_EOL.findall(opening[0]))
    lines = tuple(_EOL.split(inside)[:-1]) if inside else ()
    header = Header(lines=lines, start=start, end=closing.start(), line=above, eol=opening[3])
    return Split(header=header, body=text[closing.end() :], body_line=above + len(lines) + 1)


def _find_other_header(text: str) -> str:
    """Return the problem of a header with fences other than ``---``, or "" without a problem."""
    toml = _TOML_OPEN.match(text)
    if toml and _TOML_CLOSE.search(text, toml.end(), toml.end() + MAX_HEADER):
        return "toml"
    dashes = _LONG_OPEN.match(text)
    is_header = dashes and _KEY_BELOW.match(text, dashes.end())
    if dashes and is_header and _LONG_CLOSE.search(text, dashes.end(), dashes.end() + MAX_HEADER):
        return "dashes"
    return ""


def find_second_header(split: Split) -> int | None:
    """Return the line of the file where a second header begins, below the first."""
    if split.header is None:
        return None
    opening = _OPEN.match(split.body)
    closing = (
        _CLOSE.search(split.body, opening.end(), opening.end() + MAX_HEADER) if opening else None
    )
    if opening is None or closing is None or not KEY_FIRST.match(split.body, opening.end()):
        return None
    above = split.body[: opening.end()].rstrip("\r\n")
    return split.body_line + len(_EOL.findall(above))


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line of a text begins."""
    return [0, *(match.end() for match in _EOL.finditer(text))]


@lru_cache(maxsize=1024)
def canonical(key: str) -> str:
    """Return the canonical spelling of a key, such as ``last-seen`` for ``Last_Seen``."""
    return key.strip().casefold().replace("_", "-").replace(" ", "-")


def find(line: int, rule: str, message: str, fix: str, level: str = "warning") -> Finding:
    """Return a finding about a line of the header, counted from 0. Its path is set later."""
    return Finding(path="", line=line, rule=rule, message=message, fix=fix, level=level)


Read = str | int | tuple[str, ...] | tuple[Pattern, ...] | None


@frozen
class CardKey:
    """A key that a card may have."""

    field: str
    """The field of Card that the key fills."""
    form: str
    """``text``, ``tags``, ``texts``, ``globs``, ``choice``, ``count``, ``date``, ``patterns``,
    ``sources``, ``card`` or, for other systems, ``stamps`` or ``keywords``."""
    choices: tuple[str, ...] = ()
    foreign: bool = False
    """Whether other systems write the key. Its wrong values give no findings."""
    meaning: str = ""
    """The meaning and the default in Markdown, or "" for a key of another system."""


_CHOICES = {
    "kind": KINDS,
    "severity": SEVERITIES,
    "source": SOURCES,
    "status": STATUSES,
    "gate": GATES,
    "evidence": EVIDENCE,
}
KEYS: Mapping[str, CardKey] = {
    key["name"]: CardKey(
        field=key["field"],
        form=key["form"],
        choices=_CHOICES.get(key["field"], ()),
        foreign=key.get("foreign", False),
        meaning=key["meaning"],
    )
    for key in read_toml("card_keys.toml")["keys"]
}
"""Maps a canonical key to its description. The field ``search`` is text that is only indexed. If
two keys fill the same field, lists are joined in this order, and the first single value counts."""

_TABLE = read_mapping("card_keys.toml")
SYNONYMS: Mapping[str, Mapping[str, str]] = {name: _TABLE[name] for name in ("severity", "status")}
"""Maps a key to its values in other systems and to our value for each."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:$|[T ])", re.ASCII)
MAX_EXAMPLES = 5
MAX_OCCURRENCES = 1_000_000
_EXPECTED = _TABLE["forms"]
_ITEM_PROBLEMS = {
    "n": ("wrong-value", "is nested and ignored", "write each item as one line of text", "warning"),
    "m": (
        *("unquoted-colon", "contains a colon, so YAML reads it as a mapping"),
        *("put the item in double quotes", "info"),
    ),
}
"""Maps the style of an item to a rule, a message, a fix and a level."""


def read_keys(
    entries: Sequence[HeaderEntry], folder: str = ""
) -> tuple[dict[str, Any], list[Finding], dict[str, int]]:
    """Return the fields that a header sets, findings about it, and the line of each key.

    ``folder`` is the folder of the file, relative to the brain. Fields that are absent, empty or
    wrong are omitted, because Card has defaults for them.
    """
    problems: list[Finding] = []

    def warn(*finding: Any) -> None:
        problems.append(find(*finding))

    winning: dict[str, HeaderEntry] = {}
    for entry in entries:
        name = canonical(entry.key)
        if earlier := winning.pop(name, None):
            message = f"{entry.key} appears twice in the header; this last one counts"
            above = counted(entry.line - earlier.line, "line")
            fix = f"remove one of them (the other is {above} above)"
            warn(entry.line, "duplicate-key", message, fix)
        winning[name] = entry
    fields: dict[str, Any] = {}
    for name, key in KEYS.items():
        key_entry = winning.get(name)
        if key_entry is None:
            continue
        if key.form == "sources":  # read as a part of the document, not of the card
            continue
        is_patterns = key.form == "patterns"
        value: Read
        try:
            if is_patterns:
                value, pattern_problems = load(DETECT_KEY).read_patterns(key_entry)
                problems += pattern_problems
            else:
                value = read_value(key_entry)
        except ValueError as error:
            if name == "status":
                message = f"status is {error}, which is no status, so the card stays in use"
                warn(key_entry.line, "wrong-value", message, _suggest_status(key_entry))
            elif not key.foreign:
                message = f"{name} is {error}, so its default is used"
                fix = f"write {describe_form(key)}, or remove the line"
                warn(key_entry.line, "wrong-value", message, fix)
            continue
        if not is_patterns and not key.foreign:
            for item in key_entry.values:
                if item.style in _ITEM_PROBLEMS:
                    rule, message, *fix_and_level = _ITEM_PROBLEMS[item.style]
                    warn(item.span[0], rule, f"an item of {name} {message}", *fix_and_level)
        if key.field == "confirmed" and isinstance(value, str):
            fields["confirmed"] = max(value, fields.get("confirmed", ""))
        elif isinstance(value, tuple):
            fields[key.field] = (*fields.get(key.field, ()), *value)
        elif value is not None:
            fields.setdefault(key.field, value)
    if topics := fields.get("topics"):
        # ``tags`` and ``module`` often repeat a topic; a ``category`` is often the path of the
        # file's folder, whose last part is the topic.
        unique: dict[str, str] = {}
        for topic in topics:
            is_folder = f"/{folder}".endswith(f"/{topic.strip('/')}")
            name = topic.strip("/").rpartition("/")[2] if is_folder else topic
            unique.setdefault(name.casefold(), name)
        fields["topics"] = tuple(unique.values())
    if examples := fields.get("examples"):
        fields["examples"] = examples[-MAX_EXAMPLES:]
    for name, entry in winning.items():
        if name not in KEYS and (similar := nearest_key(name)):
            message = f"unknown key {entry.key}; it has no effect"
            warn(entry.line, "unknown-key", message, f"did you mean {similar}?", "info")
    return fields, problems, {name: entry.line for name, entry in winning.items()}


def read_value(entry: HeaderEntry) -> Read:
    """Return the value of a key of KEYS, or None if it is empty.

    Raises ValueError if the value is wrong.
    """
    name = canonical(entry.key)
    key = KEYS[name]
    if key.form == "patterns":
        patterns: tuple[Pattern, ...] = load(DETECT_KEY).read_patterns(entry)[0]
        return patterns
    if key.form == "keywords":
        return _read_keywords(entry)
    if key.form == "sources":
        raise ValueError("a list of sources")
    if key.form == "stamps":
        return _read_stamps(entry)
    if key.form == "card":
        return _read_card_name(entry)
    is_list = key.form in ("texts", "globs", "tags")
    if entry.shape != "scalar" and not (is_list and entry.shape == "list"):
        raise ValueError("a list" if entry.shape == "list" else "nested")
    if is_list:
        texts = [text or "" for text in entry.texts]
        if entry.shape == "scalar" and entry.styles == "|":
            texts = texts[0].split("\n")
        texts = [line for text in texts if (line := one_line(text))]
        if key.form != "texts" and entry.shape == "scalar":
            texts = [piece for text in texts for piece in _split_list(text, key.form)]
        if key.form == "tags":
            texts = [text.lstrip("#").strip() for text in texts]
        return tuple(filter(None, texts))
    text = one_line(entry.texts[0] or "")
    if not text or key.form == "text":
        return text or None
    if key.form == "choice":
        value = SYNONYMS.get(name, {}).get(text.casefold(), text.casefold())
        value = canonical(value) if name == "type" else value
        if value in key.choices:
            return value
    elif key.form == "count":
        number = _read_number(text)
        if 1 <= number <= MAX_OCCURRENCES:
            return number
    elif _DATE.match(text):
        with suppress(ValueError):
            return date.fromisoformat(text[:10]).isoformat()
    raise ValueError(repr(text[:40]))


def _suggest_status(entry: HeaderEntry) -> str:
    """Return a fix that suggests the valid status most similar to a wrong one."""
    status = (entry.texts[0] or "").casefold() if entry.texts else ""
    known = (*STATUSES, *SYNONYMS["status"])
    similar = get_close_matches(status, known, n=1)
    return f"did you mean {similar[0]}?" if similar else f"write one of {', '.join(STATUSES)}"


def _split_list(text: str, form: str) -> list[str]:
    """Return the items of a list that was written as one text."""
    is_flow = form == "globs" and text.startswith("[") and text.endswith("]")
    parts = split_commas(text[1:-1] if is_flow else text)
    words = text.split()
    # Obsidian writes tags as `#style #bot`.
    if form == "tags" and len(parts) == 1 and all(word.startswith("#") for word in words):
        return words
    return parts


def _read_stamps(entry: HeaderEntry) -> str | None:
    """Return the latest date of OKF's `verified`: a date, or mappings with the key ``at``."""
    dates: list[str] = []
    for value in entry.values:
        text: object = value.text
        if value.holds is not None:
            text = dict(value.holds).get("at")
        match = _DATE.match(text) if isinstance(text, str) else None
        if match:
            dates.append(match[0][:10])
    return max(dates, default=None)


def _read_card_name(entry: HeaderEntry) -> str | None:
    """Return the name of a card. OKF writes it as a path from the root or from the file."""
    if entry.shape != "scalar":
        raise ValueError("a list" if entry.shape == "list" else "nested")
    name = one_line(entry.texts[0] or "")
    if name.startswith(("./", "../")):
        name = name.rpartition("/")[2]
    return name.lstrip("/") or None


def _read_keywords(entry: HeaderEntry) -> tuple[str, ...]:
    """Return the list ``keywords`` of a nested mapping, which is the form that gptme uses."""
    mapping = dict(entry.values[0].holds or ()) if entry.shape == "nested" else {}
    keywords = mapping.get("keywords") or ()
    texts = (keywords,) if isinstance(keywords, str) else keywords
    return tuple(line for text in texts if (line := one_line(text)))


def _read_number(text: str) -> int:
    """Return a whole number as YAML 1.1 writes it (``1_000``), or 0 for any other text."""
    if re.fullmatch(r"[1-9][0-9]{0,6}", text, re.ASCII):
        return int(text)
    if not re.fullmatch(r"\+?[0-9][0-9a-fA-Fxob_]{0,15}", text, re.ASCII):
        return 0
    import yaml

    value = yaml.safe_load(text)
    return value if type(value) is int else 0


def find_line_of(field: str, key_lines: Mapping[str, int]) -> int:
    """Return the line of the first key that fills a field of a card, or 0 if there is none."""
    lines = (key_lines.get(name, 0) for name, key in KEYS.items() if key.field == field)
    return next(filter(None, lines), 0)


def describe_form(key: CardKey) -> str:
    """Describe the values that a key can have, such as ``a date such as 2026-01-31``."""
    return _EXPECTED.get(key.form) or f"one of {', '.join(key.choices)}"


@lru_cache(maxsize=1024)
def nearest_key(name: str) -> str | None:
    """Return the most similar valid key for an unknown key, or None if none is similar."""
    own_names = [key_name for key_name, key in KEYS.items() if not key.foreign]
    similar = get_close_matches(name, [*own_names, "type", "status"], n=1, cutoff=0.88)
    return similar[0] if similar else None


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_schema() -> dict[str, Any]:
    """Return the JSON schema of a header. `lessons lint` warns about each value that it refuses."""
    forms = read_json("header_forms.json")
    properties = dict[str, dict[str, Any]]()
    for name, key in KEYS.items():
        form = forms.get(key.form, {}) if key.meaning else {}
        same_field = [
            other_name
            for other_name, other in KEYS.items()
            if other.field == key.field and other.meaning
        ]
        default_meaning = f"Read as `{same_field[0]}`." if same_field else "Text to search."
        if key.meaning and key.form == "choice":
            form = {"enum": [*key.choices, *SYNONYMS.get(name, ()), None]}
            if key.foreign:  # other systems write values of their own
                form = {"anyOf": [form, {"type": "string"}]}
        properties[name] = {"description": key.meaning or default_meaning, **form}
    return {
        "$schema": _DIALECT,
        "title": "Header of a lesson card",
        "type": ["object", "null"],
        "properties": properties,
    }
