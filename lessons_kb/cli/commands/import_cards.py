"""`lessons import`: import cards from other systems and files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import ForProject, Tags, open_brain, split_list
from lessons_kb.cli.output import options, print_json, print_table, say
from lessons_kb.collection.exchange import (
    NAMES,
    ON_NEAR,
    PROSE,
    Exchange,
    ImportStep,
    find_files,
    guess_source,
)
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line, shell_word


def import_cards(
    paths: Annotated[
        list[str],
        Argument(
            metavar="[SOURCE] FILE…",
            help="Files or folders to read. The format is detected, unless SOURCE names it: "
            "galangal, review, memory, jsonl or rules.",
        ),
    ],
    yes: Annotated[bool, Option("--yes", "-y", help="Write the cards.")] = False,
    near: Annotated[
        str,
        choose(
            "--near",
            ON_NEAR,
            metavar="NEAR",
            help="What to do with a near-duplicate of a card: skip, new or bump.",
        ),
    ] = "skip",
    project: ForProject = None,
    tags: Tags = "",
) -> None:
    """Import lessons from other files; --yes writes the cards.

    Rules files keep their rules; `diet` moves them. Example: lessons import tasks/lessons.md
    """
    files = _find_files(paths)
    exchange = Exchange(open_brain())
    plans = [  # all before the first is written: the last file may be none that can be read
        exchange.plan(source, path, near=near, project=project, topics=split_list(tags))
        for source, path in files
    ]
    steps: list[ImportStep] = []
    notes: list[str] = []
    for plan in plans:
        steps += exchange.carry_out(plan) if yes else plan.steps
        notes += plan.notes
    if options().json:
        print_json({"written": yes, "steps": [as_data(step) for step in steps], "notes": notes})
        return
    for note in notes:
        say(clean_line(note))
    if steps:
        columns = {"action": "action", "id": "card", "title": "title"}
        columns |= {"where": "where", "reason": "reason"}
        if sys.stdout.isatty():  # the reason names a card that is there, the title a new one
            del columns["id"]
        rows = [[getattr(step, field) for field in columns.values()] for step in steps]
        print_table(tuple(columns), rows)
    words = {"create": "created", "bump": "bumped", "skip": "skipped"}
    counts = {action: sum(step.action == action for step in steps) for action in words}
    told = ", ".join(f"{n} {words[name] if yes else f'to {name}'}" for name, n in counts.items())
    again = "" if yes or not (counts["create"] or counts["bump"]) else "; --yes writes them"
    say(f"{told}{again}")


def _find_files(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return (source, path) of each file that is meant; say what was found out."""
    if words[0] in NAMES and not os.path.exists(words[0]):
        if not words[1:]:
            raise InputError(f"no file to import; write `lessons import {words[0]} FILE`")
        return [(words[0], path) for path in words[1:]]
    files = [path for word in words for path in find_files(word)]
    found = [(guess_source(path), path) for path in files]
    if prose := [clean_line(path) for source, path in found if source == PROSE]:
        how = f"`lessons import memory {shell_word(prose[0])}` takes its sections all the same"
        told = f"no lesson in {', '.join(prose)}: neither rules nor a heading such as Lessons"
        if len(prose) == len(found):
            raise InputError(f"{told}; {how}")
        say(told)
    found = [(source, path) for source, path in found if source != PROSE]
    for source, path in found:
        say(f"{clean_line(path)}: {NAMES[source]} ({source})")
    return found
