"""Secrets taken out of what is kept: keys, tokens, passwords, whatever announces itself as one.

Rather one too many than one too few, but hashes, identifiers, lock files and code stay readable.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import pairwise

from lessons_kb.text.announced import redact_announced
from lessons_kb.text.secret_forms import FORMS, IDENTITY_NAMES

_SHORTEST = 6
_RANDOM = r"[=:][ \t]{0,4}\\{0,2}[\"'`]?(?P<secret>[\w+/~-]{20,256}={0,2})(?![\w+/=~-])"
_LAST_WORD = r"([A-Za-z][A-Za-z0-9]*)[^A-Za-z0-9]{0,4}\Z"
_MIN_ENTROPY = 3.6
"""Bits a character of 20 random letters and digits; a few words joined stay below."""
_MIN_CHANGES = 0.36
"""Share of neighbours of another class: .62 in random text, about .3 in CamelCase."""
_MIN_PIECE = 14
"""Paths, slugs and UUIDs have shorter pieces."""
_MARK_ROOM = 60
_PASSES = 5
"""A secret taken out may bare the one before it; a text without any costs one pass."""


def redact(text: str) -> str:
    """Return ``text`` with ``[redacted KIND]`` in the place of each secret.

    Linear in the length of the text. What was redacted stays as it is when redacted again.
    """
    for _ in range(_PASSES):
        before, text = text, _redact_once(text)
        if text == before:
            break
    return text


def _redact_once(text: str) -> str:
    if len(text) < _SHORTEST:
        return text
    lower = text.lower()
    for kind, hints, pattern in FORMS:
        if any(hint in (lower if hint.islower() else text) for hint in hints):
            text = _without(pattern, kind, text)
    text = redact_announced(text, lower)
    if "=" in text or ":" in text:
        text = _compiled(_RANDOM).sub(_without_random, text)
    return text


def excerpt(text: str, limit: int) -> str:
    """Return ``redact(text)`` in at most ``limit`` characters: its begin and, mostly, its end.

    Of a huge text only the two ends are looked at; a line that this splits is left out, for it
    may hold a part of a secret.
    """
    size = len(text)
    if size > 4 * limit:
        head, tail = text[:limit], text[-2 * limit :]
        head = head[: head.rfind("\n") + 1]
        tail = tail[tail.find("\n") + 1 :] if "\n" in tail else ""
        head, tail = redact(head), redact(tail)
    else:
        head = tail = redact(text)
        if len(head) <= limit:
            return head
        size = len(head)
    room = max(limit - _MARK_ROOM, 0)
    first = head[: room // 4]
    last = tail[max(len(tail) - (room - room // 4), 0) :]
    left_out = f"\n[… {size - len(first) - len(last):,} characters left out …]\n"
    return (first + left_out + last)[:limit]


def _without(pattern: str, kind: str, text: str) -> str:
    compiled = _compiled(pattern)
    group = "secret" if "secret" in compiled.groupindex else 0
    return compiled.sub(lambda found: _replaced(found, kind, group), text)


def _without_random(found: re.Match[str]) -> str:
    before = found.string[max(found.start() - 60, 0) : found.start()]
    name = _compiled(_LAST_WORD).search(before)
    if name and _last_word(name[1]) in IDENTITY_NAMES:
        return found[0]
    return _replaced(found, "secret", "secret") if _is_random(found["secret"]) else found[0]


def _replaced(found: re.Match[str], kind: str, group: str | int) -> str:
    start, end = found.span(group)
    text = found.string
    return f"{text[found.start() : start]}[redacted {kind}]{text[end : found.end()]}"


def _last_word(name: str) -> str:
    """Return the last word of ``contentHash`` or ``REQUEST_ID`` in lower case."""
    words = _compiled(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+").findall(name)
    return words[-1].lower() if words else ""


def _is_random(run: str) -> bool:
    """Tell random letters and digits from words, paths, hashes and numbers."""
    piece = max(_compiled(r"[/_~+=-]").split(run), key=len)
    classes = [_class_of(char) for char in piece]
    if len(piece) < _MIN_PIECE or set(classes) != {"digit", "lower", "upper"}:
        return False
    changes = sum(a != b for a, b in pairwise(classes))
    return changes >= _MIN_CHANGES * (len(piece) - 1) and _entropy(run) >= _MIN_ENTROPY


def _class_of(char: str) -> str:
    return "digit" if char.isdigit() else "upper" if char.isupper() else "lower"


def _entropy(run: str) -> float:
    """Return Shannon's entropy in bits a character."""
    shares = [run.count(char) / len(run) for char in set(run)]
    return -sum(share * math.log2(share) for share in shares)


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
