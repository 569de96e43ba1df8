"""`lessons run` and `lessons events`: record how a command ended, and list what was recorded."""

from __future__ import annotations

import datetime as dt
import json
import re
import time
from typing import Annotated

import typer
from typer import Option

from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import options, print_json, print_table, say
from lessons_kb.errors import BrainNotFound, InputError, LessonsError
from lessons_kb.model import EVENTS, Event, as_data
from lessons_kb.outcome.session_journal import draft_after
from lessons_kb.outcome.session_journal import run as run_recorded
from lessons_kb.text.sanitize import clean_line, shorten, visible_json

ROWS = 50
_WIDTHS = {"when": 14, "kind": 10, "tool": 12, "outcome": 17, "what": 60, "session": 8}
"""Column → its characters at the most."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def events(
    session: str | None = None,
    kind: Annotated[list[str] | None, EVENTS] = None,
    tool: list[str] | None = None,
    since: str | None = None,
    limit: Annotated[int, Option(min=1)] = ROWS,
    follow: bool = False,
) -> None:
    """List observed events, newest last.

    Example: lessons events --kind test --since 2h

    --session     Only this session.
    --kind        Only this kind; repeatable.
    --tool        Only this tool; repeatable.
    --since TIME  30m, 2h, 3d, 1w ago, or 2026-01-31.
    --limit       Maximum number of rows, newest first.
    --follow, -f  Keep printing new events.
    """
    journal = open_brain().journal
    start = _parse_since(since, now=time.time()) if since else None
    find = journal.follow if follow else journal.events
    found = find(session=session, kinds=kind or (), tools=tool or (), since=start, limit=limit)
    if follow:
        for event in found:
            if options().json:
                print(visible_json(json.dumps(as_data(event), ensure_ascii=False)), flush=True)
            else:
                cells = zip(_row(event), _WIDTHS.values(), strict=True)
                line = "  ".join(clean_line(cell).ljust(width) for cell, width in cells)
                print(line.rstrip(), flush=True)
    elif options().json:
        print_json([as_data(event) for event in found])
    elif rows := [_row(event) for event in found]:
        print_table(tuple(_WIDTHS), rows)
    else:
        say("no matching events; hooks (`lessons setup`) and `lessons run` record them")


def _parse_since(text: str, *, now: float) -> float:
    """Return seconds since the epoch for ``2h`` (ago), an ISO date or an ISO date and time."""
    if ago := re.fullmatch(r"(\d{1,9})\s?([smhdw])", text.strip()):
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        return dt.datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"--since {text!r} is not a time; write 30m, 2h, 3d, 1w or a date such as 2026-01-31"
        ) from None


def _row(event: Event) -> tuple[str, ...]:
    run = event.record.get("run")
    state = run.get("state") if isinstance(run, dict) else None
    what = event.text or ", ".join(event.targets) or event.output
    when = f"{dt.datetime.fromtimestamp(event.at):%m-%d %H:%M:%S}"
    what = clean_line(f"[{event.stage}] {what}" if event.stage else what)
    cells = (when, event.kind, event.tool, str(state or event.outcome), what, event.session)
    return tuple(map(shorten, cells, _WIDTHS.values()))


def run(
    command: list[str],
    stall: Annotated[float, Option(min=0)] = 90.0,
    session: str | None = None,
    stage: str | None = None,
) -> None:
    """Run a command and record how it ended.

    Output and exit code stay unchanged.

    A command without output for --stall seconds is stopped with all that it started, as by
    Ctrl-C (exit code 124).

    Example: lessons run --stall 300 -- pytest -q

    COMMAND...       Command to run.
    --stall SECONDS  Longest time without output; 0 = no limit.
    --session        Session it belongs to; default: detected.
    --stage          Workflow stage it belongs to.
    """
    brains, trouble = None, ""
    try:
        brains = open_brain()
    except LessonsError as error:
        if options().brains or not isinstance(error, BrainNotFound):
            trouble = str(error)
    stopped = stall or None
    ended, unwritten = run_recorded(brains, command, stall=stopped, session=session, stage=stage)
    if ended.message:
        say(ended.message)
    if trouble or unwritten:
        say(f"this run was not recorded: {trouble or unwritten}")
    elif brains is not None and ended.code == 0:
        try:
            for draft in draft_after(brains, command, session):
                ready = f"draft {draft.id} is ready for `lessons review`"
                say(f"what failed before passes now; {ready}")
        except LessonsError as error:
            say(f"no draft was saved: {error}")
    raise typer.Exit(ended.code)
