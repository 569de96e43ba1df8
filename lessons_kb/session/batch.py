"""Handle the end of all calls in one message of the model: failed calls that no other event
reported.

In Claude Code no other hook runs for an edit whose text is not found, an unknown tool, or invalid
arguments.
"""

from __future__ import annotations

from lessons_kb.session import after_tool
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.state import Hook
from lessons_kb.values import replace


def answer(hook: Hook) -> Answer:
    """Answer all failed calls in one answer, each as if it had an event of its own.

    Each call is journalled once, so a failure that was reported before is not counted again.
    """
    hook.open_brains()
    batch = hook.event
    answers = []
    for call in batch.failed_calls:
        hook.event = replace(
            batch,
            what="after",
            id=call.id,
            tool=call.tool,
            arguments=call.arguments,
            outcome=call.outcome,
            output=call.output,
        )
        answers.append(after_tool.answer(hook))
    hook.event = batch
    return _join([answer for answer in answers if answer is not NOTHING])


def _join(answers: list[Answer]) -> Answer:
    """Return several answers joined into one."""
    if not answers:
        return NOTHING
    contexts = [answer.context for answer in answers if answer.context]
    blocks = [answer.block for answer in answers if answer.block is not None]
    return replace(
        answers[0],
        context="\n\n".join(contexts),
        block=blocks[0] if blocks else None,
        lines=tuple(line for answer in answers for line in answer.lines),
        named=tuple(title for answer in answers for title in answer.named),
    )
