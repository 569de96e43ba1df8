"""`lessons setup`: connect the agents found here, and see a lesson arrive."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from typer import Option

from lessons_kb.agents.install.install_agent import has_sdk
from lessons_kb.agents.install.settings_files import is_present
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.make_brain import count_cards, take_first_lesson, write_first_lesson
from lessons_kb.cli.connect_agents import Done, connect_all
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import confirm, options, print_answer, print_json, print_wrapped
from lessons_kb.collection.exchange import find_rules_files
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.process.installation import install_command
from lessons_kb.store.locations import user_brain
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
            help="Disconnect the agents, restore their former files, remove the first lesson.",
        ),
    ] = False,
) -> None:
    """Connect the agents found here, and see a lesson arrive.

    Shows what it would change and asks once. Comments and other entries of the agents' settings
    stay. `lessons install` connects one agent, or a project.

    Example: lessons setup --yes
    """
    how: dict[str, Any] = {"undo": undo, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = connect_all(present, dry_run=True, **how)
    if not plan and not undo:
        raise InputError("; ".join(refused) or NOBODY)
    if not options().json:
        print("\n".join(_tell(plan, refused, undo=undo)))
    changes = [one for _name, files, _notes in plan for one in files if one.diff]
    if not (changes or refused or (not undo and not count_cards(user_brain()))):
        gone = take_first_lesson() if undo else ""
        print_answer([], f"Removed {_short(gone)}." if gone else "Nothing to change.")
        return
    if not yes and not confirm("Disconnect them?" if undo else "Connect them?"):
        again = "lessons setup --undo --yes" if undo else "lessons setup --yes"
        raise InputError(f"nothing was changed; agree to it, or run `{again}`")
    done, refused = connect_all(present, dry_run=False, **how)
    first = take_first_lesson() if undo else write_first_lesson()
    if options().json:
        print_json([{"agent": name, "files": as_data(files)} for name, files, _notes in done])
    elif undo:
        print("Disconnected. What was observed stays; a running session gets no more lessons.")
    else:
        _tell_next(done, first)
    if refused:
        raise InputError("; ".join(refused))


def _tell(plan: Sequence[Done], refused: list[str], *, undo: bool) -> Iterator[str]:
    """Yield the screen that says what would be done."""
    yield "Agents to disconnect:" if undo else "Agents found here, and what would be written:"
    for name, files, _notes in plan:
        paths = [_short(one.path) for one in files if one.diff]
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        state = "not connected" if undo else "connected already"
        yield f"  {name:<12} {paths[0]}{more}" if paths else f"  {name:<12} {state}"
    yield from (f"  {visible(line)}" for line in refused)
    if undo:
        return
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
    for name in names:
        print_wrapped(f"  {name}: {AGENTS[name].notes.splitlines()[0]}")
    if not has_sdk():
        needed = f"`{install_command('mcp')}`, then `lessons setup` again"
        print_wrapped(f"`/lesson` in the chat needs the MCP server: {needed}.")
    if first:
        print(f"Open one of them in a new session and paste this:\n\n  {ASK}\n")


def _short(path: str) -> str:
    """Return a path that can be read, as the user would type it."""
    home = os.path.expanduser("~") + os.sep
    return visible(f"~/{path[len(home) :]}" if path.startswith(home) else path)
