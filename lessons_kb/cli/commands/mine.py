"""`lessons mine`: find lessons in past sessions and in git's history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Any

from typer import Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.options import ShowPrompt, WithAgent, Yes, open_brain
from lessons_kb.cli.output import (
    cut_cells,
    draw_progress,
    options,
    pick,
    print_cards,
    print_json,
    say,
    terminal_height,
    terminal_width,
)
from lessons_kb.collection import mined_drafts, run_drafts
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.errors import BrainNotFound, Contradiction, DuplicateCard, InputError
from lessons_kb.mining import mine_project as mining
from lessons_kb.mining.candidates import Candidate, typed_before
from lessons_kb.mining.mine_project import MiningResult
from lessons_kb.model import Card
from lessons_kb.on_demand import COMPLETE_DRAFTS, MINE_MEMORIES, load
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import is_brain
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.text.times import read_date

SHOWN = 20
_OTHER_LINES = 6
"""The lines of a terminal for the command, the header, the summary, the next step (two lines of a
narrow terminal) and the prompt."""
_FEWEST = 3
MOST_CARDS = 5
"""How many cards `--as-cards` writes of review comments, unless `--draft` says so."""


def mine(
    all_projects: Annotated[
        bool,
        Option(
            "--all-projects",
            help="Read the sessions of all projects; write drafts to your user brain.",
        ),
    ] = False,
    draft: Annotated[
        int,
        Option(
            "--draft",
            metavar="N",
            min=0,
            show_default=False,
            help="Write drafts of the first N candidates.",
        ),
    ] = 0,
    since: Annotated[
        str | None,
        Option("--since", metavar="DATE", help="Ignore sessions before a date such as 2026-01-31."),
    ] = None,
    reviews: Annotated[
        list[str] | None,
        Option(
            "--reviews",
            metavar="FILE",
            help="Also read review comments, as JSON of GitHub or GitLab; repeatable.",
        ),
    ] = None,
    memories: Annotated[
        bool,
        Option(
            "--memories",
            help="Read the memories of Claude Code and Codex instead.",
        ),
    ] = False,
    junit: Annotated[
        tuple[str, str] | None,
        Option(
            "--junit",
            metavar="FAILED PASSED",
            help="Draft the change between the runs of two JUnit reports.",
        ),
    ] = None,
    commits: Annotated[
        tuple[str, str],
        Option(
            "--commits",
            metavar="BEFORE AFTER",
            help="With --junit: the commits of the two runs.",
        ),
    ] = ("HEAD^", "HEAD"),
    as_cards: Annotated[
        bool,
        Option(
            "--as-cards",
            help="With --junit or --reviews: write cards with `status: draft`; only comments that "
            "led to a change count.",
        ),
    ] = False,
    limit: Annotated[
        int | None,
        Option(
            "--limit",
            metavar="N",
            min=1,
            show_default="20, or what fits the terminal",
            help="Maximum number of results.",
        ),
    ] = None,
    with_: WithAgent = None,
    show_prompt: ShowPrompt = False,
    yes: Yes = False,
) -> None:
    """Find lessons in past agent sessions and commits (read-only).

    Read the list, write drafts of the best candidates, and accept them in `lessons review`. With
    --memories, the list says which memory of an agent a card covers already.

    Example: lessons mine --draft 10 --with claude
    """
    if not all_projects:
        brains = open_brain()
    elif is_brain(root := user_brain()):
        brains = Brains.open(root)
    else:
        raise BrainNotFound("no user brain for lessons of all projects; run `lessons init --user`")
    if since is not None and not read_date(since):
        raise InputError(f"--since must be a date such as 2026-01-31, not {since!r}")
    if memories:
        if all_projects or since or reviews or junit:
            raise InputError("--memories reads this project's memories alone; leave the rest out")
        new_drafts = load(MINE_MEMORIES).mine_memories(brains, draft, limit or SHOWN)
        if with_ is not None:
            load(COMPLETE_DRAFTS).write_drafts(brains, new_drafts, with_, yes=yes)
        return
    if as_cards:
        if with_ is not None or show_prompt or all_projects:
            raise InputError("--as-cards needs no agent; complete the cards in `lessons review`")
        _write_cards(brains, junit, commits, reviews or (), draft or MOST_CARDS)
        return
    if junit is not None:
        _draft_runs(brains, junit, commits, with_, yes=yes, show_prompt=show_prompt)
        return
    result = _read_past(brains, all_projects, since, reviews or ())
    if show_prompt:
        drafts = mined_drafts.draft(brains, result.candidates, draft or 1, write=False)
        _print_prompts(brains, drafts)
        return
    new_drafts = _report(brains, result, draft, limit, ask_agent=with_ is None)
    if with_ is not None:
        load(COMPLETE_DRAFTS).write_drafts(brains, new_drafts, with_, yes=yes)


def _print_prompts(brains: Brains, drafts: Sequence[Draft]) -> None:
    completion = load(COMPLETE_DRAFTS)
    completion.print_prompts(completion.build_prompts(brains, drafts))


def _draft_runs(
    brains: Brains,
    reports: tuple[str, str],
    commits: tuple[str, str],
    agent: str | None,
    *,
    yes: bool,
    show_prompt: bool,
) -> None:
    """Draft the change between a failed and a passed run, and print the draft."""
    draft, failures = run_drafts.draft_runs(brains, reports, commits, write=not show_prompt)
    repaired = f"{counted(len(failures), 'test')} repaired"
    if options().json:
        written = [pick(draft, "id", "title", "path")] if draft else []
        print_json({"repaired": [str(failure.test) for failure in failures], "drafts": written})
    elif draft is None:
        say(f"{repaired}; this change has a draft already, or had one")
    elif show_prompt:
        _print_prompts(brains, [draft])
    else:
        print(f"{repaired}; 1 draft written; next: lessons review")
        if agent is not None:
            load(COMPLETE_DRAFTS).write_drafts(brains, [draft], agent, yes=yes)


def _write_cards(
    brains: Brains,
    reports: tuple[str, str] | None,
    commits: tuple[str, str],
    comments: Sequence[str],
    most: int,
) -> None:
    """Write drafts of repaired tests and of review comments as cards, and print their ids."""
    if not (reports or comments):
        raise InputError("--as-cards writes what --junit or --reviews finds; add one of them")
    drafts: list[Draft] = []
    if reports:
        draft, _failures = run_drafts.draft_runs(brains, reports, commits, write=False)
        drafts += [draft] if draft else []
    if comments:
        result = _read_past(brains, False, None, comments)
        answered = mined_drafts.pick_answered(brains, result.candidates)
        drafts += mined_drafts.draft(brains, answered, most, write=False)
    cards: list[Card] = []
    for draft in drafts:
        try:
            cards.append(mined_drafts.write_card(brains, draft))
        except (DuplicateCard, Contradiction) as error:
            say(f"no card was written: {str(error).partition(';')[0]}")
    print_cards(cards, lambda card: clean_line(card.id))
    if not drafts:
        say("nothing new to draft")
    elif cards:
        say(f"{counted(len(cards), 'card')} with `status: draft`; next: commit, `lessons review`")


def run_mine(
    brains: Brains,
    all_projects: bool,
    drafts: int,
    since: str | None = None,
    limit: int | None = None,
    comments: Sequence[str] = (),
) -> list[Draft]:
    """Print the candidates, and return the drafts that were written."""
    result = _read_past(brains, all_projects, since, comments)
    return _report(brains, result, drafts, limit)


def _read_past(
    brains: Brains, all_projects: bool, since: str | None, comments: Sequence[str]
) -> MiningResult:
    with draw_progress("reading") as show:
        result = mining.mine(
            brains,
            everywhere=all_projects,
            since=since,
            comments=comments,
            progress=lambda what, done, total: show(done, total, what),
        )
    result.candidates = mined_drafts.leave_out_discarded(brains, result.candidates)
    return result


def _report(
    brains: Brains, result: MiningResult, drafts: int, limit: int | None, *, ask_agent: bool = True
) -> list[Draft]:
    """Print the first ``limit`` candidates, write at most ``drafts`` drafts, and return the drafts.

    Without a limit, the first ones that fit the terminal are printed. The drafts are those of the
    first candidates that have, and had, no draft.
    """
    limit = limit or _count_fitting()
    if not options().json:
        for line in result.trouble:
            say(line)
        shown = min(limit, drafts) if drafts else limit
        _print_result(result, shown)
    new_drafts = mined_drafts.draft(brains, result.candidates, drafts) if drafts else []
    if options().json:
        counts = pick(result, "sessions", "commits", "comments", "read", "trouble")
        candidates = [_describe(candidate) for candidate in result.candidates[:limit]]
        written = [pick(draft, "id", "title", "path") for draft in new_drafts]
        print_json({**counts, "candidates": candidates, "drafts": written})
    elif new_drafts:
        print(f"{counted(len(new_drafts), 'draft')} written; next: lessons review")
        suggestion = load(COMPLETE_DRAFTS).suggest_agent(new_drafts)
        if ask_agent and suggestion:
            print(suggestion)
    elif drafts and result.candidates:  # each of them has, or had, a draft
        say("no new drafts: each candidate has one already; see `lessons review --list`")
    elif result.candidates:
        say("next: `lessons mine --draft 10`, then `lessons review`")
    return new_drafts


def _count_fitting() -> int:
    """Return the number of candidates, of two lines each, whose list does not scroll away."""
    height = terminal_height()
    if height is None:
        return SHOWN
    return max(min((height - _OTHER_LINES) // 2, SHOWN), _FEWEST)


def _print_result(result: MiningResult, limit: int) -> None:
    parts = [counted(result.sessions, "session"), counted(result.commits, "commit")]
    if result.comments:
        parts.append(counted(result.comments, "review comment"))
    if not result.candidates:
        say(f"{', '.join(parts)}: nothing that looks like a mistake")
        return
    width = terminal_width()
    print("  #  SEEN  LAST        WHAT, FILE AND SIGNS")
    for number, candidate in enumerate(result.candidates[:limit], 1):
        date = dt.datetime.fromtimestamp(candidate.at).date().isoformat() if candidate.at else ""
        title = clean_line(candidate.title)
        reason = " · ".join((*candidate.paths[:1], "; ".join(candidate.reasons)))
        lines = (
            f"{number:>3} {candidate.occurrences:>4}×  {date:<10}  {title}",
            f"{'':10}{clean_line(reason)}",
        )
        for line in lines:
            print(cut_cells(line, width) if width else line)
    shown = min(limit, len(result.candidates))
    total = counted(len(result.candidates), "candidate")
    print(f"{shown} of {total} from {', '.join(parts[:-1])} and {parts[-1]}")


def _describe(candidate: Candidate) -> dict[str, Any]:
    fields = ("session", "agent", "quote", "excerpt")
    return {
        **pick(candidate, "title", "occurrences"),
        "last": candidate.at,
        "rank": round(candidate.rank, 3),
        **pick(candidate, "reasons", "paths"),
        "symptoms": list(typed_before(candidate)[:3]),
        "examples": [pick(sighting, *fields) for sighting in candidate.sightings],
        "commits": [pick(commit, "id", "subject") for commit in candidate.commits],
    }
