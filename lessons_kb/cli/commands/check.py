"""`lessons check`: an answer or a diff against the checklists of lessons."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb import render
from lessons_kb.brain.brains import Brains
from lessons_kb.cli.annotations import print_found
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import (
    Format,
    Revision,
    Session,
    open_brain,
    read_file,
    read_text,
    relative_path,
    split_list,
)
from lessons_kb.cli.output import options, say
from lessons_kb.collection.cards import Cards
from lessons_kb.errors import InputError
from lessons_kb.find.block import RetrievalOptions, preflight
from lessons_kb.find.detection import tell_line
from lessons_kb.find.project_detection import detect_diff
from lessons_kb.ledger.given import find_given
from lessons_kb.model import CONTRADICTED, DENIED, OPEN, CheckedItem, DetectedLine, Finding
from lessons_kb.outcome.post_check import check_last, judge, read_change, read_diff_evidence
from lessons_kb.postcheck.item_states import check_items, read_texts
from lessons_kb.text.sanitize import counted
from lessons_kb.values import replace

FAILING = (DENIED, CONTRADICTED, OPEN)


def check(
    answer: Annotated[
        list[str] | None, Argument(metavar="ANSWER...", help="The answer; default: stdin.")
    ] = None,
    card: Annotated[
        list[str] | None, Option("--card", metavar="ID", help="Card to check; repeatable.")
    ] = None,
    evidence: Annotated[
        list[str] | None,
        Option(
            "--evidence", metavar="FILE", help="File with a record of what was done; repeatable."
        ),
    ] = None,
    diff: Revision = None,
    last: Annotated[
        bool, Option("--last", help="Check the latest answer in an agent once more.")
    ] = False,
    session: Session = None,
    form: Format = "text",
    fail_on: Annotated[
        str,
        Option(
            "--fail-on",
            metavar="STATES",
            help="Exit 1 for an item in one of these states: denied, contradicted, open.",
        ),
    ] = "",
) -> None:
    """Check an answer or a diff against the lessons' checklists.

    Each item is shown, denied, contradicted, claimed (closed by the agent's
    word alone) or open.

    Without --card, check the lessons injected for the last prompt or, with --diff, those that
    match the change. Example: lessons check --diff origin/main...HEAD --format github
    """
    failing = split_list(fail_on)
    for state in failing:
        check_choice("--fail-on", state, FAILING)
    if last and (answer or card or evidence or diff is not None):
        raise InputError("--last takes no answer, --card, --evidence or --diff; leave them out")
    brains, chosen = open_brain(), card
    seen = read_texts([read_file(name) for name in evidence or ()])
    text, detected = " ".join(answer or ()), list[DetectedLine]()
    if diff is not None:
        change = read_change(brains, diff)
        seen = replace(seen, edits=(*seen.edits, *read_diff_evidence(change).edits))
        detected = [tell_line(*one) for one in detect_diff(brains, change.text)]
        if chosen is None:
            query = " ".join([text, *change.files, *change.added])
            asked = RetrievalOptions(paths=tuple(change.files), context=False)
            block = preflight(brains, query, asked, fresh=True, remember=False)
            chosen = [hit.card.id for hit in block.lessons]
            chosen += dict.fromkeys(one.card for one in detected if one.card not in chosen)
    elif not last:
        text = read_text(answer or (), what="answer")
        if not text.strip() and not evidence:
            raise InputError("answer missing; pass it as an argument or on stdin")
    if last:
        result = check_last(brains, session)
    else:
        if chosen is None:
            cards = find_given(brains.members, session)
        else:
            cards = [Cards(brains).get(name) for name in chosen]
        result = judge(check_items(cards, text, seen, detected), text, seen)
        if chosen is None and not result.checked:
            say("no lesson to check: none was injected for the last prompt; use --card ID")
    if diff is not None and OPEN not in failing:  # of which nothing is known
        known = tuple(item for item in result.items if item.state != OPEN)
        if left := len(result.items) - len(known):
            say(f"the diff tells nothing of {counted(left, 'item')}; --fail-on open lists them")
            if not known and form == "text" and not options().json:
                return
        result = replace(result, items=known)
    print_found(
        "json" if options().json else form,
        render.check_data(result),
        render.check_text(result, brains.members[0].settings.language).splitlines(),
        (_annotate_item(brains, item) for item in result.unaddressed),
    )
    if any(item.state in failing for item in result.items):
        raise typer.Exit(1)


def _annotate_item(brains: Brains, item: CheckedItem) -> Finding:
    path, document = Cards(brains).read(item.card.id)
    items = document.card.checklist if document.card else ()
    line = 0
    if item.item in items and len(items) == len(document.checklist_lines):
        line = document.checklist_lines[items.index(item.item)]
    told = render.checked_message(item)
    return Finding(path=relative_path(path), line=line, rule=item.state, message=told, fix="")
