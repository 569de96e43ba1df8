"""`lessons sync`: bring a cluster up to date with the files of a brain."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json, say
from lessons_kb.cli.progress import draw_progress
from lessons_kb.errors import EngineUnreachable, IndexBroken
from lessons_kb.model import as_data
from lessons_kb.text.escape_controls import visible
from lessons_kb.text.plurals import counted

if TYPE_CHECKING:
    from lessons_kb.brain.cluster.sync import Difference
    from lessons_kb.brain.layer import Layer

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
    from lessons_kb.brain.cluster.card_numbers import KEY_VARIABLE, open_cluster
    from lessons_kb.brain.cluster.sync import sync as push

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
    from lessons_kb.brain.cluster.card_numbers import KEY_VARIABLE, open_cluster
    from lessons_kb.brain.cluster.sync import compare

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
