"""`lessons review`: accept, edit, merge or discard drafts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.drafts import Draft
from lessons_kb.brain.why import find_near_misses, note_offered
from lessons_kb.cli.create import edit_file
from lessons_kb.cli.options import check_choice, open_brain, options, print_json, print_table, say
from lessons_kb.cli.why import offer
from lessons_kb.errors import CardNotFound, DuplicateCard, InputError, LessonsError
from lessons_kb.learn.draft_text import UNNAMED, format_patterns
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line, visible


def review(
    everything: Annotated[bool, typer.Option("--list", help="List the drafts.")] = False,
    show: Annotated[str | None, typer.Option(metavar="ID", help="Print a draft.")] = None,
    accept: Annotated[
        str | None, typer.Option(metavar="ID", help="Turn a complete draft into a card.")
    ] = None,
    merge: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="ID CARD", help="Count a draft as an occurrence of a card."),
    ] = None,
    discard: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Remove a draft; one you edited goes to the trash."),
    ] = None,
    on_duplicate: Annotated[str, typer.Option(help="If the lesson exists: fail or new.")] = "fail",
) -> None:
    """Review drafts one by one: accept, edit, merge or discard.

    Then it offers to teach prompts to the cards that they nearly drew. Without a terminal, list
    both.

    Example: lessons review --accept red-green-1a2b3c4d
    """
    chosen = [name for name in (show, accept, merge, discard) if name is not None]
    if len(chosen) + everything > 1:
        raise InputError("use only one of --list, --show, --accept, --merge and --discard")
    check_choice("--on-duplicate", on_duplicate, ("fail", "new"))

    drafts = (brain := open_brain()).drafts
    if show is not None:
        _print_draft(brain, drafts.get(show))
    elif accept is not None:
        card = drafts.accept(accept, on_duplicate=on_duplicate)
        _report({"done": "accepted", "card": as_data(card)}, clean_line(card.id))
    elif merge is not None:
        card = drafts.merge(*merge)
        line = f"{clean_line(card.id)} seen {card.occurrences}×"
        _report({"done": "merged", "card": as_data(card)}, line)
    elif discard is not None:
        draft = drafts.discard(discard)
        _report({"done": "discarded", "draft": draft.id}, f"{draft.id} discarded")
    else:
        drafts.collect()
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if interactive and not everything and not options().json:
            _walk(brain)
            for near in find_near_misses(brain):
                offer(brain, near)
                note_offered(brain, near)
        else:
            _print_list(brain, drafts.all())
            if not options().json:
                for near in find_near_misses(brain):
                    offer(brain, near)


def _draft_data(brain: Brain, draft: Draft) -> dict[str, Any]:
    found = brain.drafts.find_near_duplicates(draft)
    alike = [{"id": t.card.id, "level": t.level, "score": t.score} for t in found]
    agreed = as_data(brain.drafts.find_agreed(draft))
    return {
        **as_data(draft),
        "missing": list(draft.missing),
        "near_duplicates": alike,
        "agreed": agreed,
    }


def _print_list(brain: Brain, drafts: Sequence[Draft]) -> None:
    if options().json:
        print_json([_draft_data(brain, draft) for draft in drafts])
        return
    if not drafts:
        say("no drafts to review")
        return
    rows = [
        (draft.id, draft.kind, str(draft.seen), str(len(draft.missing)), _shown_title(draft))
        for draft in drafts
    ]
    print_table(("id", "trigger", "seen", "missing", "title"), rows, right="seen missing")


def _shown_title(draft: Draft) -> str:
    """Return a title, of one that nobody has written yet what happened."""
    return draft.title.removeprefix(UNNAMED).strip() or draft.title


def _print_draft(brain: Brain, draft: Draft) -> None:
    if options().json:
        print_json(_draft_data(brain, draft))
        return
    print(visible(draft.text).rstrip("\n"))  # with the template's comments: they say what to write
    for line in _remarks(brain, draft):
        say(line)


def _remarks(brain: Brain, draft: Draft) -> list[str]:
    lines = [f"missing: {line}" for line in draft.missing]
    lines += [clean_line(one.reason) for one in brain.drafts.find_near_duplicates(draft)]
    if draft.card:
        lines.append(f"the same mistake is already the card {clean_line(draft.card)}")
    if agreed := brain.drafts.find_agreed(draft):
        where = f"the header of {clean_line(draft.card)}" if draft.card else "the draft's header"
        lines.append(f"two fixes agree on how it looks; if that is right, add to {where}:")
        lines += format_patterns(agreed).split("\n")
    return lines


def _walk(brain: Brain) -> None:
    """Show each draft and do what the user chooses, until all are seen or the user stops."""
    waiting = [draft.id for draft in brain.drafts.all()]
    if not waiting:
        say("no drafts to review")
    while waiting:
        try:
            draft = brain.drafts.get(waiting[0])
        except CardNotFound:  # another process has settled it
            del waiting[0]
            continue
        say(f"{draft.id} ({len(waiting)} left) {draft.path}")
        _print_draft(brain, draft)
        question = "[a]ccept, [e]dit, [m]erge, [d]iscard, [s]kip, [q]uit?"
        answer = typer.prompt(question, default="s", err=True).strip().lower()[:1]
        if answer == "q":
            return
        try:
            if answer not in _ACTIONS or _ACTIONS[answer](brain, draft):
                del waiting[0]
        except DuplicateCard as error:
            say(str(error))
            if typer.confirm(
                f"Count it as an occurrence of {error.existing}?", default=True, err=True
            ):
                print(f"{clean_line(brain.drafts.merge(draft.id, error.existing).id)} counted")
                del waiting[0]
        except LessonsError as error:
            say(str(error))


def _accept(brain: Brain, draft: Draft) -> bool:
    print(clean_line(brain.drafts.accept(draft.id).id))
    return True


def _edit(_brain: Brain, draft: Draft) -> bool:
    edit_file(draft.path)
    return False  # show it again


def _merge(brain: Brain, draft: Draft) -> bool:
    found = brain.drafts.find_near_duplicates(draft)
    nearest = draft.card or (found[0].card.id if found else None)
    card = typer.prompt("Merge into which card?", default=nearest, err=True)
    print(f"{clean_line(brain.drafts.merge(draft.id, card).id)} counted")
    return True


def _discard(brain: Brain, draft: Draft) -> bool:
    print(f"{brain.drafts.discard(draft.id).id} discarded")
    return True


_ACTIONS = {"a": _accept, "e": _edit, "m": _merge, "d": _discard}


def _report(data: dict[str, Any], line: str) -> None:
    if options().json:
        print_json(data)
    else:
        print(line)
