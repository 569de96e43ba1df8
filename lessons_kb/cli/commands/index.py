"""`lessons index`: update the index and report on every file."""

from __future__ import annotations

import os
from typing import Annotated

from typer import Option

from lessons_kb.brain.brain import count_kinds, format_census
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import draw_progress, print_answer, say
from lessons_kb.errors import InputError
from lessons_kb.find.calibrate import calibrate
from lessons_kb.model import as_data
from lessons_kb.on_demand import FRESHNESS_REFRESH, WATCH_FILES, load
from lessons_kb.text.sanitize import counted


def index(
    rebuild: Annotated[bool, Option("--rebuild", help="Read every file again.")] = False,
    watch: Annotated[
        bool, Option("--watch", help="Keep the index up to date until Ctrl-C.")
    ] = False,
) -> None:
    """Update the index; with --watch, keep it up to date.

    The command reports what happened to every file. A search updates the index by itself.

    Example: lessons index --rebuild
    """
    brains = open_brain()
    if watch:
        if rebuild:
            raise InputError("--watch and --rebuild cannot be combined; rebuild first")
        load(WATCH_FILES).watch_files(brains)
        return
    with draw_progress("reading") as show:
        runs = brains.refresh(
            workers=max(1, min(4, os.cpu_count() or 1)),
            progress=show,
            rebuild=rebuild,
            patience=600.0,
            waiting=lambda why: say(f"waiting: {why}"),
        )
        for brain in brains.members:
            brain.encode(show)
    for brain in brains.members:
        if brain.has_new_project():
            load(FRESHNESS_REFRESH).refresh_standings(brain)
    calibrate(brains, by_meaning=True)
    data = []
    lines = []
    for brain, run in zip(brains.members, runs, strict=True):
        census = count_kinds(brain)
        data.append({"brain": brain.root, **as_data(census), "seconds": round(run.seconds, 3)})
        name = f"{brain.alias}: " if len(brains.members) > 1 else ""
        hint = " (see `lessons lint`)" if census.problems else ""
        problems = counted(census.problems, "problem")
        lines.append(f"{name}{format_census(census)}; {problems}{hint}; {run.seconds:.1f} s")
        if run.stale:
            say(f"{name}{run.stale}")
    print_answer(data, *lines)
