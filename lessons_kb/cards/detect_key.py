"""The patterns of the key ``detect``, read from what the header holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from lessons_kb.cards.header import Entry, canonical
from lessons_kb.cards.header import Mapping as Nested
from lessons_kb.detect.ast_patterns import find_language
from lessons_kb.detect.patterns import MAX_FILES, MAX_PATTERNS, check_pattern
from lessons_kb.errors import InputError
from lessons_kb.model import PATTERNS, Pattern
from lessons_kb.text.globs import compile_globs

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
    mappings: Sequence[Nested | None] = entry.mappings or [None] * len(entry.texts)
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


def _read_pattern(mapping: Nested | None, text: str) -> Pattern:
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
