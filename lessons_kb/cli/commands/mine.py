"""`lessons mine`: find lessons in past sessions and in git's history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from typer import Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.choose_candidates import choose_candidates, read_count
from lessons_kb.cli.options import ShowPrompt, WithAgent, Yes, open_brain
from lessons_kb.cli.output import (
    confirm,
    cut_cells,
    draw_progress,
    options,
    pick,
    print_cards,
    print_json,
    print_wrapped,
    say,
    terminal_height,
    terminal_width,
)
from lessons_kb.collection import mined_drafts, run_drafts
from lessons_kb.collection.draft_lookup import ACCEPTED, DISCARDED, MERGED, OPEN, Draft
from lessons_kb.errors import BrainNotFound, Contradiction, DuplicateCard, InputError
from lessons_kb.mining import mine_project as mining
from lessons_kb.mining.candidates import Candidate, typed_before
from lessons_kb.mining.draft_text import list_signs
from lessons_kb.mining.mine_project import MiningResult
from lessons_kb.model import Card
from lessons_kb.on_demand import COMPLETE_DRAFTS, MINE_MEMORIES, load
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import is_brain
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.text.times import read_date
from lessons_kb.values import frozen

SHOWN = 20
_OTHER_LINES = 6
"""The lines of a terminal for the command, the header, the summary, the next step (two lines of a
narrow terminal) and the prompt."""
_FEWEST = 3
_MANY = 4
"""The number of candidates from which a sign that all of them share says nothing."""
_SHOWN_DIGITS = 8
"""The number of digits of a commit in the list."""
MOST_UNASKED = 50
"""The maximum number of drafts, or of cards, that are written without a question."""
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
        str | None,
        Option(
            "--draft",
            metavar="N",
            help="Write drafts of the first N candidates, or of numbers and commits: "
            "2,5-7,1a2b3c4d.",
        ),
    ] = None,
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
    writes = draft is not None or as_cards or (junit is not None and not show_prompt)
    if not all_projects:
        brains = open_brain(for_new_card=writes)
    elif is_brain(root := user_brain()):
        brains = Brains.open(root)
    else:
        raise BrainNotFound("no user brain for lessons of all projects; run `lessons init --user`")
    if since is not None and not read_date(since):
        raise InputError(f"--since must be a date such as 2026-01-31, not {since!r}")
    if memories:
        if all_projects or since or reviews or junit:
            raise InputError("--memories reads this project's memories alone; leave the rest out")
        count = read_count(draft, option="--memories")
        confirm_many = partial(_confirm_many, yes=yes)
        new_drafts = load(MINE_MEMORIES).mine_memories(
            brains, count, limit or SHOWN, confirm_many=confirm_many
        )
        if with_ is not None:
            load(COMPLETE_DRAFTS).write_drafts(brains, new_drafts, with_, yes=yes)
        return
    if as_cards:
        if with_ is not None or show_prompt or all_projects:
            raise InputError("--as-cards needs no agent; complete the cards in `lessons review`")
        most = read_count(draft, option="--as-cards") or MOST_CARDS
        _write_cards(brains, junit, commits, reviews or (), most, yes=yes)
        return
    if junit is not None:
        _draft_runs(brains, junit, commits, with_, yes=yes, show_prompt=show_prompt)
        return
    past = _read_past(brains, all_projects, since, reviews or ())
    if show_prompt:
        positions = choose_candidates(past.candidates, draft or "1", past.numbers, past.most)
        chosen = [past.candidates[position] for position in positions]
        drafts = mined_drafts.draft(brains, chosen, len(chosen), write=False)
        _print_prompts(brains, drafts)
        return
    new_drafts = _report(brains, past, draft, limit, ask_agent=with_ is None, yes=yes)
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
    *,
    yes: bool,
) -> None:
    """Write drafts of repaired tests and of review comments as cards, and print their ids."""
    if not (reports or comments):
        raise InputError("--as-cards writes what --junit or --reviews finds; add one of them")
    drafts: list[Draft] = []
    if reports:
        draft, _failures = run_drafts.draft_runs(brains, reports, commits, write=False)
        drafts += [draft] if draft else []
    if comments:
        past = _read_past(brains, False, None, comments)
        answered = mined_drafts.pick_answered(brains, past.candidates)
        drafts += mined_drafts.draft(brains, answered, most, write=False)
    _confirm_many(len(drafts), "card", yes=yes)
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
    since: str | None = None,
    limit: int | None = None,
    comments: Sequence[str] = (),
) -> None:
    """Print the candidates."""
    past = _read_past(brains, all_projects, since, comments)
    _report(brains, past, None, limit)


@frozen
class Past:
    """The result of mining, without the candidates that have a draft or a card."""

    result: MiningResult
    candidates: Sequence[Candidate]
    left_out: Mapping[str, int]
    """A mapping from the state of a draft to the number of candidates with such a draft."""
    numbers: Sequence[int]
    """The number of each candidate in the list. It counts those with a draft or a card, so that the
    numbers of the others do not change when a draft is written."""

    @property
    def most(self) -> int:
        """The highest number, which may be that of a candidate with a draft or a card."""
        return len(self.result.candidates)


def _read_past(
    brains: Brains, all_projects: bool, since: str | None, comments: Sequence[str]
) -> Past:
    with draw_progress("reading") as show:
        result = mining.mine(
            brains,
            everywhere=all_projects,
            since=since,
            comments=comments,
            progress=lambda what, done, total: show(done, total, what),
        )
    candidates, left_out = mined_drafts.leave_out_drafted(brains, result.candidates)
    places = {id(candidate): place for place, candidate in enumerate(result.candidates, 1)}
    numbers = [places[id(candidate)] for candidate in candidates]
    return Past(result=result, candidates=candidates, left_out=left_out, numbers=numbers)


def _confirm_many(count: int, noun: str = "draft", *, yes: bool) -> None:
    """Ask before many drafts or cards are written. Raises InputError without an agreement."""
    if count <= MOST_UNASKED or yes:
        return
    many = counted(count, noun)
    if not confirm(f"Write {many}?"):
        raise InputError(
            f"nothing was written; {many} are many to review: "
            f"`--draft {MOST_UNASKED}` writes fewer, `--yes` writes them all"
        )


def _report(
    brains: Brains,
    past: Past,
    draft: str | None,
    limit: int | None,
    *,
    ask_agent: bool = True,
    yes: bool = False,
) -> list[Draft]:
    """Print the first ``limit`` candidates, write the drafts that ``draft`` names, and return them.

    Without a limit, the first candidates that fit the terminal are printed. If drafts are written,
    their candidates are printed instead.
    """
    positions = choose_candidates(past.candidates, draft or "0", past.numbers, past.most)
    shown = (positions or range(len(past.candidates)))[: limit or _count_fitting()]
    if not options().json:
        for line in past.result.trouble:
            say(line)
        _print_candidates(past, shown)
    chosen = [past.candidates[position] for position in positions]
    _confirm_many(len(chosen), yes=yes)
    new_drafts = mined_drafts.draft(brains, chosen, len(chosen)) if chosen else []
    if options().json:
        counts = pick(past.result, "sessions", "commits", "comments", "read", "trouble")
        candidates = [_describe(past.candidates[position]) for position in shown]
        written = [pick(draft, "id", "title", "path") for draft in new_drafts]
        left_out = dict(past.left_out)
        print_json({**counts, "left_out": left_out, "candidates": candidates, "drafts": written})
    elif new_drafts:
        print(f"{counted(len(new_drafts), 'draft')} written; next: lessons review")
        suggestion = load(COMPLETE_DRAFTS).suggest_agent(new_drafts)
        if ask_agent and suggestion:
            print(suggestion)
    elif past.candidates:
        total = len(past.candidates)
        rest = f"; `--limit {total}` lists all" if len(shown) < total else ""
        say(
            "next: `lessons mine --draft 10` drafts the first ten, `--draft 2,5` these two; then "
            f"`lessons review`{rest}"
        )
    elif past.left_out.get(OPEN):
        say("next: `lessons review`")
    return new_drafts


def _count_fitting() -> int:
    """Return the number of candidates, of two lines each, whose list does not scroll away."""
    height = terminal_height()
    if height is None:
        return SHOWN
    return max(min((height - _OTHER_LINES) // 2, SHOWN), _FEWEST)


def _print_candidates(past: Past, shown: Sequence[int]) -> None:
    """Print the candidates at some positions, and how many there are."""
    result = past.result
    parts = [counted(result.sessions, "session")]
    parts.append(f"{counted(result.commits, 'commit')} without merges")
    if result.comments:
        parts.append(counted(result.comments, "review comment"))
    left_out = _describe_left_out(past.left_out)
    if not past.candidates:
        looks = f"nothing new ({left_out})" if left_out else "nothing that looks like a mistake"
        say(f"{', '.join(parts)}: {looks}")
        return
    width = terminal_width()
    print("  #  SEEN  LAST        WHAT, FILE, COMMIT AND SIGNS")
    signs = _pick_signs([past.candidates[position] for position in shown])
    for position, reasons in zip(shown, signs, strict=True):
        candidate = past.candidates[position]
        date = dt.datetime.fromtimestamp(candidate.at).date().isoformat() if candidate.at else ""
        title = clean_line(candidate.title)
        commits = [commit.id[:_SHOWN_DIGITS] for commit in candidate.commits[:1]]
        paths = [_shorten_path(path, width) for path in candidate.paths[:1]]
        place = f"{'':10}{clean_line(' · '.join((*paths, *commits)))}"
        lines = (
            f"{past.numbers[position]:>3} {candidate.occurrences:>4}×  {date:<10}  {title}",
            _add_signs(place, reasons, width),
        )
        for line in lines:
            print(cut_cells(line, width) if width else line)
    total = counted(len(past.candidates), "candidate")
    summary = f"{len(shown)} of {total} from {', '.join(parts[:-1])} and {parts[-1]}"
    print_wrapped(f"{summary}; left out: {left_out}" if left_out else summary)


def _shorten_path(path: str, width: int | None) -> str:
    """Return a path, or its end if it takes more than a third of a line on a terminal."""
    parts = path.split("/")
    shown = path
    while width and len(shown) > width // 3 and len(parts) > 1:
        del parts[0]
        shown = "/".join(("…", *parts))
    return shown


def _add_signs(line: str, signs: Sequence[str], width: int | None) -> str:
    """Return a line with as many whole signs as fit into a line of a terminal, at least one."""
    separator = " · " if line.strip() else ""
    for number, sign in enumerate(signs):
        longer = f"{line}{separator}{clean_line(sign)}"
        if number and width and len(longer) > width:
            break
        line, separator = longer, "; "
    return line


def _pick_signs(candidates: Sequence[Candidate]) -> list[list[str]]:
    """Return the signs of each candidate, without a sign that several candidates all share."""
    signs = [list_signs(candidate) for candidate in candidates]
    shared = set(signs[0]).intersection(*signs[1:])
    if len(signs) < _MANY:
        return signs
    return [[sign for sign in own if sign not in shared] for own in signs]


_LEFT_OUT = {OPEN: "{} with a draft", ACCEPTED: "{} with a card", DISCARDED: "{} discarded"}
"""How the summary names the candidates that the list leaves out, by the state of their drafts."""


def _describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return the numbers of candidates that the list leaves out, or ""."""
    counts = {state: left_out.get(state, 0) for state in _LEFT_OUT}
    counts[ACCEPTED] += left_out.get(MERGED, 0)
    return ", ".join(_LEFT_OUT[state].format(times) for state, times in counts.items() if times)


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
