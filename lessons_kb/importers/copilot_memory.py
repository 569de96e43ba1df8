"""Read exported memories of GitHub Copilot, which are facts with a subject, citations and a
reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.importers.incoming import (
    CAUSE,
    PREVENTION,
    SITUATION,
    Imported,
    Incoming,
    make_origin,
    shorten,
)
from lessons_kb.text.times import read_date

_BESIDE_FACT = ("subject", "citations", "reason")
_TOPIC_WORDS = 3


def is_copilot_memory(text: str) -> bool:
    """Return whether a file contains exported memories of Copilot, judged by its first bytes."""
    return '"fact"' in text and any(f'"{key}"' in text for key in _BESIDE_FACT)


def read_copilot_memory(text: str, *, name: str) -> Imported:
    """Return the memories in a file, which contains a list, an object with ``memories``, or one
    memory per line.

    Raises InputError, which names file and line, if the file has another form.
    """
    lessons = []
    for number, data in _read_objects(text, name):
        where = f"{name}:{number}"
        fact = " ".join(str(data.get("fact") or "").split())
        if not fact:
            raise InputError(f'{where}: no fact; add "fact": "what holds"')
        lessons.append(_make_lesson(data, fact, where))
    return Imported(lessons=tuple(lessons))


def _read_objects(text: str, name: str) -> list[tuple[int, Mapping[str, Any]]]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("memories"), list):
        whole = whole["memories"]
    if isinstance(whole, dict):
        whole = [whole]
    pairs = list(enumerate(whole, 1)) if isinstance(whole, list) else _read_lines(text, name)
    for number, data in pairs:
        if not isinstance(data, dict):
            raise InputError(f"{name}:{number}: not an object with a fact")
    return pairs


def _read_lines(text: str, name: str) -> list[tuple[int, Any]]:
    pairs = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                pairs.append((number, json.loads(line)))
            except ValueError:
                raise InputError(f"{name}:{number}: not JSON; write one memory a line") from None
    return pairs


def _make_lesson(data: Mapping[str, Any], fact: str, where: str) -> Incoming:
    subject = " ".join(str(data.get("subject") or "").split())
    cited = data.get("citations") or []
    citations = [cited] if isinstance(cited, str) else [str(each) for each in cited]
    situation = f"From Copilot's memories{f', about {subject}' if subject else ''}."
    if citations:
        situation += f"\n\nSeen in {', '.join(citations)}."
    sections = [(SITUATION, situation)]
    reason = str(data.get("reason") or "").strip()
    if reason:
        sections.append((CAUSE, reason))
    sections.append((PREVENTION, f"- {fact}"))
    names = [name for text in citations for name in re.split(r"[,;\s]+", text)]
    written = data.get("created_at") or data.get("createdAt")
    date = read_date(written) if isinstance(written, str) else None
    return Incoming(
        title=shorten(fact.rstrip(".")),
        where=where,
        origin=make_origin("copilot", "memories", fact),
        sections=tuple(sections),
        topics=(subject.casefold(),) if 0 < len(subject.split()) <= _TOPIC_WORDS else (),
        paths=tuple(name for name in names if "/" in name or "." in name),
        created=date.isoformat() if date else None,
    )
