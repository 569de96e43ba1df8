"""`lessons export`: print every card."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.output import say
from lessons_kb.cli.shared_brains import open_shared_brains
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.exchange import FORMATS, Exchange
from lessons_kb.store.files import write_export


def export(
    form: Annotated[str, Argument(metavar="FORMAT", help="json, jsonl or markdown.")],
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="File to write; default: stdout.")
    ] = None,
) -> None:
    """Print every card; `import` reads json and jsonl.

    If there are other brains, your own brain is left out, unless --brain names it.

    Example: lessons export jsonl -o lessons.jsonl
    """
    check_choice("FORMAT", form, FORMATS)
    brains = open_shared_brains()
    lines = Exchange(brains).export(form)
    if output is None:
        for line in lines:
            print(line)
        return
    Cards(brains).check_free(output)
    write_export(output, lines)
    say(f"written to {output}")
