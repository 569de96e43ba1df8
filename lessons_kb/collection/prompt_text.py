"""A prompt as a card may hold it."""

from __future__ import annotations

from lessons_kb.text.redact import redact

_MAX_PROMPT = 300


def tell_prompt(prompt: str) -> str:
    """Return a prompt as a card may hold it: one line, without secrets, not too long."""
    return redact(" ".join(prompt.split()))[:_MAX_PROMPT].strip()
