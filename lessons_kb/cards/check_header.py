"""Find headers that can be read but probably do not mean what their authors intended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lessons_kb.cards.keys import KEYS, HeaderEntry, Split, canonical, find, find_second_header
from lessons_kb.model import Finding
from lessons_kb.text.sanitize import shorten

_CUT_FIELDS = ("title", "symptoms", "not_for", "topics")
"""Fields of a card whose texts often name an issue, as in `#482`."""
_MAX_SHOWN = 60


def check_header(split: Split, entries: Sequence[HeaderEntry]) -> list[Finding]:
    """Return the findings about a header that its author would not expect.

    Lines count from the first line of the header.
    """
    if split.header is None:
        return []
    findings = list(_find_cut_values(split.header.lines, entries))
    second = find_second_header(split)
    if second is not None:
        message = "a second header stands below the first; it is read as text"
        fix = "move its keys into the first header"
        findings.append(find(second - split.header.line, "second-header", message, fix))
    return findings


def _find_cut_values(lines: Sequence[str], entries: Sequence[HeaderEntry]) -> Iterator[Finding]:
    """Find plain values that end at ` #`, where YAML begins a comment."""
    for entry in entries:
        name = canonical(entry.key)
        key = KEYS.get(name)
        if key is None or key.field not in _CUT_FIELDS:
            continue
        for value in entry.values:
            _line, _column, last, end = value.span
            rest = lines[last][end:].lstrip()
            if value.style in "pm" and value.text and rest.startswith("#"):
                shown = shorten(value.text, _MAX_SHOWN)
                message = f"{name} is cut at ` #`, where YAML begins a comment: {shown!r} is left"
                fix = "put the whole value in double quotes"
                # Most comments begin with a space. Issue numbers never do.
                level = "info" if rest[1:2] in ("", " ", "\t") else "warning"
                yield find(last, "cut-value", message, fix, level)
