"""Read the key ``detect`` of a card: the patterns that find its mistake in changes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from lessons_kb.cards.keys import HeaderEntry, NestedMapping, Value, canonical, find
from lessons_kb.detect.matcher import MAX_FILES, MAX_PATTERNS, check_pattern, find_language
from lessons_kb.errors import InputError
from lessons_kb.model import PATTERNS, RELATIONS, Finding, Pattern
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.patterns import compile_globs

_OPTIONS = ("files", "language", "unless", *RELATIONS, "bad", "good")
_LANGUAGES = "write one that ast-grep knows, such as python, typescript or go"
_EXAMPLE = "write each pattern as `- regex: '…'`, `- ast: '…'`, `- command: '…'` or `- error: '…'`"


def read_patterns(entry: HeaderEntry) -> tuple[tuple[Pattern, ...], tuple[Finding, ...]]:
    """Return the usable patterns of an entry, and findings about the others."""
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
    """Return the pattern that ``{"regex": …, "files": […]}`` describes, or raise InputError."""

    def read(value: object) -> str | tuple[str, ...] | None:
        if isinstance(value, (list, tuple)):
            return tuple(map(str, value))
        return value if isinstance(value, str) else None

    pattern = _read_pattern(tuple((str(name), read(value)) for name, value in data.items()))
    if "\n" in "".join((pattern.text, pattern.unless, *(text for _, text in pattern.relations))):
        raise InputError(f"{pattern.kind} has a line break; write the pattern in one line")
    return pattern


def _read_plain(value: Value) -> NestedMapping:
    """Return a plain text as a mapping: either ``kind: text`` or a regular expression."""
    kind, _, rest = (value.text or "").partition(":")
    has_kind = canonical(kind) in PATTERNS
    if not value.text:
        raise InputError(f"not a pattern; {_EXAMPLE}")
    if has_kind and value.style in "pm":
        raise InputError("YAML cannot read it; put the text of each pattern in single quotes")
    return ((kind, rest.strip()),) if has_kind else (("regex", value.text),)


def _read_pattern(mapping: NestedMapping) -> Pattern:
    values = {canonical(name): value for name, value in mapping}
    known = (*PATTERNS, *_OPTIONS)
    if unknown := [name for name in values if name not in known]:
        similar = get_close_matches(unknown[0], known, n=1)
        fix = f"did you mean {similar[0]}?" if similar else f"known are {', '.join(known)}"
        raise InputError(f"unknown key {unknown[0][:40]}; {fix}")
    kinds = [kind for kind in PATTERNS if kind in values]
    if len(kinds) != 1:
        actual = " and ".join(kinds) or "none of regex, ast, command and error"
        raise InputError(f"{actual} in one pattern; {_EXAMPLE}")
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
        if name in values and not any(text.strip() for text in lists[name]):
            raise InputError(f"{name} is not a text or a list of texts; put it in single quotes")
    pattern = Pattern(
        kind=kinds[0],
        text=texts[kinds[0]],
        files=tuple(filter(None, map(str.strip, globs))),
        language=texts["language"].casefold(),
        unless=texts["unless"],
        relations=tuple((name, text.strip()) for name in RELATIONS for text in lists[name]),
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
    compile_globs(pattern.files)  # raises InputError for an invalid glob
    if problem := check_pattern(pattern):
        raise InputError(problem)
    return pattern
