"""`lessons run`: run a command and record how it ended."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb.cli.options import Stage, open_brain
from lessons_kb.cli.output import options, say
from lessons_kb.errors import BrainNotFound, LessonsError
from lessons_kb.outcome.session_journal import draft_after
from lessons_kb.outcome.session_journal import run as run_recorded


def run(
    command: Annotated[list[str], Argument(metavar="COMMAND...", help="Command to run, after --.")],
    stall: Annotated[
        float,
        Option(
            "--stall",
            metavar="SECONDS",
            min=0,
            help="End the command after so long without output; 0 = never.",
        ),
    ] = 90.0,
    session: Annotated[
        str | None,
        Option(
            "--session",
            metavar="SESSION",
            help="Session of the run; default: the current one.",
        ),
    ] = None,
    stage: Stage = None,
) -> None:
    """Run a command and record how it ended.

    Output and exit code stay unchanged. If --stall stops the command, the exit code is 124.

    Example: lessons run --stall 300 -- pytest -q
    """
    brains, problem = None, ""
    try:
        brains = open_brain()
    except LessonsError as error:
        if options().brains or not isinstance(error, BrainNotFound):
            problem = str(error)
    limit = stall or None
    ended, unwritten = run_recorded(brains, command, stall=limit, session=session, stage=stage)
    if ended.message:
        say(ended.message)
    if problem or unwritten:
        say(f"this run was not recorded: {problem or unwritten}")
    elif brains is not None and ended.code == 0:
        try:
            for draft in draft_after(brains, command, session):
                say(
                    "a test that failed before passes now; "
                    f"draft {draft.id} is ready for `lessons review`"
                )
        except LessonsError as error:
            say(f"no draft was saved: {error}")
    raise typer.Exit(ended.code)
