"""Regular expressions in linear time: RE2's, and gitignore globs written for it."""

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

    ``max_memory`` bounds, in bytes, the program and what is kept while it searches. Raises
    InputError with the reason and where the syntax is described.
    """
    options = _options(max_memory)
    options.case_sensitive = not any_case
    options.never_capture = not captures
    re2 = load(REGULAR_EXPRESSIONS)
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise InputError(
            f"it is not a valid RE2 regular expression ({why}); see {_SYNTAX}"
        ) from None


FindPatterns = Callable[[bytes], Sequence[int] | None]
"""Text in UTF-8 → places of the patterns that it holds, None or empty without any."""


def compile_set(patterns: Sequence[str], *, max_memory: int) -> FindPatterns:
    """Return what tells which of some valid patterns are found in a UTF-8 text, by their places.

    One pass over the text answers for all of them, or a few where they do not fit in memory.
    """
    if not patterns:
        return lambda _text: []
    re2 = load(REGULAR_EXPRESSIONS)
    found = re2.Set.SearchSet(_options(max_memory))
    for pattern in patterns:
        found.Add(pattern.encode())
    try:
        found.Compile()
    except re2.error as error:
        half = len(patterns) // 2
        if not half:
            raise InputError(f"{patterns[0][:80]!r} is too large; use smaller bounds") from error
        first = compile_set(patterns[:half], max_memory=max_memory)
        second = compile_set(patterns[half:], max_memory=max_memory)
        return lambda text: [*(first(text) or ()), *(half + n for n in second(text) or ())]
    return cast("FindPatterns", found.Match)


def _options(max_memory: int) -> Any:
    options = load(REGULAR_EXPRESSIONS).Options()
    options.log_errors = False
    options.max_mem = max_memory
    return options


MAX_PATTERN = 200
MAX_PATTERNS = 50
MAX_PROGRAM = 5_000
"""Instructions of all patterns; on 40 sentences of 400 characters they take some 30 ms."""
_MAX_MEMORY = 1 << 20
"""Bytes that RE2 may use for one pattern, and for what it keeps while it searches."""


def check_pattern(pattern: str) -> str:
    """Return why a pattern may not be used, "" when it may."""
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
    """Return why patterns that may be used alone may not be used together, "" when they may."""
    if len(patterns) > MAX_PATTERNS:
        return f"{len(patterns)} patterns; the limit is {MAX_PATTERNS}"
    if sum(_compile(pattern).programsize for pattern in patterns) > MAX_PROGRAM:
        return f"the patterns are too large together; use fewer, or {_SMALLER}"
    return ""


def search_any(patterns: tuple[str, ...], text: str) -> bool:
    """Tell whether any of the patterns, which were checked, is found in a text, in any case."""
    return any(_compile(pattern).search(text) is not None for pattern in patterns)


def find_line(pattern: str, lines: Sequence[str]) -> int | None:
    """Return the place of the first line that a pattern is found in, in any case.

    None as well for a pattern that may not be used: ``lint`` says why.
    """
    if check_pattern(pattern):
        return None
    search = _compile(pattern).search
    return next((place for place, line in enumerate(lines) if search(line)), None)


_SMALLER = "smaller bounds such as .{0,20}"


@lru_cache(maxsize=MAX_PATTERNS)
def _compile(pattern: str) -> Any:
    return compile_regex(pattern, max_memory=_MAX_MEMORY, any_case=True)


MAX_GLOB = 500
MAX_ALTERNATIVES = 64
MAX_PATH = 4096
"""Longer than any path a system opens; nothing matches it."""

_LONE = {code: 0xF0000 + code for code in range(0xD800, 0xE000)}
"""Bytes of a path that are no UTF-8, which RE2 would refuse, as characters that nobody uses."""


Globs = tuple[tuple[str, bool], ...]
"""(Regex source, include?) of each of some gitignore globs, in order."""


def compile_globs(patterns: Iterable[str]) -> Globs:
    """Return (regex source, include?) for each gitignore glob, in order.

    Blank lines and comments give nothing. Beyond gitignore, ``{ts,tsx}`` stands for both and a
    leading ``./`` for nothing, as card authors expect. A source may begin with a comment group
    that holds a text every matching path contains. Raises InputError naming a bad glob.
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
                # Below a folder that a glob names everything matches.
                end = "/" if regex.folders_only else "(?:/|$)"
                source = f"{_hint(alternative)}^{regex.source}{end}"
                _compile_glob(source)
            except InputError:
                raise InputError(fix) from None
            compiled.append((source, include))
    return tuple(compiled)


def match_globs(compiled: Sequence[tuple[str, bool]], path: str) -> bool:
    """Return whether a relative POSIX path matches; a folder's path ends with a slash.

    As in git, the last glob that names a path decides, and nothing below a folder that matches
    can be taken back.
    """
    if len(path) > MAX_PATH:
        return False
    path = path.removeprefix("./")
    plain = path.translate(_LONE)
    near = [(source, include) for source, include in compiled if _hint_of(source) in path]
    if all(include for _source, include in near):
        return any(_compile_glob(source).search(plain) for source, _include in near)
    return any(_decide(near, part) for part in _folders_and_path(plain))


def _folders_and_path(path: str) -> Iterator[str]:
    """Yield each folder above a path, the outermost first, and then the path."""
    end = path.find("/") + 1
    while end and end < len(path):
        yield path[:end]
        end = path.find("/", end) + 1
    yield path


def _decide(compiled: Sequence[tuple[str, bool]], path: str) -> bool:
    """Return whether the last glob that names this very path includes it."""
    for source, include in reversed(compiled):
        if _compile_glob(source).fullmatch(path):
            return include
    return False


def get_hints(compiled: Iterable[tuple[str, bool]]) -> tuple[str, ...]:
    """Return texts one of which stands in any path that matches; "" where none is known.

    Thousands of cards are asked about every file of a stack trace; this spares most of them.
    """
    return tuple(dict.fromkeys(_hint_of(source) for source, include in compiled if include))


def _hint_of(source: str) -> str:
    return source[3 : source.index(")")] if source.startswith("(?#") else ""


@lru_cache(maxsize=4096)
def _compile_glob(source: str) -> Any:
    start = source.index(")") + 1 if source.startswith("(?#") else 0
    return compile_regex(source[start:].translate(_LONE), max_memory=_MAX_MEMORY)


_BRACES = re.compile(r"(?<!\\)\{([^{}]*,[^{}]*)\}")


def expand_braces(pattern: str, fix: str = "") -> Iterator[str]:
    """Yield the patterns that one with ``{a,b}`` stands for, the first choice first.

    Raises InputError with ``fix`` where there are more than MAX_ALTERNATIVES.
    """
    waiting = [pattern]
    for _ in range(MAX_ALTERNATIVES):
        if not waiting:
            return
        first = waiting.pop()
        braces = _BRACES.search(first)
        if braces is None:
            yield first
            continue
        head, tail = first[: braces.start()], first[braces.end() :]
        waiting += [f"{head}{choice}{tail}" for choice in reversed(braces[1].split(","))]
    if waiting:
        raise InputError(fix)


def _hint(pattern: str) -> str:
    """Return the longest text between wildcards as a comment: compiling it is what costs time."""
    before_class = pattern.partition("[")[0]
    plain = [part for part in before_class.rstrip().split("/") if not set(part) & set("]\\()")]
    texts = [text for segment in plain for text in re.split(r"[*?]+", segment)]
    longest = max(reversed(texts), key=len, default="")
    return f"(?#{longest})" if longest else ""
