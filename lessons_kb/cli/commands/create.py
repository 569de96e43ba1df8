"""`lessons create`: write a new card from the template."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from lessons_kb.cli.options import ForProject, Stage, Tags, open_brain, read_file
from lessons_kb.cli.output import is_interactive, options, print_answer, say
from lessons_kb.cli.write_card import (
    CardOptions,
    Gate,
    Globs,
    Items,
    Kind,
    NotFor,
    OnDuplicate,
    Patterns,
    Severity,
    Symptoms,
    Title,
    Why,
    ask_duplicate,
    edit_file,
    name_card,
    say_cut_cause,
    say_destination,
    say_paths,
    say_unfinished,
    settle_similar,
    write_card,
)
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.drafts import Drafts
from lessons_kb.errors import Contradiction, DuplicateCard, InputError
from lessons_kb.model import as_data


def create(
    title: Title,
    why: Why = "",
    do: Items = None,
    symptom: Symptoms = None,
    paths: Globs = None,
    detect: Patterns = None,
    gate: Gate = None,
    not_for: NotFor = None,
    tags: Tags = None,
    severity: Severity = None,
    type_: Kind = "lesson",
    project: ForProject = None,
    stage: Stage = None,
    on_duplicate: OnDuplicate = None,
    from_diff: Annotated[
        str | None,
        Option(
            "--from-diff",
            metavar="FILE[:LINE]",
            help="Start from the change that fixed the mistake.",
        ),
    ] = None,
    from_session: Annotated[
        str | None,
        Option(
            "--from-session",
            metavar="[ID]",
            help="Start from the failures of a session; default: the latest.",
        ),
    ] = None,
    edit: Annotated[bool, Option("--edit/--no-edit", help="Open the card in an editor.")] = True,
) -> None:
    """Write a new card from the template, for you to fill in.

    Example: lessons create "Retried payment charged twice" --tags payments,retry --severity high
    """
    chosen = CardOptions(
        why=why,
        items=list(do or ()),
        symptoms=list(symptom or ()),
        paths=list(paths or ()),
        patterns=list(detect or ()),
        gate=gate,
        not_for=list(not_for or ()),
        tags=list(tags or ()),
        severity=severity,
        kind=type_,
        project=project,
        stage=stage,
    )
    details = chosen.as_details()
    brains = open_brain(for_new_card=True)
    sketch = None
    if from_diff is not None and from_session is not None:
        raise InputError("--from-diff and --from-session cannot be combined; use one")
    if from_diff is not None:
        sketch = Drafts(brains).sketch_diff(from_diff)
    elif from_session is not None:
        sketch = Drafts(brains).sketch_session(from_session or None, title=title)
    if sketch is not None:
        details["paths"] = details["paths"] or sketch.paths
        details["sources"] = sketch.sources
        details["sections"] = {**sketch.sections, **details["sections"]}
    try:
        card = write_card(brains, title, on_duplicate, details, whole=False)
    except DuplicateCard as error:
        has_text = chosen.has_text() or sketch is not None
        existing = ask_duplicate(brains, error, on_duplicate, has_text=has_text)
        on_duplicate = "contradicts" if isinstance(error, Contradiction) else "new"
        card = existing or write_card(brains, title, on_duplicate, details, whole=False)
    if settle_similar(brains, card, on_duplicate):
        return
    is_new = card.occurrences == 1 and not options().json
    if is_new and edit and is_interactive():
        path = Cards(brains).read(card.id)[0]
        before = read_file(path)
        edit_file(path)
        if sketch is None and read_file(path) == before:
            Cards(brains).delete(card.id)
            say("the template was not changed, so no card was written")
            return
    print_answer(as_data(card), name_card(brains, card))
    say_destination(brains)
    if is_new:
        written = Cards(brains).get(card.id)
        say_cut_cause(written)
        say_paths(brains, written)
        say_unfinished(brains, card.id)
