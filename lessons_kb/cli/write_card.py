"""What `add`, `create` and `edit` share: the options of a card, writing it, what it still needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import split_list
from lessons_kb.cli.output import is_interactive, say
from lessons_kb.collection.cards import ON_DUPLICATE, Cards
from lessons_kb.errors import DuplicateCard, InputError
from lessons_kb.model import KINDS, PATTERNS, SEVERITIES, Card, Pattern
from lessons_kb.process.programs import find_editor, open_editor
from lessons_kb.render import finding_line
from lessons_kb.text.sanitize import clean_line
from lessons_kb.values import mutable

STDIN = "-"
"""As the title: the whole card is on standard input."""


_MAX_STDIN = 16_000_000
"""Bytes; how large a card may be, its brain says."""


Title = Annotated[
    str, Argument(metavar="TITLE", help="The mistake, in one line; - reads a card from stdin.")
]


Why = Annotated[str, Option("--why", metavar="TEXT", help="Root cause: how it came about.")]


Items = Annotated[
    list[str] | None,
    Option("--do", metavar="TEXT", help="What to check next time; repeatable."),
]


Symptoms = Annotated[
    list[str] | None,
    Option("--symptom", metavar="TEXT", help="How a future task would put it; two or three."),
]


Globs = Annotated[
    str,
    Option("--paths", metavar="PATHS", help="Globs of the files it guards, separated by commas."),
]


Patterns = Annotated[
    list[str] | None,
    Option(
        "--detect",
        metavar="PATTERN",
        help="How it looks in code: a regular expression, or `ast: …`, `command: …`; repeatable.",
    ),
]


Severity = Annotated[
    str | None, choose("--severity", SEVERITIES, metavar="SEVERITY", help="low, medium or high.")
]


Kind = Annotated[
    str, choose("--type", KINDS, metavar="TYPE", help="One of lesson, playbook, qa-finding.")
]


CardStage = Annotated[
    str | None, Option("--stage", metavar="STAGE", help="Workflow stage, such as DEV.")
]


OnDuplicate = Annotated[
    str | None,
    choose(
        "--on-duplicate",
        ("ask", *ON_DUPLICATE),
        metavar="ON_DUPLICATE",
        help="If the lesson exists: ask, bump, new or fail.",
    ),
]


@mutable
class CardOptions:
    """The options of `add` and `create` that say what the card holds."""

    why: str
    items: list[str]
    symptoms: list[str]
    paths: str
    patterns: list[str]
    tags: str
    severity: str | None
    kind: str
    project: str | None
    stage: str | None

    def as_details(self) -> dict[str, Any]:
        """Return the options as ``Cards.create`` takes them."""
        items = [clean_line(item) for item in self.items if item.strip()]
        checklist = "\n".join(f"- [ ] {item}" for item in items)
        sections = {"Root Cause": self.why.strip(), "Prevention Checklist": checklist}
        return {
            "project": self.project,
            "stage": self.stage,
            "severity": self.severity,
            "kind": self.kind,
            "topics": split_list(self.tags),
            "paths": split_list(self.paths),
            "sections": {name: text for name, text in sections.items() if text},
            "symptoms": tuple(symptom for symptom in self.symptoms if symptom.strip()),
            "detect": tuple(_parse_pattern(pattern) for pattern in self.patterns),
        }


def _parse_pattern(text: str) -> Pattern:
    kind, colon, rest = text.partition(":")
    if colon and kind.strip() in PATTERNS:
        return Pattern(kind=kind.strip(), text=rest.strip())
    if "\n" in text or not text.strip():
        raise InputError("--detect must be one line; repeat it for more patterns")
    return Pattern(kind="regex", text=text.strip())


def write_card(
    brains: Brains,
    title: str,
    on_duplicate: str | None,
    details: Mapping[str, Any],
    *,
    whole: bool,
) -> Card:
    """Write a card, from standard input where the title is ``-``."""
    if on_duplicate == "ask" and not is_interactive():
        raise InputError("--on-duplicate ask needs a terminal; use bump, new or fail")
    rule = "fail" if on_duplicate in (None, "ask") else on_duplicate
    if title == STDIN:
        return Cards(brains).add_text(_read_card(details), whole=whole, on_duplicate=rule)
    return Cards(brains).create(title, on_duplicate=rule, whole=whole, **details)


def ask_duplicate(brains: Brains, error: DuplicateCard, on_duplicate: str | None) -> Card | None:
    """Ask about a duplicate where that is possible: count it, or None for a second card."""
    if on_duplicate not in (None, "ask") or not is_interactive():
        raise error
    say(str(error).partition(";")[0])
    question = "[b]ump it, write a [n]ew card, or [s]top?"
    answer = typer.prompt(question, default="b", err=True).strip().lower()[:1]
    if answer not in ("b", "n"):
        raise typer.Abort
    return Cards(brains).bump(error.existing)[0] if answer == "b" else None


def _read_card(details: Mapping[str, Any]) -> str:
    if any(value for name, value in details.items() if name != "kind"):
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


def edit_file(path: str) -> None:
    """Open a file in the user's editor and wait; say which one where the user named none."""
    if (editor := find_editor()) and editor not in map(os.environ.get, ("VISUAL", "EDITOR")):
        say(f"opening {editor}, because $EDITOR is not set")
    if code := open_editor(path):
        say(f"{editor} ended with exit code {code}")


def say_unfinished(brains: Brains, name: str, *, heading: str = "") -> None:
    """Say what is wrong with a card and what it still needs, nothing where it is complete."""
    document = Cards(brains).read(name)[1]
    for finding in document.findings if document.card else ():
        if finding.level != "info":
            say(finding_line(finding))
    if missing := Cards(brains).find_lacks(name):
        card = Cards(brains).get(name)
        state = "still the template, so it is not injected" if card.template else "not complete"
        say(heading or f"{clean_line(card.id)} is {state}; it needs:")
        for line in missing:
            say(f"  {line}")


def name_card(card: Card) -> str:
    """Return the id of a card, and how often its mistake was seen."""
    seen = f" (seen {card.occurrences}×)" if card.occurrences > 1 else ""
    return f"{clean_line(card.id)}{seen}"
