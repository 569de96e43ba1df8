"""What `why` and `review` share: the offer to teach a card a prompt that nearly drew it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from lessons_kb.cli.options import say
from lessons_kb.text.escape_controls import shell_word
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.explain.near_misses import NearMiss

_MAX_SHOWN = 200
"""Characters of a prompt in a question."""


def offer(brain: Brain, near: NearMiss) -> None:
    """Ask whether a prompt is to become a symptom; without a terminal, say how it would."""
    from lessons_kb.brain.cards import tell_prompt

    told = tell_prompt(near.prompt)
    shown = clean_line(told)
    if len(shown) > _MAX_SHOWN:
        shown = shown[: _MAX_SHOWN - 1] + "…"
    say(f"held back near {clean_line(near.card)} ({near.confidence:.2f}): \u201c{shown}\u201d")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"`lessons why --add-symptom {near.card} {shell_word(told)}` adds it as a symptom")
    elif typer.confirm("Add this prompt as a symptom of the card?", default=False, err=True):
        teach(brain, near.card, near.prompt)


def teach(brain: Brain, name: str, prompt: str) -> None:
    """Write a prompt into a card's symptoms, and say so."""
    from lessons_kb.brain.cards import tell_prompt

    card = brain.cards.add_symptom(name, prompt)
    say(f"{clean_line(card.id)} is found by \u201c{clean_line(tell_prompt(prompt))}\u201d")
