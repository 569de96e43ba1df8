"""How many there are, in words that agree with the number."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return such as ``1 card``, ``0 cards``, ``12,000 cards``.

    ``plural`` is the form for all numbers but one; by default the noun with an ``s``.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
