"""The keys of a card's header: one table, and the values read by it.

A wrong value of an optional key falls back to its default with a finding. Keys of other systems
are read for what they mean here; their values are nobody's mistake and give no findings.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from lessons_kb.cards.sections import one_line
from lessons_kb.detect.matcher import (
    MAX_FILES,
    MAX_PATTERNS,
    MAX_TEXT,
    check_pattern,
    find_language,
)
from lessons_kb.errors import InputError
from lessons_kb.model import (
    EVIDENCE,
    GATES,
    KINDS,
    PATTERNS,
    SEVERITIES,
    SOURCES,
    STATUSES,
    Pattern,
)
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import counted

MAX_HEADER = 64_000
"""Characters. A header beyond it is refused before any parser sees it."""

_OPEN = re.compile(r"(\ufeff?)((?:[ \t]*(?:\r\n|\r|\n)){0,20})---[ \t]*(\r\n|\r|\n)")
_CLOSE = re.compile(r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\r|\n|\Z)")
_EOL = re.compile(r"\r\n|\r|\n")
_KEY_FIRST = re.compile(
    r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))*[ \t]*[{\"']?[^\W\d_][\w .-]*[\"']?[ \t]*:"
)

NestedMapping = tuple[tuple[str, "str | tuple[str, ...] | None"], ...]
"""The keys of a nested mapping with their texts; None is YAML's null, or deeper still."""
Span = tuple[int, int, int, int]
"""First line and column, last line and column after the last character; from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One ``key: value`` of a header and where it stands."""

    key: str
    """As written, without quotes."""
    shape: str
    """``scalar``, ``list`` or ``nested`` (anything deeper)."""
    texts: tuple[str | None, ...]
    """The text of the scalar, or of each item; None is YAML's null or a nested item."""
    spans: tuple[Span, ...]
    """The place of each text, quotes included."""
    styles: str
    r"""One letter a text: ``p``\ lain, ``'``, ``"``, ``|``, ``>``, ``m`` a plain text that YAML
    takes for a mapping (``- Error: no such file``), ``n``\ ested, ``a``\ n alias."""
    line: int
    end: int
    """The entry's own lines are ``line`` up to but not including ``end``."""
    column: int
    """Of the key."""
    span: Span
    """The whole value."""
    flow: bool = False
    """The value stands in brackets."""
    mappings: tuple[NestedMapping | None, ...] = ()
    """Beside each text what a nested mapping holds; empty where nothing is nested."""


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """A file in its parts."""

    header: Header | None
    body: str
    body_line: int
    """1-based number of the body's first line."""
    problem: str = ""
    """``unclosed`` or ``too-large``: there is a header that cannot be taken apart."""


def split_header(text: str) -> Split:
    """Take a file apart at its ``---`` fences.

    A byte order mark and empty lines may stand before the first fence. A first line ``---`` after
    which no key follows is a thematic break of the body.
    """
    opening = _OPEN.match(text)
    if not opening:
        body = text.removeprefix("\ufeff")
        return Split(header=None, body=body, body_line=1)
    start = opening.end()
    above = 1 + len(_EOL.findall(opening[0]))
    closing = _CLOSE.search(text, start, start + MAX_HEADER)
    cut = closing is not None and closing.end() == start + MAX_HEADER < len(text)
    if closing is None or cut:
        plain = Split(header=None, body=text[opening.end(1) :], body_line=1)
        if not _KEY_FIRST.match(text, start):
            return plain
        closes = _CLOSE.search(text, start) is not None
        return replace(plain, problem="too-large" if closes else "unclosed")
    if opening[2] and not _KEY_FIRST.match(text, start):
        return Split(header=None, body=text[opening.end(1) :], body_line=1)
    inside = text[start : closing.start()]
    lines = tuple(_EOL.split(inside)[:-1]) if inside else ()
    header = Header(lines=lines, start=start, end=closing.start(), line=above, eol=opening[3])
    return Split(header=header, body=text[closing.end() :], body_line=above + len(lines) + 1)


def looks_like_keys(header: Header) -> bool:
    """Return whether a header begins with a key, or holds nothing at all."""
    inside = "\n".join((*header.lines, ""))
    return not inside.strip() or _KEY_FIRST.match(inside) is not None


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line of a text begins."""
    return [0, *(match.end() for match in _EOL.finditer(text))]


def canonical(key: str) -> str:
    """Return the one spelling under which a key is known: ``Last_Seen`` → ``last-seen``."""
    return key.strip().casefold().replace("_", "-").replace(" ", "-")


_OPTIONS = ("files", "language", "unless")
_LANGUAGES = "write one that ast-grep knows, such as python, typescript or go"
_EXAMPLE = "write each pattern as `- regex: '…'`, `- ast: '…'` or `- command: '…'`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Why one pattern is ignored."""

    line: int
    """From 0, in the header."""
    message: str
    fix: str


def read_patterns(entry: Entry) -> tuple[tuple[Pattern, ...], tuple[Fault, ...]]:
    """Return the usable patterns of an entry, and what is wrong with the others."""
    patterns: list[Pattern] = []
    faults: list[Fault] = []
    mappings: Sequence[NestedMapping | None] = entry.mappings or [None] * len(entry.texts)
    for mapping, text, span in zip(mappings, entry.texts, entry.spans, strict=True):
        if mapping is None and not text and entry.shape == "scalar":
            continue
        if len(patterns) == MAX_PATTERNS:
            message = f"detect: more than {MAX_PATTERNS} patterns; from here on they are ignored"
            faults.append(Fault(line=span[0], message=message, fix="remove the least specific"))
            break
        try:
            patterns.append(_read_pattern(mapping, text or ""))
        except InputError as error:
            message, _, fix = str(error).partition("; ")
            message = f"detect: {message}, so this pattern is ignored"
            faults.append(Fault(line=span[0], message=message, fix=fix))
    return tuple(patterns), tuple(faults)


def parse_pattern(data: Mapping[str, object]) -> Pattern:
    """Return the pattern that ``{"regex": …, "files": […]}`` describes.

    Raises InputError, which says what is wrong.
    """
    values: list[tuple[str, str | tuple[str, ...] | None]] = []
    for name, value in data.items():
        if isinstance(value, (list, tuple)):
            values.append((str(name), tuple(map(str, value))))
        else:
            values.append((str(name), value if isinstance(value, str) else None))
    pattern = _read_pattern(tuple(values), "")
    if "\n" in pattern.text + pattern.unless:
        raise InputError(f"{pattern.kind} has a line break; write the pattern in one line")
    return pattern


def _read_pattern(mapping: NestedMapping | None, text: str) -> Pattern:
    if mapping is None and canonical(text.partition(":")[0]) in PATTERNS:
        raise InputError("YAML cannot read it; put the text of each pattern in single quotes")
    if mapping is None:
        raise InputError(f"not a pattern; {_EXAMPLE}")
    values = {canonical(name): value for name, value in mapping}
    if unknown := [name for name in values if name not in (*PATTERNS, *_OPTIONS)]:
        near = get_close_matches(unknown[0], (*PATTERNS, *_OPTIONS), n=1)
        did = f"did you mean {near[0]}?" if near else f"known are {', '.join(PATTERNS + _OPTIONS)}"
        raise InputError(f"unknown key {unknown[0][:40]}; {did}")
    kinds = [kind for kind in PATTERNS if kind in values]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of regex, ast and command"
        raise InputError(f"{found} in one pattern; {_EXAMPLE}")
    pattern = Pattern(
        kind=kinds[0],
        text=_one(values, kinds[0]),
        files=_many(values, "files"),
        language=_one(values, "language", optional=True).casefold(),
        unless=_one(values, "unless", optional=True),
    )
    if pattern.language and pattern.kind != "ast":
        raise InputError("language is for ast patterns only; remove it, or use files")
    if pattern.language and not find_language(pattern.language):
        raise InputError(f"unknown language {pattern.language[:40]}; {_LANGUAGES}")
    if pattern.files and pattern.kind == "command":
        raise InputError("files has no meaning for a command; remove it")
    if len(pattern.files) > MAX_FILES:
        raise InputError(f"more than {MAX_FILES} globs in files; use wider ones")
    compile_globs(pattern.files)
    if problem := check_pattern(pattern):
        raise InputError(problem)
    return pattern


def _one(
    values: dict[str, str | tuple[str, ...] | None], name: str, *, optional: bool = False
) -> str:
    value = values.get(name)
    if value is None and optional and name not in values:
        return ""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} is not one text; put the text in single quotes")
    return value.strip("\n")


def _many(values: dict[str, str | tuple[str, ...] | None], name: str) -> tuple[str, ...]:
    value = values.get(name, ())
    if value is None:
        raise InputError(f'{name} is not a list of globs; write it as ["*.py"]')
    texts = value.split(",") if isinstance(value, str) else value
    return tuple(text for one in texts if (text := one.strip()))


Read = str | int | tuple[str, ...] | tuple[Pattern, ...] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
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


KEYS: Mapping[str, Key] = {
    "type": Key(
        field="kind",
        form="choice",
        choices=KINDS,
        foreign=True,
        meaning=(
            "What the card is: a guardrail, a recipe or a review finding. Default: by its folder."
        ),
    ),
    "title": Key(
        field="title",
        form="text",
        meaning="The mistake in one line. Default: the first heading, else the file's name.",
    ),
    "applies-to": Key(
        field="topics", form="tags", meaning="Topics; text with commas is accepted too."
    ),
    "project": Key(
        field="project",
        form="text",
        meaning="The only project in which it is injected. Default: all.",
    ),
    "stage": Key(
        field="stages",
        form="tags",
        meaning="Workflow stages to which it applies (PM, DEV, TEST …). Default: all.",
    ),
    "paths": Key(
        field="paths",
        form="globs",
        meaning="Files it guards: globs as in `.gitignore`, relative to the project's root.",
    ),
    "symptoms": Key(
        field="symptoms",
        form="texts",
        meaning="Phrases worded like a future task; they weigh heavily in searches.",
    ),
    "not-for": Key(
        field="not_for",
        form="texts",
        meaning=(
            "Prompts that look alike and are not meant: the card stays silent for them and "
            "their like."
        ),
    ),
    "severity": Key(
        field="severity",
        form="choice",
        choices=SEVERITIES,
        meaning="How bad it is; `critical` is read as high. Default: medium.",
    ),
    "source": Key(
        field="source",
        form="choice",
        choices=SOURCES,
        meaning="Who wrote it: a human, or a trigger (weighs less). Default: curated.",
    ),
    "status": Key(
        field="status",
        form="choice",
        choices=STATUSES,
        foreign=True,
        meaning="Only active cards are injected. Default: active.",
    ),
    "occurrences": Key(
        field="occurrences",
        form="count",
        meaning="How often the mistake was seen; more occurrences rank higher. Default: 1.",
    ),
    "last-seen": Key(
        field="last_seen", form="date", meaning="When it was seen last; a time may follow the date."
    ),
    "created": Key(field="created", form="date", meaning="When the card was written."),
    "examples": Key(
        field="examples",
        form="texts",
        meaning=(
            "Tasks in which it happened, oldest first; the last five are kept. They are "
            "searched like symptoms, and a prompt that is nearly one of them always draws the "
            "card."
        ),
    ),
    "gate": Key(
        field="gate",
        form="choice",
        choices=GATES,
        meaning=(
            "`ask`, on a card of high severity: the agent asks the user for permission before "
            "it changes a guarded file, once per file and session. Default: none."
        ),
    ),
    "evidence": Key(
        field="evidence",
        form="choice",
        choices=EVIDENCE,
        meaning="Evidence for a claim of an imported review; the latter two rank lower.",
    ),
    "supported-by": Key(
        field="supported_by", form="texts", meaning="Support for an imported claim."
    ),
    "reopen-when": Key(
        field="reopen_when", form="text", meaning="When to look at a deferred finding again."
    ),
    "detect": Key(
        field="detect", form="patterns", meaning="How the mistake looks in code or in a command."
    ),
    # Obsidian, docs/solutions, learnings …
    "tags": Key(field="topics", form="tags", foreign=True),
    "module": Key(field="topics", form="tags", foreign=True),
    "component": Key(field="topics", form="tags", foreign=True),
    "category": Key(field="topics", form="tags", foreign=True),
    "date": Key(field="created", form="date", foreign=True),
    "applies-when": Key(field="symptoms", form="texts", foreign=True),
    "root-cause": Key(field="search", form="texts", foreign=True),
    "description": Key(field="search", form="texts", foreign=True),
    "summary": Key(field="search", form="texts", foreign=True),
}
"""Canonical key → what it fills. ``search`` is text that is indexed and nothing more. Where two
keys fill one field, lists are joined in this order and of single values the first counts."""

SYNONYMS: Mapping[str, Mapping[str, str]] = {"severity": {"critical": "high"}}
"""Key → value of another system → ours."""

MAX_EXAMPLES = 5
MAX_OCCURRENCES = 1_000_000
_EXPECTED = {
    "text": "one text",
    "tags": "a list of words",
    "texts": "a list of texts",
    "globs": "a list of globs",
    "count": f"a whole number from 1 to {MAX_OCCURRENCES:,}",
    "date": "a date such as 2026-01-31",
    "patterns": "a list of patterns such as `- regex: 'shell=True'`",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A finding about a header before its place in a file is known."""

    line: int
    """From 0, in the header."""
    rule: str
    message: str
    fix: str
    level: str = "warning"


def read_keys(
    entries: Sequence[Entry], folder: str = ""
) -> tuple[dict[str, Any], list[Problem], dict[str, int]]:
    """Return the fields that a header sets, what is wrong with it, and each key's line.

    ``folder`` is the one in which the file lies, relative to the brain. Fields that are absent,
    empty or wrong are left out: their defaults are Card's.
    """
    problems: list[Problem] = []
    winning: dict[str, Entry] = {}
    for entry in entries:
        name = canonical(entry.key)
        if name in winning:
            problems.append(_duplicate(entry, winning.pop(name)))
        winning[name] = entry
    fields: dict[str, Any] = {}
    for name, key in KEYS.items():
        found = winning.get(name)
        if found is None:
            continue
        try:
            value = _FORMS[key.form](found, key, name)
        except ValueError as error:
            if not key.foreign:
                problems.append(_wrong(found, key, name, str(error)))
            continue
        if key.form == "patterns":
            problems += _check_patterns(found)
        elif not key.foreign:
            problems += _check_items(found, name)
        if isinstance(value, tuple):
            fields[key.field] = (*fields.get(key.field, ()), *value)
        elif value is not None:
            fields.setdefault(key.field, value)
    if topics := fields.get("topics"):
        fields["topics"] = _unique(topics, folder)
    if examples := fields.get("examples"):
        fields["examples"] = examples[-MAX_EXAMPLES:]
    for name, entry in winning.items():
        if name not in KEYS and (near := nearest_key(name)):
            problems.append(_typo(entry, near))
    return fields, problems, {name: entry.line for name, entry in winning.items()}


def read_value(entry: Entry) -> Read:
    """Return what one key of KEYS says, None for nothing; ValueError for a wrong value."""
    name = canonical(entry.key)
    return _FORMS[KEYS[name].form](entry, KEYS[name], name)


def describe_form(key: Key) -> str:
    """Return what the value of a key looks like, in words: ``a date such as 2026-01-31``."""
    return _EXPECTED.get(key.form) or f"one of {', '.join(key.choices)}"


def _text(entry: Entry, _key: Key, _name: str) -> str | None:
    if entry.shape != "scalar":
        raise ValueError("a list" if entry.shape == "list" else "nested")
    return one_line(entry.texts[0] or "") or None


def _texts(entry: Entry, _key: Key, _name: str) -> tuple[str, ...]:
    if entry.shape == "nested":
        raise ValueError("nested")
    texts: Sequence[str | None] = entry.texts
    if entry.shape == "scalar" and entry.styles == "|":
        texts = (entry.texts[0] or "").split("\n")
    return tuple(line for text in texts if text and (line := one_line(text)))


def _globs(entry: Entry, key: Key, name: str) -> tuple[str, ...]:
    texts = _texts(entry, key, name)
    if entry.shape == "scalar":
        texts = tuple(piece.strip() for text in texts for piece in text.split(","))
    return tuple(text for text in texts if text)


def _tags(entry: Entry, key: Key, name: str) -> tuple[str, ...]:
    return tuple(tag for text in _globs(entry, key, name) if (tag := text.lstrip("#").strip()))


def _patterns(entry: Entry, _key: Key, _name: str) -> tuple[Pattern, ...]:
    return read_patterns(entry)[0]


def _choice(entry: Entry, key: Key, name: str) -> str | None:
    text = _text(entry, key, name)
    if text is None:
        return None
    value = text.casefold()
    value = SYNONYMS.get(name, {}).get(value, value)
    if name == "type":
        value = canonical(value)
    if value not in key.choices:
        raise ValueError(repr(text[:40]))
    return value


def _count(entry: Entry, key: Key, name: str) -> int | None:
    text = _text(entry, key, name)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,7}", text, re.ASCII) or not 1 <= int(text) <= MAX_OCCURRENCES:
        raise ValueError(repr(text[:40]))
    return int(text)


def _date(entry: Entry, key: Key, name: str) -> str | None:
    text = _text(entry, key, name)
    if text is None:
        return None
    if not re.match(r"\d{4}-\d{2}-\d{2}(?:$|[T ])", text, re.ASCII):
        raise ValueError(repr(text[:40]))
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        raise ValueError(repr(text[:40])) from None


_FORMS: Mapping[str, Callable[[Entry, Key, str], Read]] = {
    "text": _text,
    "texts": _texts,
    "globs": _globs,
    "tags": _tags,
    "choice": _choice,
    "count": _count,
    "date": _date,
    "patterns": _patterns,
}


def _unique(topics: Sequence[str], folder: str) -> tuple[str, ...]:
    """Drop what was said twice: ``tags`` and ``module`` often name the same thing.

    A ``category`` is often the file's folder written out; its last part is the topic.
    """
    found: dict[str, str] = {}
    for topic in topics:
        own = f"/{folder}".endswith(f"/{topic.strip('/')}")
        value = topic.strip("/").rpartition("/")[2] if own else topic
        found.setdefault(value.casefold(), value)
    return tuple(found.values())


def _check_items(entry: Entry, name: str) -> list[Problem]:
    found = []
    for span, style in zip(entry.spans, entry.styles, strict=True):
        if style == "n":
            message = f"an item of {name} is nested and ignored"
            fix = "write each item as one line of text"
            found.append(Problem(line=span[0], rule="wrong-value", message=message, fix=fix))
        elif style == "m":
            message = f"an item of {name} contains a colon, so YAML reads it as a mapping"
            fix = "put the item in double quotes"
            problem = Problem(line=span[0], rule="unquoted-colon", message=message, fix=fix)
            found.append(replace(problem, level="info"))
    return found


def _check_patterns(entry: Entry) -> list[Problem]:
    return [
        Problem(line=fault.line, rule="bad-pattern", message=fault.message, fix=fault.fix)
        for fault in read_patterns(entry)[1]
    ]


def _wrong(entry: Entry, key: Key, name: str, given: str) -> Problem:
    return Problem(
        line=entry.line,
        rule="wrong-value",
        message=f"{name} is {given}, so its default is used",
        fix=f"write {describe_form(key)}, or remove the line",
    )


def _duplicate(entry: Entry, earlier: Entry) -> Problem:
    above = counted(entry.line - earlier.line, "line")
    return Problem(
        line=entry.line,
        rule="duplicate-key",
        message=f"{entry.key} appears twice in the header; this last one counts",
        fix=f"remove one of them (the other is {above} above)",
    )


def _typo(entry: Entry, near: str) -> Problem:
    return Problem(
        line=entry.line,
        rule="unknown-key",
        message=f"unknown key {entry.key}; it has no effect",
        fix=f"did you mean {near}?",
        level="info",
    )


@lru_cache(maxsize=1024)
def nearest_key(name: str) -> str | None:
    """Return the key that an unknown one is probably meant to be, None where none is near."""
    own = [known for known, key in KEYS.items() if not key.foreign]
    near = difflib.get_close_matches(name, [*own, "type", "status"], n=1, cutoff=0.88)
    return near[0] if near else None


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean", "null"]}
_LIST: Mapping[str, Any] = {"type": ["array", "string", "number", "null"], "items": _SCALAR}
_PATTERN_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
_SCHEMA_FORMS: Mapping[str, Mapping[str, Any]] = {
    "text": _SCALAR,
    "tags": _LIST,
    "texts": _LIST,
    "globs": _LIST,
    "count": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_OCCURRENCES},
    "date": {"type": ["string", "null"], "pattern": r"^\d{4}-\d{2}-\d{2}($|[T ])"},
    "patterns": {
        "type": ["array", "null"],
        "maxItems": MAX_PATTERNS,
        "items": {
            "type": "object",
            "properties": {
                **dict.fromkeys(PATTERNS, _PATTERN_TEXT),
                "files": {
                    "type": ["array", "string"],
                    "items": {"type": "string"},
                    "maxItems": MAX_FILES,
                },
                "language": {"type": "string"},
                "unless": _PATTERN_TEXT,
            },
            "oneOf": [{"required": [kind]} for kind in PATTERNS],
            "additionalProperties": False,
        },
    },
}


def build_schema() -> dict[str, Any]:
    """Return the schema: what it refuses, `lessons lint` warns of; unknown keys are allowed."""
    return {
        "$schema": _DIALECT,
        "title": "Header of a lesson card",
        "type": ["object", "null"],
        "properties": {name: _describe(name, key) for name, key in KEYS.items()},
    }


def _describe(name: str, key: Key) -> dict[str, Any]:
    if not key.meaning:
        names = [own for own, one in KEYS.items() if one.field == key.field and one.meaning]
        return {"description": f"Read as `{names[0]}`." if names else "Text to search."}
    if key.form != "choice":
        return {"description": key.meaning, **_SCHEMA_FORMS[key.form]}
    known: dict[str, Any] = {"enum": [*key.choices, *SYNONYMS.get(name, ()), None]}
    if key.foreign:  # other systems write their own values, which are nobody's mistake
        known = {"anyOf": [known, {"type": "string"}]}
    return {"description": key.meaning, **known}
