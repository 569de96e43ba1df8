"""`lessons preflight`: the block for a prompt."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated

from typer import Option

from lessons_kb import render
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.cards import names
from lessons_kb.brain.post_check import read_change
from lessons_kb.brain.verdicts import find_least_budget, is_too_small
from lessons_kb.cli.options import (
    Paths,
    Revision,
    Session,
    Stage,
    open_brain,
    read_text,
    say_stale,
)
from lessons_kb.cli.output import options, print_json, say, tell
from lessons_kb.errors import Untrusted
from lessons_kb.model import Card, Preflight, as_data
from lessons_kb.preflight.block import footer, shown_name

BLOCK, WARNINGS = "text", "warnings"
_COMMON = 5
"""Mistakes of a stage that are named where no prompt says which matter."""


def preflight(
    prompt: list[str] | None = None,
    diff: Revision = None,
    path: Paths = None,
    stage: Stage = None,
    session: Session = None,
    budget: Annotated[int | None, Option(min=0)] = None,
    context: bool | None = None,
    format_: Annotated[str, (BLOCK, WARNINGS)] = BLOCK,
    explain: bool = False,
) -> None:
    """Print the lessons that matter for a prompt, or nothing.

    With only --format warnings and --stage, print the most frequent mistakes of that stage.

    Example: lessons preflight "Add a Telegram command that runs a shell script"

    PROMPT                  The prompt; default: stdin.
    --budget                Token budget of the whole block.
    --context/--no-context  Add excerpts of notes.
    --format                text, or warnings (a list of common mistakes).
    --explain               Explain each hit on stderr.
    """
    try:
        brain = open_brain()
    except Untrusted as error:
        say(str(error))  # silence is the answer; why stands on stderr
        return
    if format_ == WARNINGS and stage and not (prompt or path or diff is not None):
        _warn_of(_most_seen(brain, stage), brain, stage)
        return
    if diff is None:
        text, paths = read_text(prompt or [], what="prompt"), tuple(path or ())
    else:
        change = read_change(brain, diff)
        text = " ".join([*(prompt or []), *change.files, *change.added])
        paths = (*(path or ()), *change.files)
    ask = functools.partial(brain.preflight, text, stage=stage, paths=paths, context=context)
    block = ask(session=session or "", budget=budget)
    language = brain.layers[0].settings.language
    if options().json:
        print_json(render.preflight_data(block, language))
    elif format_ == WARNINGS:
        _warn_of([hit.card for hit in block.lessons], brain, stage)
    elif block.text:
        print(block.text)
    if explain:
        _explain(brain, block, text)
    elif block.lessons and not options().json:
        tell(footer([shown_name(hit) for hit in block.lessons], language))
    if is_too_small(block):
        least = find_least_budget(lambda tokens: ask(budget=tokens, remember=False, fresh=False))
        hint = f"use --budget {least} or more" if least else "raise `model_context`"
        say(f"the token budget is too small for any lesson; {hint}")


def _explain(brain: Brain, block: Preflight, text: str) -> None:
    """Say why of what was given and, of what was held back, as many as could have been given."""
    shown = block.withheld[: max(brain.layers[0].settings.preflight.max_lessons, 1)]
    for hit in (*block.lessons, *block.notes, *block.offered, *shown):
        tell(f"{hit.card.title} ({hit.card.id})")
        tell(render.explain_hit(hit, text))
    if others := len(block.withheld) - len(shown):
        say(f"{others} more suppressed; use --json")
    say_stale(brain)


def _most_seen(brain: Brain, stage: str) -> list[Card]:
    """Return the stage's lessons that would be given, those seen most often first."""
    cards = [
        card
        for card in brain.cards.all()
        if card.status == "active"
        and names(card, stage=stage)
        and card.project in (None, brain.project)
    ]
    return sorted(cards, key=lambda card: (-card.occurrences, card.id))[:_COMMON]


def _warn_of(cards: Sequence[Card], brain: Brain, stage: str | None) -> None:
    language = brain.layers[0].settings.language
    if options().json:
        print_json([as_data(card) for card in cards])
    elif text := render.format_warnings(cards, stage=stage, language=language):
        print(text)
