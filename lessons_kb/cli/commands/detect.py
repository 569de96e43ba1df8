"""`lessons detect`: find the mistakes that cards describe by patterns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.check_examples import find_failing_examples
from lessons_kb.cards.rule_files import TOOLS, format_rules
from lessons_kb.cli.annotations import print_findings
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import FAIL_ON, FailOn, Format, Revision, open_brain, relative_path
from lessons_kb.cli.output import options, pick, print_json, print_table, say
from lessons_kb.collection.cards import Cards
from lessons_kb.errors import InputError
from lessons_kb.find.project_detection import (
    Months,
    describe_unused,
    detect_diff,
    detect_files,
    detect_history,
    list_tree,
)
from lessons_kb.model import Card, Finding, as_data
from lessons_kb.outcome.diff_evidence import read_change
from lessons_kb.store.files import relative, write_export
from lessons_kb.text.sanitize import counted, visible

_SEVERITY_LEVELS = {"high": "error", "medium": "warning", "low": "info"}


def detect(
    paths: Annotated[
        list[str] | None,
        Argument(metavar="PATHS...", help="Files and folders; default: the project."),
    ] = None,
    diff: Revision = None,
    history: Annotated[
        bool, Option("--history", help="Count the mistakes that commits added, by month.")
    ] = False,
    test: Annotated[
        bool, Option("--test", help="Test each pattern with its `bad` and `good` examples.")
    ] = False,
    export: Annotated[
        str | None,
        Option(
            "--export",
            metavar="TOOL",
            help="Write rules for ast-grep, semgrep or opengrep to PATHS.",
        ),
    ] = None,
    form: Format = "text",
    exit_zero: Annotated[bool, Option("--exit-zero", help="Exit 0 despite mistakes.")] = False,
    fail_on: FailOn = "info",
) -> None:
    """Find the mistakes that cards describe by patterns (`detect`).

    The exit code is 1 if there are any.

    With --diff, the command reports only what a change adds.

    Example: lessons detect --diff origin/main...HEAD
    """
    form = "json" if options().json else form
    if sum((diff is not None, history, test, bool(paths))) > 1:
        raise InputError("use one of PATHS, --diff, --history and --test")
    if test or export:
        cards = (card for card in Cards(open_brain()).all(notes=True) if card.status == "active")
        detecting = [card for card in cards if card.detect]
        if export:
            _export_rules(detecting, export, paths or [])
        else:
            failed = _test_patterns(detecting)
            if failed and not exit_zero:
                raise typer.Exit(1)
        return
    if history and form not in ("text", "json"):
        raise InputError("--history is printed as text or json; choose one of them")
    brains = open_brain()
    brains.refresh()
    for line in describe_unused(brains):
        say(line)
    if history:
        _print_history(brains, detect_history(brains).months, form)
        return
    if diff is not None:
        change = read_change(brains, diff)
        if change.truncated:
            say("the change is too long; only its first part was searched")
        matches = list(detect_diff(brains, change.text))
    else:
        starts = []
        for path in paths or ():
            if not os.path.exists(path):
                raise InputError(f"no file or folder {path}; give one that exists")
            starts.append(relative(brains.directory, os.path.realpath(path)))
        matches = list(detect_files(brains, list_tree(brains.directory, starts, warn=say)))
    data = list[dict[str, Any]]()
    lines = list[str]()
    annotations = list[Finding]()
    for card, match in matches:
        path = relative_path(os.path.normpath(os.path.join(brains.directory, match.path)))
        message = f"`{match.text}` — “{card.title}” ({card.id})"
        data.append(
            {
                "card": card.id,
                **pick(card, "title", "severity"),
                "path": path,
                **pick(match, "line", "column", "text"),
                "pattern": as_data(match.rule.pattern),
            }
        )
        lines.append(visible(f"{path}:{match.line}:{match.column}: {message}"))
        annotations.append(
            Finding(
                path=path,
                line=match.line,
                level=_SEVERITY_LEVELS[card.severity],
                rule=card.id,
                message=message,
                fix="",
            )
        )
    print_findings(form, data, lines, annotations)
    if form == "text" and matches:
        cards_text = counted(len({card.id for card, _match in matches}), "card")
        say(f"{counted(len(matches), 'match', 'matches')} of {cards_text}")
    elif form == "text":
        say("no matches")
    failing = FAIL_ON[fail_on]
    if not exit_zero and any(finding.level in failing for finding in annotations):
        raise typer.Exit(1)


def _test_patterns(cards: Sequence[Card]) -> int:
    """Print the examples for which a pattern fails, and return their number."""
    tried = failed = 0
    for card in cards:
        for pattern in card.detect:
            tried += len(pattern.bad) + len(pattern.good)
            for name, text in find_failing_examples(pattern):
                failed += 1
                problem = "good, and found" if name == "good" else "bad, and not found"
                place = f"{card.id}: {pattern.kind} {pattern.text}"
                print(visible(f"{place}: {problem}: {text.strip()}"))
    say(f"{counted(tried, 'example')}, {failed} failed")
    return failed


def _export_rules(cards: Sequence[Card], tool: str, paths: Sequence[str]) -> None:
    check_choice("--export", tool, TOOLS)
    if len(paths) != 1:
        raise InputError(f"name one folder to write to; `lessons detect --export {tool} DIR`")
    files, omissions = format_rules(tool, cards)
    for line in omissions:
        say(visible(line))
    for name, text in files.items():
        write_export(os.path.join(paths[0], name), text.splitlines())
    say(f"{counted(len(files), 'file')} written to {visible(paths[0])}")


def _print_history(brains: Brains, history: Mapping[tuple[str, str], Months], form: str) -> None:
    cards: dict[tuple[str, str], Card] = {}
    for brain in brains.members:
        for card in brain.read(lambda index: index.catalogue.all_cards()):
            cards[brain.alias, card.id] = card
    columns = ("month", "before", "since")
    data = list[dict[str, Any]]()
    rows = list[tuple[str, ...]]()
    before = 0
    since = 0
    for key, months in history.items():
        card = cards[key]
        sums = {
            "before": sum(times_before for _month, times_before, _since in months),
            "since": sum(times_since for _month, _before, times_since in months),
        }
        by_month = [dict(zip(columns, month, strict=True)) for month in months]
        data.append({"card": card.id, **pick(card, "title", "created"), **sums, "months": by_month})
        rows += [(card.id, card.created or "", *map(str, month)) for month in months]
        before += sums["before"]
        since += sums["since"]
    if form == "json":
        print_json(data)
    elif not rows:
        say("no commit added any of these mistakes")
    else:
        print_table(("id", "created", *columns), rows, right="before since")
        say(f"added {before}× before the cards were created, {since}× since")
