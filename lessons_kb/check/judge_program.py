"""A program of the user's own as a judge: what it is given, and what its answer may change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from lessons_kb.errors import InputError
from lessons_kb.model import ANSWER, CONTRADICTED, DENIED, OPEN, SHOWN, Check, CheckedItem, Evidence
from lessons_kb.text.redact import redact

MAX_TEXT = 100_000
"""Characters of the answer, and of each edit and command."""


def format_request(check: Check, answer: str, evidence: Evidence) -> str:
    """Return what the program reads, without secrets: items, answer, edits, commands as JSON."""
    request = {
        "items": [
            {"id": str(number), "card": item.card.title, "item": item.item, "state": item.state}
            for number, item in enumerate(check.items, 1)
        ],
        "answer": redact(answer)[:MAX_TEXT],
        "edits": [
            {
                "path": redact(edit.path),
                "text": redact(edit.text)[:MAX_TEXT],
                "before": redact(edit.before)[:MAX_TEXT],
            }
            for edit in evidence.edits
            if not edit.earlier
        ],
        "commands": [
            {"line": redact(command.line)[:MAX_TEXT], "failed": command.failed}
            for command in evidence.commands
            if not command.earlier
        ],
    }
    return json.dumps(request, ensure_ascii=False)


def read_verdicts(check: Check, output: str, answer: str) -> Check:
    """Return a check with the states that a program printed; see ``format_request``.

    What is contradicted is a fact and stays. A denied item needs the answer's own words as its
    ``quote``. Raises InputError, one line, for anything else than the JSON that was asked for.
    """
    try:
        told = json.loads(output)
        rows = told["items"]
        verdicts = {str(row["id"]): (row["state"], row.get("quote", "")) for row in rows}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError('its output is not {"items": [{"id": …, "state": …}]}') from None
    known = {str(number) for number in range(1, len(check.items) + 1)}
    for name, (state, quote) in verdicts.items():
        if name not in known or state not in (SHOWN, DENIED, OPEN) or not isinstance(quote, str):
            raise InputError(f"its verdict on item {name[:20]!r} is not shown, denied or open")
    items = (
        _judged(item, verdicts, str(number), answer) for number, item in enumerate(check.items, 1)
    )
    return replace(check, items=tuple(items))


def _judged(
    item: CheckedItem, verdicts: Mapping[str, tuple[str, str]], name: str, answer: str
) -> CheckedItem:
    state, quote = verdicts.get(name, (item.state, ""))
    if item.state in (CONTRADICTED, state):
        return item
    where = ANSWER if quote and quote in answer else ""
    if state == DENIED and not where:
        return item  # nobody is told that something was not done without the agent's own words
    return replace(item, state=state, quote=quote, where=where, terms=())
