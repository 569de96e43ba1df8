"""Commands on the files as a whole: index watch lint."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb import render
from lessons_kb.cli.options import (
    check_choice,
    check_folder,
    open_brain,
    options,
    print_json,
    relative_path,
    say,
)
from lessons_kb.importers.annotations import Annotation, format_github, format_sarif
from lessons_kb.model import as_data
from lessons_kb.text.counted import counted
from lessons_kb.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lessons_kb.brain.refresh import Refresh
    from lessons_kb.model import Finding

FORMATS = ("text", "json", "sarif", "github")
FAIL_ON = {"error": ("error",), "warning": ("error", "warning"), "never": ()}


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    for command in (index, watch, lint):
        app.command(command.__name__)(command)


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read every file again.")] = False,
) -> None:
    """Update the index and report what happened to every file.

    Searches update it by themselves.

    Example: lessons index --rebuild
    """
    from lessons_kb.brain.census import count_files, format_census

    brain = open_brain()
    workers = max(1, min(4, os.cpu_count() or 1))
    with _progress() as show:
        done = brain.refresh(
            workers=workers,
            progress=show,
            rebuild=rebuild,
            patience=600.0,
            waiting=lambda holder: say(f"waiting: {holder}"),
        )
        if any(layer.settings.semantic.enabled for layer in brain.layers):
            for layer in brain.layers:
                layer.encode(show)
            done = tuple(map(_left, done, brain.refresh()))
    counts = [count_files(layer) for layer in brain.layers]
    if options().json:
        rows = zip(brain.layers, counts, done, strict=True)
        print_json(
            [
                {"brain": layer.root, **as_data(count), "seconds": round(run.seconds, 3)}
                for layer, count, run in rows
            ]
        )
        return
    for layer, count, run in zip(brain.layers, counts, done, strict=True):
        name = f"{layer.alias}: " if len(counts) > 1 else ""
        hint = " (see `lessons lint`)" if count.problems else ""
        problems = counted(count.problems, "problem")
        print(f"{name}{format_census(count)}; {problems}{hint}; {run.seconds:.1f} s")
        if run.stale:
            say(f"{name}{run.stale}")


def _left(run: Refresh, after: Refresh) -> Refresh:
    """Leave out of a run's account what was done since."""
    return replace(run, stale=after.stale)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Draw a progress bar on stderr while files are read, where stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, no_color=options().no_color)
    columns = ("reading", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("reading", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


def watch() -> None:
    """Keep the index up to date while files are edited.

    Example: lessons watch &
    """
    from lessons_kb.brain.watching import Watching

    brain = open_brain()
    say(f"watching {', '.join(layer.root for layer in brain.layers)}; press Ctrl-C to stop")
    watching = Watching(brain.layers, say=lambda line: print(line, flush=True), shared=True)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)


def lint(
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Folder of a brain, trusted or not.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    fail_on: Annotated[
        str, typer.Option(help=f"Exit 1 at this level: {', '.join(FAIL_ON)}.")
    ] = "error",
) -> None:
    """Report problems in the files, each with its line and a suggested fix.

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
        text = (
            format_github(annotations)
            if form == "github"
            else format_sarif(annotations, version=__version__)
        )
        if text:
            print(text)
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
    return f"{told}, including {advice} that are only advice" if advice else told


def _annotation(root: str, finding: Finding) -> Annotation:
    return Annotation(
        path=relative_path(os.path.join(root, finding.path)),
        line=finding.line,
        rule=finding.rule,
        message=f"{finding.message}; {finding.mend}",
        level=finding.level,
    )
