"""The command why: what was injected last, why, and what was held back by which rule."""

from __future__ import annotations

import datetime as dt
import time
from typing import Annotated

import typer

from lessons_kb import render
from lessons_kb.cli.options import open_brain, options, print_json, say
from lessons_kb.cli.wrapping import print_wrapped
from lessons_kb.errors import InputError


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    app.command("why")(why)


def why(
    prompt: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT", help="Ask about this; nothing is noted.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="Session to tell of; by default the newest.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="FILE", help="With PROMPT: file at hand; repeatable."),
    ] = None,
    stage: Annotated[str | None, typer.Option(help="With PROMPT: workflow stage.")] = None,
) -> None:
    """Say what was injected last, why, and what was held back by which rule.

    Example: lessons why "Add a Telegram command that runs a shell script"
    """
    from lessons_kb.brain.why import explain_prompt, find_why

    text = " ".join(prompt or ())
    if prompt and not text.strip():
        raise InputError("the prompt is empty; without one, `lessons why` tells of the last")
    brain = open_brain()
    told = find_why(brain, session) if not prompt else None
    if prompt:
        told = explain_prompt(brain, text, session=session, paths=tuple(path or ()), stage=stage)
    if options().json:
        print_json(told.as_dict() if told else None)
        return
    if told is None:
        where = f"of session {session!r}" if session else "of any session"
        say(f"the journal knows nothing {where}; `lessons why PROMPT` asks about a prompt")
        return
    language = brain.layers[0].settings.language
    for line in render.why_lines(told, language, when=_ago(told.at) if told.at else ""):
        print_wrapped(line)
    if told.source == "recomputed":
        say("this session noted no reasons: they are recomputed with today's cards")


def _ago(at: float) -> str:
    """Return how long ago, in the largest unit that is at least one."""
    seconds = max(time.time() - at, 0)
    when = f"{dt.datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{when}, {int(seconds // size)} {unit} ago"
    return f"{when}, now"
