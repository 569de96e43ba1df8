"""`lessons mine`: look for lessons in past sessions and in the history."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer

from lessons_kb.brain import mine as mining
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.drafts import Draft
from lessons_kb.brain.mine import Found
from lessons_kb.cli.options import open_brain, options, print_json, say
from lessons_kb.errors import BrainNotFound, InputError
from lessons_kb.learn.mining import Candidate, typed_before
from lessons_kb.store.user_state import is_brain, user_brain
from lessons_kb.text.sanitize import clean_line, counted

SHOWN = 20
_WIDTH = 80


def mine(
    all_projects: Annotated[
        bool,
        typer.Option(
            "--all-projects", help="Read the sessions of all projects; draft into your user brain."
        ),
    ] = False,
    draft: Annotated[
        int, typer.Option("--draft", metavar="N", min=0, help="Write drafts of the first N.")
    ] = 0,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Leave out what is older, as 2026-01-31.")
    ] = None,
    comments: Annotated[
        list[str] | None,
        typer.Option(
            "--comments",
            metavar="FILE",
            help="Review comments as JSON, exported from GitHub or GitLab; repeatable.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Candidates to show.")] = SHOWN,
) -> None:
    """Find lessons in past agent sessions and commits; read only.

    Drafts wait for `lessons review`. Example: lessons mine --draft 10
    """
    run_mine(_brain(all_projects), all_projects, draft, _date(since), limit, comments or ())


def run_mine(
    brain: Brain,
    all_projects: bool,
    drafts: int,
    since: str | None = None,
    limit: int = SHOWN,
    comments: Sequence[str] = (),
) -> None:
    """Mine and print what was found."""
    with _progress() as show:
        found = mining.mine(
            brain, everywhere=all_projects, since=since, comments=comments, progress=show
        )
    if not options().json:
        for line in found.trouble:
            say(line)
        _print_found(found, limit)
    made = mining.draft(brain, found.candidates, drafts) if drafts else []
    if options().json:
        _print_json(found, made, limit)
    elif made:
        print(f"{counted(len(made), 'draft')} written; next: lessons review")
    elif drafts and found.candidates:
        say("no new drafts: each candidate has one already; see `lessons review --list`")
    elif found.candidates:
        say("next: `lessons mine --draft 10`, then `lessons review`")


def _brain(all_projects: bool) -> Brain:
    if not all_projects:
        return open_brain()

    root = user_brain()
    if not is_brain(root):
        raise BrainNotFound("no user brain for lessons of all projects; run `lessons init --user`")
    return Brain.open(root)


def _date(since: str | None) -> str | None:
    if since is None:
        return None
    try:
        return dt.date.fromisoformat(since).isoformat()
    except ValueError:
        raise InputError(f"--since must be a date such as 2026-01-31, not {since!r}") from None


def _print_found(found: Found, limit: int) -> None:
    parts = [counted(found.sessions, "session"), counted(found.commits, "commit")]
    parts += [counted(found.comments, "review comment")] if found.comments else []
    if not found.candidates:
        say(f"{', '.join(parts)}: nothing that looks like a mistake")
        return
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    print("  #  SEEN  LAST        SURE  WHAT AND WHY")
    for number, one in enumerate(found.candidates[:limit], 1):
        when = dt.datetime.fromtimestamp(one.at).date().isoformat() if one.at else ""
        head = f"{number:>3} {one.occurrences:>4}×  {when:<10}  {one.sure:>4.0%}  "
        print(_cut(head + clean_line(one.title), width))
        print(_cut(f"{'':10}{_why(one)}", width))
    shown = min(limit, len(found.candidates))
    total = counted(len(found.candidates), "candidate")
    print(f"{shown} of {total} from {', '.join(parts[:-1])} and {parts[-1]}")


def _why(one: Candidate) -> str:
    places = f" · {one.paths[0]}" if one.paths else ""
    return clean_line("; ".join(one.reasons) + places)


def _cut(line: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= width else set_cell_size(line, width - 1).rstrip() + "…"


def _print_json(found: Found, made: Sequence[Draft], limit: int) -> None:
    print_json(
        {
            "sessions": found.sessions,
            "commits": found.commits,
            "comments": found.comments,
            "read": found.read,
            "trouble": found.trouble,
            "candidates": [_data(one) for one in found.candidates[:limit]],
            "drafts": [{"id": one.id, "title": one.title, "path": one.path} for one in made],
        }
    )


def _data(one: Candidate) -> dict[str, Any]:

    return {
        "title": one.title,
        "occurrences": one.occurrences,
        "last": one.at,
        "sure": round(one.sure, 3),
        "rank": round(one.rank, 3),
        "reasons": list(one.reasons),
        "paths": list(one.paths),
        "symptoms": list(typed_before(one)[:3]),
        "examples": [
            {"session": s.session, "agent": s.agent, "quote": s.quote, "excerpt": s.excerpt}
            for s in one.sightings
        ],
        "commits": [{"id": c.id, "subject": c.subject} for c in one.commits],
    }


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Draw a progress bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    console = Console(stderr=True, no_color=options().no_color)
    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(
            task, description=f"reading {what}", completed=done, total=total
        )
