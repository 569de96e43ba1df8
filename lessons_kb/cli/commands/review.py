"""`lessons review`: accept, merge or discard drafts."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import ShowPrompt, WithAgent, Yes, open_brain
from lessons_kb.cli.output import options, print_json, say
from lessons_kb.collection.pending_drafts import has_drafts
from lessons_kb.errors import InputError
from lessons_kb.on_demand import REVIEW_DRAFTS, load
from lessons_kb.text.sanitize import shell_word


def review(
    more: Annotated[
        list[str] | None,
        Argument(metavar="[ID]…", help="Further drafts for --show, --accept or --discard."),
    ] = None,
    list_: Annotated[bool, Option("--list", help="List the drafts.")] = False,
    show: Annotated[
        list[str] | None, Option("--show", metavar="ID", help="Print a draft; repeatable.")
    ] = None,
    accept: Annotated[
        list[str] | None, Option("--accept", metavar="ID", help="Turn complete drafts into cards.")
    ] = None,
    merge: Annotated[
        tuple[str, str] | None,
        Option("--merge", metavar="ID CARD", help="Count a draft as an occurrence of a card."),
    ] = None,
    discard: Annotated[
        list[str] | None,
        Option("--discard", metavar="ID", help="Remove drafts; edited drafts go to the trash."),
    ] = None,
    on_duplicate: Annotated[
        str,
        choose(
            "--on-duplicate",
            ("fail", "new", "contradicts"),
            metavar="ON_DUPLICATE",
            help="If the lesson exists: fail, new, or contradicts (link the contradicting card).",
        ),
    ] = "fail",
    keep_quotes: Annotated[
        bool,
        Option("--keep-quotes", help="With --accept: keep the quotes from a session."),
    ] = False,
    with_: WithAgent = None,
    show_prompt: ShowPrompt = False,
    yes: Yes = False,
) -> None:
    """Review drafts on one screen: accept, edit, merge or discard.

    Without a terminal, the command lists them. A quote from a session does not reach the card,
    unless you keep it. With --with, the agent also looks for contradictions.

    Example: lessons review --accept red-green-1a2b3c4d
    """
    chosen = [action for action in (show, accept, merge, discard) if action]
    if len(chosen) + list_ > 1:
        raise InputError("use only one of --list, --show, --accept, --merge and --discard")
    if more:
        listed = show or accept or discard
        if not listed:
            draft = shell_word(more[0])
            raise InputError(f"what to do with {draft}? Try `lessons review --show {draft}`")
        listed += more
    brains = open_brain()
    if show_prompt or with_ is not None:
        complete_drafts = load(REVIEW_DRAFTS).complete_drafts
        complete_drafts(brains, command=with_ or "", show_prompt=show_prompt, yes=yes)
        if show_prompt:
            return
    if show:
        load(REVIEW_DRAFTS).show_drafts(brains, show)
    elif accept:
        load(REVIEW_DRAFTS).accept_drafts(
            brains, accept, on_duplicate=on_duplicate, keep_quotes=keep_quotes
        )
    elif merge is not None:
        load(REVIEW_DRAFTS).merge_draft(brains, *merge)
    elif discard:
        load(REVIEW_DRAFTS).discard_drafts(brains, discard)
    elif any(map(has_drafts, brains.members)):
        load(REVIEW_DRAFTS).list_drafts(brains, ask=not list_)
    elif options().json:
        print_json([])
    else:
        say("no drafts to review")
