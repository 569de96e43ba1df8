"""`lessons search`: search cards and notes, without the threshold."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Argument, Option

from lessons_kb import render
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import Paths, Stage, read_text, say_stale
from lessons_kb.cli.output import options, pick, print_json, print_table, say
from lessons_kb.cli.untrusted_cards import open_to_read
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.errors import InputError
from lessons_kb.find.search import search as find_hits
from lessons_kb.model import KINDS, NOTE
from lessons_kb.preflight.offers import shown_name

_READ = (*KINDS, NOTE)


def search(
    words: Annotated[
        list[str] | None, Argument(metavar="QUERY...", help="What to search for; default: stdin.")
    ] = None,
    type_: Annotated[
        str | None,
        choose("--type", _READ, metavar="TYPE", help="Only lesson, playbook, qa-finding or note."),
    ] = None,
    path: Paths = None,
    stage: Stage = None,
    limit: Annotated[
        int, Option("--limit", metavar="N", min=1, help="Maximum number of results.")
    ] = 10,
    explain: Annotated[
        bool, Option("--explain", help="Show the score, its factors and the matched terms.")
    ] = False,
) -> None:
    """Search active cards and notes, without the threshold.

    Example: lessons search "allow list" --explain
    """
    query = read_text(words or [], what="query")
    if not query.strip():
        raise InputError("query missing; pass it as an argument or on stdin")
    brains, untrusted = open_to_read()
    kinds = (type_,) if type_ else _READ
    hits = find_hits(brains, query, kinds=kinds, stage=stage, paths=tuple(path or ()), limit=limit)
    if options().json:
        print_json([render.hit_data(hit) for hit in hits])
    elif explain:
        for rank, hit in enumerate(hits, 1):
            title = untrusted.mark(shown_name(hit), hit.card.title)
            print(f"{rank}. {title} ({hit.card.id})")
            print(render.explain_hit(hit, query))
    elif hits:
        columns, short_ids = ("kind", "title", "id"), {}
        if sys.stdout.isatty():  # one line per hit, as `list` prints cards
            columns = ("title", "id", "kind")
            short_ids = CardLookup(brains).shorten_ids([hit.card for hit in hits])
        rows = []
        for hit in hits:
            name = shown_name(hit)
            cells = pick(hit.card, "kind", "title")
            cells["title"] = untrusted.mark(name, cells["title"])
            cells["id"] = name if hit.brain else short_ids.get(name, name)
            rows.append([cells[column] for column in columns])
        print_table(columns, rows)
    else:
        say("nothing found")
    say_stale(brains)
