"""Commands that consume lessons: search preflight check."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb import render
from lessons_kb.cli.options import (
    check_choice,
    open_brain,
    options,
    print_json,
    print_table,
    read_file,
    read_text,
    relative_path,
    say,
)
from lessons_kb.errors import InputError, Untrusted
from lessons_kb.importers.annotations import Annotation, format_github, format_sarif
from lessons_kb.model import KINDS, NOTE, as_data
from lessons_kb.preflight.block import shown_name
from lessons_kb.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.model import Card, Check, Preflight, Unaddressed
    from lessons_kb.process.git import Diff

Paths = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="FILE", help="File being worked on; repeatable."),
]
Revision = Annotated[
    str | None,
    typer.Option(
        "--diff", metavar="[REV]", help="Use the diff against REV; default: uncommitted changes."
    ),
]
Stage = Annotated[str | None, typer.Option(help="Current workflow stage.")]
Session = Annotated[str | None, typer.Option(help="Session whose earlier injections count.")]

FORMATS = ("text", "json", "sarif", "github")
BLOCK, WARNINGS = "text", "warnings"
_COMMON = 5
"""Mistakes of a stage that are named where no prompt says which matter."""


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    for command in (preflight, check, search):
        app.command(command.__name__)(command)


def preflight(
    prompt: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT", help="The prompt; default: stdin.")
    ] = None,
    diff: Revision = None,
    path: Paths = None,
    stage: Stage = None,
    session: Session = None,
    budget: Annotated[
        int | None, typer.Option(min=0, help="Token budget of the whole block.")
    ] = None,
    context: Annotated[
        bool | None, typer.Option("--context/--no-context", help="Add excerpts of notes.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help=f"{BLOCK}, or {WARNINGS} (a list of common mistakes).")
    ] = BLOCK,
    explain: Annotated[bool, typer.Option("--explain", help="Explain each hit on stderr.")] = False,
) -> None:
    """Print the lessons that matter for a prompt, or nothing.

    With only --format warnings and --stage, print the most frequent mistakes of that stage.

    Example: lessons preflight "Add a Telegram command that runs a shell script"
    """
    check_choice("--format", form, (BLOCK, WARNINGS))
    try:
        brain = open_brain()
    except Untrusted as error:
        say(str(error))  # silence is the answer; why stands on stderr
        return
    if form == WARNINGS and stage and not (prompt or path or diff is not None):
        _warn_of(_most_seen(brain, stage), brain, stage)
        return
    if diff is None:
        text, paths = read_text(prompt or [], what="prompt"), tuple(path or ())
    else:
        change = _read_diff(brain, diff)
        text = " ".join([*(prompt or []), *change.files, *change.added])
        paths = (*(path or ()), *change.files)
    asked = functools.partial(brain.preflight, text, stage=stage, paths=paths, context=context)
    block = asked(session=session or "", budget=budget)
    language = brain.layers[0].settings.language
    if options().json:
        print_json(render.preflight_data(block, language))
    elif form == WARNINGS:
        _warn_of([hit.card for hit in block.lessons], brain, stage)
    elif form == BLOCK and block.text:
        print(block.text)
    if explain:
        _explain(brain, block, text)
    elif block.lessons and not options().json:
        print(render.scope_footer(block, language), file=sys.stderr)
    _say_too_small(block, lambda tokens: asked(budget=tokens, remember=False, fresh=False))


def _explain(brain: Brain, block: Preflight, text: str) -> None:
    """Say why of what was given and, of what was held back, as many as could have been given."""
    shown = block.withheld[: max(brain.layers[0].settings.preflight.max_lessons, 1)]
    for hit in (*block.lessons, *block.notes, *shown):
        print(f"{hit.card.title} ({hit.card.id})", file=sys.stderr)
        print(render.explain_hit(hit, text), file=sys.stderr)
    if others := len(block.withheld) - len(shown):
        say(f"{others} more suppressed; use --json")
    _say_stale(brain)


def _say_too_small(block: Preflight, attempt: Callable[[int], Preflight]) -> None:
    from lessons_kb.brain.least_budget import find_least_budget, is_too_small

    if not is_too_small(block):
        return
    least = find_least_budget(attempt)
    hint = f"use --budget {least} or more" if least else "raise `model_context`"
    say(f"the token budget is too small for any lesson; {hint}")


def _most_seen(brain: Brain, stage: str) -> list[Card]:
    """Return the stage's lessons that would be given, those seen most often first."""
    from lessons_kb.brain.filters import names_stage

    cards = [
        card
        for card in brain.cards.all()
        if card.status == "active"
        and names_stage(card, stage)
        and card.project in (None, brain.project)
    ]
    cards.sort(key=lambda card: (-card.occurrences, card.id))
    return cards[:_COMMON]


def _warn_of(cards: Sequence[Card], brain: Brain, stage: str | None) -> None:
    language = brain.layers[0].settings.language
    if options().json:
        print_json([as_data(card) for card in cards])
    elif text := render.format_warnings(cards, stage=stage, language=language):
        print(text)


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
        change = _read_diff(brain, diff)
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
        _say_stale(brain)
    elif hits:
        rows = [
            (f"{hit.score:.2f}", hit.card.kind, hit.card.title, shown_name(hit)) for hit in hits
        ]
        print_table(("score", "kind", "title", "id"), rows, right="score")
    else:
        say("nothing found")


def _say_stale(brain: Brain) -> None:
    for layer in brain.layers:
        if layer.stale:
            say(f"{layer.alias}: searched the previous index, because {layer.stale}")


def _read_diff(brain: Brain, revision: str) -> Diff:
    from lessons_kb.brain.evidence import read_change

    return read_change(brain, revision)
