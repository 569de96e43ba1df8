"""`lessons import` and `lessons export`: cards from other systems, and for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

from lessons_kb.brain.exchange import (
    FORMATS,
    NAMES,
    ON_NEAR,
    TRANSCRIPT,
    Exchange,
    ImportStep,
    Session,
    find_files,
    guess_source,
    take_in_transcript,
)
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import ForProject, Tags, open_brain, split_list
from lessons_kb.cli.output import options, print_json, print_table, say
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.store.files import write_export
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.transcripts.reader import AGENTS


def import_cards(
    paths: list[str],
    yes: bool = False,
    near: Annotated[str, ON_NEAR] = "skip",
    project: ForProject = None,
    tags: Tags = "",
    agent: Annotated[str | None, AGENTS] = None,
) -> None:
    """Import lessons kept elsewhere; --yes writes them.

    Rules files keep their rules; `diet` moves them. Example: lessons import tasks/lessons.md

    [SOURCE] FILE…  Files or folders to read; what they are is found out, unless SOURCE says so:
                    galangal, review, memory, jsonl, rules or transcript.
    --yes, -y       Write the cards.
    --near          If a card is a near-duplicate: skip, new or bump.
    --agent         Agent that wrote the transcript; default: detected.
    """
    files = _find_files(paths)
    if records := [path for source, path in files if source == TRANSCRIPT]:
        if len(records) < len(files):
            raise InputError("transcripts are read into the journal; import them by themselves")
        _import_transcripts(records, agent or "", write=yes)
        return
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
    for source, path in found:
        say(f"{clean_line(path)}: {NAMES[source]} ({source})")
    return found


def _import_transcripts(paths: Sequence[str], agent: str, *, write: bool) -> None:
    """Read sessions into the journal, where `create --from-session` and drafts find them."""
    brain = open_brain()
    sessions: list[Session] = []
    notes: list[str] = []
    for path in paths:
        found, strange = take_in_transcript(brain, path, agent=agent, write=write)
        sessions += found
        notes += strange
    data = [as_data(session) for session in sessions]
    if options().json:
        print_json({"written": write, "sessions": data, "notes": notes})
        return
    for note in notes:
        say(clean_line(note))
    columns = ("session", "agent", "prompts", "calls", "failures", "edits", "new", "expired")
    if data:
        rows = [[str(session[name]) for name in columns] for session in data]
        print_table(columns, rows, right=" ".join(columns[2:]))
    new = sum(session.new for session in sessions)
    if write:
        hint = "`lessons create --from-session ID` starts a card from a session"
        say(f"{counted(new, 'event')} recorded; {hint}")
    else:
        say(f"{counted(new, 'event')} to record{'; --yes records them' if new else ''}")


def export(form: str, output: str | None = None) -> None:
    """Print every card; jsonl is what `import jsonl` reads.

    Example: lessons export jsonl -o lessons.jsonl

    FORMAT             json, jsonl or markdown.
    --output, -o FILE  File to write; default: stdout.
    """
    check_choice("FORMAT", form, FORMATS)
    brain = open_brain()
    lines = Exchange(brain).export(form)
    if output is None:
        for line in lines:
            print(line)
        return
    brain.cards.check_free(output)
    write_export(output, lines)
    say(f"written to {output}")
