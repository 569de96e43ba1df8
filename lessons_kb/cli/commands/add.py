"""`lessons add`: add a complete card in one command."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated

import typer
from typer import Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.draft_gaps import MISSING
from lessons_kb.cli.options import ForProject, Stage, Tags, WithAgent, Yes, open_brain
from lessons_kb.cli.output import is_interactive, options, pick, print_answer, print_json, say
from lessons_kb.cli.write_card import (
    STDIN,
    CardOptions,
    Gate,
    Globs,
    Items,
    Kind,
    NotFor,
    OnDuplicate,
    Patterns,
    Severity,
    Symptoms,
    Title,
    Why,
    ask_duplicate,
    name_card,
    say_cut_cause,
    say_destination,
    say_paths,
    settle_similar,
    write_card,
)
from lessons_kb.errors import Contradiction, DuplicateCard, Incomplete, InputError
from lessons_kb.model import as_data
from lessons_kb.on_demand import COLLECTION_DRAFTS, COMPARE_CARDS, load
from lessons_kb.text.sanitize import clean_line, shell_word

_OPTION_FOR = {
    MISSING["title"]: "TITLE",
    MISSING["cause"]: "--why",
    MISSING["items"]: "--do",
    MISSING["symptoms"]: "--symptom",
    MISSING["symptom"]: "--symptom",
}
"""Maps the text for a missing part of a card to the option that adds this part."""


_REPEATABLE = ("--do", "--symptom")
_QUESTIONS = {
    "--why": "Why did it happen?",
    "--do": "What should be checked next time?",
    "--symptom": "How might somebody word a task that needs this lesson?",
}
"""Maps options to the questions that a user at a terminal answers instead."""


def _say_missing(error: Incomplete, title: str, on_duplicate: str | None) -> None:
    """List the missing parts of a card, each with the option that adds it."""
    say("nothing was written; the card still needs:")
    for line in error.missing:
        option = _OPTION_FOR.get(line) if title != STDIN else None
        say(f"  {option}: {line}" if option else f"  {line}")
    if title != STDIN:
        brains = "".join(f"--brain {shell_word(brain)} " for brain in options().brains)
        command = f"lessons {brains}create {shell_word(title)}"
        command += f" --on-duplicate {on_duplicate}" if on_duplicate else ""
        say(f"or run `{command}`, and fill in the card that it writes")


def _ask(option: str) -> str:
    hint = " (empty: no more)" if option in _REPEATABLE else ""
    question = f"{_QUESTIONS[option]}{hint}\n"
    answer = typer.prompt(question, default="", show_default=False, prompt_suffix="> ", err=True)
    return str(answer).strip()


def _ask_for(chosen: CardOptions, missing: Container[str | None]) -> bool:
    """Ask the user for the missing options. Return whether the user gave any answer."""
    has_answer = False
    if "--why" in missing:
        answer = _ask("--why")
        has_answer = bool(answer)
        chosen.why = answer or chosen.why
    for option, values in (("--do", chosen.items), ("--symptom", chosen.symptoms)):
        if option not in missing:
            continue
        while answer := _ask(option):
            has_answer = True
            values.append(answer)
    return has_answer


def _propose(brains: Brains, title: str, chosen: CardOptions) -> None:
    """Write a draft. Print its missing parts, and the cards that may be the same lesson."""
    if title == STDIN:
        raise InputError("--draft takes a title and options, not a card on stdin")
    details = chosen.as_details()
    patterns = [{pattern.kind: pattern.text} for pattern in details.pop("detect")]
    drafts = load(COLLECTION_DRAFTS).Drafts(brains)
    draft = drafts.propose(title, detect=patterns, **details)
    duplicates = drafts.find_near_duplicates(draft)
    if options().json:
        similar = [{"id": found.card.id, **pick(found, "level", "score")} for found in duplicates]
        near = [pick(card, "id", "title", "checklist") for card in drafts.find_nearest(draft)]
        print_json(
            {
                "draft": pick(draft, "id", "title", "path"),
                "missing": list(draft.missing),
                "similar": similar,
                "near": near,
            }
        )
        return
    print(f"draft {draft.id} written; next: lessons review")
    for line in draft.missing:
        say(f"missing: {line}")
    for duplicate in duplicates:
        say(clean_line(duplicate.reason))


def add(
    title: Title,
    why: Why = "",
    do: Items = None,
    symptom: Symptoms = None,
    paths: Globs = None,
    detect: Patterns = None,
    gate: Gate = None,
    not_for: NotFor = None,
    tags: Tags = None,
    severity: Severity = None,
    type_: Kind = "lesson",
    project: ForProject = None,
    stage: Stage = None,
    on_duplicate: OnDuplicate = None,
    draft: Annotated[
        bool, Option("--draft", help="Write a draft for `lessons review` instead of a card.")
    ] = False,
    with_: WithAgent = None,
    yes: Yes = False,
) -> None:
    """Add a complete card in one command, or list what it lacks.

    On a terminal, the command asks for the missing parts.

    Example: lessons add "Retried the charge without an idempotency key"
    --why "The gateway takes each request without a key for a new charge"
    --do "Send the same key on every retry" --symptom "a payment times out"
    --symptom "customers were charged twice"
    """
    chosen = CardOptions(
        why=why,
        items=list(do or ()),
        symptoms=list(symptom or ()),
        paths=list(paths or ()),
        patterns=list(detect or ()),
        gate=gate,
        not_for=list(not_for or ()),
        tags=list(tags or ()),
        severity=severity,
        kind=type_,
        project=project,
        stage=stage,
    )
    brains = open_brain(for_new_card=True)
    if draft:
        _propose(brains, title, chosen)
        return
    if with_ is not None and title == STDIN:
        raise InputError("--with takes a title and options, not a card on stdin")
    has_asked = False
    while True:
        if with_ is not None and on_duplicate in (None, "ask", "fail", "contradicts"):
            load(COMPARE_CARDS).compare_new_card(brains, title, chosen, with_, yes=yes)
        try:
            card = write_card(brains, title, on_duplicate, chosen.as_details(), whole=True)
            break
        except DuplicateCard as error:
            existing = ask_duplicate(brains, error, on_duplicate, has_text=chosen.has_text())
            if existing:
                card = existing
                break
            on_duplicate = "contradicts" if isinstance(error, Contradiction) else "new"
        except Incomplete as error:
            missing = {_OPTION_FOR.get(line) for line in error.missing}
            can_ask = title != STDIN and is_interactive()
            if options().json:
                print_json({"card": None, "missing": list(error.missing)})
            elif not can_ask or not missing <= {"--why", *_REPEATABLE}:
                _say_missing(error, title, on_duplicate)
            else:
                say("the card still needs:")
                for line in error.missing:
                    say(f"  {line}")
                if _ask_for(chosen, missing):
                    has_asked = True
                    continue
                if has_asked:  # what was typed is not lost
                    _propose(brains, title, chosen)
                else:
                    _say_missing(error, title, on_duplicate)
            raise typer.Exit(2) from None
    print_answer({"card": as_data(card), "missing": []}, name_card(brains, card))
    if settle_similar(brains, card, on_duplicate):
        return
    say_cut_cause(card)
    say_paths(brains, card)
    say_destination(brains)
    if has_asked and not chosen.paths:
        name = shell_word(card.id)
        say(f"if it concerns only some files, `lessons edit {name}` adds `paths` and a gate")
