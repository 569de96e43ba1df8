"""`lessons mark`: record whether a lesson was useful."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Argument, Option

from lessons_kb.brain.current_session import session_of
from lessons_kb.cli.marks import format_marks
from lessons_kb.cli.options import CardId, Yes, open_brain
from lessons_kb.cli.output import confirm, print_answer, say
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.collection.prompt_text import shorten_prompt
from lessons_kb.model import as_data
from lessons_kb.outcome.stats import Stats
from lessons_kb.outcome.why import find_prompt
from lessons_kb.text.sanitize import clean_line


def mark(
    card: CardId,
    what: Annotated[str, Argument(metavar="MARK", help="helpful, harmful, or irrelevant.")],
    session: Annotated[
        str | None,
        Option(
            "--session",
            metavar="SESSION",
            help="Session of the mark; one mark per session.",
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        Option(
            "--prompt",
            metavar="PROMPT",
            help="With irrelevant: the prompt; default: the last prompt with this card.",
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """Record that a lesson helped, misled or was not relevant.

    For an irrelevant lesson, the command offers to add the prompt to the card's `not-for`. The
    card is then not injected for this prompt and similar ones.

    Example: lessons mark telegram-allowlist irrelevant --prompt "rename the bot"
    """
    brains = open_brain()
    effect = Stats(brains).mark(card, what, session=session)
    name = clean_line(effect.name)
    print_answer(as_data(effect), f"{name} marked {what} ({format_marks(effect)})")
    if what != "irrelevant":
        return
    if prompt is None:
        # In an agent, only a prompt of its own session is meant.
        prompt = find_prompt(brains, effect.card, session or session_of()[0] or None)
    text = shorten_prompt(prompt)
    if not text:
        say("no prompt with this lesson is remembered; name it with --prompt")
        return
    shown = f"\u201c{clean_line(text)}\u201d"
    if yes or confirm(f"Write not-for: {shown} into {name}?"):
        CardEdits(brains).teach(effect.name, "not-for", text)
        say(f"{name}: added not-for: {shown}; it is not given for this and similar prompts")
    elif not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"add --yes to write {shown} into the card\u2019s not-for")
