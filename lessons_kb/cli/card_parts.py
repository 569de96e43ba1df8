"""What `add` and `create` share: the options that say what a card holds, and its writing."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.options import check_choice, say
from lessons_kb.cli.options import options as chosen_options
from lessons_kb.errors import DuplicateCard, Incomplete, InputError
from lessons_kb.learn.quality_gate import MISSING
from lessons_kb.model import KINDS, PATTERNS, Card, Pattern
from lessons_kb.text.escape_controls import shell_word
from lessons_kb.text.sanitize import clean_line

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain

STDIN = "-"
"""As the title: the whole card is on standard input."""

Title = Annotated[str, typer.Argument(help="The mistake, in one line; - reads a card from stdin.")]
Why = Annotated[str, typer.Option(metavar="TEXT", help="Root cause: how it came about.")]
Do = Annotated[
    list[str] | None,
    typer.Option("--do", metavar="TEXT", help="What to check next time; repeatable."),
]
Symptom = Annotated[
    list[str] | None,
    typer.Option("--symptom", metavar="TEXT", help="How a future task would put it; two or three."),
]
Detect = Annotated[
    list[str] | None,
    typer.Option(
        "--detect",
        metavar="PATTERN",
        help="How it looks in code: a regular expression, or `ast: …`, `command: …`; repeatable.",
    ),
]
Kind = Annotated[str, typer.Option("--type", help=f"One of {', '.join(KINDS)}.")]
Tags = Annotated[str, typer.Option(help="Topics, separated by commas.")]
Project = Annotated[str | None, typer.Option(help="Only for this project.")]
Severity = Annotated[str | None, typer.Option(help="low, medium or high.")]
Stage = Annotated[str | None, typer.Option(help="Workflow stage, such as DEV.")]
Paths = Annotated[str, typer.Option(help="Globs of the files it guards, separated by commas.")]
OnDuplicate = Annotated[
    str | None, typer.Option(help="If the lesson exists: ask, bump, new or fail.")
]

_OPTIONS = {
    "title": "TITLE",
    "cause": "--why",
    "items": "--do",
    "symptoms": "--symptom",
    "symptom": "--symptom",
}

_MAX_STDIN = 16_000_000
"""Bytes; how large a card may be, its brain says."""


def read_options(
    *,
    kind: str,
    tags: str,
    project: str | None,
    stage: str | None,
    severity: str | None,
    paths: str,
    why: str,
    do: Sequence[str] | None,
    symptom: Sequence[str] | None,
    detect: Sequence[str] | None,
) -> dict[str, Any]:
    """Return what these options say, as ``Cards.create`` takes it."""
    items = "\n".join(f"- [ ] {clean_line(one)}" for one in do or () if one.strip())
    sections = {"Root Cause": why.strip(), "Prevention Checklist": items}
    return {
        "kind": kind,
        "topics": split_list(tags),
        "project": project,
        "stage": stage,
        "severity": severity,
        "paths": split_list(paths),
        "sections": {name: text for name, text in sections.items() if text},
        "symptoms": tuple(one for one in symptom or () if one.strip()),
        "detect": tuple(map(_pattern, detect or ())),
    }


def split_list(text: str) -> tuple[str, ...]:
    """Return the parts of a list that commas separate."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def is_interactive() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def write_card(
    brain: Brain, title: str, on_duplicate: str | None, details: Mapping[str, Any]
) -> Card:
    """Write a card, from standard input where the title is ``-``; ask about a duplicate."""
    rule = _choose_rule(on_duplicate)
    asked = rule == "ask"
    text = _read_card(details) if title == STDIN else ""

    def write(rule: str) -> Card:
        if text:
            return brain.cards.add_text(text, whole=details["whole"], on_duplicate=rule)
        return brain.cards.create(title, on_duplicate=rule, **details)

    try:
        return write("fail" if asked else rule)
    except DuplicateCard as error:
        if not asked:
            raise
        if _ask_whether_to_bump(error):
            return brain.bump(error.existing)[0]
        return write("new")


def say_missing(error: Incomplete, title: str) -> None:
    """Say what a card lacks, each with the option that adds it."""
    options = {MISSING[part]: option for part, option in _OPTIONS.items()}
    say("nothing was written; the card still needs:")
    for line in error.missing:
        option = options.get(line, "") if title != STDIN else ""
        say(f"  {option}: {line}" if option else f"  {line}")
    if title != STDIN:
        chosen = "".join(f"--brain {shell_word(one)} " for one in chosen_options().brains)
        say(
            f"or run `lessons {chosen}create {shell_word(title)}`, "
            "and fill in the card that it writes"
        )


def _read_card(details: Mapping[str, Any]) -> str:
    given = [name for name, value in details.items() if value and name not in ("kind", "whole")]
    if given:
        raise InputError("with - the card on stdin says it all; leave the other options out")
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("card missing; pipe its Markdown in")
    data = sys.stdin.buffer.read(_MAX_STDIN + 1)
    if len(data) > _MAX_STDIN:
        raise InputError(f"the card on stdin has more than {_MAX_STDIN:,} bytes; split it")
    text = data.decode("utf-8", "replace")
    if not text.strip():
        raise InputError("the card on stdin is empty; pipe its Markdown in")
    return text


def _pattern(text: str) -> Pattern:
    kind, colon, rest = text.partition(":")
    if colon and kind.strip() in PATTERNS:
        return Pattern(kind=kind.strip(), text=rest.strip())
    if "\n" in text or not text.strip():
        raise InputError("--detect must be one line; repeat it for more patterns")
    return Pattern(kind="regex", text=text.strip())


def _choose_rule(on_duplicate: str | None) -> str:
    from lessons_kb.brain.cards import ON_DUPLICATE

    interactive = is_interactive()
    check_choice("--on-duplicate", on_duplicate, ("ask", *ON_DUPLICATE))
    if on_duplicate == "ask" and not interactive:
        raise InputError("--on-duplicate ask needs a terminal; use bump, new or fail")
    return on_duplicate or ("ask" if interactive else "fail")


def _ask_whether_to_bump(error: DuplicateCard) -> bool:
    say(str(error).partition(";")[0])
    answer = typer.prompt("[b]ump it, write a [n]ew card, or [s]top?", default="b", err=True)
    chosen = {"b": True, "n": False}.get(answer.strip().lower()[:1])
    if chosen is None:
        raise typer.Abort
    return chosen
