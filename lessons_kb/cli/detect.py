"""`lessons detect`: where the mistakes of the cards are in files, a change or the history."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.annotations import Annotation, print_annotations
from lessons_kb.cli.options import (
    check_choice,
    open_brain,
    options,
    print_json,
    print_table,
    relative_path,
    say,
)
from lessons_kb.cli.query_options import Revision, read_diff
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.text.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.detect_history import History
    from lessons_kb.brain.detect_in_project import Found

FORMATS = ("text", "json", "sarif", "github")
_LEVELS = {"high": "error", "medium": "warning", "low": "info"}


def detect(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files and folders; default: the project."),
    ] = None,
    diff: Revision = None,
    history: Annotated[
        bool, typer.Option("--history", help="Count what each commit up to HEAD added, by month.")
    ] = False,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit 0 even if a mistake was found.")
    ] = False,
) -> None:
    """Find the mistakes that cards describe by patterns (`detect`).

    Exit 1 if there are any.

    With --diff, report only what a change adds. Example: lessons detect --diff origin/main...HEAD
    """
    from lessons_kb.brain.detect_in_project import (
        detect_diff,
        detect_files,
        list_tree,
    )

    check_choice("--format", form, FORMATS)
    form = "json" if options().json else form
    if sum((diff is not None, history, bool(paths))) > 1:
        raise InputError("use one of PATHS, --diff and --history")
    if history and form not in ("text", "json"):
        raise InputError("--history is printed as text or json; choose one of them")
    brain = open_brain()
    brain.refresh()
    _say_unused(brain)
    if history:
        from lessons_kb.brain.detect_history import detect_history

        _print_history(brain, detect_history(brain), form)
        return
    if diff is not None:
        change = read_diff(brain, diff)
        if change.truncated:
            say("the change is too long; only its first part was looked at")
        found = detect_diff(brain, change.text)
    else:
        files = list_tree(brain.directory, _from_root(brain, paths or ()), tell=say)
        found = list(detect_files(brain, files))
    _print_found(brain, found, form)
    if found and not exit_zero:
        raise typer.Exit(1)


def _from_root(brain: Brain, paths: Sequence[str]) -> list[str]:
    """Return paths as they start from the project root; InputError for one that is not there."""
    placed = []
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"no file or folder {path}; give one that exists")
        full = os.path.realpath(path)
        placed.append(os.path.relpath(full, brain.directory).replace(os.sep, "/"))
    return placed


def _say_unused(brain: Brain) -> None:
    from lessons_kb.brain.detect_in_project import count_unused
    from lessons_kb.detect.ast_patterns import EXTRA
    from lessons_kb.process.installation import install_command

    beyond, without = count_unused(brain)
    if beyond:
        say(f"{counted(beyond, 'pattern')} beyond the limit were not looked for; remove some")
    if without:
        say(f"{counted(without, 'ast pattern')} not looked for; run `{install_command(EXTRA)}`")
    if not any(layer.state and layer.state.detectors for layer in brain.layers):
        say("no card has patterns; add `detect:` to a card, see docs/detect.md")


def _print_found(brain: Brain, found: Sequence[Found], form: str) -> None:
    from lessons_kb.text.escape_controls import visible

    rows = [(_place(brain, one.match.path), one) for one in found]
    if form == "json":
        print_json([_data(path, one) for path, one in rows])
    elif form == "text":
        for path, one in rows:
            place = f"{path}:{one.match.line}:{one.match.column}"
            print(visible(f"{place}: {one.match.text} — {one.card.title} ({one.card.id})"))
        cards = len({one.card.id for one in found})
        of = f" of {counted(cards, 'card')}" if found else ""
        say(f"{counted(len(found), 'match', 'matches')}{of}" if found else "no matches")
    else:
        annotations = [
            Annotation(
                path=path,
                line=one.match.line,
                rule=one.card.id,
                message=f"{one.card.title}: {one.match.text}",
                level=_LEVELS[one.card.severity],
            )
            for path, one in rows
        ]
        print_annotations(annotations, form)


def _data(path: str, one: Found) -> dict[str, Any]:
    return {
        "card": one.card.id,
        "title": one.card.title,
        "severity": one.card.severity,
        "path": path,
        "line": one.match.line,
        "column": one.match.column,
        "text": one.match.text,
        "pattern": as_data(one.match.rule.pattern),
    }


def _place(brain: Brain, path: str) -> str:
    return relative_path(os.path.normpath(os.path.join(brain.directory, path)))


def _print_history(brain: Brain, histories: Sequence[History], form: str) -> None:
    cards = {
        (layer.alias, card.id): card
        for layer in brain.layers
        for card in layer.read(lambda one: one.catalogue.all_cards())
    }
    known = [(cards[one.brain, one.card], one) for one in histories]
    if form == "json":
        print_json(
            [
                {
                    "card": card.id,
                    "title": card.title,
                    "created": card.created,
                    "before": one.before,
                    "since": one.since,
                    "months": [
                        {"month": month, "before": before, "since": since}
                        for month, before, since in one.months
                    ],
                }
                for card, one in known
            ]
        )
        return
    rows = [
        (card.id, card.created or "", month, str(before), str(since))
        for card, one in known
        for month, before, since in one.months
    ]
    if rows:
        print_table(("id", "created", "month", "before", "since"), rows, right="before since")
    say(
        f"added {sum(one.before for one in histories)}× before the cards were created, "
        f"{sum(one.since for one in histories)}× since"
        if rows
        else "no commit added any of these mistakes"
    )
