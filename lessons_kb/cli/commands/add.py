"""`lessons add`: a complete card in one line."""

from __future__ import annotations

from collections.abc import Container

import typer

from lessons_kb.cli.options import ForProject, Tags, open_brain
from lessons_kb.cli.output import is_interactive, options, print_answer, print_json, say
from lessons_kb.cli.write_card import (
    STDIN,
    CardOptions,
    CardStage,
    Globs,
    Items,
    Kind,
    OnDuplicate,
    Patterns,
    Severity,
    Symptoms,
    Title,
    Why,
    ask_duplicate,
    name_card,
    write_card,
)
from lessons_kb.errors import DuplicateCard, Incomplete
from lessons_kb.mining.draft_text import MISSING
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import shell_word

_ADDING = {
    MISSING["title"]: "TITLE",
    MISSING["cause"]: "--why",
    MISSING["items"]: "--do",
    MISSING["symptoms"]: "--symptom",
    MISSING["symptom"]: "--symptom",
}
"""What a card lacks → the option that adds it."""


_MANY = ("--do", "--symptom")


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
    brains = open_brain()
    while True:
        try:
            card = write_card(brains, title, on_duplicate, chosen.as_details(), whole=True)
            break
        except DuplicateCard as error:
            if existing := ask_duplicate(brains, error, on_duplicate):
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
    print_answer({"card": as_data(card), "missing": []}, name_card(card))
