"""`lessons events`: list the recorded events."""

from __future__ import annotations

import datetime as dt
import json
import re
import time
from typing import Annotated

from typer import Option

from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import (
    cut_cells,
    options,
    print_json,
    print_table,
    say,
    terminal_width,
)
from lessons_kb.errors import InputError
from lessons_kb.model import EVENTS, Event, as_data
from lessons_kb.outcome.session_journal import SessionJournal
from lessons_kb.text.sanitize import clean_line, shorten, visible_json

ROWS = 50


_WIDTHS = {"when": 14, "kind": 10, "tool": 12, "outcome": 17, "what": 60, "session": 8}
"""Maps a column to its maximum width in characters."""


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def events(
    session: Annotated[
        str | None, Option("--session", metavar="SESSION", help="Only this session.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        choose("--kind", EVENTS, metavar="KIND", help="Only this kind; repeatable."),
    ] = None,
    tool: Annotated[
        list[str] | None, Option("--tool", metavar="TOOL", help="Only this tool; repeatable.")
    ] = None,
    since: Annotated[
        str | None,
        Option("--since", metavar="TIME", help="From 30m, 2h, 3d or 1w ago, or from 2026-01-31."),
    ] = None,
    limit: Annotated[
        int, Option("--limit", metavar="N", min=1, help="Maximum number of results.")
    ] = ROWS,
    follow: Annotated[bool, Option("--follow", "-f", help="Keep printing new events.")] = False,
) -> None:
    """List observed events, newest last.

    Example: lessons events --kind test --since 2h
    """
    journal = SessionJournal(open_brain())
    start = _parse_since(since, now=time.time()) if since else None
    read = journal.follow if follow else journal.events
    selection = read(session=session, kinds=kind or (), tools=tool or (), since=start, limit=limit)
    if follow:
        for event in selection:
            if options().json:
                print(visible_json(json.dumps(as_data(event), ensure_ascii=False)), flush=True)
            else:
                print(_line(event), flush=True)
    elif options().json:
        print_json([as_data(event) for event in selection])
    else:
        rows = [_row(event) for event in selection]
        if terminal_width():
            rows = [tuple(map(shorten, row, _WIDTHS.values())) for row in rows]
        if rows:
            print_table(tuple(_WIDTHS), rows)
        else:
            say("no matching events; hooks (`lessons setup`) and `lessons run` record them")


def _parse_since(text: str, *, now: float) -> float:
    """Return the seconds since the epoch for ``2h`` (ago), an ISO date, or a date and time."""
    if duration := re.fullmatch(r"(\d{1,9})\s?([smhdw])", text.strip()):
        return now - int(duration[1]) * _UNITS[duration[2]]
    try:
        return dt.datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"--since {text!r} is not a time; write 30m, 2h, 3d, 1w or a date such as 2026-01-31"
        ) from None


def _line(event: Event) -> str:
    """Return an event as one line of a growing list, in columns, or with tabs for a pipe."""
    cells = [clean_line(cell) for cell in _row(event)]
    columns = terminal_width()
    if columns is None:
        return "\t".join(cells)
    padded = []
    for cell, width in zip(cells, _WIDTHS.values(), strict=True):
        padded.append(shorten(cell, width).ljust(width))
    return cut_cells("  ".join(padded).rstrip(), columns)


def _row(event: Event) -> tuple[str, ...]:
    run = event.record.get("run")
    state = run.get("state") if isinstance(run, dict) else None
    summary = event.text or ", ".join(event.targets) or event.output
    when = f"{dt.datetime.fromtimestamp(event.at):%m-%d %H:%M:%S}"
    summary = clean_line(f"[{event.stage}] {summary}" if event.stage else summary)
    return (when, event.kind, event.tool, str(state or event.outcome), summary, event.session)
