"""A card as text: what a file says, and how to change it without touching the human's words.

Nothing here opens a file or reads a clock. The names are loaded on first use, for a hook that
changes no card needs none of the parsers behind them.
"""

from __future__ import annotations

from importlib import import_module

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.kinds import kind_of
from lessons_kb.cards.lint import check_card, is_vague
from lessons_kb.cards.parse import parse_bytes, parse_card
from lessons_kb.cards.slugs import normal_title, slug
from lessons_kb.cards.template import new_card

__all__ = [
    "check_card",
    "edit_header",
    "is_vague",
    "kind_of",
    "new_card",
    "normal_title",
    "parse_bytes",
    "parse_card",
    "slug",
]

_HOMES = {
    "check_card": "lint",
    "edit_header": "edit",
    "is_vague": "lint",
    "kind_of": "kinds",
    "new_card": "template",
    "normal_title": "slugs",
    "parse_bytes": "parse",
    "parse_card": "parse",
    "slug": "slugs",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
