"""What opencode stores of a session, one part of a message after the other, as entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.text.times import read_time
from lessons_kb.transcripts.entries import (
    ANSWER,
    CALL,
    COMPACTION,
    FAILED,
    MAX_OUTPUT,
    OK,
    PROMPT,
    Entry,
    mapping,
)

_ENDED = {"completed": OK, "error": FAILED}


def read_part(message: Mapping[str, Any], part: Mapping[str, Any], *, cwd: str) -> Iterator[Entry]:
    """Yield what one part tells; ``message`` is the stored message it belongs to."""
    base = Entry(
        kind=PROMPT,
        at=read_time(mapping(message.get("time")).get("created")),
        session=str(message.get("sessionID") or part.get("sessionID") or ""),
        id=str(message.get("id") or ""),
        cwd=cwd,
    )
    kind, text, state = part.get("type"), part.get("text"), mapping(part.get("state"))
    ended = _ENDED.get(str(state.get("status")))
    if kind == "text" and isinstance(text, str) and text.strip() and not part.get("synthetic"):
        asked = message.get("role") == "user"
        yield replace(base, kind=PROMPT if asked else ANSWER, text=text.strip())
    elif kind == "compaction":
        yield replace(base, kind=COMPACTION)
    elif kind == "tool" and ended:
        code = mapping(state.get("metadata")).get("exit")
        yield replace(
            base,
            kind=CALL,
            id=str(part.get("callID") or part.get("id") or ""),
            tool=str(part.get("tool") or ""),
            arguments=mapping(state.get("input")),
            ended=FAILED if isinstance(code, int) and code else ended,
            output=str(state.get("error") or state.get("output") or "")[-MAX_OUTPUT:],
        )
