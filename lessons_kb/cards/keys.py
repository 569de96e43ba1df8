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
from functools import lru_cache
from typing import Any

from lessons_kb.cards.detect_key import read_patterns
from lessons_kb.cards.header import Entry, canonical
from lessons_kb.cards.plain_text import one_line
from lessons_kb.model import EVIDENCE, GATES, KINDS, SEVERITIES, SOURCES, STATUSES, Pattern
from lessons_kb.text.plurals import counted

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
