"""`lessons check`: the post-check of an answer or a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb import render
from lessons_kb.cli.diffs import Revision, Session, read_diff
from lessons_kb.cli.options import (
    check_choice,
    open_brain,
    options,
    print_json,
    read_file,
    read_text,
    relative_path,
    say,
)
from lessons_kb.errors import InputError
from lessons_kb.importers.annotations import Annotation, format_github, format_sarif
from lessons_kb.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.model import Check, Unaddressed

FORMATS = ("text", "json", "sarif", "github")


def check(
    answer: Annotated[
        list[str] | None, typer.Argument(metavar="ANSWER", help="The answer; default: stdin.")
    ] = None,
    card: Annotated[
        list[str] | None, typer.Option("--card", metavar="ID", help="Card to check; repeatable.")
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(
            "--evidence", metavar="FILE", help="File with a record of what was done; repeatable."
        ),
    ] = None,
    diff: Revision = None,
    session: Session = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    fail: Annotated[
        bool, typer.Option("--fail-on-unaddressed", help="Exit 1 if an item is not addressed.")
    ] = False,
) -> None:
    """Report the checklist items that an answer or a diff does not address.

    Without --card, check the lessons injected for the last prompt or, with --diff, those that
    match the change. Example: lessons check --diff origin/main...HEAD --format github
    """
    check_choice("--format", form, FORMATS)
    brain = open_brain()
    seen = [read_file(name) for name in evidence or ()]
    chosen: Sequence[str] | None = card
    if diff is None:
        text = read_text(answer or [], what="answer")
        if not text.strip() and not seen:
            raise InputError("answer missing; pass it as an argument or on stdin")
    else:
        change = read_diff(brain, diff)
        text = " ".join(answer or [])
        seen += [*change.files, "\n".join(change.added)]
        if chosen is None:
            query = " ".join([text, *change.files, *change.added])
            hits = brain.preflight(query, paths=change.files, context=False).lessons
            chosen = [hit.card.id for hit in hits]
    result = brain.check(text, cards=chosen, evidence=seen, session=session)
    _print_check(brain, result, "json" if options().json else form)
    if chosen is None and not result.checked:
        say("no lesson to check: none was injected for the last prompt; use --card ID")
    if fail and result.unaddressed:
        raise typer.Exit(1)


def _print_check(brain: Brain, result: Check, form: str) -> None:
    if form == "json":
        print_json(render.check_data(result))
    elif form == "text":
        print(render.check_text(result, brain.layers[0].settings.language))
    else:
        annotations = [_annotation(brain, item) for item in result.unaddressed]
        text = (
            format_github(annotations)
            if form == "github"
            else format_sarif(annotations, version=__version__)
        )
        if text:
            print(text)


def _annotation(brain: Brain, item: Unaddressed) -> Annotation:
    path, document = brain.cards.read(item.card.id)
    items = document.card.checklist if document.card else ()
    line = 0
    if item.item in items and len(items) == len(document.checklist_lines):
        line = document.checklist_lines[items.index(item.item)]
    return Annotation(
        path=relative_path(path),
        line=line,
        rule="unaddressed",
        message=render.unaddressed_message(item),
    )
