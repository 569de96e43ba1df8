"""An answer in words, ready to be put into any agent's form."""

from __future__ import annotations

from dataclasses import dataclass

from lessons_kb import render
from lessons_kb.preflight.block import shown_name
from lessons_kb.session.event import Answer

MAX_MESSAGE_BYTES = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What an agent module writes."""

    context: str = ""
    """For the model."""
    message: str = ""
    """For the user."""
    ask: str = ""
    """Why the user should decide about the call."""
    stop: str = ""
    """Why the turn ends."""


def put_into_words(answer: Answer) -> Said:
    """Render what an answer holds as values: the footer of a block, the post-check."""
    lines = list(answer.lines)
    given = answer.block.lessons if answer.block is not None else ()
    if answer.footer and (names := [*answer.named, *map(shown_name, given)]):
        lines.append(render.footer(names, answer.language))
    if answer.check is not None:
        lines.append(render.check_line(answer.check, answer.language))
    message = "\n".join(line for line in lines if line and line != answer.stop)
    if len(encoded := message.encode(errors="replace")) > MAX_MESSAGE_BYTES:
        kept = encoded[: MAX_MESSAGE_BYTES - len("\n…".encode())].decode(errors="ignore")
        message = kept.rsplit("\n", 1)[0] + "\n…"
    return Said(context=answer.context, message=message, ask=answer.ask, stop=answer.stop)
