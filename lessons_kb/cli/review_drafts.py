"""The actions of `lessons review`: list, print, accept, merge, discard and complete drafts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.edit_sources import list_session_quotes
from lessons_kb.cli.compare_cards import compare_drafts
from lessons_kb.cli.complete_drafts import build_prompts, print_prompts, suggest_agent, write_drafts
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
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.new_drafts import describe_counted
from lessons_kb.collection.origin import describe_rest, describe_sources
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line, visible
from lessons_kb.tui.rows import DRAFTS
from lessons_kb.writers.complete import run_background_test


def complete_drafts(brains: Brains, *, command: str, show_prompt: bool, yes: bool) -> None:
    """Let an agent complete the incomplete drafts, or print the prompts that it would get."""
    drafts = Drafts(brains)
    if not show_prompt:
        drafts.collect()
    incomplete = [draft for draft in drafts.all() if draft.missing and not draft.trouble]
    if show_prompt:
        print_prompts(build_prompts(brains, incomplete))
        return
    write_drafts(brains, incomplete, command, yes=yes)
    complete = [draft for draft in drafts.all() if not draft.missing and not draft.trouble]
    # The question about the drafts covers the comparison of what they became.
    compare_drafts(brains, complete, command, yes=yes or bool(incomplete))


def show_draft(brains: Brains, name: str) -> None:
    """Print a draft."""
    _print_draft(brains, Drafts(brains).get(name))


def accept_draft(brains: Brains, name: str, *, on_duplicate: str, keep_quotes: bool) -> None:
    """Turn a complete draft into a card."""
    drafts = Drafts(brains)
    text = drafts.get(name).text
    dropped = [] if keep_quotes else list_session_quotes(text)
    card = drafts.accept(name, on_duplicate=on_duplicate, keep_quotes=keep_quotes)
    print_answer({"done": "accepted", "card": as_data(card)}, clean_line(card.id))
    rest = describe_rest(text)
    if rest:
        say(rest)
    if dropped:
        say("the quote of the session was left out; `--keep-quotes` keeps it")


def merge_draft(brains: Brains, name: str, card_name: str) -> None:
    """Count a draft as an occurrence of a card."""
    card = Drafts(brains).merge(name, card_name)
    line = f"{clean_line(card.id)} seen {card.occurrences}×"
    print_answer({"done": "merged", "card": as_data(card)}, line)


def discard_draft(brains: Brains, name: str) -> None:
    """Remove a draft."""
    draft = Drafts(brains).discard(name)
    print_answer({"done": "discarded", "draft": draft.id}, f"{draft.id} discarded")


def list_drafts(brains: Brains, *, ask: bool) -> None:
    """Open the drafts in full screen if ``ask`` is set and a person can answer, or list them."""
    drafts = Drafts(brains)
    drafts.collect()
    for card in drafts.counted:
        say(describe_counted(card).removeprefix("lessons: "))
    if ask and is_interactive() and not options().json and drafts.count():
        show_rows(brains, DRAFTS)
    else:
        _print_list(brains, drafts.all())


def _draft_data(brains: Brains, draft: Draft) -> dict[str, Any]:
    duplicates = [
        {"id": duplicate.card.id, **pick(duplicate, "level", "score")}
        for duplicate in Drafts(brains).find_near_duplicates(draft)
    ]
    return {
        **as_data(draft),
        "missing": list(draft.missing),
        "near_duplicates": duplicates,
    }


def _print_list(brains: Brains, drafts: Sequence[Draft]) -> None:
    if options().json:
        print_json([_draft_data(brains, draft) for draft in drafts])
    elif not drafts:
        say("no drafts to review")
    else:
        rows = [
            (draft.id, draft.kind, str(draft.seen), str(len(draft.missing)), draft.title)
            for draft in drafts
        ]
        print_table(("id", "trigger", "seen", "missing", "title"), rows, right="seen missing")
        by_hand = "next: `lessons review --show ID`; `--accept ID` makes a card of a complete draft"
        say(suggest_agent(drafts) or by_hand)


def _describe_test(brains: Brains, draft: Draft) -> str:
    """Return the number of unrelated prompts that find a draft, and the test to be added."""
    test = run_background_test(brains, draft)
    line = f"{test.found} of {test.prompts} prompts about other things find the card"
    if test.is_broad:
        line += "; leave out words that fit any task"
    return f"{line}; no tasks were written to test it, `--with AGENT` does that"


def _print_draft(brains: Brains, draft: Draft) -> None:
    if options().json:
        print_json(_draft_data(brains, draft))
        return
    # The comments of the template stay, because they describe the text to write.
    print(visible(draft.text).rstrip("\n"))
    for line in draft.missing:
        say(f"missing: {line}")
    if not draft.missing:
        say(_describe_test(brains, draft))
    for line in describe_sources(draft.text):
        say(line)
    for duplicate in Drafts(brains).find_near_duplicates(draft):
        say(clean_line(duplicate.reason))
    if draft.card:
        say(f"the card {clean_line(draft.card)} already describes this mistake")
