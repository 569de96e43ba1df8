"""`lessons setup`: connect the agents on this machine, and try a first lesson."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from typer import Option

from lessons_kb.agents.install.install_agent import list_connections
from lessons_kb.agents.install.settings_files import is_present
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.discovery import find_untrusted_below, look, untrusted_hint
from lessons_kb.brain.make_brain import (
    count_cards,
    list_first_files,
    remove_first_lesson,
    write_first_lesson,
)
from lessons_kb.cli.connect_agents import (
    ACTION_TEXTS,
    BEWARE,
    AgentChanges,
    connect_all,
    offer_removal,
)
from lessons_kb.cli.connected import list_connected
from lessons_kb.cli.install_completion import remove_completion
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import confirm, options, print_answer, print_json, print_wrapped, say
from lessons_kb.collection.exchange import find_rules_files
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.service.daemon_client import STATUS, ask_daemon, start_daemon, stop_daemon
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.foreign_settings import FileChange
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, state_home, user_brain
from lessons_kb.store.purge import purge_state
from lessons_kb.text.sanitize import counted, visible

EDITORS = {"code": "VS Code", "nvim": "Neovim", "hx": "Helix", "zed": "Zed"}
"""Maps a program to an editor that can check cards while a user writes them."""


ASK = "Show me that a lesson arrives."
"""A prompt that matches the first lesson."""


NO_AGENT = (
    f"no agent found on this machine; `lessons install {next(iter(AGENTS))}` connects that agent "
    f"anyway; the other names are {', '.join(list(AGENTS)[1:])}"
)


def setup(
    yes: Annotated[bool, Option("--yes", help="Do not ask for confirmation.")] = False,
    diff: Annotated[bool, Option("--diff", help="Show the changes before asking.")] = False,
    undo: Annotated[
        bool,
        Option(
            "--undo",
            help="Restore the agents' files, remove the first lesson and the completion, and stop "
            "the process that answers hooks.",
        ),
    ] = False,
    purge: Annotated[
        bool,
        Option(
            "--purge",
            help="With --undo: also delete the state folder, but no cards.",
        ),
    ] = False,
) -> None:
    """Connect the agents on this machine, and try a first lesson.

    The command lists every file that it would write and asks once. Comments and other entries in
    the agents' settings are preserved. `lessons install` connects a single agent, or a project.

    Example: lessons setup --yes
    """
    if purge and not undo:
        raise InputError("--purge needs --undo; run `lessons setup --undo --purge`")
    if undo:
        _disconnect_all(yes=yes, purge=purge, diff=diff)
    else:
        _connect_found(yes=yes, diff=diff)


def _connect_found(*, yes: bool, diff: bool) -> None:
    request: dict[str, Any] = {"undo": False, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = connect_all(present, dry_run=True, **request)
    if not plan:
        raise InputError("; ".join(refused) or NO_AGENT)
    if not options().json:
        _print_plan(_describe_plan(plan, refused, diff=diff))
    if not (_needs_first_lesson() or _list_changes(plan) or refused):
        print_answer([], "Nothing to change.")
        _say_untrusted()
        return
    if not yes and not confirm("Connect them?"):
        raise InputError("nothing was changed; confirm the changes, or run `lessons setup --yes`")
    is_new = _needs_first_lesson()
    results, refused = connect_all(present, dry_run=False, **request)
    first = write_first_lesson() if is_new else ""
    is_started = _start_daemon()
    if options().json:
        _print_data(results)
    else:
        _print_next_steps(results, first, is_started=is_started)
    _say_untrusted()
    if refused:
        raise InputError("; ".join(refused))


def _needs_first_lesson() -> bool:
    """Return whether this user has not been given the first lesson yet.

    The lesson removes itself, so an own brain without cards does not show that it is missing.
    """
    root = user_brain()
    if not os.path.isfile(os.path.join(root, CONFIG_NAME)):
        return not count_cards(root)
    return not (list_connected() or count_cards(root))


def _say_untrusted() -> None:
    """Name the brains of the project here that are not trusted, and the command that trusts them.

    The cards of such a brain do not reach a connected agent.
    """
    here = os.getcwd()
    discovery = look(here)
    untrusted = discovery.untrusted
    if not untrusted and not discovery.keys:
        untrusted = tuple(find_untrusted_below(here))
    if untrusted:
        say(f"no agent gets these cards yet: {untrusted_hint(untrusted, discovery.named)}")


def _start_daemon() -> bool:
    """Start the daemon as the first event would, so that the first lesson arrives in time.

    Return whether it was started.
    """
    return _lacks_daemon() and start_daemon(os.environ, directory=os.getcwd())


def _lacks_daemon() -> bool:
    """Return whether the settings allow a daemon here, and none is running."""
    if os.environ.get("LESSONS_DAEMON") == "0" or not hasattr(os, "fork"):
        return False
    nearest = list(look(os.getcwd()).trusted)[:1]
    if not all(read_settings(root)[0].hooks.daemon for root in nearest):
        return False
    return ask_daemon(STATUS) is None


def _disconnect_all(*, yes: bool, purge: bool, diff: bool) -> None:
    request: dict[str, Any] = {"undo": True, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = connect_all(present, dry_run=True, **request)
    state = state_home() if purge and os.path.isdir(state_home()) else ""
    if not options().json:
        _print_plan(_describe_undo(plan, refused, state, diff=diff))
    changes = _list_changes(plan)
    if (changes or refused or state) and not yes:
        question = "Disconnect them, and delete that folder?" if state else "Disconnect them?"
        if not confirm(question):
            again = "lessons setup --undo --purge --yes" if purge else "lessons setup --undo --yes"
            raise InputError(f"nothing was changed; confirm the changes, or run `{again}`")
    results, refused = connect_all(present, dry_run=False, **request)
    lines = ["Disconnected; a running session gets no more lessons."] if changes else []
    if removed := remove_first_lesson():
        lines.append(f"Removed {_short(removed)}.")
    completion = [_short(change.path) for change in remove_completion()]
    lines += [f"Removed the shell completion from {path}." for path in completion]
    if stop_daemon() is not None:
        lines.append("The daemon was stopped.")
    lines += _describe_left(results)
    if (state or refused) and lines:
        if not options().json:  # an error below must not hide what was done
            print("\n".join(lines))
        lines = []
    if refused:
        kept = f"; {_short(state)} was kept, because it has their former content" if state else ""
        raise InputError("; ".join(refused) + kept)
    if state:
        _purge(state)
        lines.append(f"Deleted {_short(state)}.")
    elif changes:
        lines.append("The journal and drafts stay; `lessons setup --undo --purge` deletes them.")
    if not state:
        for result in results:
            lines += result.notes
    if options().json:
        _print_data(results)
    else:
        print("\n".join(lines) or "Nothing to change.")


def _describe_left(results: Sequence[AgentChanges]) -> Iterator[str]:
    """Yield a line for each file that stays because it is unreadable or somebody changed it."""
    for result in results:
        for file in result.files:
            if file.action == "unread":
                reason = "it cannot be parsed, and lessons never changed it"
                yield f"Left {_short(file.path)} as it is: {reason}."
            if file.action == "edited":
                yield f"{_short(file.path)}: {ACTION_TEXTS[file.action]}."


def _purge(state: str) -> None:
    """Delete the state folder. Raises InputError if settings of a project still depend on it."""
    if connected := list_connections():
        first = connected[0]
        where = f" in {_short(first.project)}" if first.project else ""
        raise InputError(
            f"{_short(first.path)} still calls lessons-kb, and its former content is in "
            f"{_short(state)}, which was kept; run `{first.command}`{where} first"
        )
    purge_state()


def _list_changes(plan: Sequence[AgentChanges]) -> list[FileChange]:
    """Return the files that would change."""
    files = [file for result in plan for file in result.files]
    return [file for file in files if file.diff]


def _print_data(results: Sequence[AgentChanges]) -> None:
    print_json([{"agent": result.agent, "files": as_data(result.files)} for result in results])


def _describe_agents(
    plan: Sequence[AgentChanges], refused: list[str], *, state: str, diff: bool
) -> Iterator[str]:
    """Yield a line for each file of each agent that would change, or ``state`` if there are none.

    With ``diff``, each line is followed by the difference.
    """
    for result in plan:
        changes = [file for file in result.files if file.diff]
        if not changes:
            yield f"  {result.agent}: {state}"
            continue
        yield f"  {result.agent}:"
        for file in changes:
            purpose = " (with the MCP server)" if _adds_server(file) else ""
            yield f"    {_VERBS[file.action]} {_short(file.path)}{purpose}"
            if diff:
                yield visible(file.diff).rstrip("\n")
    for line in refused:
        yield f"  {visible(line)}"


def _adds_server(file: FileChange) -> bool:
    """Return whether a change adds the command `lessons mcp` to the settings of an agent."""
    added = [line for line in file.diff.splitlines() if line.startswith("+")]
    return any(_SERVER_ARGUMENT.search(line) for line in added)


_SERVER_ARGUMENT = re.compile(r"[\"']mcp[\"']")
_VERBS = {"created": "create", "changed": "change", "removed": "remove"}
"""Maps the action of a planned change to its verb."""


def _describe_undo(
    plan: Sequence[AgentChanges], refused: list[str], state: str, *, diff: bool
) -> Iterator[str]:
    """Yield the lines that describe the effects of ``--undo``."""
    if plan or refused:
        yield "Agents to disconnect:"
        yield from _describe_agents(plan, refused, state="not connected", diff=diff)
    removals: list[str] = []
    if first := remove_first_lesson(dry_run=True):
        whole = ", which has only the first lesson" if first == user_brain() else ""
        removals.append(f"    remove {_short(first)}{whole}")
    completion = remove_completion(dry_run=True)
    removals += [f"    {_VERBS[change.action]} {_short(change.path)}" for change in completion]
    if removals:
        yield "To remove:"
        yield from removals
    if state:
        yield f"Folder to delete, with journal, drafts, trash and trust:\n  {_short(state)}"
    if state or removals or _list_changes(plan):
        yield "Cards that you wrote stay."


def _print_plan(texts: Iterable[str]) -> None:
    """Print lines, folded to the width of the terminal, and differences as they are."""
    for text in texts:
        if "\n" in text:
            print(text)
        else:
            print_wrapped(text)


def _describe_plan(
    plan: Sequence[AgentChanges], refused: list[str], *, diff: bool
) -> Iterator[str]:
    """Yield the lines that describe the effects of the command."""
    changes = _list_changes(plan)
    writes = f"{counted(len(changes), 'file')} to write" if changes else "no file to write"
    yield f"Agents found here, and {writes}:"
    yield from _describe_agents(plan, refused, state="connected already", diff=diff)
    if any(map(_adds_server, changes)):
        yield "With the MCP server (package `mcp`, installed here) an agent can search the cards."
    if changes:
        yield f"Each former file is kept in {_short(state_home())}."
        yield "`lessons setup --diff` shows what changes; `lessons setup --undo` restores all."
    root = user_brain()
    if _needs_first_lesson():
        yield "Your own brain to create, with one card to try:"
        for name in list_first_files(root):
            yield f"    create {_short(os.path.join(root, name))}"
        yield f"    create {_short(os.path.join(root, CACHE_NAME))}, its cache"
    if _lacks_daemon():
        yield "To start: the daemon, a process in the background that answers the hooks."
    editors = [name for program, name in EDITORS.items() if shutil.which(program)]
    if editors:
        yield f"Not touched: {', '.join(editors)} (`lessons lsp` checks cards there)."
    top = find_project()
    rules = [os.path.relpath(path, top) for path in find_rules_files(top)]
    if rules:
        more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
        yield visible(f"Not touched: {rules[0]}{more}; `lessons diet` moves rules to cards.")


def _print_next_steps(results: Sequence[AgentChanges], first: str, *, is_started: bool) -> None:
    """Print the remaining steps, and a prompt that matches the first lesson."""
    connected = [result for result in results if _has_own_entries(result)]
    names = [result.agent for result in connected]
    print(f"Connected: {', '.join(names)}.")
    for agent, _files, notes in results:
        warnings = [note for note in notes if note.startswith(BEWARE)]
        if agent in names:
            print_wrapped(f"  {agent}: {AGENTS[agent].notes.splitlines()[0]}")
        for warning in warnings:
            print_wrapped(f"  {agent}: {warning}")
    for line in _describe_left(results):
        print_wrapped(line)
    offer_removal(names)
    if is_started:
        print("The daemon was started; `lessons daemon stop` ends it.")
    if first:
        agent = names[0] if len(names) == 1 else "one of them"
        print(f"Start a new session in {agent} and paste this:\n\n  {ASK}\n")
        print("The first lesson is deleted after it has arrived once.")


def _has_own_entries(result: AgentChanges) -> bool:
    """Return whether any file of an agent has entries of lessons-kb."""
    return any(file.action != "foreign" for file in result.files)


def _short(path: str) -> str:
    """Return a path in printable form, with ``~`` for the home folder."""
    home = os.path.expanduser("~") + os.sep
    return visible(f"~/{path[len(home) :]}" if path.startswith(home) else path)
