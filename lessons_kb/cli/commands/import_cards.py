"""`lessons import`: import cards from other systems and files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.declare import choose
from lessons_kb.cli.memory_folders import find_memory_folders
from lessons_kb.cli.options import DryRun, ForProject, Tags, open_brain, split_lists
from lessons_kb.cli.output import confirm, options, print_json, print_table, say
from lessons_kb.collection.exchange import (
    CHANGES,
    CREATE,
    DOCUMENTATION,
    NAMES,
    ON_NEAR,
    PROSE,
    Exchange,
    ImportStep,
    Plan,
    find_files,
    find_rules_files,
    guess_source,
    is_read_each_session,
)
from lessons_kb.collection.kept_lessons import find_kept_lessons
from lessons_kb.collection.undo_import import undo_import
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.store.import_record import write_import_record
from lessons_kb.text.sanitize import clean_line, counted, shell_word

_MOST_NAMED = 5
"""The maximum number of files of a source that are named one by one."""

_NO_LESSONS = {
    PROSE: "no lesson in {}: neither rules nor a heading such as Lessons",
    DOCUMENTATION: "{} looks like documentation: its headings name topics, and no mistakes",
}
"""Maps what a text may be to the reason why it is not imported."""


def import_cards(
    paths: Annotated[
        list[str] | None,
        Argument(
            metavar="FILE…",
            help="Files or folders. The format is detected, or named by a first word: "
            "galangal, review, memory, jsonl, rules, document, copilot or okf.",
        ),
    ] = None,
    all_: Annotated[
        bool,
        Option("--all", help="Import all lessons of this project."),
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Write the cards.")] = False,
    dry_run: DryRun = False,
    undo: Annotated[bool, Option("--undo", help="Undo the last import.")] = False,
    near: Annotated[
        str,
        choose(
            "--near",
            ON_NEAR,
            metavar="NEAR",
            help="Action for a near-duplicate of a card: skip, new or bump.",
        ),
    ] = "skip",
    project: ForProject = None,
    tags: Tags = None,
) -> None:
    """Import lessons from other files; --yes writes the cards.

    --all reads Claude Code's and Codex' memories, files of lessons, docs/solutions, and rules for
    some files. The command asks once.

    Example: lessons import tasks/lessons.md
    """
    if undo:
        _undo(has_more=bool(paths) or all_ or yes or dry_run)
        return
    if bool(paths) == all_:
        raise InputError("name files to import, or write `lessons import --all`")
    if yes and dry_run:
        raise InputError("--yes and --dry-run exclude each other; leave one out")
    brains = open_brain(for_new_card=True)
    words = list(paths or ())
    files = _find_kept(brains) if all_ else _find_files(words)
    exchange = Exchange(brains)
    # All files are read before the first card is written, because the last may be unreadable.
    plan = exchange.plan_files(
        files, near=near, project=project, topics=split_lists(tags), own_project=all_
    )
    steps = _carry_out(brains, exchange, plan) if yes else plan.steps
    if options().json:
        data = [as_data(step) for step in steps]
        print_json({"written": yes, "steps": data, "notes": plan.notes})
        return
    for note in plan.notes:
        say(clean_line(note))
    if not files:
        has_rules = bool(find_rules_files(brains.directory))
        hint = "; `lessons diet` is for the rules files of your agents" if has_rules else ""
        say(
            f"nothing to import: no memory, file of lessons or rule of this project was found{hint}"
        )
        return
    _print_steps(steps)
    is_planned = any(step.action != "skip" for step in steps)
    is_asking = all_ and is_planned and not (yes or dry_run)
    if is_asking and confirm(f"Import {counted(_count(steps, 'create'), 'card')}?"):
        yes = True
        steps = _carry_out(brains, exchange, plan)
    _print_counts(steps, written=yes, is_planned=is_planned)


def _carry_out(brains: Brains, exchange: Exchange, plan: Plan) -> tuple[ImportStep, ...]:
    """Write the cards of a plan, and record them so that the import can be undone."""
    steps = exchange.carry_out(plan)
    created = [step.card for step in steps if step.action == CREATE]
    if created:
        write_import_record(brains.members[0].root, created)
    return steps


def _undo(*, has_more: bool) -> None:
    """Undo the last import into the nearest brain, and print its cards."""
    if has_more:
        raise InputError("--undo undoes the last import; leave the rest out")
    undone = undo_import(open_brain().members[0])
    if options().json:
        print_json(as_data(undone))
        return
    for card_id in undone.changed:
        say(f"{clean_line(card_id)} stays, because it was changed since")
    say(f"{counted(len(undone.deleted), 'card')} moved to the trash")


def _print_steps(steps: Sequence[ImportStep]) -> None:
    if not steps:
        return
    columns = {"action": "action", "id": "card", "title": "title"}
    columns |= {"where": "where", "reason": "reason"}
    if sys.stdout.isatty():  # the reason names a card that is there, the title a new one
        del columns["id"]
    rows = [[getattr(step, field) for field in columns.values()] for step in steps]
    print_table(tuple(columns), rows)


def _print_counts(steps: Sequence[ImportStep], *, written: bool, is_planned: bool) -> None:
    words = {"create": "created", "bump": "bumped", "skip": "skipped"}
    counts = []
    for action, done in words.items():
        counts.append(f"{_count(steps, action)} {done if written else f'to {action}'}")
    advice = ""
    if is_planned and not written:
        advice = "; --yes writes them"
    elif _count(steps, "create"):
        advice = "; `lessons import --undo` takes the new cards back"
    say(f"{', '.join(counts)}{advice}")


def _count(steps: Sequence[ImportStep], action: str) -> int:
    return sum(step.action == action for step in steps)


def _find_kept(brains: Brains) -> list[tuple[str, str]]:
    """Return and report (source, path) of the lessons that this project already has elsewhere."""
    claude, codex = find_memory_folders()
    paths = find_kept_lessons(brains, claude=claude, codex=codex)
    sources = [(guess_source(path), path) for path in paths if not is_read_each_session(path)]
    usable = [(source, path) for source, path in sources if source in NAMES]
    _report_sources(usable)
    return usable


def _find_files(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the source and the path of each file to import, and report the detected sources.

    ``words`` are paths, or the name of a source and paths.
    """
    if words[0] in NAMES and not os.path.exists(words[0]):
        if not words[1:]:
            raise InputError(f"no file to import; write `lessons import {words[0]} FILE`")
        return [(words[0], path) for path in words[1:]]
    files = [path for word in words for path in find_files(word)]
    standing = [path for path in files if is_read_each_session(path)]
    if standing:
        advice = _advise_diet(standing)
        if len(standing) == len(files):
            raise InputError(advice)
        say(advice)
        files = [path for path in files if path not in standing]
    sources = [(guess_source(path), path) for path in files]
    changelogs = [clean_line(path) for source, path in sources if source == CHANGES]
    if changelogs:
        names = ", ".join(changelogs)
        problem = f"{names} is not imported: a changelog says what changed, not what went wrong"
        if len(changelogs) == len(sources):
            raise InputError(f"{problem}; `lessons mine` finds the fixes in the history")
        say(problem)
        sources = [(source, path) for source, path in sources if source != CHANGES]
    usable = [(source, path) for source, path in sources if source not in _NO_LESSONS]
    for kind, problem in _NO_LESSONS.items():
        texts = [path for source, path in sources if source == kind]
        if not texts:
            continue
        described = problem.format(", ".join(map(clean_line, texts)))
        if not usable:
            fix = f"`lessons import memory {shell_word(texts[0])}` takes its sections all the same"
            raise InputError(f"{described}; {fix}")
        say(described)
    sources = usable
    usable = [(source, path) for source, path in sources if source in NAMES]
    _report_sources(usable)
    return usable


def _advise_diet(paths: Sequence[str]) -> str:
    """Return why rules files are not imported, and what to do instead."""
    names = ", ".join(map(clean_line, paths[:_MOST_NAMED]))
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    verb, file = ("are", "them") if len(paths) > 1 else ("is", "it")
    return (
        f"{names}{more} {verb} not imported, because your agent reads {file} in each session "
        f"already; `lessons diet` moves single rules to cards, and "
        f"`lessons import memory {shell_word(paths[0])}` copies each rule to a card"
    )


def _report_sources(files: Sequence[tuple[str, str]]) -> None:
    """Report the detected source of each file. Many files of a source share a line."""
    for name in NAMES:
        paths = [path for source, path in files if source == name]
        if len(paths) > _MOST_NAMED:
            say(f"{counted(len(paths), 'file')}: {NAMES[name]} ({name})")
            continue
        for path in paths:
            say(f"{clean_line(path)}: {NAMES[name]} ({name})")
