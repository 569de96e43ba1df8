"""`lessons index`: update the index and report on every file."""

from __future__ import annotations

import os
from typing import Annotated

from typer import Option

from lessons_kb.brain.brain import format_census, take_census
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import draw_progress, print_answer, say
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import counted
from lessons_kb.values import replace


def index(
    rebuild: Annotated[bool, Option("--rebuild", help="Read every file again.")] = False,
) -> None:
    """Update the index and report what happened to every file.

    Searches update it by themselves.

    Example: lessons index --rebuild
    """
    brains = open_brain()
    with draw_progress("reading") as show:
        done = brains.refresh(
            workers=max(1, min(4, os.cpu_count() or 1)),
            progress=show,
            rebuild=rebuild,
            patience=600.0,
            waiting=lambda why: say(f"waiting: {why}"),
        )
        if any(brain.settings.semantic.enabled for brain in brains.members):
            for brain in brains.members:
                brain.encode(show)
            after = brains.refresh()
            done = tuple(
                replace(run, stale=now.stale) for run, now in zip(done, after, strict=True)
            )
    rows = [
        (brain, take_census(brain), run) for brain, run in zip(brains.members, done, strict=True)
    ]
    data = [
        {"brain": brain.root, **as_data(count), "seconds": round(run.seconds, 3)}
        for brain, count, run in rows
    ]
    lines = []
    for brain, count, run in rows:
        name = f"{brain.alias}: " if len(rows) > 1 else ""
        hint = " (see `lessons lint`)" if count.problems else ""
        problems = counted(count.problems, "problem")
        lines.append(f"{name}{format_census(count)}; {problems}{hint}; {run.seconds:.1f} s")
        if run.stale:
            say(f"{name}{run.stale}")
    print_answer(data, *lines)
