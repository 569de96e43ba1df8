"""`lessons add`, `lessons create` and `lessons edit`: write a card, and say what it still needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from lessons_kb.cli.options import CardId, ForProject, Tags, open_brain, read_file, split_list
from lessons_kb.cli.output import is_interactive, options, print_answer, print_json, say
from lessons_kb.collection.cards import ON_DUPLICATE
from lessons_kb.errors import DuplicateCard, Incomplete, InputError
from lessons_kb.library import Library
from lessons_kb.mining.draft_text import MISSING
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


def _read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the options of `add` or `create` say, as ``Cards.create`` takes it."""
    items = "\n".join(f"- [ ] {clean_line(one)}" for one in given["do"] or () if one.strip())
    sections = {"Root Cause": given["why"].strip(), "Prevention Checklist": items}
    return {
        **{name: given[name] for name in ("project", "stage", "severity")},
        "kind": given["type_"],
        "topics": split_list(given["tags"]),
        "paths": split_list(given["paths"]),
        "sections": {name: text for name, text in sections.items() if text},
        "symptoms": tuple(one for one in given["symptom"] or () if one.strip()),
        "detect": tuple(map(_parse_pattern, given["detect"] or ())),
    }


def _parse_pattern(text: str) -> Pattern:
    kind, colon, rest = text.partition(":")
    if colon and kind.strip() in PATTERNS:
        return Pattern(kind=kind.strip(), text=rest.strip())
    if "\n" in text or not text.strip():
        raise InputError("--detect must be one line; repeat it for more patterns")
    return Pattern(kind="regex", text=text.strip())


def _write_card(
    brains: Library,
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
        return brains.cards.add_text(_read_card(details), whole=whole, on_duplicate=rule)
    return brains.cards.create(title, on_duplicate=rule, whole=whole, **details)


def _ask_duplicate(brains: Library, error: DuplicateCard, on_duplicate: str | None) -> Card | None:
    """Ask about a duplicate where that is possible: count it, or None for a second card."""
    if on_duplicate not in (None, "ask") or not is_interactive():
        raise error
    say(str(error).partition(";")[0])
    question = "[b]ump it, write a [n]ew card, or [s]top?"
    answer = typer.prompt(question, default="b", err=True).strip().lower()[:1]
    if answer not in ("b", "n"):
        raise typer.Abort
    return brains.bump(error.existing)[0] if answer == "b" else None


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


def edit_file(path: str) -> None:
    """Open a file in the user's editor and wait; say which one where the user named none."""
    if (editor := find_editor()) and editor not in map(os.environ.get, ("VISUAL", "EDITOR")):
        say(f"opening {editor}, because $EDITOR is not set")
    if code := open_editor(path):
        say(f"{editor} ended with exit code {code}")


def _say_unfinished(brains: Library, name: str, *, heading: str = "") -> None:
    """Say what is wrong with a card and what it still needs, nothing where it is complete."""
    document = brains.cards.read(name)[1]
    for finding in document.findings if document.card else ():
        if finding.level != "info":
            say(finding_line(finding))
    if missing := brains.cards.find_lacks(name):
        card = brains.cards.get(name)
        state = "still the template, so it is not injected" if card.template else "not complete"
        say(heading or f"{clean_line(card.id)} is {state}; it needs:")
        for line in missing:
            say(f"  {line}")


def edit(card: CardId) -> None:
    """Open a card in your editor, and say what it still needs.

    Example: lessons edit telegram-allowlist
    """
    brains = open_brain()
    brain, found = brains.cards.find(card, notes=False)
    name, path = f"{brain.alias}:{found.id}", os.path.join(brain.root, *found.id.split("/"))
    if not is_interactive():
        raise InputError(f"an editor needs a terminal; edit {path} yourself")
    _say_unfinished(brains, name, heading="fill in:")
    edit_file(path)
    _say_unfinished(brains, name)


def add(
    title: str,
    why: str = "",
    do: list[str] | None = None,
    symptom: list[str] | None = None,
    paths: str = "",
    detect: list[str] | None = None,
    tags: Tags = "",
    severity: Annotated[str | None, SEVERITIES] = None,
    type_: Annotated[str, KINDS] = "lesson",
    project: ForProject = None,
    stage: str | None = None,
    on_duplicate: Annotated[str | None, ("ask", *ON_DUPLICATE)] = None,
) -> None:
    """Add a complete card in one line, or learn what it needs.

    On a terminal it asks for the rest.

    Example: lessons add "Retried the charge without an idempotency key"
    --why "The gateway takes each request without a key for a new charge"
    --do "Send the same key on every retry" --symptom "a payment times out"
    --symptom "customers were charged twice"

    TITLE             The mistake, in one line; - reads a card from stdin.
    --why TEXT        Root cause: how it came about.
    --do TEXT         What to check next time; repeatable.
    --symptom TEXT    How a future task would put it; two or three.
    --paths           Globs of the files it guards, separated by commas.
    --detect PATTERN  How it looks in code: a regular expression, or `ast: …`, `command: …`;
                      repeatable.
    --severity        low, medium or high.
    --type            One of lesson, playbook, qa-finding.
    --stage           Workflow stage, such as DEV.
    --on-duplicate    If the lesson exists: ask, bump, new or fail.
    """
    given = dict(locals())
    brains = open_brain()
    while True:
        try:
            card = _write_card(brains, title, on_duplicate, _read_options(given), whole=True)
            break
        except DuplicateCard as error:
            if existing := _ask_duplicate(brains, error, on_duplicate):
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
                answers = [_ask("--why")] if "--why" in wanted else []
                given["why"] = "".join(answers) or given["why"]
                for option in _MANY:
                    while option in wanted and (one := _ask(option)):
                        answers.append(one)
                        given[option[2:]] = [*(given[option[2:]] or ()), one]
                if any(answers):
                    continue
                _say_missing(error, title, on_duplicate)
            raise typer.Exit(2) from None
    print_answer({"card": as_data(card), "missing": []}, _name_card(card))


def _name_card(card: Card) -> str:
    seen = f" (seen {card.occurrences}×)" if card.occurrences > 1 else ""
    return f"{clean_line(card.id)}{seen}"


def create(
    title: str,
    why: str = "",
    do: list[str] | None = None,
    symptom: list[str] | None = None,
    paths: str = "",
    detect: list[str] | None = None,
    tags: Tags = "",
    severity: Annotated[str | None, SEVERITIES] = None,
    type_: Annotated[str, KINDS] = "lesson",
    project: ForProject = None,
    stage: str | None = None,
    on_duplicate: Annotated[str | None, ("ask", *ON_DUPLICATE)] = None,
    from_diff: str | None = None,
    from_session: str | None = None,
    edit: bool = True,
) -> None:
    """Write a new card from its template, to be filled in.

    Example: lessons create "Retried payment charged twice" --tags payments,retry --severity high

    TITLE                    The mistake, in one line; - reads a card from stdin.
    --why TEXT               Root cause: how it came about.
    --do TEXT                What to check next time; repeatable.
    --symptom TEXT           How a future task would put it; two or three.
    --paths                  Globs of the files it guards, separated by commas.
    --detect PATTERN         How it looks in code: a regular expression, or `ast: …`,
                             `command: …`; repeatable.
    --severity               low, medium or high.
    --type                   One of lesson, playbook, qa-finding.
    --stage                  Workflow stage, such as DEV.
    --on-duplicate           If the lesson exists: ask, bump, new or fail.
    --from-diff FILE[:LINE]  Start from the change that fixed it.
    --from-session [ID]      Start from what went wrong in a session; default: the latest.
    --edit/--no-edit         Open the card in an editor (on a terminal).
    """
    details, brains = _read_options(locals()), open_brain()
    sketch = None
    if from_diff is not None and from_session is not None:
        raise InputError("--from-diff and --from-session cannot be combined; use one")
    if from_diff is not None:
        sketch = brains.drafts.sketch_diff(from_diff)
    elif from_session is not None:
        sketch = brains.drafts.sketch_session(from_session or None, title=title)
    if sketch is not None:
        details["paths"] = details["paths"] or sketch.paths
        details["sections"] = {**sketch.sections, **details["sections"]}
    try:
        card = _write_card(brains, title, on_duplicate, details, whole=False)
    except DuplicateCard as error:
        known = _ask_duplicate(brains, error, on_duplicate)
        card = known or _write_card(brains, title, "new", details, whole=False)
    is_new = card.occurrences == 1 and not options().json
    if is_new and edit and is_interactive():
        path = brains.cards.read(card.id)[0]
        before = read_file(path)
        _say_unfinished(brains, card.id, heading="fill in:")
        edit_file(path)
        if sketch is None and read_file(path) == before:
            brains.cards.delete(card.id)
            say("left as it was: no card was written")
            return
    print_answer(as_data(card), _name_card(card))
    if is_new:
        _say_unfinished(brains, card.id)
