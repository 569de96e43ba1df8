"""`lessons mine`: look for lessons in past sessions and in the history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Any

from typer import Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.complete_drafts import build_prompts, print_prompts, write_drafts
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import (
    cut_cells,
    draw_progress,
    options,
    pick,
    print_json,
    say,
    terminal_width,
)
from lessons_kb.collection import mined_drafts
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.errors import BrainNotFound, InputError
from lessons_kb.mining import mine_project as mining
from lessons_kb.mining.candidates import Candidate, typed_before
from lessons_kb.mining.mine_project import MiningResult
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import is_brain
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.text.times import read_date

SHOWN = 20


def mine(
    all_projects: Annotated[
        bool,
        Option(
            "--all-projects",
            help="Read the sessions of all projects; drafts go to your user brain.",
        ),
    ] = False,
    draft: Annotated[
        int,
        Option(
            "--draft",
            metavar="N",
            min=0,
            show_default=False,
            help="Write drafts of the first N of the list.",
        ),
    ] = 0,
    since: Annotated[
        str | None,
        Option("--since", metavar="DATE", help="Leave out what is older, as 2026-01-31."),
    ] = None,
    reviews: Annotated[
        list[str] | None,
        Option(
            "--reviews",
            metavar="FILE",
            help="Read review comments, too: JSON exported from GitHub or GitLab; repeatable.",
        ),
    ] = None,
    limit: Annotated[
        int, Option("--limit", metavar="N", min=1, help="Length of the list.")
    ] = SHOWN,
    with_: Annotated[
        str | None,
        Option(
            "--with",
            metavar="[AGENT]",
            help="With --draft: have claude, codex, gemini, opencode or copilot complete the "
            "drafts, or a command that reads a prompt on stdin.",
        ),
    ] = None,
    show_prompt: Annotated[
        bool, Option("--show-prompt", help="Print what the agent would be sent; send nothing.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before it is sent.")] = False,
) -> None:
    """Find lessons in past agent sessions and commits; read only.

    Read the list, write drafts of its best, and accept them in `lessons review`.

    Example: lessons mine --draft 10 --with claude
    """
    if not all_projects:
        brains = open_brain()
    elif is_brain(root := user_brain()):
        brains = Brains.open(root)
    else:
        raise BrainNotFound("no user brain for lessons of all projects; run `lessons init --user`")
    if since is not None and not read_date(since):
        raise InputError(f"--since must be a date such as 2026-01-31, not {since!r}")
    made = run_mine(brains, all_projects, draft, since, limit, reviews or ())
    if show_prompt:
        print_prompts(build_prompts(brains, made))
    elif with_ is not None:
        write_drafts(brains, made, with_, yes=yes)


def run_mine(
    brains: Brains,
    all_projects: bool,
    drafts: int,
    since: str | None = None,
    limit: int = SHOWN,
    comments: Sequence[str] = (),
) -> list[Draft]:
    """Mine and print what was found; return the drafts that were made."""
    with draw_progress("reading") as show:
        found = mining.mine(
            brains,
            everywhere=all_projects,
            since=since,
            comments=comments,
            progress=lambda what, done, total: show(done, total, what),
        )
    if not options().json:
        for line in found.trouble:
            say(line)
        _print_found(found, min(limit, drafts or limit))
    made = mined_drafts.draft(brains, found.candidates, drafts) if drafts else []
    if options().json:
        told = pick(found, "sessions", "commits", "comments", "read", "trouble")
        candidates = [_describe(one) for one in found.candidates[:limit]]
        written = [pick(one, "id", "title", "path") for one in made]
        print_json({**told, "candidates": candidates, "drafts": written})
    elif made:
        print(f"{counted(len(made), 'draft')} written; next: lessons review")
    elif drafts and found.candidates:
        say("no new drafts: each candidate has one already; see `lessons review --list`")
    elif found.candidates:
        say("next: `lessons mine --draft 10`, then `lessons review`")
    return made


def _print_found(found: MiningResult, limit: int) -> None:
    parts = [counted(found.sessions, "session"), counted(found.commits, "commit")]
    parts += [counted(found.comments, "review comment")] if found.comments else []
    if not found.candidates:
        say(f"{', '.join(parts)}: nothing that looks like a mistake")
        return
    width = terminal_width()
    print("  #  SEEN  LAST        WHAT AND WHY")
    for number, one in enumerate(found.candidates[:limit], 1):
        when = dt.datetime.fromtimestamp(one.at).date().isoformat() if one.at else ""
        what = " · ".join((*one.paths[:1], "; ".join(one.reasons)))
        lines = (
            f"{number:>3} {one.occurrences:>4}×  {when:<10}  {clean_line(one.title)}",
            f"{'':10}{clean_line(what)}",
        )
        print("\n".join(cut_cells(line, width) if width else line for line in lines))
    shown = min(limit, len(found.candidates))
    total = counted(len(found.candidates), "candidate")
    print(f"{shown} of {total} from {', '.join(parts[:-1])} and {parts[-1]}")


def _describe(one: Candidate) -> dict[str, Any]:
    return {
        **pick(one, "title", "occurrences"),
        "last": one.at,
        "rank": round(one.rank, 3),
        **pick(one, "reasons", "paths"),
        "symptoms": list(typed_before(one)[:3]),
        "examples": [
            pick(sighting, "session", "agent", "quote", "excerpt") for sighting in one.sightings
        ],
        "commits": [pick(commit, "id", "subject") for commit in one.commits],
    }
