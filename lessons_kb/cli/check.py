"""`lessons check`: the post-check of an answer or a change."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb import render
from lessons_kb.check.item_evidence import read_texts
from lessons_kb.cli.annotations import Annotation, print_annotations
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
from lessons_kb.cli.query_options import Revision, Session, read_diff
from lessons_kb.errors import InputError
from lessons_kb.model import CONTRADICTED, DENIED, OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.model import Check, CheckedItem, DetectedLine

FORMATS = ("text", "json", "sarif", "github")
FAILING = (DENIED, CONTRADICTED, OPEN)


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
    last: Annotated[
        bool, typer.Option("--last", help="Check the latest answer in an agent once more.")
    ] = False,
    session: Session = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            metavar="STATES",
            help=f"Exit 1 for an item in one of these states: {', '.join(FAILING)}.",
        ),
    ] = "",
    fail: Annotated[
        bool,
        typer.Option("--fail-on-unaddressed", help=f"The same as --fail-on {','.join(FAILING)}."),
    ] = False,
) -> None:
    """Check an answer or a diff against the lessons' checklists.

    Each item is shown, denied, contradicted or open.

    Without --card, check the lessons injected for the last prompt or, with --diff, those that
    match the change. Example: lessons check --diff origin/main...HEAD --format github
    """
    check_choice("--format", form, FORMATS)
    failing = FAILING if fail else tuple(filter(None, map(str.strip, fail_on.split(","))))
    for state in failing:
        check_choice("--fail-on", state, FAILING)
    brain = open_brain()
    if last:
        if answer or card or evidence or diff is not None:
            raise InputError("--last takes no answer, --card, --evidence or --diff; leave them out")
        result = brain.check_last(session)
    else:
        result = _check(brain, answer or [], card, evidence or [], diff, session)
        from lessons_kb.brain.current_session import session_of
        from lessons_kb.brain.post_check.count_addressed import count_check  # not for --help

        if not (session or session_of()[0]):  # a session is counted when its turn ends
            count_check(brain.layers, result, at=time.time())
    _print_check(brain, result, "json" if options().json else form)
    if any(item.state in failing for item in result.items):
        raise typer.Exit(1)


def _check(
    brain: Brain,
    answer: list[str],
    card: list[str] | None,
    evidence: list[str],
    diff: str | None,
    session: str | None,
) -> Check:
    seen = read_texts([read_file(name) for name in evidence])
    chosen: Sequence[str] | None = card
    detected: list[DetectedLine] = []
    if diff is None:
        text = read_text(answer, what="answer")
        if not text.strip() and not evidence:
            raise InputError("answer missing; pass it as an argument or on stdin")
    else:
        from lessons_kb.brain.detect_in_change import tell_line
        from lessons_kb.brain.detect_in_project import detect_diff  # not for --help
        from lessons_kb.brain.post_check.work_done import read_diff_evidence

        change = read_diff(brain, diff)
        text = " ".join(answer)
        changed = read_diff_evidence(change)
        seen = replace(seen, edits=(*seen.edits, *changed.edits))
        found = detect_diff(brain, change.text)
        detected = [tell_line(one.card, one.match) for one in found]
        if chosen is None:
            query = " ".join([text, *change.files, *change.added])
            hits = brain.preflight(query, paths=change.files, context=False).lessons
            chosen = [hit.card.id for hit in hits]
            chosen += dict.fromkeys(one.card for one in detected if one.card not in chosen)
    result = brain.check(text, cards=chosen, evidence=seen, detected=detected, session=session)
    if chosen is None and not result.checked:
        say("no lesson to check: none was injected for the last prompt; use --card ID")
    return result


def _print_check(brain: Brain, result: Check, form: str) -> None:
    if form == "json":
        print_json(render.check_data(result))
    elif form == "text":
        print(render.check_text(result, brain.layers[0].settings.language))
    else:
        annotations = [_annotation(brain, item) for item in result.unaddressed]
        print_annotations(annotations, form)


def _annotation(brain: Brain, item: CheckedItem) -> Annotation:
    path, document = brain.cards.read(item.card.id)
    items = document.card.checklist if document.card else ()
    line = 0
    if item.item in items and len(items) == len(document.checklist_lines):
        line = document.checklist_lines[items.index(item.item)]
    return Annotation(
        path=relative_path(path), line=line, rule=item.state, message=render.checked_message(item)
    )
