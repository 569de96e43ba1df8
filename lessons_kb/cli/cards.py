"""Commands on single cards: create list show bump ignore restore delete."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.options import check_choice, open_brain, options, print_json, print_table, say
from lessons_kb.errors import DuplicateCard, InputError
from lessons_kb.model import KINDS, SEVERITIES, STATUSES, as_data
from lessons_kb.render import age
from lessons_kb.text.counted import counted
from lessons_kb.text.sanitize import clean, clean_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.learn.drafts import Sketch
    from lessons_kb.model import Card

Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Path, slug, or prefix.")]

ROWS = 20
"""Rows of ``list`` unless asked otherwise."""


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    for command in (create, list_, show, bump, ignore, restore, delete):
        app.command(command.__name__.rstrip("_"))(command)


def create(
    title: Annotated[str, typer.Argument(help="The mistake, in one line.")],
    kind: Annotated[str, typer.Option("--type", help=f"One of {', '.join(KINDS)}.")] = "lesson",
    tags: Annotated[str, typer.Option(help="Topics, separated by commas.")] = "",
    project: Annotated[str | None, typer.Option(help="Only for this project.")] = None,
    severity: Annotated[str | None, typer.Option(help="low, medium or high.")] = None,
    stage: Annotated[str | None, typer.Option(help="Workflow stage, such as DEV.")] = None,
    paths: Annotated[
        str, typer.Option(help="Globs of the files it guards, separated by commas.")
    ] = "",
    on_duplicate: Annotated[
        str | None, typer.Option(help="If the lesson exists: ask, bump, new or fail.")
    ] = None,
    from_diff: Annotated[
        str | None,
        typer.Option(metavar="FILE[:LINE]", help="Start from the change that fixed it."),
    ] = None,
    from_session: Annotated[
        str | None,
        typer.Option(
            metavar="[ID]", help="Start from what went wrong in a session; default: the latest."
        ),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit/--no-edit", help="Open the card in $EDITOR (on a terminal).")
    ] = True,
) -> None:
    """Write a new card from its template.

    Example: lessons create "Retried payment charged twice" --tags payments,retry --severity high
    """
    _check_kind(kind, severity)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    rule = _choose_rule(on_duplicate, interactive=interactive)
    brain = open_brain()
    sketch = _sketch(brain, from_diff, from_session)
    details: dict[str, Any] = {
        "kind": kind,
        "topics": _split(tags),
        "project": project,
        "stage": stage,
        "severity": severity,
        "paths": _split(paths) or (sketch.paths if sketch else ()),
        "sections": sketch.sections if sketch else None,
    }
    try:
        card = brain.cards.create(title, on_duplicate={"ask": "fail"}.get(rule, rule), **details)
    except DuplicateCard as error:
        if rule != "ask":
            raise
        if _ask_whether_to_bump(error):
            card = brain.bump(error.existing)[0]
        else:
            card = brain.cards.create(title, on_duplicate="new", **details)
    if options().json:
        print_json(as_data(card))
        return
    bumped = card.occurrences > 1
    print(f"{clean_line(card.id)} (seen {card.occurrences}×)" if bumped else clean_line(card.id))
    if edit and interactive and not bumped:
        from lessons_kb.process.editor import open_editor

        open_editor(brain.cards.read(card.id)[0])


def _check_kind(kind: str | None, severity: str | None) -> None:
    check_choice("--type", kind, KINDS)
    check_choice("--severity", severity, SEVERITIES)


def _choose_rule(on_duplicate: str | None, *, interactive: bool) -> str:
    from lessons_kb.brain.cards import ON_DUPLICATE

    check_choice("--on-duplicate", on_duplicate, ("ask", *ON_DUPLICATE))
    if on_duplicate == "ask" and not interactive:
        raise InputError("--on-duplicate ask needs a terminal; use bump, new or fail")
    return on_duplicate or ("ask" if interactive else "fail")


def _sketch(brain: Brain, diff: str | None, session: str | None) -> Sketch | None:
    if diff is not None and session is not None:
        raise InputError("--from-diff and --from-session cannot be combined; use one")
    if diff is not None:
        return brain.drafts.sketch_diff(diff)
    return None if session is None else brain.drafts.sketch_session(session or None)


def _ask_whether_to_bump(error: DuplicateCard) -> bool:
    say(str(error).partition(";")[0])
    answer = typer.prompt("[b]ump it, write a [n]ew card, or [s]top?", default="b", err=True)
    chosen = {"b": True, "n": False}.get(answer.strip().lower()[:1])
    if chosen is None:
        raise typer.Abort
    return chosen


def list_(
    kind: Annotated[str | None, typer.Option("--type", help="Only this kind.")] = None,
    status: Annotated[str | None, typer.Option(help="active, ignored, archived or all.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project's.")] = None,
    stage: Annotated[str | None, typer.Option(help="Only this stage's.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this topic.")] = None,
    severity: Annotated[str | None, typer.Option(help="Only this severity.")] = None,
    sort: Annotated[str, typer.Option(help="recent, count, title or id.")] = "recent",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = ROWS,
    everything: Annotated[bool, typer.Option("--all", help="Every row.")] = False,
) -> None:
    """List cards, most recent first.

    Example: lessons list --severity high --sort count
    """
    from lessons_kb.brain.filters import names_project, names_stage, names_topic

    _check_kind(kind, severity)
    check_choice("--sort", sort, tuple(_ORDERS))
    check_choice("--status", status, (*STATUSES, "all"))
    wanted = {"kind": kind, "severity": severity}
    known = open_brain().cards.all(aliased=True)
    cards = [
        card
        for card in known
        if all(value is None or getattr(card, name) == value for name, value in wanted.items())
        and (status in (None, "all") or card.status == status)
        and names_project(card, project)
        and names_stage(card, stage)
        and names_topic(card, tag)
    ]
    cards.sort(key=_ORDERS["id"])
    cards.sort(key=_ORDERS[sort], reverse=sort in ("recent", "count"))
    shown = cards if everything else cards[:limit]
    if options().json:
        print_json([as_data(card) for card in shown])
        return
    if not cards:
        first = "no cards yet; `lessons create TITLE` writes the first"
        say(f"none of {counted(len(known), 'card')} matches; remove a filter" if known else first)
        return
    today = dt.datetime.now(tz=dt.UTC).astimezone().date()
    columns = ("id", "stage", "count", "title", "project", "last task", "age")
    print_table(columns, [_row(card, today) for card in shown], right="count age")
    if len(shown) < len(cards):
        say(f"{len(cards) - len(shown)} more; use --all")


_ORDERS = {
    "recent": lambda card: card.last_seen or card.created or "",
    "count": lambda card: card.occurrences,
    "title": lambda card: card.title.casefold(),
    "id": lambda card: card.id,
}


def _row(card: Card, today: dt.date) -> tuple[str, ...]:
    marked = card.title if card.status == "active" else f"{card.title} [{card.status}]"
    return (
        card.id,
        ",".join(card.stages),
        str(card.occurrences),
        marked,
        card.project or "",
        card.examples[-1] if card.examples else "",
        age(card.last_seen or card.created or "", today),
    )


def show(
    card_id: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
) -> None:
    """Print a card's file.

    Example: lessons show telegram-allowlist
    """
    path, document = open_brain().cards.read(card_id)
    if options().json:
        card = as_data(document.card) if document.card else {}
        print_json({**card, "file": path, "body": document.body})
        return
    with open(path, "rb") as file:
        print(clean(file.read().decode("utf-8", "replace")).rstrip("\n"))


def bump(
    ids: Ids,
    task: Annotated[str | None, typer.Option(help="The task in which it happened again.")] = None,
) -> None:
    """Record that a mistake happened again: occurrences + 1, last-seen today.

    Example: lessons bump telegram-allowlist --task "Add /restart command"
    """
    cards = open_brain().bump(*ids, task=task)
    _report(cards, lambda card: f"{clean_line(card.id)} seen {card.occurrences}×")


def ignore(ids: Ids) -> None:
    """Stop injecting cards; `restore` undoes it.

    Example: lessons ignore telegram-allowlist
    """
    _set_status("ignored", ids)


def restore(ids: Ids) -> None:
    """Make ignored, archived or deleted cards active again.

    Example: lessons restore telegram-allowlist
    """
    brain = open_brain()
    done = [brain.cards.restore(name) for name in ids]
    if options().json:
        print_json([{"id": card_id, "done": what} for card_id, what in done])
        return
    for card_id, what in done:
        print(f"{clean_line(card_id)} {_RESTORED[what]}")


_RESTORED = {
    "activated": "is active again",
    "undeleted": "restored from the trash",
    "unchanged": "is already active",
}


def delete(
    ids: Ids,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Move cards to the trash; `restore` brings them back.

    Example: lessons delete telegram-allowlist --yes
    """
    brain = open_brain()
    names = [brain.cards.get(name).id for name in ids]
    if not yes:
        if not sys.stdin.isatty():
            raise InputError(f"delete needs confirmation; add --yes to delete {', '.join(names)}")
        typer.confirm(f"Move {', '.join(names)} to the trash?", abort=True, err=True)
    _report(brain.cards.delete(*ids), lambda card: f"{clean_line(card.id)} moved to the trash")


def _set_status(status: str, ids: Sequence[str]) -> None:
    cards = open_brain().cards.set_status(status, *ids)
    _report(cards, lambda card: f"{clean_line(card.id)} {card.status}")


def _report(cards: Sequence[Card], line: Callable[[Card], str]) -> None:
    if options().json:
        print_json([as_data(card) for card in cards])
        return
    for card in cards:
        print(line(card))


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
