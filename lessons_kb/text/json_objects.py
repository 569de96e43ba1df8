"""Find JSON objects in other kinds of text, such as prose, events or a log.

The time is linear in the length of any text. Braces are matched in one pass, and an object is
decoded only if few other objects enclose it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from lessons_kb.values import field, mutable

_MAX_HEIGHT = 100
"""The maximum nesting of objects, which limits how often a text is decoded. No answer is nested
more deeply."""
_BEGIN = re.compile(r'\{\s*+(?=["}])')
_TOKEN = re.compile(r'[{}]|"(?:[^"\\\n]|\\[^\n])*+(?P<closed>"?)')


@mutable
class _Span:
    """The start and end of a possible object, according to braces and strings."""

    start: int
    end: int = -1
    height: int = 1
    inner: list[_Span] = field(default_factory=list)


def find_objects(
    text: str, *, is_late: Callable[[], bool] = lambda: False
) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, outer objects first, and the objects in their strings.

    Raises TimeoutError as soon as ``is_late`` returns true.
    """
    for outermost in _find_spans(text):
        pending = [outermost]
        while pending:
            if is_late():
                raise TimeoutError
            span = pending.pop()
            value = _decode(text, span)
            if value is None:
                pending.extend(reversed(span.inner))
            else:
                yield from _walk(value, is_late)


def _decode(text: str, span: _Span) -> Any:
    """Return the object of a span, or None if it is not JSON."""
    if span.height > _MAX_HEIGHT:
        return None
    try:
        return json.loads(text[span.start : span.end])
    except (ValueError, RecursionError):
        return None


def _walk(value: Any, is_late: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(reversed(item.values()))
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, str):
            yield from find_objects(item, is_late=is_late)


def _find_spans(text: str) -> Iterator[_Span]:
    """Yield the outermost spans that may be objects, in the order of the text.

    Outside of an object, quotes are prose and have no meaning. Inside, a string that is not closed
    on its line, or a brace without a key, shows that the open spans are not JSON.
    """
    opened: list[_Span] = []
    place = 0
    while True:
        if not opened:
            place = text.find("{", place)
            if place < 0:
                return
        token = _TOKEN.search(text, place)
        if token is None:
            break
        place = token.end()
        if token[0] == "}":
            span = opened.pop()
            span.end = place
            if not opened:
                yield span
                continue
            outer = opened[-1]
            outer.inner.append(span)
            outer.height = max(outer.height, span.height + 1)
        elif token[0] == "{" and _BEGIN.match(text, token.start()):
            opened.append(_Span(start=token.start()))
        elif not token["closed"]:
            yield from _find_complete(opened)
            opened.clear()
    yield from _find_complete(opened)


def _find_complete(opened: list[_Span]) -> Iterator[_Span]:
    """Yield the complete spans inside open ones."""
    for span in opened:
        yield from span.inner
