"""What `install` and `uninstall` share: each agent in turn, and what is printed of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.line_wrapping import print_wrapped
from lessons_kb.cli.options import options, print_json, say
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import as_data
from lessons_kb.process.installation import install_command
from lessons_kb.text.escape_controls import visible

if TYPE_CHECKING:
    from lessons_kb.agents.install.install_agent import Change
    from lessons_kb.agents.install.settings_files import Request

Agent = Annotated[
    str | None,
    typer.Argument(
        metavar="AGENT",
        help="claude-code, codex, gemini-cli, cursor, copilot-cli, vscode, opencode; or git.",
    ),
]
Scope = Annotated[str, typer.Option(help="user: all projects; project: this one.")]
Shared = Annotated[
    bool, typer.Option("--shared", help="Use the committed settings file of the project.")
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Show the diff without writing.")]
Every = Annotated[bool, typer.Option("--all", help="Every agent found on this machine.")]
WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
    "kept": "unchanged, because another agent uses the same entries",
    "foreign": "left as it is, because it is not ours",
}


def install_or_remove(
    agent: str | None, every: bool, *, dry_run: bool, undo: bool, **fields: Any
) -> None:
    """Set up one agent or all, or undo it, and print what was changed."""
    from lessons_kb.agents.install.install_agent import install as set_up
    from lessons_kb.agents.install.install_agent import uninstall as take_out
    from lessons_kb.agents.install.next_steps import find_notes

    done: list[dict[str, Any]] = []
    failed = None
    for name in find_agents(agent, every, undo=undo):
        try:
            request = make_request(name, undo=undo, **fields)
            changes = (take_out if undo else set_up)(request, dry_run=dry_run)
        except LessonsError as error:
            if not every:
                raise
            failed = error
            say(f"{name}: {error}")
            continue
        notes = [] if undo else list(find_notes(request))
        done.append(
            {"agent": name, "files": [as_data(change) for change in changes], "notes": notes}
        )
        if not options().json:
            print_changes(name, changes, notes, dry_run=dry_run)
    if options().json:
        print_json(done)
    if failed is not None:
        raise typer.Exit(2)


def find_agents(agent: str | None, every: bool, *, undo: bool = False) -> list[str]:
    """Return the agent that was named, or every one found on this machine."""
    from lessons_kb.agents.capabilities import AGENTS
    from lessons_kb.agents.install.settings_files import is_present

    if every == (agent is not None):
        raise InputError(f"give one agent ({', '.join(AGENTS)}), or use --all")
    if agent is not None:
        return [agent]
    found = [name for name in AGENTS if is_present(name)]
    if not found and undo:
        say("no agent found on this machine; nothing to remove")
    elif not found:
        first, *others = AGENTS
        raise InputError(
            f"no agent found on this machine; `lessons install {first}` connects it all the same, "
            f"and so for {', '.join(others)}"
        )
    return found


def make_request(name: str, *, undo: bool, **fields: Any) -> Request:
    """Return what is to be set up in an agent, checked; InputError where it cannot be."""
    from lessons_kb.agents.install.own_programs import NAMES, find_entries, has_sdk
    from lessons_kb.agents.install.settings_files import (
        Entries,
        Request,
        check_request,
        is_committed,
    )
    from lessons_kb.store.locate import git_top

    here = os.path.realpath(os.getcwd())
    request = Request(agent=name, project=git_top(here) or here, entries=Entries(**NAMES), **fields)
    check_request(request)
    if undo:
        return request
    bare = is_committed(request)
    if request.via == "mcp" and not has_sdk():
        raise InputError(f"--via mcp needs the MCP server; run `{install_command('mcp')}` first")
    return replace(request, entries=find_entries(bare=bare), server=has_sdk())


def print_changes(name: str, changes: list[Change], notes: list[str], *, dry_run: bool) -> None:
    """Print the differences, the files and the notes of one agent."""
    for change in changes:
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        word = WORDS[change.action]
        backup = f" (backup: {change.backup})" if change.backup else ""
        would = "would be " if dry_run and change.diff else ""
        print_wrapped(visible(f"{name}: {change.path}: {would}{word}{backup}"), hang=2)
    for note in notes:
        print_wrapped(f"  → {note}", hang=2)
