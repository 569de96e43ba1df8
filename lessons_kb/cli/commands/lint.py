"""`lessons lint`: problems in cards, each with its line and a fix."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Annotated

import typer
from typer import Argument

from lessons_kb import render
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.check_card import ADVICE
from lessons_kb.cli.annotations import print_found
from lessons_kb.cli.options import FAIL_ON, FailOn, Format, check_folder, open_brain, relative_path
from lessons_kb.cli.output import options, print_bold, print_wrapped, say
from lessons_kb.collection.lint import lint as lint_brain
from lessons_kb.model import Finding, as_data
from lessons_kb.text.sanitize import clean_line, counted


def lint(
    folder: Annotated[
        str | None, Argument(metavar="DIR", help="Folder of a brain, trusted or not.")
    ] = None,
    form: Format = "text",
    fail_on: FailOn = "error",
) -> None:
    """Report problems in cards, each with its line and a fix.

    Example: lessons lint --fail-on warning
    """
    form = "json" if options().json else form
    if folder:
        check_folder("lint", folder)
    brains = Brains.open(folder) if folder else open_brain()
    findings: list[Finding] = []
    for brain in brains.members:
        findings += lint_brain(brain, brains.directory)
    levels = [finding.level for finding in findings]
    root = brains.members[0].root
    placed = ((relative_path(os.path.join(root, finding.path)), finding) for finding in findings)
    annotations = (replace(finding, path=path) for path, finding in placed)
    if form == "text" and sys.stdout.isatty():
        for path, own in groupby(findings, key=attrgetter("path")):
            print_bold(clean_line(path))
            for one in own:
                told = render.finding_line(one).removeprefix(clean_line(path)).lstrip(":")
                print_wrapped(f"  {told.strip()}")
    else:
        lines = map(render.finding_line, findings)
        print_found(form, [as_data(finding) for finding in findings], lines, annotations)
    if form == "text":
        told = ", ".join(counted(levels.count(one), one) for one in ("error", "warning", "info"))
        advice = sum(finding.rule in ADVICE for finding in findings)
        of_them = f"; {advice} of them advice" if advice else ""
        say(f"{told}{of_them}" if findings else "no problems")
    if not set(levels).isdisjoint(FAIL_ON[fail_on]):
        raise typer.Exit(1)
