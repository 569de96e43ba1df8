"""What a pattern may be: data of a bounded size that can run nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.model import Pattern
from lessons_kb.text.linear_regex import compile_regex

MAX_PATTERNS = 20
"""Of one card."""
MAX_TEXT = 500
"""Characters of one regular expression or syntax pattern."""
MAX_PROGRAM = 2_000
"""Instructions of one compiled regular expression: two Unicode classes, or some 200 characters."""
MAX_FILES = 20
"""Globs of one pattern."""
_MAX_MEMORY = 4 << 20
"""Bytes for one pattern; RE2 goes on without its fastest engine where they do not suffice."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SINGLE_QUOTES = "put the pattern in single quotes, which keep backslashes as they are"
_SAFE_SIZE = 10
"""What a pattern weighs that has no program."""
_WORD = re.compile(r"(?<![\w$])[^\W\d]\w+")
_TOKEN = re.compile(r"\w+|[.(\[]")
_GAP = r"(?:\W|(?:#|//)[^\n]*\n)*"
"""What may stand between two tokens of code: signs, and comments to the end of a line."""
_METAVARIABLE = re.compile(r"\$\$?\$?[A-Z_][A-Z0-9_]*|\$\$\$")


def check_pattern(pattern: Pattern) -> str:
    """Return why a pattern cannot be used, with a suggested fix after "; ", "" when it can.

    The syntax of an ``ast`` pattern is not looked at: what reads it is an extra.
    """
    for name, text in ((pattern.kind, pattern.text), ("unless", pattern.unless)):
        if len(text) > MAX_TEXT:
            return f"{name} has {len(text)} characters; shorten it to {MAX_TEXT}"
        if _CONTROL.search(text):
            return f"{name} contains a control character; {_SINGLE_QUOTES}"
    if pattern.kind == "ast":
        if not find_words(pattern):
            return "ast contains no word to look for; name at least one function or keyword"
    elif problem := _check_regex(pattern.kind, pattern.text):
        return problem
    return _check_regex("unless", pattern.unless) if pattern.unless else ""


def find_words(pattern: Pattern) -> tuple[str, ...]:
    """Return the words that any code holds which an ``ast`` pattern matches, longest first."""
    words = _WORD.findall(_METAVARIABLE.sub(" ", pattern.text))
    return tuple(sorted(dict.fromkeys(words), key=len, reverse=True))


def find_segments(pattern: Pattern) -> tuple[str, ...]:
    """Return regular expressions that are found in any code which an ``ast`` pattern matches.

    Each is what stands between two metavariables: its words in their order, with the dot before
    them and the bracket behind.
    """
    segments = []
    for piece in _METAVARIABLE.split(pattern.text):
        tokens = _TOKEN.findall(piece)
        words = [place for place, token in enumerate(tokens) if token[0] not in ".(["]
        if not words:
            continue
        first = words[0] - (words[0] > 0 and tokens[words[0] - 1] == ".")
        last = min(words[-1] + 1, len(tokens) - 1)
        inner = [token for token in tokens[first + 1 : last] if token[0] not in ".(["]
        kept = [tokens[first], *inner, tokens[last]] if last > first else [tokens[first]]
        segments.append(_GAP.join(map(_escape, kept)))
    return tuple(dict.fromkeys(segments))


def _escape(token: str) -> str:
    if not token[0].isalnum() and token[0] != "_":
        return re.escape(token)
    return rf"\b{token}\b" if token.isascii() else token


@lru_cache(maxsize=1_024)
def compile_pattern(text: str) -> Any:
    """Return a regular expression over UTF-8 bytes whose ``^`` and ``$`` are those of lines.

    Raises InputError where it cannot be compiled.
    """
    return compile_regex(f"(?m){text}", max_memory=_MAX_MEMORY, captures=False)


def measure(pattern: Pattern) -> int:
    """Return how much a pattern that was checked costs to look for, in instructions of RE2."""
    texts = (pattern.unless,) if pattern.kind == "ast" else (pattern.text, pattern.unless)
    sizes = (int(compile_pattern(text).programsize) for text in texts if text)
    return sum(sizes, _SAFE_SIZE)


def _check_regex(name: str, text: str) -> str:
    try:
        compiled = compile_regex(text, max_memory=_MAX_MEMORY, captures=False)
    except InputError as error:
        return f"{name}: {error}"
    if compiled.programsize > MAX_PROGRAM:
        return f"{name} is too large; use smaller bounds such as .{{0,20}}"
    if compiled.search("") is not None:
        return f"{name} matches an empty text, so everything; let it require a word"
    return ""
