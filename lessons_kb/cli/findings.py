"""`lessons detect`: where the mistakes of the cards are in files, a change or the history."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import quote

import typer

from lessons_kb import render
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.detection import (
    Found,
    History,
    count_unused,
    detect_diff,
    detect_files,
    detect_history,
    list_tree,
    tell_line,
)
from lessons_kb.brain.injected import session_of
from lessons_kb.brain.post_check import count_check, read_diff_evidence
from lessons_kb.cards.lint import ADVICE
from lessons_kb.check.item_states import read_texts
from lessons_kb.cli.options import (
    Revision,
    Session,
    check_choice,
    check_folder,
    open_brain,
    options,
    print_json,
    print_table,
    read_diff,
    read_file,
    read_text,
    relative_path,
    say,
)
from lessons_kb.detect.matcher import EXTRA
from lessons_kb.errors import InputError
from lessons_kb.model import (
    CONTRADICTED,
    DENIED,
    OPEN,
    Check,
    CheckedItem,
    DetectedLine,
    Finding,
    as_data,
)
from lessons_kb.process.programs import install_command
from lessons_kb.text.sanitize import counted, visible, visible_json
from lessons_kb.version import __version__

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_INFORMATION = "https://pypi.org/project/lessons-kb/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """Something to say about one line of one file."""

    path: str
    """POSIX path, relative to the working directory."""
    line: int
    """1-based; 0 for the whole file."""
    rule: str
    message: str
    level: str = "warning"
    """``error``, ``warning`` or ``info``."""


def print_annotations(annotations: Sequence[Annotation], form: str) -> None:
    """Print annotations as ``github`` or ``sarif``."""
    if form == "sarif":
        print(format_sarif(annotations, version=__version__))
    elif annotations:
        print(format_github(annotations))


def format_sarif(annotations: Sequence[Annotation], *, version: str) -> str:
    """Return one SARIF 2.1.0 log as JSON text; ``version`` is the tool's."""
    rules = sorted({annotation.rule for annotation in annotations})
    log = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "lessons",
                        "version": version,
                        "informationUri": _INFORMATION,
                        "rules": [{"id": rule} for rule in rules],
                    }
                },
                "results": [_result(annotation, rules) for annotation in annotations],
            }
        ],
    }
    return visible_json(json.dumps(log, ensure_ascii=False, indent=2))


def format_github(annotations: Sequence[Annotation]) -> str:
    """Return GitHub Actions workflow commands, one line each."""
    return "\n".join(_command(annotation) for annotation in annotations)


def _result(annotation: Annotation, rules: list[str]) -> dict[str, object]:
    return {
        "ruleId": annotation.rule,
        "ruleIndex": rules.index(annotation.rule),
        "level": _SARIF_LEVELS[annotation.level],
        "message": {"text": annotation.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(annotation.path)},
                    "region": {"startLine": max(annotation.line, 1)},
                }
            }
        ],
    }


def _command(annotation: Annotation) -> str:
    properties = {"file": annotation.path, "title": f"lessons: {annotation.rule}"}
    if annotation.line:
        properties["line"] = str(annotation.line)
    shown = ",".join(f"{key}={_escaped(text, ':,')}" for key, text in properties.items())
    return f"::{_GITHUB_LEVELS[annotation.level]} {shown}::{_escaped(annotation.message, '')}"


def _escaped(text: str, more: str) -> str:
    """Percent-escape what would end a value or start another command; show what is invisible."""
    return visible("".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text))


LINT_FORMATS = ("text", "json", "sarif", "github")


FAIL_ON = {"error": ("error",), "warning": ("error", "warning"), "never": ()}


def lint(
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Folder of a brain, trusted or not.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help=f"One of {', '.join(LINT_FORMATS)}.")
    ] = "text",
    fail_on: Annotated[
        str, typer.Option(help=f"Exit 1 at this level: {', '.join(FAIL_ON)}.")
    ] = "error",
) -> None:
    """Report problems in cards, each with its line and a fix.

    Example: lessons lint --fail-on warning
    """
    check_choice("--format", form, LINT_FORMATS)
    check_choice("--fail-on", fail_on, tuple(FAIL_ON))
    if folder:
        check_folder("lint", folder)
    brain = Brain.open(folder) if folder else open_brain()
    findings = brain.lint()
    form = "json" if options().json else form
    if form == "json":
        print_json([as_data(finding) for finding in findings])
    elif form == "text":
        for finding in findings:
            print(render.finding_line(finding))
        say(_summed_up(findings))
    else:
        root = brain.layers[0].root
        annotations = [_annotation(root, finding) for finding in findings]
        print_annotations(annotations, form)
    if any(finding.level in FAIL_ON[fail_on] for finding in findings):
        raise typer.Exit(1)


_LEVELS = ("error", "warning", "info")


def _summed_up(findings: Sequence[Finding]) -> str:

    if not findings:
        return "no problems"
    levels = [finding.level for finding in findings]
    told = ", ".join(counted(levels.count(level), level) for level in _LEVELS)
    advice = sum(finding.rule in ADVICE for finding in findings)
    return f"{told}; {advice} of them advice" if advice else told


def _annotation(root: str, finding: Finding) -> Annotation:
    return Annotation(
        path=relative_path(os.path.join(root, finding.path)),
        line=finding.line,
        rule=finding.rule,
        message=f"{finding.message}; {finding.fix}",
        level=finding.level,
    )


CHECK_FORMATS = ("text", "json", "sarif", "github")
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
    form: Annotated[
        str, typer.Option("--format", help=f"One of {', '.join(CHECK_FORMATS)}.")
    ] = "text",
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
    check_choice("--format", form, CHECK_FORMATS)
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
        annotations = [_item_annotation(brain, item) for item in result.unaddressed]
        print_annotations(annotations, form)


def _item_annotation(brain: Brain, item: CheckedItem) -> Annotation:
    path, document = brain.cards.read(item.card.id)
    items = document.card.checklist if document.card else ()
    line = 0
    if item.item in items and len(items) == len(document.checklist_lines):
        line = document.checklist_lines[items.index(item.item)]
    return Annotation(
        path=relative_path(path), line=line, rule=item.state, message=render.checked_message(item)
    )


DETECT_FORMATS = ("text", "json", "sarif", "github")
_SARIF_LEVELS_DETECT = {"high": "error", "medium": "warning", "low": "info"}


def detect(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files and folders; default: the project."),
    ] = None,
    diff: Revision = None,
    history: Annotated[
        bool, typer.Option("--history", help="Count what each commit up to HEAD added, by month.")
    ] = False,
    form: Annotated[
        str, typer.Option("--format", help=f"One of {', '.join(DETECT_FORMATS)}.")
    ] = "text",
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit 0 even if a mistake was found.")
    ] = False,
) -> None:
    """Find the mistakes that cards describe by patterns (`detect`).

    Exit 1 if there are any.

    With --diff, report only what a change adds. Example: lessons detect --diff origin/main...HEAD
    """
    check_choice("--format", form, DETECT_FORMATS)
    form = "json" if options().json else form
    if sum((diff is not None, history, bool(paths))) > 1:
        raise InputError("use one of PATHS, --diff and --history")
    if history and form not in ("text", "json"):
        raise InputError("--history is printed as text or json; choose one of them")
    brain = open_brain()
    brain.refresh()
    _say_unused(brain)
    if history:
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

    beyond, without = count_unused(brain)
    if beyond:
        say(f"{counted(beyond, 'pattern')} beyond the limit were not looked for; remove some")
    if without:
        say(f"{counted(without, 'ast pattern')} not looked for; run `{install_command(EXTRA)}`")
    if not any(layer.state and layer.state.detectors for layer in brain.layers):
        say("no card has patterns; add `detect:` to a card, see docs/detect.md")


def _print_found(brain: Brain, found: Sequence[Found], form: str) -> None:

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
                level=_SARIF_LEVELS_DETECT[one.card.severity],
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
