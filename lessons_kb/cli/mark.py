"""`lessons mark`: say what a card was worth: helpful, harmful, or not about the task."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json, say
from lessons_kb.learn.lesson_effect import MARKS
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain


def mark(
    card: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
    what: Annotated[str, typer.Argument(metavar="MARK", help="helpful, harmful, or irrelevant.")],
    session: Annotated[
        str | None, typer.Option(help="Session that the mark is about; one mark per session.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(help="With irrelevant: the prompt. Default: the last one with this card."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With irrelevant: write it without asking.")
    ] = False,
) -> None:
    """Record that a lesson helped, misled or was not relevant.

    For an irrelevant one it also offers to write the prompt into the card's `not-for`: the card
    stays silent for that prompt and its like.

    Example: lessons mark telegram-allowlist irrelevant --prompt "rename the bot"
    """
    brain = open_brain()
    effect = brain.stats.mark(card, what, session=session)
    told = ""
    if what == "irrelevant":
        from lessons_kb.brain.cards import tell_prompt
        from lessons_kb.brain.explain.why import find_prompt

        told = tell_prompt(prompt if prompt is not None else find_prompt(brain, effect.card))
    if options().json:
        print_json(as_data(effect))
    else:
        counts = ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)
        print(f"{clean_line(effect.name)} marked {what} ({counts})")
    if told:
        _write(brain, effect.name, told, sure=yes)
    elif what == "irrelevant":
        say("no prompt with this lesson is remembered; name it with --prompt")


def _write(brain: Brain, name: str, prompt: str, *, sure: bool) -> None:
    shown = clean_line(prompt)
    ask = sys.stdin.isatty() and sys.stderr.isatty()
    question = f"Write not-for: \u201c{shown}\u201d into {clean_line(name)}?"
    if sure or (ask and typer.confirm(question, default=False, err=True)):
        brain.cards.add_not_for(name, prompt)
        say(f"{clean_line(name)} stays silent for \u201c{shown}\u201d")
    elif not ask:
        say(f"add --yes to write \u201c{shown}\u201d into the card\u2019s not-for")
