"""`lessons lint`: say what is wrong with the files of a brain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb import render
from lessons_kb.cli.annotations import Annotation, print_annotations
from lessons_kb.cli.options import (
    check_choice,
    check_folder,
    open_brain,
    options,
    print_json,
    relative_path,
    say,
)
from lessons_kb.model import as_data
from lessons_kb.text.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.model import Finding

FORMATS = ("text", "json", "sarif", "github")


FAIL_ON = {"error": ("error",), "warning": ("error", "warning"), "never": ()}


def lint(
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Folder of a brain, trusted or not.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    fail_on: Annotated[
        str, typer.Option(help=f"Exit 1 at this level: {', '.join(FAIL_ON)}.")
    ] = "error",
) -> None:
    """Report problems in cards, each with its line and a fix.

    Example: lessons lint --fail-on warning
    """
    from lessons_kb.brain.brain import Brain

    check_choice("--format", form, FORMATS)
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
    from lessons_kb.cards.lint import ADVICE

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
