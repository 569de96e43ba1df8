"""`lessons escalate`: strengthen a lesson whose mistake came back, one step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.sketch import format_patterns
from lessons_kb.cli.options import DryRun, Yes, open_brain, split_lists
from lessons_kb.cli.output import confirm, options, print_json, print_table, print_wrapped, say
from lessons_kb.cli.write_card import Globs, parse_detect
from lessons_kb.collection.due_escalations import STOP, TAKE_BACK
from lessons_kb.collection.escalation import (
    Escalation,
    describe,
    find_escalation,
    find_escalations,
    take_step,
)
from lessons_kb.errors import InputError
from lessons_kb.ledger.escalation import CALL, DETECT, GATE, LINTER
from lessons_kb.text.sanitize import clean_line

_STEPS = {
    CALL: "give it before a change of these files",
    GATE: "refuse the first matching change or command, once per file and session (`gate: once`)",
    DETECT: "find the mistake itself by a pattern",
    LINTER: "have the project's linter find it",
    STOP: "stop injecting the card (`status: ignored`)",
    TAKE_BACK: "inject the card again (`status: active`)",
}


def escalate(
    card: Annotated[
        str | None, Argument(metavar="[ID]", help="The card; without an ID, list the proposals.")
    ] = None,
    paths: Globs = None,
    detect: Annotated[
        str | None,
        Option(
            "--detect",
            metavar="PATTERN",
            help="Pattern for the step: regular expression, `ast: …` or `command: …`.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Propose a stronger step for a lesson whose mistake came back.

    The steps are: give the card before the tool call, refuse the first call (`gate: once`), find
    the mistake by a pattern that the history supports, enable a rule of the project's linter. A
    card that an enabled rule covers need not be given any more.

    Example: lessons escalate telegram-allowlist
    """
    brains = open_brain()
    if card is None:
        if paths or detect or yes:
            raise InputError("name the card; `lessons escalate` lists what is proposed")
        _list(find_escalations(brains))
        return
    pattern = parse_detect(detect) if detect is not None else None
    escalation = find_escalation(brains, card, paths=split_lists(paths), pattern=pattern)
    if escalation is None:
        _answer({"card": card, "step": None}, f"{clean_line(card)}: nothing calls for a next step")
        return
    if not options().json:
        for line in _show(escalation):
            print_wrapped(line)
    if escalation.missing:
        raise InputError(f"{escalation.card.id}: {escalation.missing}")
    if not dry_run and (yes or confirm("Take this step?")):
        _take(brains, escalation)
    elif options().json:
        print_json({**_as_json(escalation), "done": False})
    elif not dry_run:
        say("nothing was changed; --yes takes the step")


def _take(brains: Brains, escalation: Escalation) -> None:
    changed = take_step(brains, escalation)
    keys = [name for name, _value in escalation.changes if name != "escalated"]
    keys += ["detect"] if escalation.pattern else []
    written = [path for path, _text in escalation.rule.files] if escalation.rule else []
    done = f"{clean_line(changed.id)}: {', '.join(keys)} changed"
    if written:
        done += f"; written: {', '.join(written)}"
    _answer({**_as_json(escalation), "done": True}, done)


def _answer(data: dict[str, Any], line: str) -> None:
    if options().json:
        print_json(data)
    else:
        print(line)


def _as_json(escalation: Escalation) -> dict[str, Any]:
    return {
        "card": escalation.card.id,
        "step": escalation.step,
        "reason": escalation.reason,
        "changes": dict(escalation.changes),
        "rule": escalation.rule.name if escalation.rule else None,
        "missing": escalation.missing,
    }


def _list(escalations: Sequence[Escalation]) -> None:
    if options().json:
        print_json([_as_json(escalation) for escalation in escalations])
    elif not escalations:
        say("no lesson needs a next step")
    else:
        rows = [(row.card.id, row.step, row.reason) for row in escalations]
        print_table(("id", "next", "why"), rows)
        say("`lessons escalate ID` shows the next step, and asks before it takes it")


def _show(escalation: Escalation) -> list[str]:
    """Return the lines that describe a step."""
    lines = [f"{clean_line(escalation.card.id)}: {clean_line(escalation.reason)}"]
    lines.append(f"  next: {_STEPS[escalation.step]}")
    for name, value in escalation.changes:
        if name != "escalated":
            text = ", ".join(value) if isinstance(value, tuple) else str(value)
            lines.append(f"    {name}: {clean_line(text)}")
    if escalation.pattern:
        lines += [
            f"    {clean_line(line)}" for line in format_patterns([escalation.pattern]).split("\n")
        ]
    if escalation.replay:
        lines.append(f"  {describe(escalation.replay)}")
    rule = escalation.rule
    if rule and rule.lines and not rule.enabled:
        lines.append(f"  add to {rule.config}, by hand:")
        lines += [f"    {line}" for line in rule.lines]
    if rule:
        lines += [f"  new file: {path}" for path, _text in rule.files]
    return lines
