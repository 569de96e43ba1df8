"""Is a regular expression of a ``lessons.toml`` safe to run on every prompt?"""

from __future__ import annotations

import re
import warnings

from lessons_kb.learn.phrases import MAX_CHOICES, MAX_PATTERN, MAX_SENTENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_pattern(pattern: str) -> str:
    """Return why a pattern may not be used, "" when it may.

    Refused: what does not compile or Python warns about, is longer than 200 characters or refers
    back, repeats a repetition or alternatives, or can match in more than some thousand ways at
    one place. What is left ends within MAX_CHOICES steps a character of the sentence.
    """
    if len(pattern) > MAX_PATTERN:
        return f"it has {len(pattern)} characters; the limit is {MAX_PATTERN}"
    try:
        with warnings.catch_warnings():
            # A set within a set: Python says on stderr that it may one day mean something else.
            warnings.simplefilter("error")
            re.compile(pattern)
            choices = _choices(_parse(pattern))
    except (re.error, RecursionError, OverflowError, Warning) as error:
        return f"it is no regular expression ({error})"
    except _Refused as refused:
        return str(refused)
    if choices > MAX_CHOICES:
        return "it can match in too many ways; use one `.*`, or bounds such as .{0,20}"
    if re.search(pattern, "") is not None:
        return "it matches an empty text, so every prompt"
    return ""


class _Refused(Exception):
    pass


def _parse(pattern: str) -> Any:
    from importlib import import_module

    return import_module("re._parser").parse(pattern)


def _choices(parsed: Any) -> int:
    """Return in how many ways a parsed pattern can go at one place, at most."""
    product = 1
    for operator, argument in parsed:
        product *= _of_one(str(operator), argument)
        if product > MAX_CHOICES:
            return product
    return product


def _of_one(name: str, argument: Any) -> int:
    if name == "BRANCH":
        return sum(_choices(part) for part in argument[1])
    if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
        inner = argument if name == "ATOMIC_GROUP" else argument[-1]
        return _choices(inner)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, body = argument
        inside = _choices(body)
        if inside > 1 and int(high) > 1:
            raise _Refused("it repeats what can itself match in several ways; repeat plain parts")
        return (min(int(high), MAX_SENTENCE) - min(int(low), MAX_SENTENCE) + 1) * inside
    if name in ("GROUPREF", "GROUPREF_EXISTS", "GROUPREF_IGNORE"):
        raise _Refused("it refers back to a group; write the words out")
    return 1
