"""`lessons create`: write a new card."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.card_lines import check_kind
from lessons_kb.cli.options import check_choice, open_brain, options, print_json, say
from lessons_kb.errors import DuplicateCard, InputError
from lessons_kb.model import KINDS, as_data
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain
    from lessons_kb.learn.draft_text import Sketch


def create(
    title: Annotated[str, typer.Argument(help="The mistake, in one line.")],
    kind: Annotated[str, typer.Option("--type", help=f"One of {', '.join(KINDS)}.")] = "lesson",
    tags: Annotated[str, typer.Option(help="Topics, separated by commas.")] = "",
    project: Annotated[str | None, typer.Option(help="Only for this project.")] = None,
    severity: Annotated[str | None, typer.Option(help="low, medium or high.")] = None,
    stage: Annotated[str | None, typer.Option(help="Workflow stage, such as DEV.")] = None,
    paths: Annotated[
        str, typer.Option(help="Globs of the files it guards, separated by commas.")
    ] = "",
    on_duplicate: Annotated[
        str | None, typer.Option(help="If the lesson exists: ask, bump, new or fail.")
    ] = None,
    from_diff: Annotated[
        str | None,
        typer.Option(metavar="FILE[:LINE]", help="Start from the change that fixed it."),
    ] = None,
    from_session: Annotated[
        str | None,
        typer.Option(
            metavar="[ID]", help="Start from what went wrong in a session; default: the latest."
        ),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit/--no-edit", help="Open the card in $EDITOR (on a terminal).")
    ] = True,
) -> None:
    """Write a new card from its template.

    Example: lessons create "Retried payment charged twice" --tags payments,retry --severity high
    """
    check_kind(kind, severity)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    rule = _choose_rule(on_duplicate, interactive=interactive)
    brain = open_brain()
    sketch = _sketch(brain, from_diff, from_session)
    details: dict[str, Any] = {
        "kind": kind,
        "topics": _split(tags),
        "project": project,
        "stage": stage,
        "severity": severity,
        "paths": _split(paths) or (sketch.paths if sketch else ()),
        "sections": sketch.sections if sketch else None,
    }
    try:
        card = brain.cards.create(title, on_duplicate={"ask": "fail"}.get(rule, rule), **details)
    except DuplicateCard as error:
        if rule != "ask":
            raise
        if _ask_whether_to_bump(error):
            card = brain.bump(error.existing)[0]
        else:
            card = brain.cards.create(title, on_duplicate="new", **details)
    if options().json:
        print_json(as_data(card))
        return
    bumped = card.occurrences > 1
    print(f"{clean_line(card.id)} (seen {card.occurrences}×)" if bumped else clean_line(card.id))
    if edit and interactive and not bumped:
        from lessons_kb.process.editor import open_editor

        open_editor(brain.cards.read(card.id)[0])


def _choose_rule(on_duplicate: str | None, *, interactive: bool) -> str:
    from lessons_kb.brain.cards import ON_DUPLICATE

    check_choice("--on-duplicate", on_duplicate, ("ask", *ON_DUPLICATE))
    if on_duplicate == "ask" and not interactive:
        raise InputError("--on-duplicate ask needs a terminal; use bump, new or fail")
    return on_duplicate or ("ask" if interactive else "fail")


def _sketch(brain: Brain, diff: str | None, session: str | None) -> Sketch | None:
    if diff is not None and session is not None:
        raise InputError("--from-diff and --from-session cannot be combined; use one")
    if diff is not None:
        return brain.drafts.sketch_diff(diff)
    return None if session is None else brain.drafts.sketch_session(session or None)


def _ask_whether_to_bump(error: DuplicateCard) -> bool:
    say(str(error).partition(";")[0])
    answer = typer.prompt("[b]ump it, write a [n]ew card, or [s]top?", default="b", err=True)
    chosen = {"b": True, "n": False}.get(answer.strip().lower()[:1])
    if chosen is None:
        raise typer.Abort
    return chosen


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
