"""`lessons export`: write cards in another format."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import check_choice, open_brain, say


def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="json, jsonl or markdown.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write; default: stdout."),
    ] = None,
) -> None:
    """Print every card; jsonl is what `import jsonl` reads.

    Example: lessons export jsonl -o lessons.jsonl
    """
    from lessons_kb.brain.import_export.exchange import FORMATS, Exchange

    check_choice("FORMAT", form, FORMATS)
    brain = open_brain()
    lines = Exchange(brain).export(form)
    if output is None:
        for line in lines:
            print(line)
        return
    from lessons_kb.store.import_files import write_export

    brain.cards.check_free(output)
    write_export(output, lines)
    say(f"written to {output}")
