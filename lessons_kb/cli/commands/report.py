"""`lessons report`: write an HTML page on which lessons are used and help."""

from __future__ import annotations

import datetime as dt
import os
from typing import Annotated

from typer import Option

from lessons_kb.cli.options import OnlyProject, OnlyStage, Output, relative_path
from lessons_kb.cli.output import options, pick, print_answer, say
from lessons_kb.cli.shared_brains import open_shared_brains
from lessons_kb.collection.cards import Cards
from lessons_kb.errors import InputError
from lessons_kb.ledger.lesson_effect import Effect
from lessons_kb.outcome.stats import Stats
from lessons_kb.report.page import build_page, file_link
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import write_export
from lessons_kb.text.sanitize import clean_line

FILE = "lessons-report.html"


STDOUT = "-"


def report(
    output: Output = None,
    stage: OnlyStage = None,
    project: OnlyProject = None,
    rows: Annotated[
        int, Option("--rows", metavar="ROWS", min=1, help="Maximum number of cards per list.")
    ] = 20,
) -> None:
    """Write an HTML report on which lessons are used and help.

    Without --output, the report is lessons-report.html in the folder .lessons, which git ignores;
    `-o -` prints it.
    The page needs no network and no scripts. If there are other brains, your own brain is left
    out, unless --brain names it. If the page is in the brain or above it, its links to cards stay
    valid when you move both together.

    Example: lessons report -o report.html
    """
    if options().json and output == STDOUT:
        raise InputError("--json and -o - both write to stdout; use one")
    brains = open_shared_brains()
    chosen = output is not None
    if output is None:
        output = os.path.join(os.path.dirname(brains.members[0].cache), FILE)
        if os.path.islink(output):  # its author could choose which file is overwritten
            raise InputError(
                f"{FILE} is a symbolic link here; remove it, or choose a file with --output"
            )
    overview = Stats(brains).overview(stage=stage, project=project)
    path = os.path.realpath(output)
    if output != STDOUT and chosen and not os.path.isdir(os.path.dirname(path)):
        raise InputError(f"there is no folder {os.path.dirname(path)}; create it first")
    page_folder = None if output == STDOUT else os.path.dirname(path)

    def link(effect: Effect) -> str:
        """Return the URL of a card in its own brain."""
        name = effect.card.id
        root = brains.members[0].root
        for brain in brains.members:
            may_contain = effect.brain in ("", brain.alias)
            if may_contain and brain.read(lambda index: index.catalogue.numbers(name)):
                root = brain.root
                break
        return file_link(os.path.join(root, *name.split("/")), page_folder=page_folder)

    scope = {"stage": stage, "project": project}
    page = build_page(
        overview,
        template=read_template("report.html"),
        brain=" + ".join(os.path.basename(brain.root) for brain in brains.members),
        made=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat(),
        link=link,
        scope=", ".join(f"{name} {value}" for name, value in scope.items() if value),
        rows=rows,
    )
    if output == STDOUT:
        print(page)
        return
    Cards(brains).check_free(path)
    write_export(path, page.split("\n"))
    figures = ("cards", "sessions", "injections", "checked", "addressed", "recurrences")
    data = {"file": path, **pick(overview, *figures)}
    print_answer(data, clean_line(relative_path(path)))
    say("open it in any browser")
