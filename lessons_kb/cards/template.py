"""A new card from a template."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.header import canonical, split_header
from lessons_kb.cards.plain_text import one_line
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.slugs import slug
from lessons_kb.errors import InputError
from lessons_kb.model import KINDS, SEVERITIES

Change = str | tuple[str, ...] | None


def new_card(
    template: str,
    *,
    kind: str,
    title: str,
    topics: Sequence[str] = (),
    project: str | None = None,
    stage: str | None = None,
    severity: str | None = None,
    paths: Sequence[str] = (),
    created: str,
) -> str:
    """Return the text of a new card: the template with its header filled in.

    The template is a valid card; its comments stay, ``{{title}}`` in its body becomes the title.
    ``created`` is an ISO date. What is not given keeps the template's empty line, or its default
    where there is one (``severity``). Raises InputError for an empty title or an unknown kind,
    severity or date, EditRefused for a template without a readable header.
    """
    line = one_line(title)
    slug(line)
    _check("kind", kind, KINDS)
    if severity is not None:
        _check("severity", severity, SEVERITIES)
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", created, re.ASCII):
        raise InputError(f"created must be a date such as 2026-01-31, not {created!r}")
    given: dict[str, Change] = {
        "type": kind,
        "title": line,
        "applies-to": tuple(map(one_line, topics)),
        "project": one_line(project or ""),
        "stage": one_line(stage or ""),
        "paths": tuple(map(one_line, paths)),
        "severity": severity,
        "created": created,
    }
    present = _values(template)
    changes = {
        name: value
        for name, value in given.items()
        if value or (value is not None and present.get(name))
    }
    text = edit_header(template, changes)
    body = split_header(text).body
    return text[: len(text) - len(body)] + re.sub(r"\{\{ ?title ?\}\}", lambda _: line, body)


def _values(template: str) -> dict[str, bool]:
    """Return for each key of a template whether it has a value."""
    entries = read_header(split_header(template)).entries
    return {canonical(entry.key): any(entry.texts) for entry in entries}


def _check(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"{what} must be one of {', '.join(choices)}, not {value!r}")
