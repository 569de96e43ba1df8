"""`lessons sync`: push changes to a shared cluster."""

from __future__ import annotations

import contextlib
import os
from typing import Annotated

import typer
from typer import Option

from lessons_kb.brain.cluster_search import KEY_VARIABLE, compare, open_cluster
from lessons_kb.brain.cluster_search import sync as push
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import draw_progress, print_answer, say
from lessons_kb.errors import EngineUnreachable, IndexBroken, InputError
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import counted, visible

_MOST_NAMED = 20


def sync(
    to: Annotated[
        str,
        Option("--to", metavar="DIR|URL", help="Qdrant server, or a folder for a test."),
    ],
    verify: Annotated[
        bool, Option("--verify", help="Push nothing; exit 1 if brain and cluster differ.")
    ] = False,
) -> None:
    """Push the changes of the nearest brain to a shared cluster.

    The API key of the server is read from LESSONS_SYNC_KEY.

    Example: lessons sync --to https://qdrant.example.com:6333
    """
    if not to.strip():
        raise InputError("--to names no place; give a folder or the URL of a server")
    brains = open_brain(for_one="pushed")
    brain = brains.members[0]
    with draw_progress("reading") as show:
        brains.refresh(progress=show)
    try:
        key = os.environ.get(KEY_VARIABLE, "")
        with contextlib.closing(open_cluster(brain, to, key=key, create=not verify)) as engine:
            if not verify:
                with draw_progress("pushing") as show:
                    pushed = push(brain, engine, progress=show)
                changes = (
                    f"{pushed.added} added, {pushed.changed} changed, {pushed.removed} removed"
                )
                line = visible(f"{to}: {counted(pushed.cards, 'file')}; {changes}")
                print_answer({"brain": brain.root, "to": to, **as_data(pushed)}, line)
                return
            difference = compare(brain, engine)
    except (EngineUnreachable, IndexBroken) as error:
        say(str(error))
        raise typer.Exit(1) from None
    lists = {
        "missing": difference.missing,
        "changed": difference.changed,
        "extra": difference.extra,
    }
    lines = [f"{what}: {card_id}" for what, ids in lists.items() for card_id in ids]
    counts = f"{counted(difference.cards, 'file')} here, {difference.held} there"
    more = f"; {counted(len(lines), 'difference')}" if lines else "; no difference"
    data = {"brain": brain.root, "to": to, "same": not difference, **as_data(difference)}
    print_answer(data, *map(visible, (*lines[:_MOST_NAMED], f"{to}: {counts}{more}")))
    if difference:
        raise typer.Exit(1)
