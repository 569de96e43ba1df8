"""`lessons setup`: connect the agents found here, and see a lesson arrive."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from typer import Option

from lessons_kb.agents.install.install_agent import has_sdk, list_connections
from lessons_kb.agents.install.settings_files import is_present
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.make_brain import count_cards, take_first_lesson, write_first_lesson
from lessons_kb.cli.connect_agents import BEWARE, Done, connect_all, offer_removal
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import confirm, options, print_answer, print_json, print_wrapped
from lessons_kb.collection.exchange import find_rules_files
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.process.installation import install_command
from lessons_kb.service.daemon_client import stop_daemon
from lessons_kb.store.foreign_settings import FileChange
from lessons_kb.store.locations import state_home, user_brain
from lessons_kb.store.purge import purge_state
from lessons_kb.text.sanitize import visible

EDITORS = {"code": "VS Code", "nvim": "Neovim", "hx": "Helix", "zed": "Zed"}
"""Program → editor that can check cards while they are written."""


ASK = "Show me that a lesson arrives."
"""A prompt that draws the first lesson."""


NOBODY = (
    f"no agent found on this machine; `lessons install {next(iter(AGENTS))}` connects it all the"
    f" same, and so for {', '.join(list(AGENTS)[1:])}"
)


def setup(
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    undo: Annotated[
        bool,
        Option(
            "--undo",
            help="Disconnect the agents, restore their former files, remove the first lesson, and "
            "stop the daemon.",
        ),
    ] = False,
    purge: Annotated[
        bool,
        Option(
            "--purge",
            help="With --undo: delete the state folder, too, with journal, drafts, trash and "
            "trust. Cards stay.",
        ),
    ] = False,
) -> None:
    """Connect the agents found here, and see a lesson arrive.

    Shows what it would change and asks once. Comments and other entries of the agents' settings
    stay. `lessons install` connects one agent, or a project.

    Example: lessons setup --yes
    """
    if purge and not undo:
        raise InputError("--purge deletes what was observed; run `lessons setup --undo --purge`")
    if undo:
        _disconnect_all(yes=yes, purge=purge)
    else:
        _connect_found(yes=yes)


def _connect_found(*, yes: bool) -> None:
    how: dict[str, Any] = {"undo": False, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = connect_all(present, dry_run=True, **how)
    if not plan:
        raise InputError("; ".join(refused) or NOBODY)
    if not options().json:
        print("\n".join(_tell(plan, refused)))
    if not (_changed(plan) or refused or not count_cards(user_brain())):
        print_answer([], "Nothing to change.")
        return
    if not yes and not confirm("Connect them?"):
        raise InputError("nothing was changed; agree to it, or run `lessons setup --yes`")
    done, refused = connect_all(present, dry_run=False, **how)
    first = write_first_lesson()
    if options().json:
        _print_done(done)
    else:
        _tell_next(done, first)
    if refused:
        raise InputError("; ".join(refused))


def _disconnect_all(*, yes: bool, purge: bool) -> None:
    how: dict[str, Any] = {"undo": True, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = connect_all(present, dry_run=True, **how)
    state = state_home() if purge and os.path.isdir(state_home()) else ""
    if not options().json:
        print("\n".join(_tell_undo(plan, refused, state)))
    changes = _changed(plan)
    if (changes or refused or state) and not yes:
        question = "Disconnect them, and delete that folder?" if state else "Disconnect them?"
        if not confirm(question):
            again = "lessons setup --undo --purge --yes" if purge else "lessons setup --undo --yes"
            raise InputError(f"nothing was changed; agree to it, or run `{again}`")
    done, refused = connect_all(present, dry_run=False, **how)
    told = ["Disconnected; a running session gets no more lessons."] if changes else []
    if gone := take_first_lesson():
        told.append(f"Removed {_short(gone)}.")
    if stop_daemon():
        told.append("The daemon was stopped.")
    told += _tell_unread(done)
    if (state or refused) and told:
        if not options().json:  # a refusal below must not hide what was done
            print("\n".join(told))
        told = []
    if refused:
        kept = f"; {_short(state)} was kept, because it has their former content" if state else ""
        raise InputError("; ".join(refused) + kept)
    if state:
        _purge(state)
        told.append(f"Deleted {_short(state)}.")
    elif changes:
        told.append("What was observed stays; `lessons setup --undo --purge` deletes it.")
    if not state:
        told += [note for _name, _files, notes in done for note in notes]
    if options().json:
        _print_done(done)
    else:
        print("\n".join(told) or "Nothing to change.")


def _tell_unread(done: Sequence[Done]) -> Iterator[str]:
    """Yield a line for each file that could not be parsed and was never ours."""
    for _name, files, _notes in done:
        for file in files:
            if file.action == "unread":
                reason = "it cannot be parsed, and lessons never changed it"
                yield f"Left {_short(file.path)} as it is: {reason}."


def _purge(state: str) -> None:
    """Delete the state folder, unless it is needed to restore the settings of a project."""
    if connected := list_connections():
        first = connected[0]
        where = f" in {_short(first.project)}" if first.project else ""
        raise InputError(
            f"{_short(first.path)} still calls lessons-kb, and its former content is in "
            f"{_short(state)}, which was kept; run `{first.command}`{where} first"
        )
    purge_state()


def _changed(plan: Sequence[Done]) -> list[FileChange]:
    return [one for _name, files, _notes in plan for one in files if one.diff]


def _print_done(done: Sequence[Done]) -> None:
    print_json([{"agent": name, "files": as_data(files)} for name, files, _notes in done])


def _tell_agents(plan: Sequence[Done], refused: list[str], *, state: str) -> Iterator[str]:
    """Yield a line for each agent: its files that would change, else the ``state`` it is in."""
    for name, files, _notes in plan:
        paths = [_short(one.path) for one in files if one.diff]
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield f"  {name:<12} {paths[0]}{more}" if paths else f"  {name:<12} {state}"
    yield from (f"  {visible(line)}" for line in refused)


def _tell_undo(plan: Sequence[Done], refused: list[str], state: str) -> Iterator[str]:
    """Yield the screen that says what would be taken back."""
    if plan or refused:
        yield "Agents to disconnect:"
        yield from _tell_agents(plan, refused, state="not connected")
    if state:
        yield f"Folder to delete, with journal, drafts, trash and trust:\n  {_short(state)}"


def _tell(plan: Sequence[Done], refused: list[str]) -> Iterator[str]:
    """Yield the screen that says what would be done."""
    yield "Agents found here, and what would be written:"
    yield from _tell_agents(plan, refused, state="connected already")
    yield "Each former file is kept; `lessons setup --undo` restores it."
    root = user_brain()
    if not count_cards(root):
        yield f"Your own brain, with one card to see arrive:\n  {_short(root)}"
    editors = [name for program, name in EDITORS.items() if shutil.which(program)]
    if editors:
        yield f"Not touched: {', '.join(editors)} (`lessons lsp` checks cards there)."
    top = find_project()
    if rules := [os.path.relpath(path, top) for path in find_rules_files(top)]:
        more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
        yield visible(f"Not touched: {rules[0]}{more}; `lessons diet` makes cards of such rules.")


def _tell_next(done: Sequence[Done], first: str) -> None:
    """Print what is left to do, and a prompt that draws a lesson."""
    names = [name for name, files, _notes in done if any(one.action != "foreign" for one in files)]
    print(f"Connected: {', '.join(names)}.")
    for name, _files, notes in done:
        warnings = [note for note in notes if note.startswith(BEWARE)]
        if name in names:
            print_wrapped(f"  {name}: {AGENTS[name].notes.splitlines()[0]}")
        for warning in warnings:
            print_wrapped(f"  {name}: {warning}")
    offer_removal(names)
    if not has_sdk():
        needed = f"`{install_command('mcp')}`, then `lessons setup` again"
        print_wrapped(f"`/lesson` in the chat needs the MCP server: {needed}.")
    if first:
        print(f"Open one of them in a new session and paste this:\n\n  {ASK}\n")


def _short(path: str) -> str:
    """Return a path that can be read, as the user would type it."""
    home = os.path.expanduser("~") + os.sep
    return visible(f"~/{path[len(home) :]}" if path.startswith(home) else path)
