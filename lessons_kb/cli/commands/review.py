"""`lessons review`: accept, merge or discard drafts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from typer import Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.complete_drafts import build_prompts, print_prompts, write_drafts
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import (
    is_interactive,
    options,
    pick,
    print_answer,
    print_json,
    print_table,
    say,
)
from lessons_kb.cli.show_rows import show_rows
from lessons_kb.collection.drafts import Draft, Drafts
from lessons_kb.errors import InputError
from lessons_kb.mining.draft_text import UNNAMED, format_patterns
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line, visible
from lessons_kb.tui.rows import DRAFTS


def review(
    list_: Annotated[bool, Option("--list", help="List the drafts.")] = False,
    show: Annotated[str | None, Option("--show", metavar="ID", help="Print a draft.")] = None,
    accept: Annotated[
        str | None, Option("--accept", metavar="ID", help="Turn a complete draft into a card.")
    ] = None,
    merge: Annotated[
        tuple[str, str] | None,
        Option("--merge", metavar="ID CARD", help="Count a draft as an occurrence of a card."),
    ] = None,
    discard: Annotated[
        str | None,
        Option("--discard", metavar="ID", help="Remove a draft; one you edited goes to the trash."),
    ] = None,
    on_duplicate: Annotated[
        str,
        choose(
            "--on-duplicate",
            ("fail", "new"),
            metavar="ON_DUPLICATE",
            help="If the lesson exists: fail or new.",
        ),
    ] = "fail",
    with_: Annotated[
        str | None,
        Option(
            "--with",
            metavar="[AGENT]",
            help="Have an agent complete the drafts first: claude, codex, gemini, opencode, "
            "copilot, each with options, or a command that reads a prompt on stdin.",
        ),
    ] = None,
    show_prompt: Annotated[
        bool, Option("--show-prompt", help="Print what would be sent, send nothing.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before it is sent.")] = False,
) -> None:
    """Review drafts on one screen: accept, edit, merge or discard.

    Without a terminal, list them.

    Example: lessons review --accept red-green-1a2b3c4d
    """
    chosen = [name for name in (show, accept, merge, discard) if name is not None]
    if len(chosen) + list_ > 1:
        raise InputError("use only one of --list, --show, --accept, --merge and --discard")
    brains = open_brain()
    drafts = Drafts(brains)
    if show_prompt or with_ is not None:
        drafts.collect()
        open_ones = [one for one in drafts.all() if one.missing]
        if show_prompt:
            print_prompts(build_prompts(brains, open_ones))
            return
        write_drafts(brains, open_ones, with_ or "", yes=yes)
    if show is not None:
        _print_draft(brains, drafts.get(show))
    elif accept is not None:
        card = drafts.accept(accept, on_duplicate=on_duplicate)
        print_answer({"done": "accepted", "card": as_data(card)}, clean_line(card.id))
    elif merge is not None:
        card = drafts.merge(*merge)
        line = f"{clean_line(card.id)} seen {card.occurrences}×"
        print_answer({"done": "merged", "card": as_data(card)}, line)
    elif discard is not None:
        draft = drafts.discard(discard)
        print_answer({"done": "discarded", "draft": draft.id}, f"{draft.id} discarded")
    else:
        drafts.collect()
        if is_interactive() and not list_ and not options().json and drafts.count():
            show_rows(brains, DRAFTS)
        else:
            _print_list(brains, drafts.all())


def _draft_data(brains: Brains, draft: Draft) -> dict[str, Any]:
    found = Drafts(brains).find_near_duplicates(draft)
    return {
        **as_data(draft),
        "missing": list(draft.missing),
        "near_duplicates": [{"id": one.card.id, **pick(one, "level", "score")} for one in found],
        "agreed": as_data(Drafts(brains).find_agreed(draft)),
    }


def _print_list(brains: Brains, drafts: Sequence[Draft]) -> None:
    if options().json:
        print_json([_draft_data(brains, draft) for draft in drafts])
    elif not drafts:
        say("no drafts to review")
    else:
        rows = []
        for draft in drafts:
            # Where nobody has written a title yet, what happened stands behind the mark.
            title = draft.title.removeprefix(UNNAMED).strip() or draft.title
            rows.append((draft.id, draft.kind, str(draft.seen), str(len(draft.missing)), title))
        print_table(("id", "trigger", "seen", "missing", "title"), rows, right="seen missing")


def _print_draft(brains: Brains, draft: Draft) -> None:
    if options().json:
        print_json(_draft_data(brains, draft))
        return
    print(visible(draft.text).rstrip("\n"))  # with the template's comments: they say what to write
    for line in draft.missing:
        say(f"missing: {line}")
    for one in Drafts(brains).find_near_duplicates(draft):
        say(clean_line(one.reason))
    if draft.card:
        say(f"the same mistake is already the card {clean_line(draft.card)}")
    if agreed := Drafts(brains).find_agreed(draft):
        where = f"the header of {clean_line(draft.card)}" if draft.card else "the draft's header"
        say(f"two fixes agree on how it looks; if that is right, add to {where}:")
        for line in format_patterns(agreed).split("\n"):
            say(line)
