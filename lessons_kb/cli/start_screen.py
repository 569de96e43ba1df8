"""Print the state, the next step and the everyday commands, for `lessons` without a command."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import (
    Discovery,
    advise_init,
    describe_below,
    find_untrusted_below,
    look,
)
from lessons_kb.cards.standings import list_remarks
from lessons_kb.cli.command_table import EVERY_DAY, GROUPS
from lessons_kb.cli.connected import list_connected
from lessons_kb.cli.options import advise_add, check_folder, find_project
from lessons_kb.cli.output import (
    at_end,
    cut_cells,
    options,
    print_beside,
    print_json,
    print_wrapped,
    terminal_width,
)
from lessons_kb.errors import GitError, LessonsError
from lessons_kb.model import DRAFT, INVALID_HEADER, NOTE, Card
from lessons_kb.on_demand import INSTALL_AGENT, PROCESS_GIT, load
from lessons_kb.process.clock import today
from lessons_kb.store.database import was_mined
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.error_log import LATE_DAYS, read_troubles
from lessons_kb.store.locations import FIRST_LESSON, user_brain
from lessons_kb.store.repositories import git_top
from lessons_kb.text.sanitize import ago, clean_line, counted, shell_word, visible

_MOST = 3
"""The maximum numbers of brains and of problems on the screen, which has at most 30 lines."""
_FEW_COMMITS = 20
"""The number of commits from which `lessons mine` is the first advice in a brain without cards."""
_FEW_CARDS = 3
"""The number of cards below which a history that was never searched is still the next step."""
_NO_OWN_BRAIN = "this project has no brain of its own"


class BrainState(NamedTuple):
    """A brain that applies here."""

    root: str
    cards: int
    notes: int


class AgentState(NamedTuple):
    """An agent that is connected, or that called for a brain that applies here."""

    name: str
    last_call: float | None
    """The time of its last call for a brain that applies here, in seconds since the epoch."""
    installed: bool
    """Whether `lessons setup`, `lessons install` or a plugin connects it."""


class GivenLesson(NamedTuple):
    """The lesson that was injected last."""

    card: str
    title: str
    at: int
    """The time in seconds since the epoch."""


class Problem(NamedTuple):
    """A fact that needs the attention of the user."""

    text: str
    command: str


class State(NamedTuple):
    """Everything that the screen shows above the commands."""

    brains: list[BrainState]
    own_cards: int
    """The number of cards in the nearest brain that the user has. The first lesson of `lessons
    setup` is not counted."""
    drafts: int
    agents: list[AgentState]
    last_lesson: GivenLesson | None
    attention: list[Problem]


def show_state() -> None:
    """Print the state, the next step, and the everyday commands."""
    here = os.getcwd()
    discovery = look(here)
    brains = _open_brains(discovery)
    state = _read_state(discovery, brains)
    step = _choose_next_step(state, advise_add(discovery))
    if options().json:
        data = {
            "brains": [brain._asdict() for brain in state.brains],
            "drafts": state.drafts,
            "agents": [agent._asdict() for agent in state.agents],
            "last_lesson": state.last_lesson._asdict() if state.last_lesson else None,
            "attention": [problem._asdict() for problem in state.attention],
            "next": step._asdict() if step else None,
        }
        print_json(data)
        return
    _print_state(state, step)
    _print_commands()


def _open_brains(discovery: Discovery) -> Brains | None:
    """Open the brains that `--brain` names, or else the trusted brains that apply here."""
    for name in options().brains:
        check_folder("--brain", name)
    if options().brains:
        brains = Brains.open(*options().brains)
    elif discovery.trusted:
        brains = Brains.discover(os.getcwd(), found=discovery)
    else:
        return None
    at_end.callback(brains.close)
    return brains


def _read_state(discovery: Discovery, brains: Brains | None) -> State:
    states: list[BrainState] = []
    cards_of: list[list[Card]] = []
    problems = list(_find_unusable(discovery))
    for brain in brains.members if brains else ():
        try:
            brain.refresh()
            files = brain.read(lambda brain: brain.catalogue.all_cards())
        except LessonsError as error:
            problems.append(Problem(visible(str(error)), "lessons doctor"))
            continue
        cards = [card for card in files if card.kind != NOTE]
        states.append(BrainState(brain.root, len(cards), len(files) - len(cards)))
        cards_of.append(cards)
        problems += _find_faults(brain, cards)
    problems += _find_hook_errors()
    members = brains.members if brains else ()
    drafts: set[str] = set()
    for brain in members:
        drafts.update(DraftFolder(brain.root).ids())
    for cards in cards_of:
        drafts.update(card.id for card in cards if card.status == DRAFT)
    return State(
        brains=states,
        own_cards=sum(card.id != FIRST_LESSON for card in cards_of[0]) if cards_of else 0,
        drafts=len(drafts),
        agents=_list_agents(members),
        last_lesson=_find_last_lesson(members, cards_of),
        attention=problems,
    )


def _find_unusable(discovery: Discovery) -> Iterator[Problem]:
    """Yield the brains that exist here but give agents nothing."""
    if discovery.missing:
        yield Problem(visible(discovery.missing), "")
    here = os.getcwd()
    is_only_users = list(discovery.trusted) == [os.path.realpath(user_brain())]
    untrusted = discovery.untrusted
    if not untrusted and (is_only_users or not discovery.trusted):
        untrusted = tuple(find_untrusted_below(here))
    for root in untrusted:
        yield Problem(f"{_short(root)} is not trusted yet", f"lessons trust {_shell_path(root)}")
    if is_only_users and not untrusted and not options().brains:
        if hint := describe_below(here):
            yield Problem(visible(hint), "")
        elif git_top(here):
            yield Problem(_NO_OWN_BRAIN, _advise_brain().command)


def _find_faults(brain: Brain, cards: Sequence[Card]) -> Iterator[Problem]:
    """Yield the problems in the cards of a brain that need attention."""
    findings = brain.catalogue.findings()
    errors = {finding.path for finding in findings if finding.level == "error"}
    if errors:
        yield Problem(f"{counted(len(errors), 'file')} with an error", "lessons lint")
    broken = {finding.path for finding in findings if finding.rule == INVALID_HEADER} - errors
    if broken:
        more = f" (and {counted(len(broken) - 1, 'other file')})" if len(broken) > 1 else ""
        detail = f"{visible(min(broken))} has a header that YAML cannot read{more}"
        yield Problem(detail, "lessons lint")
    day = today()
    stale = [card for card in cards if list_remarks(card, day)]
    if stale:
        yield Problem(f"{counted(len(stale), 'card')} may be out of date", "lessons list --stale")


def _find_hook_errors() -> Iterator[Problem]:
    """Yield the number of errors of hooks in the last days."""
    seconds = time.time() - LATE_DAYS * 86_400
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))
    recent = [trouble for trouble in read_troubles(1_000) if trouble.at >= since]
    if recent:
        errors = counted(len(recent), "error or late answer", "errors or late answers")
        yield Problem(f"{errors} of hooks in the last {LATE_DAYS} days", "lessons doctor")


def _list_agents(members: Sequence[Brain]) -> list[AgentState]:
    """List the agents that an installation connects, and those that called for a brain."""
    calls: dict[str, float] = {}
    for brain in members:
        with contextlib.suppress(LessonsError):  # `lessons doctor` reports it
            for agent, at in brain.journal.events.last_calls().items():
                calls[agent] = max(at, calls.get(agent, 0.0))
    installed = set(list_connected())
    for name in set(calls) - installed:
        hooks = load(INSTALL_AGENT)
        if name in hooks.AGENTS and hooks.has_hooks(name, find_project()):
            installed.add(name)
    names = sorted({*calls, *installed})
    return [AgentState(name, calls.get(name), name in installed) for name in names]


def _find_last_lesson(
    members: Sequence[Brain], cards_of: Sequence[Sequence[Card]]
) -> GivenLesson | None:
    """Return the lesson that was injected last from any of the brains."""
    latest: GivenLesson | None = None
    for brain, cards in zip(members, cards_of, strict=False):
        with contextlib.suppress(LessonsError):
            newest = brain.journal.injections.newest()
            names = brain.journal.last_injected(None)
            if not newest or not names or (latest and latest.at >= newest[1]):
                continue
            titles = {card.id: card.title for card in cards}
            latest = GivenLesson(names[0], titles.get(names[0], names[0]), newest[1])
    return latest


def _choose_next_step(state: State, add_card: str) -> Problem | None:
    """Return the step that helps most now, or None if no step is open.

    ``add_card`` is the command that writes a card.
    """
    if not state.brains and not state.attention:
        return _advise_brain()
    if not any(agent.installed for agent in state.agents):
        return Problem("connect the agents on this machine", "lessons setup")
    untrusted = [
        problem for problem in state.attention if problem.command.startswith("lessons trust")
    ]
    if untrusted:
        return Problem("let its cards reach your agents; read them first", untrusted[0].command)
    if state.drafts:
        return Problem(f"go through {counted(state.drafts, 'draft')}", "lessons review")
    if any(problem.text == _NO_OWN_BRAIN for problem in state.attention):
        return _advise_brain()
    if state.brains and not state.own_cards:
        step = _advise_mining(add_card)
        return step or Problem("write the first card", add_card)
    if state.brains and state.own_cards < _FEW_CARDS and not was_mined(state.brains[0].root):
        return _advise_mining(add_card)
    return None


def _advise_brain() -> Problem:
    """Return the step to create a brain: in a folder of the repository, or else here."""
    here = os.getcwd()
    if git_top(here):
        purpose = "create a brain in this repository"
    elif os.path.realpath(here) == os.path.realpath(os.path.expanduser("~")):
        purpose = "create a brain; do this in the repository of a project"
    else:
        purpose = "create a brain in this folder"
    return Problem(purpose, advise_init(here))


def _advise_mining(add_card: str) -> Problem | None:
    """Return the step to search the history for lessons, or None in a young project."""
    commits = 0
    with contextlib.suppress(GitError):
        commits = len(load(PROCESS_GIT).list_commits(os.getcwd()))
    if commits < _FEW_COMMITS:
        return None
    past = f"{counted(commits, 'commit')} without merges"
    purpose = f"look for lessons in {past}; `{add_card}` writes a card"
    return Problem(purpose, "lessons mine")


def _print_state(state: State, step: Problem | None) -> None:
    rows: list[tuple[str, str]] = []
    for brain in state.brains[:_MOST]:
        counts = counted(brain.cards, "card")
        if brain.notes:
            counts += f", {counted(brain.notes, 'note')}"
        rows.append(("Brain" if not rows else "", f"{counts} in {_short(brain.root)}"))
    if not rows:
        has_untrusted = any("lessons trust" in problem.command for problem in state.attention)
        rows.append(("Brain", "none that you trust" if has_untrusted else "none here"))
    elif state.brains[_MOST:]:
        rows.append(("", f"and {len(state.brains) - _MOST} more"))
    rows.append(("Drafts", f"{state.drafts} to review" if state.drafts else "none to review"))
    rows.append(("Agents", ", ".join(map(_describe_agent, state.agents)) or "none connected"))
    lesson = state.last_lesson
    if lesson:
        when = ago(max(time.time() - lesson.at, 0))
        rows.append(("Last lesson", f"{when}: {clean_line(lesson.title)}"))
    else:
        rows.append(("Last lesson", "none given yet"))
    width = max(len(name) for name, _text in rows)
    for name, text in rows:
        print_beside(f"{name:<{width}}  ", text)
    if state.attention:
        print("\nNeeds attention:")
    for problem in state.attention[:_MOST]:
        advice = f": `{problem.command}`" if problem.command else ""
        print_wrapped(f"  {problem.text}{advice}")
    if more := state.attention[_MOST:]:
        print(f"  and {counted(len(more), 'other problem')}: `lessons doctor`")
    print()
    if step:
        print_wrapped(f"Next: `{step.command}`, to {step.text}.")
    elif not state.attention:
        print("There is nothing to do.")


def _print_commands() -> None:
    commands = GROUPS[EVERY_DAY]
    width = max(map(len, commands))
    columns = terminal_width() or 100
    print(f"\n{EVERY_DAY}:")
    for name, summary in commands.items():
        print(cut_cells(f"  {name:<{width}}  {summary}", columns))
    print_wrapped("`lessons --help` lists all commands; `lessons COMMAND --help` explains one.")


def _describe_agent(agent: AgentState) -> str:
    if agent.last_call is None:
        return f"{agent.name} (no call here yet)"
    last_call = f"last call {ago(max(time.time() - agent.last_call, 0))}"
    if agent.installed:
        return f"{agent.name} ({last_call})"
    return f"{agent.name} (not connected; {last_call})"


def _short(path: str) -> str:
    """Return a path in printable form, with ``~`` for the home folder."""
    home = os.path.expanduser("~") + os.sep
    return visible(f"~/{path[len(home) :]}" if path.startswith(home) else path)


def _shell_path(path: str) -> str:
    """Return a path as a word for a shell, relative to the working directory if it is below it."""
    here = os.path.realpath(os.getcwd())
    if path == here:
        return "."
    is_below = path.startswith(here + os.sep)
    return shell_word(os.path.relpath(path, here) if is_below else path)
