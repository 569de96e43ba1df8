"""`lessons index`: bring the index up to date."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import Annotated

import typer

from lessons_kb.brain.cluster import KEY_VARIABLE, Difference, compare, open_cluster
from lessons_kb.brain.cluster import sync as push
from lessons_kb.brain.layer import Layer, Watching, format_census, take_census
from lessons_kb.brain.refresh import Refresh
from lessons_kb.cli.options import draw_progress, open_brain, options, print_json, say
from lessons_kb.errors import EngineUnreachable, IndexBroken
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import counted, visible


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read every file again.")] = False,
) -> None:
    """Update the index and report what happened to every file.

    Searches update it by themselves.

    Example: lessons index --rebuild
    """
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
    counts = [take_census(layer) for layer in brain.layers]
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


def watch() -> None:
    """Keep the index up to date while files are edited.

    Example: lessons watch &
    """
    brain = open_brain()
    say(f"watching {', '.join(layer.root for layer in brain.layers)}; press Ctrl-C to stop")
    watching = Watching(brain.layers, say=lambda line: print(line, flush=True), shared=True)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)


_MOST_NAMED = 20


def sync(
    to: Annotated[
        str,
        typer.Option(metavar="DIR|URL", help="A Qdrant server, or a folder to try it without."),
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Push nothing; exit 1 where the two differ.")
    ] = False,
) -> None:
    """Push what changed in the nearest brain to a shared cluster.

    The key of the server is read from LESSONS_SYNC_KEY.

    Example: lessons sync --to https://qdrant.example.com:6333
    """
    brain = open_brain()
    layer = brain.layers[0]
    with draw_progress("reading") as show:
        brain.refresh(progress=show)
    try:
        _verify(layer, to) if verify else _push(layer, to)
    except EngineUnreachable as error:
        say(str(error))
        raise typer.Exit(1) from None


def _push(layer: Layer, to: str) -> None:

    key = os.environ.get(KEY_VARIABLE, "")
    cluster = open_cluster(layer, to, key=key, create=True)
    with contextlib.closing(cluster) as engine, draw_progress("pushing") as show:
        done = push(layer, engine, progress=show)
    if options().json:
        print_json({"brain": layer.root, "to": to, **as_data(done)})
        return
    changes = f"{done.added} added, {done.changed} changed, {done.removed} removed"
    print(visible(f"{to}: {counted(done.cards, 'file')}; {changes}"))


def _verify(layer: Layer, to: str) -> None:

    key = os.environ.get(KEY_VARIABLE, "")
    try:
        with contextlib.closing(open_cluster(layer, to, key=key, create=False)) as engine:
            found = compare(layer, engine)
    except IndexBroken as error:
        say(str(error))
        raise typer.Exit(1) from None
    if options().json:
        print_json({"brain": layer.root, "to": to, "same": not found, **as_data(found)})
    else:
        _print_difference(to, found)
    if found:
        raise typer.Exit(1)


def _print_difference(to: str, found: Difference) -> None:
    lists = {"missing": found.missing, "changed": found.changed, "extra": found.extra}
    lines = [f"{what}: {card_id}" for what, ids in lists.items() for card_id in ids]
    for line in lines[:_MOST_NAMED]:
        print(visible(line))
    counts = f"{counted(found.cards, 'file')} here, {found.held} there"
    more = f"; {counted(len(lines), 'difference')}" if lines else "; no difference"
    print(visible(f"{to}: {counts}{more}"))
