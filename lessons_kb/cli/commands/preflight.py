"""`lessons preflight`: print the block of lessons for a prompt."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from typer import Argument, Option

from lessons_kb import render
from lessons_kb.brain.brain import Brain
from lessons_kb.cli.options import (
    Paths,
    Revision,
    Session,
    Stage,
    open_brain,
    read_text,
    relative_path,
)
from lessons_kb.cli.output import options, print_json, print_wrapped, say, tell
from lessons_kb.errors import Untrusted
from lessons_kb.find.block import RetrievalOptions
from lessons_kb.find.block import preflight as make_block
from lessons_kb.model import Hit, Preflight
from lessons_kb.on_demand import DIFF_EVIDENCE, WHY, load
from lessons_kb.preflight.block import footer
from lessons_kb.preflight.offers import shown_name
from lessons_kb.text.sanitize import shell_word
from lessons_kb.values import replace

_MAX_REPEATED = 60
"""In characters. A longer prompt is not repeated in the advice."""


def _name_file(brain: Brain, hit: Hit) -> str:
    """Return the path of a card, which opens from the working directory."""
    return relative_path(os.path.join(brain.root, hit.card.id))


def preflight(
    prompt: Annotated[
        list[str] | None, Argument(metavar="PROMPT...", help="The prompt; default: stdin.")
    ] = None,
    diff: Revision = None,
    path: Paths = None,
    stage: Stage = None,
    session: Session = None,
    budget: Annotated[
        int | None,
        Option("--budget", metavar="BUDGET", min=0, help="Maximum tokens of the block."),
    ] = None,
    context: Annotated[
        bool, Option("--context/--no-context", help="Add excerpts of notes.")
    ] = False,
) -> None:
    """Print the lessons that matter for a prompt, or nothing.

    `lessons why PROMPT` explains the choice.

    Example: lessons preflight "Add a Telegram command that runs a shell script"
    """
    try:
        brains = open_brain()
    except Untrusted as error:
        say(str(error))  # the answer is empty, and stderr has the reason
        return
    if diff is None:
        text = read_text(prompt or [], what="prompt")
        paths = tuple(path or ())
    else:
        change = load(DIFF_EVIDENCE).read_change(brains, diff)
        text = " ".join([*(prompt or []), *change.files, *change.added])
        paths = (*(path or ()), *change.files)
    request = RetrievalOptions(
        stage=stage,
        paths=paths,
        session=session or "",
        budget=budget,
        context=context,
        name=_name_file,
        place=_name_file,
    )
    block = make_block(brains, text, request, fresh=True, remember=True)
    language = brains.members[0].settings.language
    if options().json:
        print_json(render.preflight_data(block, language))
    elif block.text:
        print(block.text)
    if block.lessons and not options().json:
        tell(footer([shown_name(hit) for hit in block.lessons], language))

    def retry(tokens: int) -> Preflight:
        without_session = replace(request, session=None, budget=tokens)
        return make_block(brains, text, without_session, fresh=False, remember=False)

    least: int | None = None
    if not block.lessons:
        least = load(WHY).find_least_budget(block, retry)
    if least is not None:
        hint = f"use --budget {least} or more" if least else "raise `model_context`"
        say(f"the token budget is too small for any lesson; {hint}")
    elif not block.text and not options().json and sys.stdout.isatty():
        words = text if len(text) <= _MAX_REPEATED and "\n" not in text else "…"
        print_wrapped(f"No lesson applies to this. `lessons why {shell_word(words)}` explains.")
