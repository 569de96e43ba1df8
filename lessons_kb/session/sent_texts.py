"""Record how many tokens each event's answer added to the context of a model."""

from __future__ import annotations

import contextlib

from lessons_kb.errors import StorageError
from lessons_kb.ledger.session_memory import TITLES_CLOSE, TITLES_OPEN
from lessons_kb.session.event_types import Answer
from lessons_kb.session.state import Hook
from lessons_kb.store.journal import (
    BLOCK_SENT,
    CALL_SENT,
    CHECK_SENT,
    TITLES_SENT,
    SentText,
)
from lessons_kb.text.token_estimate import estimate_tokens

_CHANNELS = {
    "start": TITLES_SENT,
    "subagent": BLOCK_SENT,
    "prompt": BLOCK_SENT,
    "compact": BLOCK_SENT,
    "stop": CHECK_SENT,
    "end": CHECK_SENT,
}
"""A mapping from kinds of events to the channels of their texts. All others are about a call."""


def note_sent(hook: Hook, answer: Answer) -> None:
    """Store the size of the texts in an answer that has arrived, in tokens for each channel.

    Lines for the user do not reach the model. A question about a call is for the user as well.
    """
    text = answer.refusal or answer.context or answer.go_on
    if not text or not hook.brains.members:
        return
    rest, titles = _split_titles(text)
    channel = _CHANNELS.get(hook.event.what, CALL_SENT)
    session = hook.event.context_id
    texts = []
    for name, part in ((TITLES_SENT, titles), (channel, rest)):
        if part.strip():
            tokens = estimate_tokens(part)
            texts.append(SentText(session=session, at=hook.now, channel=name, tokens=tokens))
    with contextlib.suppress(StorageError):  # the answer does not depend on this record
        hook.journal.sent.note(texts)


def _split_titles(text: str) -> tuple[str, str]:
    """Return a text without its list of titles, and the list."""
    before, start, rest = text.partition(TITLES_OPEN)
    titles, end, after = rest.partition(TITLES_CLOSE)
    return before + after, start + titles + end
