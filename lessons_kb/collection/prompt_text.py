"""Shorten a prompt so that a card can store it."""

from __future__ import annotations

from lessons_kb.text.redact import redact

_MAX_PROMPT = 300


def shorten_prompt(prompt: str) -> str:
    """Return a prompt as one line without secrets, at most 300 characters long."""
    return redact(" ".join(prompt.split()))[:_MAX_PROMPT].strip()
