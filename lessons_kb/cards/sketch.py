"""A card before its text is written: its fields, and the template that they fill."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from lessons_kb.cards.keys import split_header
from lessons_kb.model import Pattern, Source
from lessons_kb.values import field, frozen

_REMARK = re.compile(r"(?ms)^(`{3,})[^\n]*\n.*?^\1[ \t]*$|\n?[ \t]*<!--(?!\s*shown-by).*?-->")


@frozen
class Sketch:
    """The fields of a card before its text is written."""

    title: str
    sections: Mapping[str, str] = field(default_factory=dict)
    """Mapping from each heading to its Markdown."""
    kind: str = "lesson"
    topics: Sequence[str] = ()
    project: str | None = None
    stage: str | None = None
    severity: str | None = None
    paths: Sequence[str] = ()
    symptoms: Sequence[str] = ()
    detect: Sequence[Pattern] = ()
    gate: str | None = None
    not_for: Sequence[str] = ()
    example: str = ""
    """The task in which the mistake was made, as one line."""
    sources: Sequence[Source] = ()
    """The sources of the lesson."""


def fill(template: str, sections: Mapping[str, str]) -> str:
    """Return a card's text in which sections replace the guidance under their level-2 headings."""
    lines: list[str] = []
    skipping = False
    for line in template.split("\n"):
        if line.startswith("## "):
            text = sections.get(line[3:].strip(), "").strip()
            lines += [line, "", text, ""] if text else [line]
            skipping = bool(text)
        elif not skipping:
            lines.append(line)
    return "\n".join(lines).rstrip("\n") + "\n"


def remove_guidance(template: str) -> str:
    """Return a template without its advice: the comments in the header and in the sections."""
    body = split_header(template).body
    head = template[: len(template) - len(body)]
    head = "".join(line for line in head.splitlines(True) if not line.startswith("#"))
    return head + re.sub(r"\n{3,}", "\n\n", strip_comments(body))


def strip_comments(body: str) -> str:
    """Return Markdown without comments, except comments in code and ``shown-by`` patterns."""
    return _REMARK.sub(lambda match: match[0] if match[1] else "", body)


def format_patterns(patterns: Iterable[Pattern]) -> str:
    """Return patterns as the ``detect`` key of a card's header, in YAML."""

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    rows = ["detect:"]
    for pattern in patterns:
        rows.append(f"  - {pattern.kind}: {quoted(pattern.text)}")
        if pattern.language:
            rows.append(f"    language: {pattern.language}")
        if pattern.files:
            rows.append(f"    files: [{', '.join(map(quoted, pattern.files))}]")
        if pattern.unless:
            rows.append(f"    unless: {quoted(pattern.unless)}")
        rows += [f"    {name}: {quoted(text)}" for name, text in pattern.relations]
        for name, examples in (("bad", pattern.bad), ("good", pattern.good)):
            for text in examples[:1]:
                lines = "".join(f"\n      {line}" for line in text.split("\n"))
                rows.append(f"    {name}: " + (f"|-{lines}" if "\n" in text else quoted(text)))
    return "\n".join(rows)
