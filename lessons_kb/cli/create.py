"""`lessons create`: write a new card from its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli import card_parts as parts
from lessons_kb.cli.card_lines import check_kind
from lessons_kb.cli.editing import edit_card, say_unfinished
from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain
    from lessons_kb.learn.draft_text import Sketch


def create(
    title: parts.Title,
    why: parts.Why = "",
    do: parts.Do = None,
    symptom: parts.Symptom = None,
    paths: parts.Paths = "",
    detect: parts.Detect = None,
    tags: parts.Tags = "",
    severity: parts.Severity = None,
    kind: parts.Kind = "lesson",
    project: parts.Project = None,
    stage: parts.Stage = None,
    on_duplicate: parts.OnDuplicate = None,
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
        bool, typer.Option("--edit/--no-edit", help="Open the card in an editor (on a terminal).")
    ] = True,
) -> None:
    """Write a new card from its template, to be filled in.

    Example: lessons create "Retried payment charged twice" --tags payments,retry --severity high
    """
    check_kind(kind, severity)
    brain = open_brain()
    sketch = _sketch(brain, title, from_diff, from_session)
    details = parts.read_options(
        kind=kind,
        tags=tags,
        project=project,
        stage=stage,
        severity=severity,
        paths=paths,
        why=why,
        do=do,
        symptom=symptom,
        detect=detect,
    )
    details["whole"] = False
    if sketch:
        details["paths"] = details["paths"] or sketch.paths
        details["sections"] = {**sketch.sections, **details["sections"]}
    card = parts.write_card(brain, title, on_duplicate, details)
    if options().json:
        print_json(as_data(card))
        return
    if card.occurrences > 1:
        print(f"{clean_line(card.id)} (seen {card.occurrences}×)")
        return
    print(clean_line(card.id))
    if edit and parts.is_interactive():
        edit_card(brain, card.id)
    else:
        say_unfinished(brain, card.id)


def _sketch(brain: Brain, title: str, diff: str | None, session: str | None) -> Sketch | None:
    if diff is not None and session is not None:
        raise InputError("--from-diff and --from-session cannot be combined; use one")
    if diff is not None:
        return brain.drafts.sketch_diff(diff)
    return None if session is None else brain.drafts.sketch_session(session or None, title=title)
