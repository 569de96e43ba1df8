"""`lessons list`, `lessons show`, `lessons search` and `lessons preflight`."""

from __future__ import annotations

import datetime as dt
import functools
import sys
from typing import Annotated

from typer import Option

from lessons_kb import render
from lessons_kb.brain.current_session import session_of
from lessons_kb.cli.options import (
    CardId,
    Paths,
    Revision,
    Session,
    Stage,
    open_brain,
    read_text,
    say_stale,
)
from lessons_kb.cli.output import options, pick, print_json, print_table, say, tell, terminal_width
from lessons_kb.collection.cards import names
from lessons_kb.errors import InputError, Untrusted
from lessons_kb.model import KINDS, NOTE, SEVERITIES, STATUSES, Card, as_data
from lessons_kb.outcome.post_check import read_change
from lessons_kb.outcome.why import find_least_budget
from lessons_kb.preflight.block import footer, shown_name
from lessons_kb.session.turn_lessons import open_for
from lessons_kb.store.files import open_regular
from lessons_kb.text.sanitize import clean, counted

ROWS = 20
"""Rows of ``list`` unless asked otherwise."""
_COLUMNS = ("id", "stage", "count", "title", "project", "last task", "age")
_WIDE = ("title", "id", "count", "age", "stage", "project", "last task")
_NARROW = ("title", "id", "count", "age")
"""Columns when piped, on a terminal of at least _ROOM columns, and on others."""
_ROOM = 120
_ORDERS = {
    "recent": lambda card: card.last_seen or card.created or "",
    "count": lambda card: card.occurrences,
    "title": lambda card: card.title.casefold(),
    "id": lambda card: card.id,
}


Positive = Annotated[int, Option(min=1)]
_READ = (*KINDS, NOTE)


def list_cards(
    type_: Annotated[str | None, KINDS] = None,
    status: Annotated[str | None, (*STATUSES, "all")] = None,
    project: str | None = None,
    stage: str | None = None,
    tag: str | None = None,
    severity: Annotated[str | None, SEVERITIES] = None,
    sort: Annotated[str, tuple(_ORDERS)] = "recent",
    limit: Positive = ROWS,
    all_: bool = False,
) -> None:
    """List cards, most recent first.

    Example: lessons list --severity high --sort count

    --type      Only this kind.
    --status    active, ignored, archived or all.
    --project   Only this project's.
    --stage     Only this stage's.
    --tag       Only with this topic.
    --severity  Only this severity.
    --sort      recent, count, title or id.
    --limit     Maximum number of rows.
    --all       Every row.
    """
    brains = open_brain()
    known = brains.cards.all(aliased=True)
    cards = [
        card
        for card in known
        if type_ in (None, card.kind)
        and severity in (None, card.severity)
        and status in (None, "all", card.status)
        and names(card, stage=stage, topic=tag, project=project)
    ]
    cards.sort(key=_ORDERS["id"])
    cards.sort(key=_ORDERS[sort], reverse=sort in ("recent", "count"))
    shown = cards if all_ else cards[:limit]
    say_stale(brains)
    if options().json:
        print_json([as_data(card) for card in shown])
        return
    if not cards:
        first = 'no cards yet; `lessons add "what went wrong"` writes the first'
        say(f"none of {counted(len(known), 'card')} matches; remove a filter" if known else first)
        return
    rows = [_describe(card) for card in shown]
    columns: tuple[str, ...] = _COLUMNS
    if width := terminal_width():
        # A line a card: the title first, and of its name what commands need to find it.
        short = brains.cards.shorten_ids(shown)
        rows = [{**row, "id": short[row["id"]]} for row in rows]
        columns = _WIDE if width >= _ROOM else _NARROW
    print_table(columns, [[row[name] for name in columns] for row in rows], right="count age")
    if len(shown) < len(cards):
        say(f"{len(cards) - len(shown)} more; use --all")


def _describe(card: Card) -> dict[str, str]:
    """Return what stands in each column of a card's row."""
    states = [card.status] if card.status != "active" else []
    states += ["template"] if card.template else []
    today = dt.datetime.now(tz=dt.UTC).astimezone().date()
    return {
        "id": card.id,
        "stage": ",".join(card.stages),
        "count": str(card.occurrences),
        "title": f"[{', '.join(states)}] {card.title}" if states else card.title,
        "project": card.project or "",
        "last task": card.examples[-1] if card.examples else "",
        "age": render.age(card.last_seen or card.created or "", today),
    }


def show(card_id: CardId) -> None:
    """Print a card or a note. A card then counts as given in an agent's session.

    Example: lessons show telegram-allowlist
    """
    brains = open_brain()
    path, document = brains.cards.read(card_id)
    session = session_of()[0]
    open_for(session, brains, brains.cards.find(card_id), asked_by=session)
    if options().json:
        card = as_data(document.card) if document.card else {}
        print_json({**card, "file": path, "body": document.body})
        return
    with open_regular(path) as file:
        print(clean(file.read().decode("utf-8", "replace")).rstrip("\n"))


def search(
    words: list[str] | None = None,
    type_: Annotated[str | None, _READ] = None,
    path: Paths = None,
    stage: Stage = None,
    limit: Positive = 10,
    explain: bool = False,
) -> None:
    """Search active cards and notes, by the words alone.

    Example: lessons search "allow list" --explain

    QUERY      What to search for; default: stdin.
    --type     Only lesson, playbook, qa-finding or note.
    --limit    Maximum number of hits.
    --explain  Show score, factors and terms.
    """
    query = read_text(words or [], what="query")
    if not query.strip():
        raise InputError("query missing; pass it as an argument or on stdin")
    brains = open_brain()
    kinds = (type_,) if type_ else _READ
    hits = brains.search(query, kinds=kinds, stage=stage, paths=tuple(path or ()), limit=limit)
    if options().json:
        print_json([render.hit_data(hit) for hit in hits])
    elif explain:
        for place, hit in enumerate(hits, 1):
            print(f"{place}. {hit.card.title} ({hit.card.id})")
            print(render.explain_hit(hit, query))
    elif hits:
        columns, short = ("score", "kind", "title", "id"), {}
        if sys.stdout.isatty():  # as `list` does: a line a hit
            columns = ("score", "title", "id", "kind")
            short = brains.cards.shorten_ids([hit.card for hit in hits])
        rows = []
        for hit in hits:
            name = shown_name(hit)
            cells = {"score": f"{hit.score:.2f}", **pick(hit.card, "kind", "title")}
            cells["id"] = name if hit.brain else short.get(name, name)
            rows.append([cells[column] for column in columns])
        print_table(columns, rows, right="score")
    else:
        say("nothing found")
    say_stale(brains)


def preflight(
    prompt: list[str] | None = None,
    diff: Revision = None,
    path: Paths = None,
    stage: Stage = None,
    session: Session = None,
    budget: Annotated[int | None, Option(min=0)] = None,
    context: bool = False,
) -> None:
    """Print the lessons that matter for a prompt, or nothing.

    `lessons why PROMPT` explains the choice.

    Example: lessons preflight "Add a Telegram command that runs a shell script"

    PROMPT                  The prompt; default: stdin.
    --budget                Token budget of the whole block.
    --context/--no-context  Add excerpts of notes.
    """
    try:
        brains = open_brain()
    except Untrusted as error:
        say(str(error))  # silence is the answer; why stands on stderr
        return
    if diff is None:
        text, paths = read_text(prompt or [], what="prompt"), tuple(path or ())
    else:
        change = read_change(brains, diff)
        text = " ".join([*(prompt or []), *change.files, *change.added])
        paths = (*(path or ()), *change.files)
    ask = functools.partial(brains.preflight, text, stage=stage, paths=paths, context=context)
    block = ask(session=session or "", budget=budget)
    language = brains.members[0].settings.language
    if options().json:
        print_json(render.preflight_data(block, language))
    elif block.text:
        print(block.text)
    if block.lessons and not options().json:
        tell(footer([shown_name(hit) for hit in block.lessons], language))
    retry = functools.partial(ask, remember=False, fresh=False)
    if (least := find_least_budget(block, lambda tokens: retry(budget=tokens))) is not None:
        hint = f"use --budget {least} or more" if least else "raise `model_context`"
        say(f"the token budget is too small for any lesson; {hint}")
