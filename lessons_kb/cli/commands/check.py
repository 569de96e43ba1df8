"""`lessons check`: compare an answer or a diff with the checklists of lessons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb import render
from lessons_kb.brain.brains import Brains
from lessons_kb.cli.annotations import print_findings
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import (
    Format,
    Revision,
    Session,
    complete_ids,
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
from lessons_kb.find.detection import make_detected_line
from lessons_kb.find.project_detection import detect_diff
from lessons_kb.freshness.change_effects import TURNED, Effect, find_effects
from lessons_kb.ledger.given import find_given
from lessons_kb.model import CONTRADICTED, DENIED, OPEN, Check, CheckedItem, Finding, as_data
from lessons_kb.outcome.diff_evidence import read_change, read_diff_evidence
from lessons_kb.outcome.post_check import check_last, judge
from lessons_kb.postcheck.item_states import check_items, read_texts
from lessons_kb.process.git import Diff
from lessons_kb.store.journal import ASKED
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.values import replace

_LONGEST = 60
"""The maximum number of characters of a prompt that a message quotes."""
FAILING = (DENIED, CONTRADICTED, OPEN)
_MOST_CARDS, _MOST_ITEMS = 5, 3
"""The maximum numbers of cards, and of items of each, that a diff leaves undecided and that are
listed."""


def check(
    answer: Annotated[
        list[str] | None, Argument(metavar="ANSWER...", help="The answer; default: stdin.")
    ] = None,
    card: Annotated[
        list[str] | None,
        Option(
            "--card",
            metavar="ID",
            help="Card to check; repeatable.",
            autocompletion=complete_ids,
        ),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        Option("--evidence", metavar="FILE", help="File with evidence; repeatable."),
    ] = None,
    diff: Revision = None,
    last: Annotated[
        bool, Option("--last", help="Check the latest answer of an agent again.")
    ] = False,
    session: Session = None,
    form: Format = "text",
    fail_on: Annotated[
        str,
        Option(
            "--fail-on",
            metavar="STATES",
            help="Exit 1 for items in these states: denied, contradicted, open.",
        ),
    ] = "",
) -> None:
    """Check an answer or a diff against the lessons' checklists.

    The state of each item is shown, denied, contradicted, claimed (only the agent says that it is
    done) or open.

    Without --card, the command checks the lessons injected for the last prompt or, with --diff,
    the lessons that match the change. With --diff it also names the lessons whose last file the
    change removes, and those whose condition (`when`) it makes true or false.

    Example: lessons check --diff origin/main...HEAD --format github
    """
    failing = split_list(fail_on)
    for state in failing:
        check_choice("--fail-on", state, FAILING)
    if last and (answer or card or evidence or diff is not None):
        raise InputError("--last takes no answer, --card, --evidence or --diff; leave them out")
    brains = open_brain()
    effects: list[Effect] = []
    if last:
        result = check_last(brains, session)
    elif diff is not None:
        change = read_change(brains, diff)
        result = _check_diff(brains, change, answer or (), evidence or (), card)
        effects = [
            effect
            for brain in brains.members
            for effect in find_effects(brain, brains.directory, change)
        ]
    else:
        result = _check_answer(brains, answer or (), evidence or (), card, session)
    undecided: list[CheckedItem] = []
    if diff is not None and OPEN not in failing:  # a diff is no evidence about an open item
        undecided = [item for item in result.items if item.state == OPEN]
        decided = tuple(item for item in result.items if item.state != OPEN)
        result = replace(result, items=decided)
        if undecided and (form != "text" or options().json):
            items = counted(len(undecided), "item")
            say(f"the diff has no evidence about {items}; --fail-on open lists them")
    data = render.check_data(result)
    lines = render.check_text(result, brains.members[0].settings.language).splitlines()
    if diff is not None:
        data["effects"] = as_data(effects)
        lines = lines if result.items or not (effects or undecided) else []
        lines += [f"{effect.rule}: {effect.message}; {effect.fix}" for effect in effects]
        lines += _describe_undecided(brains, undecided)
    annotations = [_annotate_item(brains, item) for item in result.unaddressed]
    annotations += [_annotate_effect(brains, effect) for effect in effects]
    print_findings("json" if options().json else form, data, lines, annotations)
    if any(map(render.is_touched, result.items)) and form == "text" and not options().json:
        say(
            "if an open item was done, add a pattern that shows it to its line in the card: "
            "`- [ ] … <!-- shown-by: REGEX -->`"
        )
    if any(item.state in failing for item in result.items):
        raise typer.Exit(1)


def _describe_undecided(brains: Brains, items: Sequence[CheckedItem]) -> list[str]:
    """Return the items that a diff does not show to be done, by card, at most a few of each."""
    by_card: dict[str, list[CheckedItem]] = {}
    for item in items:
        by_card.setdefault(item.card.id, []).append(item)
    lines: list[str] = []
    for card_id, own in list(by_card.items())[:_MOST_CARDS]:
        path = relative_path(Cards(brains).read(card_id)[0])
        lines.append(f"? {clean_line(own[0].card.title)} ({clean_line(path)})")
        lines += [f"    - [ ] {clean_line(item.item)}" for item in own[:_MOST_ITEMS]]
        if len(own) > _MOST_ITEMS:
            lines.append(f"    … {len(own) - _MOST_ITEMS} more")
    if not lines:
        return []
    if len(by_card) > _MOST_CARDS:
        lines.append(f"… {counted(len(by_card) - _MOST_CARDS, 'card')} more")
    what = "this item is" if len(items) == 1 else "these items are"
    return [f"The diff does not show whether {what} done:", *lines]


def _check_diff(
    brains: Brains,
    change: Diff,
    answer: Sequence[str],
    evidence: Sequence[str],
    names: Sequence[str] | None,
) -> Check:
    """Check a diff against the named cards, or else against the cards that match it."""
    text = " ".join(answer)
    facts = read_texts([read_file(name) for name in evidence])
    facts = replace(facts, edits=(*facts.edits, *read_diff_evidence(change).edits))
    detected = [make_detected_line(card, match) for card, match in detect_diff(brains, change.text)]
    if names is None:
        query = " ".join([text, *change.files, *change.added])
        request = RetrievalOptions(paths=tuple(change.files), context=False)
        block = preflight(brains, query, request, fresh=True, remember=False)
        matched = [hit.card.id for hit in block.lessons]
        names = list(dict.fromkeys([*matched, *(line.card for line in detected)]))
    cards = [Cards(brains).get(name) for name in names]
    return judge(check_items(cards, text, facts, detected), text, facts)


def _check_answer(
    brains: Brains,
    answer: Sequence[str],
    evidence: Sequence[str],
    names: Sequence[str] | None,
    session: str | None,
) -> Check:
    """Check an answer against the named cards, or else against those for the last prompt."""
    facts = read_texts([read_file(name) for name in evidence])
    text = read_text(answer, what="answer")
    if not text.strip() and not evidence:
        raise InputError("answer missing; pass it as an argument or on stdin")
    if names is not None:
        cards = [Cards(brains).get(name) for name in names]
        return judge(check_items(cards, text, facts), text, facts)
    result = judge(check_items(find_given(brains.members, session), text, facts), text, facts)
    if not result.checked:
        prompts = brains.members[0].journal.events.find(session=session, kinds=ASKED, limit=1)
        texts = [f" (“{shorten(clean_line(prompt.text), _LONGEST)}”)" for prompt in prompts]
        about = "".join(texts)
        say(f"no lesson to check: none was injected for the last prompt{about}; use --card ID")
    return result


def _annotate_effect(brains: Brains, effect: Effect) -> Finding:
    """Return the finding that points to the key of a card on which a change has an effect."""
    path, document = Cards(brains).read(effect.card)
    key = "when" if effect.rule == TURNED else "paths"
    return Finding(
        path=relative_path(path),
        line=document.key_lines.get(key, 0),
        rule=effect.rule,
        message=effect.message,
        fix=effect.fix,
        level=effect.level,
    )


def _annotate_item(brains: Brains, item: CheckedItem) -> Finding:
    """Return the finding that points to the line of a checklist item in its card."""
    path, document = Cards(brains).read(item.card.id)
    items = document.card.checklist if document.card else ()
    line = 0
    if item.item in items and len(items) == len(document.checklist_lines):
        line = document.checklist_lines[items.index(item.item)]
    message = render.checked_message(item)
    return Finding(path=relative_path(path), line=line, rule=item.state, message=message, fix="")
