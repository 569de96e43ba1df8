"""`lessons add`, `lessons create` and `lessons edit`: write a card, and say what it still needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.cards import ON_DUPLICATE
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import CardId, ForProject, Tags, open_brain, read_file, split_list
from lessons_kb.cli.output import is_interactive, options, print_answer, print_json, say
from lessons_kb.errors import DuplicateCard, Incomplete, InputError
from lessons_kb.learn.draft_text import MISSING
from lessons_kb.model import KINDS, PATTERNS, SEVERITIES, Card, Pattern, as_data
from lessons_kb.process.programs import find_editor, open_editor
from lessons_kb.render import finding_line
from lessons_kb.text.sanitize import clean_line, shell_word

STDIN = "-"
"""As the title: the whole card is on standard input."""

_ADDING = {
    MISSING["title"]: "TITLE",
    MISSING["cause"]: "--why",
    MISSING["items"]: "--do",
    MISSING["symptoms"]: "--symptom",
    MISSING["symptom"]: "--symptom",
}
"""What a card lacks → the option that adds it."""
_MANY = ("--do", "--symptom")
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


@dataclass(kw_only=True, slots=True)
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


def _write_card(
    brain: Brain, title: str, on_duplicate: str | None, details: Mapping[str, Any], *, whole: bool
) -> Card:
    """Write a card, from standard input where the title is ``-``."""
    if on_duplicate == "ask" and not is_interactive():
        raise InputError("--on-duplicate ask needs a terminal; use bump, new or fail")
    rule = "fail" if on_duplicate in (None, "ask") else on_duplicate
    if title == STDIN:
        return brain.cards.add_text(_read_card(details), whole=whole, on_duplicate=rule)
    return brain.cards.create(title, on_duplicate=rule, whole=whole, **details)


def _ask_duplicate(brain: Brain, error: DuplicateCard, on_duplicate: str | None) -> Card | None:
    """Ask about a duplicate where that is possible: count it, or None for a second card."""
    if on_duplicate not in (None, "ask") or not is_interactive():
        raise error
    say(str(error).partition(";")[0])
    question = "[b]ump it, write a [n]ew card, or [s]top?"
    answer = typer.prompt(question, default="b", err=True).strip().lower()[:1]
    if answer not in ("b", "n"):
        raise typer.Abort
    return brain.bump(error.existing)[0] if answer == "b" else None


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


def _say_missing(error: Incomplete, title: str, on_duplicate: str | None) -> None:
    """Say what a card lacks, each with the option that adds it."""
    say("nothing was written; the card still needs:")
    for line in error.missing:
        option = _ADDING.get(line) if title != STDIN else None
        say(f"  {option}: {line}" if option else f"  {line}")
    if title != STDIN:
        chosen = "".join(f"--brain {shell_word(one)} " for one in options().brains)
        command = f"lessons {chosen}create {shell_word(title)}"
        command += f" --on-duplicate {on_duplicate}" if on_duplicate else ""
        say(f"or run `{command}`, and fill in the card that it writes")


def _ask(option: str) -> str:
    more = " (empty: no more)" if option in _MANY else ""
    return str(typer.prompt(f"{option}{more}", default="", show_default=False, err=True)).strip()


def _ask_for(chosen: CardOptions, wanted: Container[str | None]) -> bool:
    """Ask for the options that are missing; return whether anything was answered."""
    answers = []
    if "--why" in wanted:
        answer = _ask("--why")
        answers.append(answer)
        chosen.why = answer or chosen.why
    for option, values in (("--do", chosen.items), ("--symptom", chosen.symptoms)):
        while option in wanted and (answer := _ask(option)):
            answers.append(answer)
            values.append(answer)
    return any(answers)


def edit_file(path: str) -> None:
    """Open a file in the user's editor and wait; say which one where the user named none."""
    if (editor := find_editor()) and editor not in map(os.environ.get, ("VISUAL", "EDITOR")):
        say(f"opening {editor}, because $EDITOR is not set")
    if code := open_editor(path):
        say(f"{editor} ended with exit code {code}")


def _say_unfinished(brain: Brain, name: str, *, heading: str = "") -> None:
    """Say what is wrong with a card and what it still needs, nothing where it is complete."""
    document = brain.cards.read(name)[1]
    for finding in document.findings if document.card else ():
        if finding.level != "info":
            say(finding_line(finding))
    if missing := brain.cards.find_lacks(name):
        card = brain.cards.get(name)
        state = "still the template, so it is not injected" if card.template else "not complete"
        say(heading or f"{clean_line(card.id)} is {state}; it needs:")
        for line in missing:
            say(f"  {line}")


def edit(card: CardId) -> None:
    """Open a card in your editor, and say what it still needs.

    Example: lessons edit telegram-allowlist
    """
    brain = open_brain()
    layer, found = brain.cards.find(card, notes=False)
    name, path = f"{layer.alias}:{found.id}", os.path.join(layer.root, *found.id.split("/"))
    if not is_interactive():
        raise InputError(f"an editor needs a terminal; edit {path} yourself")
    _say_unfinished(brain, name, heading="fill in:")
    edit_file(path)
    _say_unfinished(brain, name)


def add(
    title: Title,
    why: Why = "",
    do: Items = None,
    symptom: Symptoms = None,
    paths: Globs = "",
    detect: Patterns = None,
    tags: Tags = "",
    severity: Severity = None,
    type_: Kind = "lesson",
    project: ForProject = None,
    stage: CardStage = None,
    on_duplicate: OnDuplicate = None,
) -> None:
    """Add a complete card in one line, or learn what it needs.

    On a terminal it asks for the rest.

    Example: lessons add "Retried the charge without an idempotency key"
    --why "The gateway takes each request without a key for a new charge"
    --do "Send the same key on every retry" --symptom "a payment times out"
    --symptom "customers were charged twice"
    """
    chosen = CardOptions(
        why=why,
        items=list(do or ()),
        symptoms=list(symptom or ()),
        paths=paths,
        patterns=list(detect or ()),
        tags=tags,
        severity=severity,
        kind=type_,
        project=project,
        stage=stage,
    )
    brain = open_brain()
    while True:
        try:
            card = _write_card(brain, title, on_duplicate, chosen.as_details(), whole=True)
            break
        except DuplicateCard as error:
            if existing := _ask_duplicate(brain, error, on_duplicate):
                card = existing
                break
            on_duplicate = "new"
        except Incomplete as error:
            wanted = {_ADDING.get(line) for line in error.missing}
            if options().json:
                print_json({"card": None, "missing": list(error.missing)})
            elif title == STDIN or not is_interactive() or not wanted <= {"--why", *_MANY}:
                _say_missing(error, title, on_duplicate)
            else:
                for line in error.missing:
                    say(line)
                if _ask_for(chosen, wanted):
                    continue
                _say_missing(error, title, on_duplicate)
            raise typer.Exit(2) from None
    print_answer({"card": as_data(card), "missing": []}, _name_card(card))


def _name_card(card: Card) -> str:
    seen = f" (seen {card.occurrences}×)" if card.occurrences > 1 else ""
    return f"{clean_line(card.id)}{seen}"


def create(
    title: Title,
    why: Why = "",
    do: Items = None,
    symptom: Symptoms = None,
    paths: Globs = "",
    detect: Patterns = None,
    tags: Tags = "",
    severity: Severity = None,
    type_: Kind = "lesson",
    project: ForProject = None,
    stage: CardStage = None,
    on_duplicate: OnDuplicate = None,
    from_diff: Annotated[
        str | None,
        Option("--from-diff", metavar="FILE[:LINE]", help="Start from the change that fixed it."),
    ] = None,
    from_session: Annotated[
        str | None,
        Option(
            "--from-session",
            metavar="[ID]",
            help="Start from what went wrong in a session; default: the latest.",
        ),
    ] = None,
    edit: Annotated[
        bool, Option("--edit/--no-edit", help="Open the card in an editor (on a terminal).")
    ] = True,
) -> None:
    """Write a new card from its template, to be filled in.

    Example: lessons create "Retried payment charged twice" --tags payments,retry --severity high
    """
    chosen = CardOptions(
        why=why,
        items=list(do or ()),
        symptoms=list(symptom or ()),
        paths=paths,
        patterns=list(detect or ()),
        tags=tags,
        severity=severity,
        kind=type_,
        project=project,
        stage=stage,
    )
    details = chosen.as_details()
    brain = open_brain()
    sketch = None
    if from_diff is not None and from_session is not None:
        raise InputError("--from-diff and --from-session cannot be combined; use one")
    if from_diff is not None:
        sketch = brain.drafts.sketch_diff(from_diff)
    elif from_session is not None:
        sketch = brain.drafts.sketch_session(from_session or None, title=title)
    if sketch is not None:
        details["paths"] = details["paths"] or sketch.paths
        details["sections"] = {**sketch.sections, **details["sections"]}
    try:
        card = _write_card(brain, title, on_duplicate, details, whole=False)
    except DuplicateCard as error:
        known = _ask_duplicate(brain, error, on_duplicate)
        card = known or _write_card(brain, title, "new", details, whole=False)
    is_new = card.occurrences == 1 and not options().json
    if is_new and edit and is_interactive():
        path = brain.cards.read(card.id)[0]
        before = read_file(path)
        _say_unfinished(brain, card.id, heading="fill in:")
        edit_file(path)
        if sketch is None and read_file(path) == before:
            brain.cards.delete(card.id)
            say("left as it was: no card was written")
            return
    print_answer(as_data(card), _name_card(card))
    if is_new:
        _say_unfinished(brain, card.id)
