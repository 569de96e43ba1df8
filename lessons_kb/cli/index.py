"""`lessons index`, `lessons watch` and `lessons sync`: keep an index up to date, here and there."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

import typer

from lessons_kb.brain.brain import Watching, format_census, take_census
from lessons_kb.brain.cluster_search import KEY_VARIABLE, compare, open_cluster
from lessons_kb.brain.cluster_search import sync as push
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import draw_progress, print_answer, say
from lessons_kb.errors import EngineUnreachable, IndexBroken, InputError
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import counted, visible


def index(rebuild: bool = False) -> None:
    """Update the index and report what happened to every file.

    Searches update it by themselves.

    Example: lessons index --rebuild

    --rebuild  Read every file again.
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


def watch() -> None:
    """Keep the index up to date while files are edited.

    Example: lessons watch &
    """
    brains = open_brain()
    say(f"watching {', '.join(brain.root for brain in brains.members)}; press Ctrl-C to stop")
    watching = Watching(brains.members, say=lambda line: print(line, flush=True), tick=1.0)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)


_MOST_NAMED = 20


def sync(to: str, verify: bool = False) -> None:
    """Push what changed in the nearest brain to a shared cluster.

    The key of the server is read from LESSONS_SYNC_KEY.

    Example: lessons sync --to https://qdrant.example.com:6333

    --to DIR|URL  A Qdrant server, or a folder to try it without.
    --verify      Push nothing; exit 1 where the two differ.
    """
    if not to.strip():
        raise InputError("--to names no place; give a folder or the URL of a server")
    brains = open_brain()
    brain = brains.members[0]
    with draw_progress("reading") as show:
        brains.refresh(progress=show)
    try:
        key = os.environ.get(KEY_VARIABLE, "")
        with contextlib.closing(open_cluster(brain, to, key=key, create=not verify)) as engine:
            if not verify:
                with draw_progress("pushing") as show:
                    done = push(brain, engine, progress=show)
                changes = f"{done.added} added, {done.changed} changed, {done.removed} removed"
                line = visible(f"{to}: {counted(done.cards, 'file')}; {changes}")
                print_answer({"brain": brain.root, "to": to, **as_data(done)}, line)
                return
            found = compare(brain, engine)
    except (EngineUnreachable, IndexBroken) as error:
        say(str(error))
        raise typer.Exit(1) from None
    lists = {"missing": found.missing, "changed": found.changed, "extra": found.extra}
    lines = [f"{what}: {card_id}" for what, ids in lists.items() for card_id in ids]
    counts = f"{counted(found.cards, 'file')} here, {found.held} there"
    more = f"; {counted(len(lines), 'difference')}" if lines else "; no difference"
    data = {"brain": brain.root, "to": to, "same": not found, **as_data(found)}
    print_answer(data, *map(visible, (*lines[:_MOST_NAMED], f"{to}: {counts}{more}")))
    if found:
        raise typer.Exit(1)
