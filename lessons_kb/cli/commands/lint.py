"""`lessons lint`: report problems in cards, each with its line and a fix."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb import render
from lessons_kb.brain.brains import Brains
from lessons_kb.cli.annotations import print_findings
from lessons_kb.cli.declare import choose
from lessons_kb.cli.lint_report import (
    MAX_FAULTS,
    is_listed_whole,
    sort_by_file,
    split_findings,
    summarise_advice,
    summarise_faults,
)
from lessons_kb.cli.options import (
    FAIL_ON,
    FAIL_ON_HELP,
    FAULT,
    LINT_FAIL_ON,
    Format,
    ShowPrompt,
    Verbose,
    WithAgent,
    Yes,
    check_folder,
    open_brain,
    relative_path,
)
from lessons_kb.cli.output import (
    draw_progress,
    is_interactive,
    options,
    print_bold,
    print_wrapped,
    say,
)
from lessons_kb.collection.lint import fix_moved_paths
from lessons_kb.collection.lint import lint as lint_brain
from lessons_kb.model import Finding, as_data
from lessons_kb.on_demand import COMPARE_CARDS, load
from lessons_kb.store.judged_pairs import has_verdicts
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.values import replace


def lint(
    folder: Annotated[
        str | None, Argument(metavar="DIR", help="Folder of a brain, trusted or not.")
    ] = None,
    form: Format = "text",
    rule: Annotated[
        list[str] | None,
        Option("--rule", metavar="RULE", help="Report only this rule; repeatable."),
    ] = None,
    fix: Annotated[
        bool,
        Option(
            "--fix",
            help="Correct the `paths` of moved files, and ask about contradictions.",
        ),
    ] = False,
    with_: WithAgent = None,
    show_prompt: ShowPrompt = False,
    yes: Yes = False,
    verbose: Verbose = False,
    fail_on: Annotated[
        str,
        choose(
            "--fail-on",
            LINT_FAIL_ON,
            metavar="LEVEL",
            help=FAIL_ON_HELP,
        ),
    ] = "error",
) -> None:
    """Report problems in cards, each with its line and a fix.

    A fault changes the meaning of a card; other findings are advice. `--fail-on fault` ignores all
    advice.
    Example: lessons lint --fail-on fault
    """
    form = "json" if options().json else form
    if folder:
        check_folder("lint", folder)
    brains = Brains.open(folder) if folder else open_brain()
    if show_prompt:
        load(COMPARE_CARDS).show_requests(brains)
        return
    if with_ is not None:
        load(COMPARE_CARDS).compare_brains(brains, with_, yes=yes)
    findings: list[Finding] = []
    for brain in brains.members if fix else ():
        for name in fix_moved_paths(brain):
            say(f"{clean_line(name)}: paths rewritten")
    if fix and is_interactive() and any(has_verdicts(brain.root) for brain in brains.members):
        load(COMPARE_CARDS).confirm_contradictions(brains)
    with draw_progress("checking") as show:
        for brain in brains.members:
            findings += lint_brain(brain, brains.directory, progress=show)
    if rule:
        findings = [finding for finding in findings if finding.rule in rule]
    faults, advice = split_findings(findings)
    if form != "text":
        root = brains.members[0].root
        paths = [relative_path(os.path.join(root, finding.path)) for finding in findings]
        pairs = zip(findings, paths, strict=True)
        annotations = [replace(finding, path=path) for finding, path in pairs]
        print_findings(form, [as_data(finding) for finding in findings], (), annotations)
    elif verbose:
        _print_findings(findings)
    else:
        _print_report(faults, advice)
    if form == "text":
        say(_summarise(findings, faults, advice, verbose=verbose))
    failing = faults if fail_on == FAULT else findings
    levels_to_fail = FAIL_ON["info" if fail_on == FAULT else fail_on]
    if any(finding.level in levels_to_fail for finding in failing):
        raise typer.Exit(1)


def _summarise(
    findings: Sequence[Finding],
    faults: Sequence[Finding],
    advice: Sequence[Finding],
    *,
    verbose: bool,
) -> str:
    """Return the last line, with the number of findings of each level and how to see all."""
    if not findings:
        return "no problems"
    levels = [finding.level for finding in findings]
    counts = ", ".join(counted(levels.count(level), level) for level in FAIL_ON["info"])
    share = f"; {len(advice)} of them advice" if advice else ""
    hint = "" if verbose or is_listed_whole(faults, advice) else "; -v prints each"
    return f"{counts}{share}{hint}"


def _print_report(faults: Sequence[Finding], advice: Sequence[Finding]) -> None:
    """Print faults one by one, or by rule if there are many, and print advice by rule."""
    if is_listed_whole(faults, advice):
        _print_findings(sort_by_file([*faults, *advice]))
        return
    if len(faults) > MAX_FAULTS:
        for line in summarise_faults(faults):
            print_wrapped(line, hang=4)
    else:
        _print_findings(faults)
    for line in summarise_advice(advice):
        print_wrapped(line, hang=4)


def _print_findings(findings: Sequence[Finding]) -> None:
    """Print each finding in its own line. On a terminal, it is below the name of its file."""
    if not sys.stdout.isatty():
        for finding in findings:
            print_wrapped(render.finding_line(finding), hang=4)
        return
    for path, group in groupby(findings, key=attrgetter("path")):
        name = clean_line(path)
        print_bold(name)
        for finding in group:
            place = render.finding_line(finding).removeprefix(name).lstrip(":")
            print_wrapped(f"  {place.strip()}")
