"""The command that writes everything about a brain onto one page: report."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json, relative_path, say
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from lessons_kb.brain.brain import Brain
    from lessons_kb.learn.lesson_effect import Effect

FILE = "lessons-report.html"
STDOUT = "-"


def report(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write; - for stdout.")
    ] = FILE,
    stage: Annotated[str | None, typer.Option(help="Only this stage's cards.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project's cards.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Maximum number of cards in each list.")] = 20,
) -> None:
    """Write an HTML report on which lessons come up and help.

    The page needs no network and no scripts. If it lies in the brain or above it, its links to
    cards stay valid when both are moved together.

    Example: lessons report -o report.html
    """
    from lessons_kb.report import build_page
    from lessons_kb.store.import_files import write_export
    from lessons_kb.store.templates import read_template

    if options().json and output == STDOUT:
        raise InputError("--json and -o - both write to stdout; use one")
    if output == FILE and os.path.islink(output):  # whoever made it chose what is overwritten
        raise InputError(
            f"{FILE} is a symbolic link here; remove it, or choose a file with --output"
        )
    brain = open_brain()
    overview = brain.stats.overview(stage=stage, project=project)
    path = os.path.realpath(output)
    page = build_page(
        overview,
        template=read_template("report.html"),
        brain=" + ".join(os.path.basename(layer.root) for layer in brain.layers),
        made=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat(),
        link=_linker(brain, None if output == STDOUT else os.path.dirname(path)),
        scope=", ".join(
            f"{name} {value}" for name, value in (("stage", stage), ("project", project)) if value
        ),
        rows=rows,
    )
    if output == STDOUT:
        print(page)
        return
    brain.cards.check_free(path)
    write_export(path, page.split("\n"))
    if options().json:
        figures = ("cards", "sessions", "injections", "checked", "addressed", "recurrences")
        print_json({"file": path, **{name: getattr(overview, name) for name in figures}})
        return
    print(clean_line(relative_path(path)))
    say("open it in any browser")


def _linker(brain: Brain, page_folder: str | None) -> Callable[[Effect], str]:
    """Return what gives the URL of a card, in its own brain."""
    from lessons_kb.report.file_link import file_link

    several = brain.layers[1:]
    known = {
        layer: set(layer.read(lambda one: one.catalogue.numbers())) if several else set()
        for layer in brain.layers
    }

    def link(effect: Effect) -> str:
        path = effect.card.id
        homes = (layer for layer in brain.layers if path in known[layer])
        named = (layer for layer in homes if effect.brain in ("", layer.alias))
        home = next(named, brain.layers[0])
        return file_link(os.path.join(home.root, *path.split("/")), page_folder=page_folder)

    return link
