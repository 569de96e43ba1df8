"""The keys of a card's header: one table, and the values read by it.

A wrong value of an optional key falls back to its default with a finding. Keys of other systems
are read for what they mean here; their values are nobody's mistake and give no findings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

from lessons_kb.cards.sections import one_line
from lessons_kb.data import read_json, read_mapping, read_toml
from lessons_kb.detect.matcher import MAX_FILES, MAX_PATTERNS, check_pattern, find_language
from lessons_kb.errors import InputError
from lessons_kb.model import (
    EVIDENCE,
    GATES,
    KINDS,
    PATTERNS,
    RELATIONS,
    SEVERITIES,
    SOURCES,
    STATUSES,
    Finding,
    Pattern,
)
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen, replace

MAX_HEADER = 64_000
"""Characters. A header beyond it is refused before any parser sees it."""

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
"""A line that someone meant as `key: value`, or as another part of a header."""

NestedMapping = tuple[tuple[str, "str | tuple[str, ...] | None"], ...]
"""The keys of a nested mapping with their texts; None is YAML's null, or deeper still."""
Span = tuple[int, int, int, int]
"""First line and column, last line and column after the last character; from 0."""


class Value(NamedTuple):
    """A scalar or an item of a header."""

    text: str | None
    """None is YAML's null or something nested."""
    style: str
    r"""One letter: ``p``\ lain, ``'``, ``"``, ``|``, ``>``, ``m`` a plain text that YAML takes
    for a mapping (``- Error: no such file``), ``n``\ ested, ``a``\ n alias."""
    span: Span
    """Its place, quotes included."""
    holds: NestedMapping | None = None
    """What a nested mapping holds."""
    items: tuple[Value, ...] | None = None
    """What a nested list holds."""


@frozen
class HeaderEntry:
    """One ``key: value`` of a header and where it stands."""

    key: str
    """As written, without quotes."""
    shape: str
    """``scalar``, ``list`` or ``nested`` (anything deeper)."""
    values: tuple[Value, ...]
    """The scalar, or each item."""
    line: int
    end: int
    """The entry's own lines are ``line`` up to but not including ``end``."""
    column: int
    """Of the key."""
    span: Span
    """The whole value."""
    flow: bool = False
    """The value stands in brackets."""
    is_alias: bool = False
    """The list stands elsewhere in the header and is only named here (`*name`)."""

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text of each value."""
        return tuple([value.text for value in self.values])

    @property
    def spans(self) -> tuple[Span, ...]:
        """The place of each value."""
        return tuple([value.span for value in self.values])

    @property
    def styles(self) -> str:
        """The letter of each value."""
        return "".join([value.style for value in self.values])


@frozen
class Header:
    """The place of a header in its file."""

    lines: tuple[str, ...]
    """The lines between the fences, without their ends."""
    start: int
    """Offset of the first of them in the text."""
    end: int
    """Offset of the closing fence."""
    line: int
    """1-based number of the first of them."""
    eol: str
    """How the opening fence ends."""


@frozen
class Split:
    """A file in its parts."""

    header: Header | None
    body: str
    body_line: int
    """1-based number of the body's first line."""
    problem: str = ""
    """Why a header cannot be taken apart: ``unclosed``, ``too-large``, ``toml`` (it stands between
    ``+++``) or ``dashes`` (more than three of them)."""


def split_header(text: str) -> Split:
    """Take a file apart at its ``---`` fences.

    A byte order mark and empty lines may stand before the first fence. A first line ``---`` after
    which no key follows is a thematic break of the body, and so is one above plain prose.
    """
    plain = Split(header=None, body=text.removeprefix("\ufeff"), body_line=1)
    opening = _OPEN.match(text)
    if not opening:
        return replace(plain, problem=_find_other_header(text))
    start = opening.end()
    closing = _CLOSE.search(text, start, start + MAX_HEADER)
    begins_with_key = KEY_FIRST.match(text, start) is not None
    if closing is None or closing.end() == start + MAX_HEADER < len(text):
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
    """Return the problem of a header between other fences than ``---``, "" without one."""
    toml = _TOML_OPEN.match(text)
    if toml and _TOML_CLOSE.search(text, toml.end(), toml.end() + MAX_HEADER):
        return "toml"
    dashes = _LONG_OPEN.match(text)
    is_header = dashes and _KEY_BELOW.match(text, dashes.end())
    if dashes and is_header and _LONG_CLOSE.search(text, dashes.end(), dashes.end() + MAX_HEADER):
        return "dashes"
    return ""


def find_second_header(split: Split) -> int | None:
    """Return the line of the file where a second header block begins, below the first."""
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
    """Return the one spelling under which a key is known: ``Last_Seen`` → ``last-seen``."""
    return key.strip().casefold().replace("_", "-").replace(" ", "-")


def find(line: int, rule: str, message: str, fix: str, level: str = "warning") -> Finding:
    """Return a finding about a line of the header, from 0, before its file is known."""
    return Finding(path="", line=line, rule=rule, message=message, fix=fix, level=level)


_OPTIONS = ("files", "language", "unless", *RELATIONS, "bad", "good")
_LANGUAGES = "write one that ast-grep knows, such as python, typescript or go"
_EXAMPLE = "write each pattern as `- regex: '…'`, `- ast: '…'`, `- command: '…'` or `- error: '…'`"


def read_patterns(entry: HeaderEntry) -> tuple[tuple[Pattern, ...], tuple[Finding, ...]]:
    """Return the usable patterns of an entry, and what is wrong with the others."""
    patterns: list[Pattern] = []
    problems: list[Finding] = []
    for value in entry.values:
        if value.holds is None and not value.text and entry.shape == "scalar":
            continue
        line = value.span[0]
        if len(patterns) == MAX_PATTERNS:
            message = f"detect: more than {MAX_PATTERNS} patterns; from here on they are ignored"
            problems.append(find(line, "bad-pattern", message, "remove the least specific"))
            break
        try:
            patterns.append(_read_pattern(value.holds or _read_plain(value)))
        except InputError as error:
            why, _, fix = str(error).partition("; ")
            message = f"detect: {why}, so this pattern is ignored"
            problems.append(find(line, "bad-pattern", message, fix))
    return tuple(patterns), tuple(problems)


def parse_pattern(data: Mapping[str, object]) -> Pattern:
    """Return the pattern that ``{"regex": …, "files": […]}`` describes.

    Raises InputError, which says what is wrong.
    """

    def read(value: object) -> str | tuple[str, ...] | None:
        if isinstance(value, (list, tuple)):
            return tuple(map(str, value))
        return value if isinstance(value, str) else None

    pattern = _read_pattern(tuple((str(name), read(value)) for name, value in data.items()))
    if "\n" in "".join((pattern.text, pattern.unless, *(text for _, text in pattern.relations))):
        raise InputError(f"{pattern.kind} has a line break; write the pattern in one line")
    return pattern


def _read_plain(value: Value) -> NestedMapping:
    """Return what a plain text means: a regular expression, or what it begins with says."""
    kind, _, rest = (value.text or "").partition(":")
    is_named = canonical(kind) in PATTERNS
    if not value.text:
        raise InputError(f"not a pattern; {_EXAMPLE}")
    if is_named and value.style in "pm":
        raise InputError("YAML cannot read it; put the text of each pattern in single quotes")
    return ((kind, rest.strip()),) if is_named else (("regex", value.text),)


def _read_pattern(mapping: NestedMapping) -> Pattern:
    values = {canonical(name): value for name, value in mapping}
    known = (*PATTERNS, *_OPTIONS)
    if unknown := [name for name in values if name not in known]:
        near = get_close_matches(unknown[0], known, n=1)
        did = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        raise InputError(f"unknown key {unknown[0][:40]}; {did}")
    kinds = [kind for kind in PATTERNS if kind in values]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of regex, ast, command and error"
        raise InputError(f"{found} in one pattern; {_EXAMPLE}")
    texts = {"language": "", "unless": ""}
    for name in (*kinds, *texts):
        value = values.get(name, texts.get(name))
        if name in values and not (isinstance(value, str) and value.strip()):
            raise InputError(f"{name} is not one text; put the text in single quotes")
        texts[name] = str(value).strip("\n")
    files = values.get("files", ())
    if files is None:
        raise InputError('files is not a list of globs; write it as ["*.py"]')
    globs = split_commas(files) if isinstance(files, str) else files
    lists = {}
    for name in (*RELATIONS, "bad", "good"):
        value = values.get(name, ())
        lists[name] = (value,) if isinstance(value, str) else value or ()
        if name in values and not any(one.strip() for one in lists[name]):
            raise InputError(f"{name} is not a text or a list of texts; put it in single quotes")
    pattern = Pattern(
        kind=kinds[0],
        text=texts[kinds[0]],
        files=tuple(glob for one in globs if (glob := one.strip())),
        language=texts["language"].casefold(),
        unless=texts["unless"],
        relations=tuple((name, one.strip()) for name in RELATIONS for one in lists[name]),
        bad=tuple(lists["bad"]),
        good=tuple(lists["good"]),
    )
    if (pattern.language or pattern.relations) and pattern.kind != "ast":
        name = "language" if pattern.language else pattern.relations[0][0]
        raise InputError(f"{name} is for ast patterns only; remove it, or use files")
    if pattern.language and not find_language(pattern.language):
        raise InputError(f"unknown language {pattern.language[:40]}; {_LANGUAGES}")
    if pattern.files and pattern.kind in ("command", "error"):
        raise InputError(f"files has no meaning for {pattern.kind} patterns; remove it")
    if len(pattern.files) > MAX_FILES:
        raise InputError(f"more than {MAX_FILES} globs in files; use wider ones")
    compile_globs(pattern.files)
    if problem := check_pattern(pattern):
        raise InputError(problem)
    return pattern


Read = str | int | tuple[str, ...] | tuple[Pattern, ...] | None


@frozen
class CardKey:
    """One key that a card may have."""

    field: str
    """Field of Card that it fills."""
    form: str
    """``text``, ``tags``, ``texts``, ``globs``, ``choice``, ``count``, ``date`` or ``patterns``."""
    choices: tuple[str, ...] = ()
    foreign: bool = False
    """Written by other systems; wrong values are passed over in silence."""
    meaning: str = ""
    """What it says of a card and its default, in Markdown; "" for a key of another system."""


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
"""Canonical key → what it fills. ``search`` is text that is indexed and nothing more. Where two
keys fill one field, lists are joined in this order and of single values the first counts."""

_TABLE = read_mapping("card_keys.toml")
SYNONYMS: Mapping[str, Mapping[str, str]] = {name: _TABLE[name] for name in ("severity", "status")}
"""Key → value of another system → ours."""

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
"""Style of an item → rule, what is wrong with it, fix and level."""


def read_keys(
    entries: Sequence[HeaderEntry], folder: str = ""
) -> tuple[dict[str, Any], list[Finding], dict[str, int]]:
    """Return the fields that a header sets, what is wrong with it, and each key's line.

    ``folder`` is the one in which the file lies, relative to the brain. Fields that are absent,
    empty or wrong are left out: their defaults are Card's.
    """
    problems: list[Finding] = []

    def warn(*what: Any) -> None:
        problems.append(find(*what))

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
        found = winning.get(name)
        if found is None:
            continue
        try:
            is_patterns = key.form == "patterns"
            value, faults = read_patterns(found) if is_patterns else (read_value(found), ())
        except ValueError as error:
            if name == "status":
                message = f"status is {error}, which is no status, so the card stays in use"
                warn(found.line, "wrong-value", message, _suggest_status(found))
            elif not key.foreign:
                message = f"{name} is {error}, so its default is used"
                fix = f"write {describe_form(key)}, or remove the line"
                warn(found.line, "wrong-value", message, fix)
            continue
        problems += faults
        if not is_patterns and not key.foreign:
            for item in found.values:
                if item.style in _ITEM_PROBLEMS:
                    rule, what, *how = _ITEM_PROBLEMS[item.style]
                    warn(item.span[0], rule, f"an item of {name} {what}", *how)
        if isinstance(value, tuple):
            fields[key.field] = (*fields.get(key.field, ()), *value)
        elif value is not None:
            fields.setdefault(key.field, value)
    if topics := fields.get("topics"):
        # ``tags`` and ``module`` often name the same thing; a ``category`` is often the file's
        # folder written out, and its last part is the topic.
        unique: dict[str, str] = {}
        for topic in topics:
            own = f"/{folder}".endswith(f"/{topic.strip('/')}")
            name = topic.strip("/").rpartition("/")[2] if own else topic
            unique.setdefault(name.casefold(), name)
        fields["topics"] = tuple(unique.values())
    if examples := fields.get("examples"):
        fields["examples"] = examples[-MAX_EXAMPLES:]
    for name, entry in winning.items():
        if name not in KEYS and (near := nearest_key(name)):
            message = f"unknown key {entry.key}; it has no effect"
            warn(entry.line, "unknown-key", message, f"did you mean {near}?", "info")
    return fields, problems, {name: entry.line for name, entry in winning.items()}


def read_value(entry: HeaderEntry) -> Read:
    """Return what one key of KEYS says, None for nothing; ValueError for a wrong value."""
    name = canonical(entry.key)
    key = KEYS[name]
    if key.form == "patterns":
        return read_patterns(entry)[0]
    if key.form == "keywords":
        return _read_keywords(entry)
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
    elif re.match(r"\d{4}-\d{2}-\d{2}(?:$|[T ])", text, re.ASCII):
        with suppress(ValueError):
            return date.fromisoformat(text[:10]).isoformat()
    raise ValueError(repr(text[:40]))


def _suggest_status(entry: HeaderEntry) -> str:
    """Return a fix that names the known word nearest to a status."""
    said = (entry.texts[0] or "").casefold() if entry.texts else ""
    known = (*STATUSES, *SYNONYMS["status"])
    near = get_close_matches(said, known, n=1)
    return f"did you mean {near[0]}?" if near else f"write one of {', '.join(STATUSES)}"


def _split_list(text: str, form: str) -> list[str]:
    """Return the parts of a list that was written as one text."""
    is_flow = form == "globs" and text.startswith("[") and text.endswith("]")
    parts = split_commas(text[1:-1] if is_flow else text)
    words = text.split()
    # Obsidian's way of writing tags: `#style #bot`.
    if form == "tags" and len(parts) == 1 and all(word.startswith("#") for word in words):
        return words
    return parts


def _read_keywords(entry: HeaderEntry) -> tuple[str, ...]:
    """Return the texts below ``keywords`` of a nested mapping, as gptme writes them."""
    mapping = dict(entry.values[0].holds or ()) if entry.shape == "nested" else {}
    keywords = mapping.get("keywords") or ()
    texts = (keywords,) if isinstance(keywords, str) else keywords
    return tuple(line for text in texts if (line := one_line(text)))


def _read_number(text: str) -> int:
    """Return a whole number as YAML 1.1 writes it (``1_000``), 0 for anything else."""
    if re.fullmatch(r"[1-9][0-9]{0,6}", text, re.ASCII):
        return int(text)
    if not re.fullmatch(r"\+?[0-9][0-9a-fA-Fxob_]{0,15}", text, re.ASCII):
        return 0
    import yaml

    value = yaml.safe_load(text)
    return value if type(value) is int else 0


def find_line_of(field: str, key_lines: Mapping[str, int]) -> int:
    """Return the line of the first key that fills a field of a card, 0 without one."""
    lines = (key_lines.get(name, 0) for name, key in KEYS.items() if key.field == field)
    return next(filter(None, lines), 0)


def describe_form(key: CardKey) -> str:
    """Return what the value of a key looks like, in words: ``a date such as 2026-01-31``."""
    return _EXPECTED.get(key.form) or f"one of {', '.join(key.choices)}"


@lru_cache(maxsize=1024)
def nearest_key(name: str) -> str | None:
    """Return the key that an unknown one is probably meant to be, None where none is near."""
    own = [known for known, key in KEYS.items() if not key.foreign]
    near = get_close_matches(name, [*own, "type", "status"], n=1, cutoff=0.88)
    return near[0] if near else None


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_schema() -> dict[str, Any]:
    """Return the schema: what it refuses, `lessons lint` warns of; unknown keys are allowed."""
    forms, properties = read_json("header_forms.json"), dict[str, dict[str, Any]]()
    for name, key in KEYS.items():
        known = forms.get(key.form, {}) if key.meaning else {}
        names = [own for own, one in KEYS.items() if one.field == key.field and one.meaning]
        other = f"Read as `{names[0]}`." if names else "Text to search."
        if key.meaning and key.form == "choice":
            known = {"enum": [*key.choices, *SYNONYMS.get(name, ()), None]}
            if key.foreign:  # other systems write their own values, which are nobody's mistake
                known = {"anyOf": [known, {"type": "string"}]}
        properties[name] = {"description": key.meaning or other, **known}
    return {
        "$schema": _DIALECT,
        "title": "Header of a lesson card",
        "type": ["object", "null"],
        "properties": properties,
    }
