"""`lessons index`: bring the index up to date."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import (
    open_brain,
    options,
    print_json,
    say,
)
from lessons_kb.cli.progress import draw_progress
from lessons_kb.model import as_data
from lessons_kb.text.plurals import counted

if TYPE_CHECKING:
    from lessons_kb.brain.refresh import Refresh


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read every file again.")] = False,
) -> None:
    """Update the index and report what happened to every file.

    Searches update it by themselves.

    Example: lessons index --rebuild
    """
    from lessons_kb.brain.account_for_files import count_files, format_census

    brain = open_brain()
    workers = max(1, min(4, os.cpu_count() or 1))
    with draw_progress("reading") as show:
        done = brain.refresh(
            workers=workers,
            progress=show,
            rebuild=rebuild,
            patience=600.0,
            waiting=lambda holder: say(f"waiting: {holder}"),
        )
        if any(layer.settings.semantic.enabled for layer in brain.layers):
            for layer in brain.layers:
                layer.encode(show)
            done = tuple(map(_left, done, brain.refresh()))
    counts = [count_files(layer) for layer in brain.layers]
    if options().json:
        rows = zip(brain.layers, counts, done, strict=True)
        print_json(
            [
                {"brain": layer.root, **as_data(count), "seconds": round(run.seconds, 3)}
                for layer, count, run in rows
            ]
        )
        return
    for layer, count, run in zip(brain.layers, counts, done, strict=True):
        name = f"{layer.alias}: " if len(counts) > 1 else ""
        hint = " (see `lessons lint`)" if count.problems else ""
        problems = counted(count.problems, "problem")
        print(f"{name}{format_census(count)}; {problems}{hint}; {run.seconds:.1f} s")
        if run.stale:
            say(f"{name}{run.stale}")


def _left(run: Refresh, after: Refresh) -> Refresh:
    """Leave out of a run's account what was done since."""
    return replace(run, stale=after.stale)
