"""`lessons search`: search cards and notes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lessons_kb import render
from lessons_kb.cli.options import (
    check_choice,
    open_brain,
    options,
    print_json,
    print_table,
    read_text,
    say,
)
from lessons_kb.cli.query_options import Paths, Stage, say_stale
from lessons_kb.errors import InputError
from lessons_kb.model import KINDS, NOTE
from lessons_kb.preflight.block import shown_name


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="What to search for; default: stdin."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--type", help=f"Only {', '.join(KINDS)} or {NOTE}.")
    ] = None,
    path: Paths = None,
    stage: Stage = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of hits.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show score, factors and terms.")
    ] = False,
) -> None:
    """Search cards and notes; nothing is suppressed.

    Example: lessons search "allow list" --explain
    """
    check_choice("--type", kind, (*KINDS, NOTE))
    query = read_text(words or [], what="query")
    if not query.strip():
        raise InputError("query missing; pass it as an argument or on stdin")
    brain = open_brain()
    hits = brain.search(
        query,
        kinds=(kind,) if kind else (*KINDS, NOTE),
        stage=stage,
        paths=tuple(path or ()),
        limit=limit,
    )
    if options().json:
        print_json([render.hit_data(hit) for hit in hits])
    elif explain:
        for place, hit in enumerate(hits, 1):
            print(f"{place}. {hit.card.title} ({hit.card.id})")
            print(render.explain_hit(hit, query))
    elif hits:
        columns = ("score", "kind", "title", "id")
        names = [shown_name(hit) for hit in hits]
        if sys.stdout.isatty():  # as `list` does: a line a hit
            columns = ("score", "title", "id", "kind")
            short = brain.cards.shorten_ids([hit.card for hit in hits])
            names = [
                name if hit.brain else short[name] for name, hit in zip(names, hits, strict=True)
            ]
        rows = [
            {
                "score": f"{hit.score:.2f}",
                "kind": hit.card.kind,
                "title": hit.card.title,
                "id": name,
            }
            for name, hit in zip(names, hits, strict=True)
        ]
        print_table(columns, [[row[name] for name in columns] for row in rows], right="score")
    else:
        say("nothing found")
    say_stale(brain)
