"""`lessons detect`: the mistakes that cards describe by patterns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.rule_files import TOOLS, format_rules
from lessons_kb.cards.sections import find_failing_examples
from lessons_kb.cli.annotations import print_found
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
from lessons_kb.outcome.post_check import read_change
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
        bool, Option("--history", help="Count what each commit up to HEAD added, by month.")
    ] = False,
    test: Annotated[
        bool, Option("--test", help="Try each pattern on its own `bad` and `good` examples.")
    ] = False,
    export: Annotated[
        str | None,
        Option(
            "--export",
            metavar="TOOL",
            help="Write the patterns as rules of ast-grep, semgrep or opengrep, with their "
            "tests, to the folder that PATHS names.",
        ),
    ] = None,
    form: Format = "text",
    exit_zero: Annotated[
        bool, Option("--exit-zero", help="Exit 0 even if a mistake was found.")
    ] = False,
    fail_on: FailOn = "info",
) -> None:
    """Find the mistakes that cards describe by patterns (`detect`).

    Exit 1 if there are any.

    With --diff, report only what a change adds. Example: lessons detect --diff origin/main...HEAD
    """
    form = "json" if options().json else form
    if sum((diff is not None, history, test, bool(paths))) > 1:
        raise InputError("use one of PATHS, --diff, --history and --test")
    if test or export:
        cards = (card for card in Cards(open_brain()).all(notes=True) if card.status == "active")
        detecting = [card for card in cards if card.detect]
        if export:
            _export_rules(detecting, export, paths or [])
        elif _test_patterns(detecting) and not exit_zero:
            raise typer.Exit(1)
        return
    if history and form not in ("text", "json"):
        raise InputError("--history is printed as text or json; choose one of them")
    brains = open_brain()
    brains.refresh()
    for line in describe_unused(brains):
        say(line)
    if history:
        _print_history(brains, detect_history(brains), form)
        return
    if diff is not None:
        change = read_change(brains, diff)
        if change.truncated:
            say("the change is too long; only its first part was looked at")
        found = detect_diff(brains, change.text)
    else:
        starts = []
        for path in paths or ():
            if not os.path.exists(path):
                raise InputError(f"no file or folder {path}; give one that exists")
            starts.append(relative(brains.directory, os.path.realpath(path)))
        found = list(detect_files(brains, list_tree(brains.directory, starts, warn=say)))
    data, lines, annotations = list[dict[str, Any]](), list[str](), list[Finding]()
    for card, match in found:
        path = relative_path(os.path.normpath(os.path.join(brains.directory, match.path)))
        told = f"`{match.text}` — “{card.title}” ({card.id})"
        place: dict[str, Any] = {
            "path": path,
            "line": match.line,
            "level": _SEVERITY_LEVELS[card.severity],
        }
        facts = {**pick(card, "title", "severity"), "path": path}
        facts |= {**pick(match, "line", "column", "text"), "pattern": as_data(match.rule.pattern)}
        data.append({"card": card.id, **facts})
        lines.append(visible(f"{path}:{match.line}:{match.column}: {told}"))
        annotations.append(Finding(**place, rule=card.id, message=told, fix=""))
    print_found(form, data, lines, annotations)
    if form == "text":
        of = counted(len({card.id for card, _match in found}), "card")
        say(f"{counted(len(found), 'match', 'matches')} of {of}" if found else "no matches")
    if not exit_zero and any(one.level in FAIL_ON[fail_on] for one in annotations):
        raise typer.Exit(1)


def _test_patterns(cards: Sequence[Card]) -> int:
    """Print which examples of patterns fail; return how many do."""
    tried = failed = 0
    for card in cards:
        for pattern in card.detect:
            tried += len(pattern.bad) + len(pattern.good)
            for name, text in find_failing_examples(pattern):
                failed += 1
                what = "good, and found" if name == "good" else "bad, and not found"
                which = f"{card.id}: {pattern.kind} {pattern.text}"
                print(visible(f"{which}: {what}: {text.strip()}"))
    say(f"{counted(tried, 'example')}, {failed} failed")
    return failed


def _export_rules(cards: Sequence[Card], tool: str, paths: Sequence[str]) -> None:
    check_choice("--export", tool, TOOLS)
    if len(paths) != 1:
        raise InputError(f"name one folder to write to; `lessons detect --export {tool} DIR`")
    files, left = format_rules(tool, cards)
    for line in left:
        say(visible(line))
    for name, text in files.items():
        write_export(os.path.join(paths[0], name), text.splitlines())
    say(f"{counted(len(files), 'file')} written to {visible(paths[0])}")


def _print_history(brains: Brains, history: Mapping[tuple[str, str], Months], form: str) -> None:
    cards = {
        (brain.alias, card.id): card
        for brain in brains.members
        for card in brain.read(lambda one: one.catalogue.all_cards())
    }
    columns = ("month", "before", "since")
    data, rows, before, since = list[dict[str, Any]](), list[tuple[str, ...]](), 0, 0
    for key, months in history.items():
        card = cards[key]
        sums = {"before": sum(one[1] for one in months), "since": sum(one[2] for one in months)}
        listed = [dict(zip(columns, month, strict=True)) for month in months]
        data.append({"card": card.id, **pick(card, "title", "created"), **sums, "months": listed})
        rows += [(card.id, card.created or "", *map(str, month)) for month in months]
        before, since = before + sums["before"], since + sums["since"]
    if form == "json":
        print_json(data)
    elif not rows:
        say("no commit added any of these mistakes")
    else:
        print_table(("id", "created", *columns), rows, right="before since")
        say(f"added {before}× before the cards were created, {since}× since")
