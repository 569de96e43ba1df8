"""Find the patterns that the second stage of a hook can match with ``re`` alone, in little time."""

from __future__ import annotations

import re

_SIMPLE = re.compile(
    r"""(?:\(\?i\))?(?:
      [^\\()\[\]{}|*+?]                            # a character as it is, a dot, an anchor
    | \\[.()\[\]{}|*+?^$/\-"' \\sSdDwWbBnt]         # an escape that means the same everywhere
    | \[\^?(?:[^\\\[\]]|\\[.\]\[\-\\/sdwnt^$"'])+\]  # a class
    | (?<=[^(])[*+?]\??                            # a quantifier
    | (?<=.)\{\d{1,3}(?:,\d{0,3})?\}
    | \((?:\?(?:[ims]*[:)]|P<\w+>))?               # flags, or the beginning of a group
    | \)(?![*+{])  | \|                            # a group that is not repeated
    )*""",
    re.VERBOSE,
)
_MAX_UNBOUNDED = 4
_CASE_FLAG = re.compile(r"\(\?[a-zA-Z]*i")
_WORD = re.compile(r"(?<!\w)[A-Za-z_][A-Za-z0-9_]{2,}(?![*?{\w])")


def is_simple(pattern: str) -> bool:
    """Return whether ``re`` finds the same matches as RE2 in bounded time."""
    if _SIMPLE.fullmatch(pattern) is None:
        return False
    if len(re.findall(r"(?<!\\)[*+]|,\}", pattern)) > _MAX_UNBOUNDED:
        return False
    if _CASE_FLAG.search(pattern) and not pattern.isascii():
        return False  # re.ASCII folds only the case of ASCII letters
    try:
        return re.compile(pattern).match("") is None
    except re.error:
        return False


_UNICODE_CLASS = re.compile(r"\\[pP](?:\{\^?\w+\}|[A-Z])")
_NAMED_CLASS = re.compile(r"\[:\^?\w+:\]")
_PLAIN_ESCAPE = re.compile(r"\\(?:[sSdDwWbBnrtfv]|[^A-Za-z0-9])")
_GROUP_BEGINNING = re.compile(r"\(\?(?::|P?<\w+>)")
_CHARACTER_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_OPTIONAL_SIGNS = ("|", ")?", ")*", "){0")
_NO_WORD_SIGNS = ("\\", "[", "(?")
"""Signs that remain of a pattern with flags, or with parts whose text may not be in a match."""


def find_word(pattern: str) -> str:
    """Return a word that is in every text that a pattern matches, or "" if none is certain."""
    plain = pattern
    for syntax in (_UNICODE_CLASS, _NAMED_CLASS, _PLAIN_ESCAPE):
        plain = syntax.sub(" ", plain)
    plain = _GROUP_BEGINNING.sub("(", plain)
    plain = _CHARACTER_CLASS.sub(" ", plain)
    if any(sign in plain for sign in (*_OPTIONAL_SIGNS, *_NO_WORD_SIGNS)):
        return ""
    return max(_WORD.findall(plain), key=len, default="")
