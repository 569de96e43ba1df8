"""Compile patterns and gitignore globs to regular expressions of RE2, which run in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from lessons_kb.errors import InputError
from lessons_kb.on_demand import REGULAR_EXPRESSIONS, load
from lessons_kb.text.gitignore import translate, trim_line

_SYNTAX = "https://github.com/google/re2/wiki/Syntax"


def compile_regex(
    pattern: str, *, max_memory: int, any_case: bool = False, captures: bool = True
) -> Any:
    """Return a compiled pattern with the methods of ``re.Pattern``.

    ``max_memory`` limits the bytes of the program and of the memory that a search needs. Raises
    InputError, which names the reason and a description of the syntax.
    """
    options = _options(max_memory)
    options.case_sensitive = not any_case
    options.never_capture = not captures
    re2 = load(REGULAR_EXPRESSIONS)
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise InputError(
            f"it is not a valid RE2 regular expression ({reason}); see {_SYNTAX}"
        ) from None


FindPatterns = Callable[[bytes], Sequence[int] | None]
"""A function from a text in UTF-8 to the indexes of the patterns that match it. The result is None
or empty if no pattern matches."""


def compile_set(patterns: Sequence[str], *, max_memory: int) -> FindPatterns:
    """Return a function that finds the indexes of the patterns that match a UTF-8 text.

    The patterns must be valid. All of them are tested in one pass over the text, or in a few passes
    if they do not fit into memory.
    """
    if not patterns:
        return lambda _text: []
    re2 = load(REGULAR_EXPRESSIONS)
    pattern_set = re2.Set.SearchSet(_options(max_memory))
    for pattern in patterns:
        pattern_set.Add(pattern.encode())
    try:
        pattern_set.Compile()
    except re2.error as error:
        half = len(patterns) // 2
        if not half:
            raise InputError(f"{patterns[0][:80]!r} is too large; use smaller bounds") from error
        find_first = compile_set(patterns[:half], max_memory=max_memory)
        find_second = compile_set(patterns[half:], max_memory=max_memory)

        def find(text: bytes) -> list[int]:
            first = find_first(text) or ()
            second = find_second(text) or ()
            return [*first, *(half + index for index in second)]

        return find
    return cast("FindPatterns", pattern_set.Match)


def _options(max_memory: int) -> Any:
    options = load(REGULAR_EXPRESSIONS).Options()
    options.log_errors = False
    options.max_mem = max_memory
    return options


MAX_PATTERN = 200
MAX_PATTERNS = 50
MAX_PROGRAM = 5_000
"""The maximum number of instructions in all patterns. A search in 40 sentences of 400 characters
then takes 30 ms."""
_MAX_MEMORY = 1 << 20
"""The number of bytes that RE2 may use for one pattern and for the memory of a search."""


def check_pattern(pattern: str) -> str:
    """Return the reason why a pattern may not be used, or "" if it may be used."""
    if len(pattern) > MAX_PATTERN:
        return f"it has {len(pattern)} characters; the limit is {MAX_PATTERN}"
    try:
        compiled = _compile(pattern)
    except InputError as error:
        return str(error)
    if compiled.programsize > MAX_PROGRAM:
        return f"it is too large; use {_SMALLER}"
    if compiled.search("") is not None:
        return "it matches an empty text, so every text"
    return ""


def check_sum(patterns: Sequence[str]) -> str:
    """Return the reason why valid patterns may not be used together, or "" if they may."""
    if len(patterns) > MAX_PATTERNS:
        return f"{len(patterns)} patterns; the limit is {MAX_PATTERNS}"
    if sum(_compile(pattern).programsize for pattern in patterns) > MAX_PROGRAM:
        return f"the patterns are too large together; use fewer, or {_SMALLER}"
    return ""


def search_any(patterns: tuple[str, ...], text: str) -> bool:
    """Return whether any of the checked patterns matches a text, ignoring case."""
    return any(_compile(pattern).search(text) is not None for pattern in patterns)


def find_line(pattern: str, lines: Sequence[str]) -> int | None:
    """Return the index of the first line that a pattern matches, ignoring case, or None.

    A pattern that may not be used never matches. ``lint`` reports such a pattern.
    """
    if check_pattern(pattern):
        return None
    search = _compile(pattern).search
    return next((index for index, line in enumerate(lines) if search(line)), None)


_SMALLER = "smaller bounds such as .{0,20}"


@lru_cache(maxsize=MAX_PATTERNS)
def _compile(pattern: str) -> Any:
    return compile_regex(pattern, max_memory=_MAX_MEMORY, any_case=True)


MAX_GLOB = 500
MAX_ALTERNATIVES = 64
MAX_PATH = 4096
"""The maximum length of a path. No system opens a longer path, so a longer path matches nothing."""

_LONE = {code: 0xF0000 + code for code in range(0xD800, 0xE000)}
"""A mapping from surrogates to private characters. RE2 refuses surrogates, which represent bytes
that are not UTF-8."""


Globs = tuple[tuple[str, bool], ...]
"""The regex source of each gitignore glob, in order, and whether the glob includes its matches."""


def compile_globs(patterns: Iterable[str]) -> Globs:
    """Return the regex source of each gitignore glob, in order, and whether the glob includes.

    Blank lines and comments are skipped. In addition to gitignore's syntax, ``{ts,tsx}`` matches
    either extension, and a leading ``./`` is ignored, as authors of cards expect. A source may
    begin with a comment group that contains a text of every matching path. Raises InputError, which
    names the invalid glob.
    """
    compiled: list[tuple[str, bool]] = []
    for line in patterns:
        pattern = trim_line(line)
        if not pattern.strip() or pattern.startswith("#") or pattern.strip() == "/":
            continue
        fix = f"{pattern[:80]!r} is not a gitignore glob; write one such as src/**/*.py"
        if len(pattern) > MAX_GLOB:
            raise InputError(fix)
        include = not pattern.startswith("!")
        plain = pattern.removeprefix("!").removeprefix("./")
        for alternative in expand_braces(plain, fix):
            if not alternative.strip("/"):
                raise InputError(fix)
            try:
                regex = translate(alternative)
                # A glob that matches a folder also matches everything below it.
                end = "/" if regex.folders_only else "(?:/|$)"
                source = f"{_hint(alternative)}^{regex.source}{end}"
                _compile_glob(source)  # raises InputError if RE2 refuses it; the result is cached
            except InputError:
                raise InputError(fix) from None
            compiled.append((source, include))
    return tuple(compiled)


def match_globs(compiled: Sequence[tuple[str, bool]], path: str) -> bool:
    """Return whether a relative POSIX path matches. The path of a folder ends with a slash.

    As in git, the last glob that matches a path decides, and a negated glob has no effect below a
    folder that matches.
    """
    if len(path) > MAX_PATH:
        return False
    path = path.removeprefix("./")
    plain = path.translate(_LONE)
    # Every path that a glob matches contains the glob's hint.
    candidates = [(source, include) for source, include in compiled if _hint_of(source) in path]
    if all(include for _source, include in candidates):
        # A source that matches a folder also matches what is below it.
        return any(_compile_glob(source).search(plain) for source, _include in candidates)
    return any(_decide(candidates, part) for part in _folders_and_path(plain))


def _folders_and_path(path: str) -> Iterator[str]:
    """Yield each folder above a path, outermost first, and then the path."""
    end = path.find("/") + 1
    while end and end < len(path):
        yield path[:end]
        end = path.find("/", end) + 1
    yield path


def _decide(compiled: Sequence[tuple[str, bool]], path: str) -> bool:
    """Return whether the last glob that matches the whole path includes the path."""
    for source, include in reversed(compiled):
        if _compile_glob(source).fullmatch(path):
            return include
    return False


def get_hints(compiled: Iterable[tuple[str, bool]]) -> tuple[str, ...]:
    """Return texts of which every matching path contains at least one. The text "" fits any path.

    For each file of a stack trace, a lookup by these texts excludes most of thousands of cards.
    """
    return tuple(dict.fromkeys(_hint_of(source) for source, include in compiled if include))


def _hint_of(source: str) -> str:
    return source[3 : source.index(")")] if source.startswith("(?#") else ""


@lru_cache(maxsize=4096)
def _compile_glob(source: str) -> Any:
    start = source.index(")") + 1 if source.startswith("(?#") else 0
    return compile_regex(source[start:].translate(_LONE), max_memory=_MAX_MEMORY)


_BRACES = r"(?<!\\)\{([^{}]*,[^{}]*)\}"


def expand_braces(pattern: str, fix: str = "") -> Iterator[str]:
    """Yield the patterns to which a pattern with ``{a,b}`` expands, in the order of the choices.

    Raises InputError with ``fix`` if there are more than MAX_ALTERNATIVES.
    """
    pending = [pattern]
    for _ in range(MAX_ALTERNATIVES):
        if not pending:
            return
        first = pending.pop()
        braces = re.search(_BRACES, first)
        if braces is None:
            yield first
            continue
        head = first[: braces.start()]
        tail = first[braces.end() :]
        pending += [f"{head}{choice}{tail}" for choice in reversed(braces[1].split(","))]
    if pending:
        raise InputError(fix)


def _hint(pattern: str) -> str:
    """Return the longest text between wildcards as a comment group.

    A search for this text avoids compiling the glob, which takes most of the time.
    """
    before_class = pattern.partition("[")[0]
    texts: list[str] = []
    for segment in before_class.rstrip().split("/"):
        if not set(segment) & set("]\\()"):
            texts += re.split(r"[*?]+", segment)
    longest = max(reversed(texts), key=len, default="")
    return f"(?#{longest})" if longest else ""
