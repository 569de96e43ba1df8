"""`lessons run`: run a command and record how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import open_brain, options, say
from lessons_kb.errors import BrainNotFound, LessonsError

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain

Session = Annotated[str | None, typer.Option(help="Session it belongs to; default: detected.")]


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="Command to run.")],
    stall: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Longest time without output; 0 = no limit."),
    ] = 90.0,
    session: Session = None,
    stage: Annotated[str | None, typer.Option(help="Workflow stage it belongs to.")] = None,
) -> None:
    """Run a command and record how it ended.

    Output and exit code stay unchanged.

    A command without output for --stall seconds is stopped with all that it started, as by
    Ctrl-C (exit code 124).

    Example: lessons run --stall 300 -- pytest -q
    """
    from lessons_kb.brain.captured_run import run as run_recorded

    trouble = ""
    brain = None
    try:
        brain = open_brain()
    except LessonsError as error:
        if options().brains or not isinstance(error, BrainNotFound):
            trouble = str(error)
    ended, unwritten = run_recorded(
        brain, command, stall=stall or None, session=session, stage=stage
    )
    if ended.message:
        say(ended.message)
    if trouble or unwritten:
        say(f"this run was not recorded: {trouble or unwritten}")
    elif brain is not None and ended.code == 0:
        _say_drafts(brain, command, session)
    raise typer.Exit(ended.code)


def _say_drafts(brain: Brain, command: list[str], session: str | None) -> None:
    from lessons_kb.brain.captured_run import draft_after

    try:
        made = draft_after(brain, command, session)
    except LessonsError as error:
        say(f"no draft was saved: {error}")
        return
    for draft in made:
        say(f"what failed before passes now; draft {draft.id} is ready for `lessons review`")
