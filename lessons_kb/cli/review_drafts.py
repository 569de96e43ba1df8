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
from lessons_kb.collection.all_drafts import (
    count_drafts,
    find_drafts,
    list_all_drafts,
    open_drafts,
)
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.new_drafts import describe_counted
from lessons_kb.collection.origin import describe_rest, describe_sources
from lessons_kb.mining.draft_text import NOT_SHOWN, TITLE_NOT_SHOWN, split_evidence
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line, counted, visible
from lessons_kb.tui.rows import DRAFTS
from lessons_kb.writers.complete import run_background_test


def complete_drafts(brains: Brains, *, command: str, show_prompt: bool, yes: bool) -> None:
    """Let an agent complete the incomplete drafts, or print the prompts that it would get."""
    drafts_of_all = open_drafts(brains)
    if not show_prompt:
        for drafts in drafts_of_all:
            drafts.collect()
    waiting = [drafts for drafts in drafts_of_all if drafts.count()]
    for drafts in waiting or drafts_of_all[:1]:
        _complete_drafts(drafts, command=command, show_prompt=show_prompt, yes=yes)


def _complete_drafts(drafts: Drafts, *, command: str, show_prompt: bool, yes: bool) -> None:
    """Do the work of ``complete_drafts`` for the drafts of one brain."""
    brains = drafts.brains
    incomplete = [draft for draft in drafts.all() if draft.missing and not draft.trouble]
    if show_prompt:
        print_prompts(build_prompts(brains, incomplete))
        return
    write_drafts(brains, incomplete, command, yes=yes)
    complete = [draft for draft in drafts.all() if not draft.missing and not draft.trouble]
    # The question about the drafts covers the comparison of what they became.
    compare_drafts(brains, complete, command, yes=yes or bool(incomplete))


def show_drafts(brains: Brains, names: Sequence[str]) -> None:
    """Print drafts."""
    chosen = [(drafts, drafts.get(name)) for drafts, name in _find_all(brains, names)]
    if options().json:
        data = [_draft_data(drafts, draft) for drafts, draft in chosen]
        print_json(_one_or_all(data))
        return
    for drafts, draft in chosen:
        _print_draft(drafts, draft)


def accept_drafts(
    brains: Brains, names: Sequence[str], *, on_duplicate: str, keep_quotes: bool
) -> None:
    """Turn complete drafts into cards. The first that cannot become a card ends the command."""
    data: list[dict[str, Any]] = []
    chosen = _find_all(brains, names)
    for drafts, name in chosen:
        text = drafts.get(name).text
        dropped = [] if keep_quotes else list_session_quotes(text)
        card = drafts.accept(name, on_duplicate=on_duplicate, keep_quotes=keep_quotes)
        data.append({"done": "accepted", "card": as_data(card)})
        if not options().json:
            print_answer({}, clean_line(card.id))
        rest = describe_rest(text)
        if rest:
            say(rest)
        card_text = split_evidence(text)[0]
        marked = sum(card_text.count(f"<!-- {mark}") for mark in (NOT_SHOWN, TITLE_NOT_SHOWN))
        if marked:
            say(f"{counted(marked, 'mark')} “not in the evidence” removed; read the card once more")
        if dropped:
            say("the quote of the session was left out; `--keep-quotes` keeps it")
    if options().json:
        print_json(_one_or_all(data))


def merge_draft(brains: Brains, name: str, card_name: str) -> None:
    """Count a draft as an occurrence of a card."""
    card = find_drafts(brains, name).merge(name, card_name)
    line = f"{clean_line(card.id)} seen {card.occurrences}×"
    print_answer({"done": "merged", "card": as_data(card)}, line)


def discard_drafts(brains: Brains, names: Sequence[str]) -> None:
    """Remove drafts, but none of them if one does not exist."""
    data: list[dict[str, str]] = []
    for drafts, name in _find_all(brains, names):
        data.append({"done": "discarded", "draft": drafts.discard(name).id})
    print_answer(_one_or_all(data), *(f"{done['draft']} discarded" for done in data))


def _find_all(brains: Brains, names: Sequence[str]) -> list[tuple[Drafts, str]]:
    """Return the ids of drafts, each with the drafts of its brain. Raises CardNotFound."""
    found: dict[str, Drafts] = {}
    for name in names:
        drafts = find_drafts(brains, name)
        found[drafts.get(name).id] = drafts
    return [(drafts, draft_id) for draft_id, drafts in found.items()]


def _one_or_all(data: Sequence[dict[str, Any]]) -> Any:
    """Return the JSON of the only draft that the user named, or else the list of all."""
    return data[0] if len(data) == 1 else data


def list_drafts(brains: Brains, *, ask: bool) -> None:
    """Open the drafts in full screen if ``ask`` is set and a person can answer, or list them."""
    for drafts in open_drafts(brains):
        drafts.collect()
        for line in describe_counted(drafts.counted):
            say(line.removeprefix("lessons: "))
    if ask and is_interactive() and not options().json and count_drafts(brains):
        show_rows(brains, DRAFTS)
    else:
        _print_list(list_all_drafts(brains))


def _draft_data(drafts: Drafts, draft: Draft) -> dict[str, Any]:
    duplicates = [
        {"id": duplicate.card.id, **pick(duplicate, "level", "score")}
        for duplicate in drafts.find_near_duplicates(draft)
    ]
    return {
        **as_data(draft),
        "brain": drafts.brain.alias,
        "missing": list(draft.missing),
        "near_duplicates": duplicates,
    }


def _print_list(listed: Sequence[tuple[Drafts, Draft]]) -> None:
    """Print the drafts, each with its brain if they wait in several."""
    if options().json:
        print_json([_draft_data(drafts, draft) for drafts, draft in listed])
        return
    if not listed:
        say("no drafts to review")
        return
    has_several = len({drafts.brain.root for drafts, _draft in listed}) > 1
    columns = ["id", "trigger", "seen", "missing", *(["brain"] if has_several else []), "title"]
    rows: list[list[str]] = []
    for drafts, draft in listed:
        row = [draft.id, draft.kind, str(draft.seen), str(len(draft.missing))]
        if has_several:
            row.append(drafts.brain.alias)
        rows.append([*row, draft.title])
    print_table(columns, rows, right="seen missing")
    by_hand = "next: `lessons review --show ID`; `--accept ID` makes a card of a complete draft"
    say(suggest_agent([draft for _drafts, draft in listed]) or by_hand)


def _describe_test(brains: Brains, draft: Draft) -> str:
    """Return the number of unrelated prompts that find a draft, and the test to be added."""
    test = run_background_test(brains, draft)
    line = f"{test.found} of {test.prompts} prompts about other things find the card"
    if test.is_broad:
        line += "; leave out words that fit any task"
    return f"{line}; no tasks were written to test it, `--with AGENT` does that"


def _print_draft(drafts: Drafts, draft: Draft) -> None:
    # The comments of the template stay, because they describe the text to write.
    print(visible(draft.text).rstrip("\n"))
    for line in draft.missing:
        say(f"missing: {line}")
    if not draft.missing:
        say(_describe_test(drafts.brains, draft))
    for line in describe_sources(draft.text):
        say(line)
    for duplicate in drafts.find_near_duplicates(draft):
        say(clean_line(duplicate.reason))
    if draft.card:
        say(f"the card {clean_line(draft.card)} already describes this mistake")
