"""`lessons manage` and `lessons review`: cards and drafts on a screen; drafts by an agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from lessons_kb.agents.headless import find_headless
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import (
    confirm,
    draw_progress,
    is_interactive,
    options,
    pick,
    print_answer,
    print_json,
    print_table,
    say,
)
from lessons_kb.collection.drafts import Draft
from lessons_kb.errors import InputError
from lessons_kb.library import Library
from lessons_kb.mining.draft_text import UNNAMED, format_patterns
from lessons_kb.model import as_data
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.store.user_settings import WriterSettings, read_user_settings
from lessons_kb.text.sanitize import clean_line, counted, visible
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.tui.line_mode import run_prompt
from lessons_kb.tui.rows import CARDS, DRAFTS, RowSource
from lessons_kb.writers.complete import Ask, Completed, complete, tell
from lessons_kb.writers.prompt import SCHEMA, SYSTEM, build_prompt


def review(
    list_: bool = False,
    show: str | None = None,
    accept: str | None = None,
    merge: tuple[str, str] | None = None,
    discard: str | None = None,
    on_duplicate: Annotated[str, ("fail", "new")] = "fail",
    with_: str | None = None,
    show_prompt: bool = False,
    yes: bool = False,
) -> None:
    """Review drafts on one screen: accept, edit, merge or discard.

    Without a terminal, list them.

    Example: lessons review --accept red-green-1a2b3c4d

    --list           List the drafts.
    --show ID        Print a draft.
    --accept ID      Turn a complete draft into a card.
    --merge ID CARD  Count a draft as an occurrence of a card.
    --discard ID     Remove a draft; one you edited goes to the trash.
    --on-duplicate   If the lesson exists: fail or new.
    --with [AGENT]   Have an agent complete the drafts first: claude, codex, gemini, opencode,
                     copilot, each with options, or a command that reads a prompt on stdin.
    --show-prompt    Print what would be sent, send nothing.
    --yes, -y        Do not ask before it is sent.
    """
    chosen = [name for name in (show, accept, merge, discard) if name is not None]
    if len(chosen) + list_ > 1:
        raise InputError("use only one of --list, --show, --accept, --merge and --discard")
    drafts = (brains := open_brain()).drafts
    if show_prompt or with_ is not None:
        drafts.collect()
        open_ones = [one for one in drafts.all() if one.missing and not one.trouble]
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


def _draft_data(brains: Library, draft: Draft) -> dict[str, Any]:
    found = brains.drafts.find_near_duplicates(draft)
    return {
        **as_data(draft),
        "missing": list(draft.missing),
        "near_duplicates": [{"id": one.card.id, **pick(one, "level", "score")} for one in found],
        "agreed": as_data(brains.drafts.find_agreed(draft)),
    }


def _print_list(brains: Library, drafts: Sequence[Draft]) -> None:
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


def _print_draft(brains: Library, draft: Draft) -> None:
    if options().json:
        print_json(_draft_data(brains, draft))
        return
    print(visible(draft.text).rstrip("\n"))  # with the template's comments: they say what to write
    for line in draft.missing:
        say(f"missing: {line}")
    for one in brains.drafts.find_near_duplicates(draft):
        say(clean_line(one.reason))
    if draft.card:
        say(f"the same mistake is already the card {clean_line(draft.card)}")
    if agreed := brains.drafts.find_agreed(draft):
        where = f"the header of {clean_line(draft.card)}" if draft.card else "the draft's header"
        say(f"two fixes agree on how it looks; if that is right, add to {where}:")
        for line in format_patterns(agreed).split("\n"):
            say(line)


def manage() -> None:
    """Browse and edit cards and drafts on a full screen.

    Press ? for the keys.

    Without a terminal, read plain commands from stdin, one per line; `help` lists them.

    Example: lessons manage
    """
    with open_brain() as brains:
        if options().json:
            source = RowSource(brains)
            source.load_effects()
            cards = []
            for row in source.load():
                names, card = ("severity", "occurrences", "last_seen"), row.card
                facts = pick(card, *names) if card else dict.fromkeys(names)
                about = {"id": row.name, **pick(row, "title", "status"), **facts}
                cards.append({**about, "effect": row.effect, "problems": row.troubles})
            drafts = [as_data(row.draft) for row in source.load_drafts() if row.draft]
            print_json({"cards": cards, "drafts": drafts})
        elif code := show_rows(brains, CARDS):
            raise typer.Exit(code)


def show_rows(brains: Library, tab: str) -> int:
    """Let the user work on a brain, one of the lists in view; return the exit code."""
    source = RowSource(brains)
    if not is_interactive() or os.environ.get("TERM") == "dumb":
        refused = run_prompt(source, sys.stdin, lambda text: print(text, flush=True), tab)
        return 2 if refused and not is_interactive() else 0
    from lessons_kb.tui.app import ManageApp

    if options().no_color:
        os.environ["NO_COLOR"] = "1"  # the editor inherits the wish
    full_screen = ManageApp(source, tab=tab)
    full_screen.run()
    return full_screen.return_code or 0


def print_prompts(prompts: Mapping[str, str]) -> None:
    """Print all that would be sent, by what each prompt is about."""
    for name, prompt in prompts.items():
        print(f"##### {clean_line(name)}\n\n{SYSTEM}\n\n{visible(prompt)}")


def build_prompts(brains: Library, drafts: Sequence[Draft]) -> dict[str, str]:
    """Return the prompt for each draft by its id."""
    return {draft.id: build_prompt(brains, draft) for draft in drafts}


def open_ask(
    command: str, prompts: Mapping[str, str], what: str, *, schema: Mapping[str, Any], yes: bool
) -> Ask:
    """Return how to ask an agent, after a yes to how much is sent of how many ``what``.

    ``command`` "" is that of the user's settings.
    """
    settings = read_user_settings(WriterSettings)
    agent = find_headless(command or settings.command, seconds=settings.seconds)
    tokens = sum(estimate_tokens(f"{SYSTEM}{prompt}") for prompt in prompts.values())
    sent = f"{counted(len(prompts), what)}, about {tokens:,} tokens to {agent.name}"
    if prompts and not yes and not confirm(f"{sent}: go?"):
        raise InputError(f"{sent}: nothing was sent; add --yes, or --show-prompt to read it first")
    return lambda prompt, stop: agent.ask(prompt, system=SYSTEM, schema=schema, stop=stop)


def write_drafts(
    brains: Library, drafts: Sequence[Draft], command: str, *, yes: bool
) -> list[Completed]:
    """Have an agent complete drafts after a yes, and say what became of each."""
    ask = open_ask(command, build_prompts(brains, drafts), "draft", schema=SCHEMA, yes=yes)
    if not drafts:
        say("no drafts to complete")
        return []
    with interrupt_by_signals(), draw_progress("writing") as show:
        done = complete(brains, drafts, ask, progress=show)
    for line in tell(done):
        say(clean_line(line))
    return done
