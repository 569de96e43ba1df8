"""Connect agents and git, and print what was changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from lessons_kb.agents.install import install_agent
from lessons_kb.agents.install.install_agent import (
    NAMES,
    find_entries,
    find_notes,
    find_remaining,
)
from lessons_kb.agents.install.settings_files import (
    Entries,
    Request,
    check_request,
    is_committed,
    is_present,
)
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.discovery import look
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import options, print_json, print_wrapped
from lessons_kb.collection.git_merge import share, unshare
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import as_data
from lessons_kb.process.installation import install_command
from lessons_kb.store.foreign_settings import FileChange
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import git_top
from lessons_kb.text.sanitize import visible
from lessons_kb.values import replace

GIT = "git"
"""Stands where `install` takes the name of an agent."""


WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
    "kept": "unchanged, because another agent uses the same entries",
    "foreign": "left as it is, because it is not ours",
    "unread": "left as it is: it cannot be parsed, and lessons never changed it",
}


Done = tuple[str, Sequence[FileChange], list[str]]
"""Agent, what was changed, notes on it."""


_COMMIT = "Commit .gitattributes, so that every clone knows which files are cards."


_EACH = (
    "Git never takes a merge driver from a repository. In each clone, run `lessons install git` "
    "once; until then cards are merged line by line."
)


_NO_BRAIN = "No brain in a git repository here; run this again inside one to set its attributes."


def _connect(
    name: str, *, undo: bool, dry_run: bool, via: str = "command", **scope: Any
) -> tuple[Sequence[FileChange], list[str]]:
    """Set up git or an agent, or undo it; return what was changed, and notes on it."""
    if name == GIT:
        return _share(dry_run, undo=undo, **scope)
    fields = {"agent": name, "project": find_project(), "via": via, **scope}
    request = Request(entries=Entries(**NAMES), **fields)
    check_request(request)
    if undo:
        changes = install_agent.uninstall(request, dry_run=dry_run)
        return changes, list(find_remaining(name, changes))
    if via == "mcp" and not install_agent.has_sdk():
        raise InputError(f"--via mcp needs the MCP server; run `{install_command('mcp')}` first")
    entries = find_entries(bare=is_committed(request))
    request = replace(request, entries=entries, server=install_agent.has_sdk())
    return install_agent.install(request, dry_run=dry_run), list(find_notes(request))


def connect_all(names: Iterable[str], **how: Any) -> tuple[list[Done], list[str]]:
    """Do it for each of some agents; return what came of each that took it, and the errors."""
    done = []
    refused: list[str] = []
    for name in names:
        try:
            done.append((name, *_connect(name, **how)))
        except LessonsError as error:
            refused.append(f"{name}: {error}")
    return done, refused


def set_up(name: str | None, dry_run: bool, *, all_: bool, **how: Any) -> None:
    """Set up git or an agent, or all that are here, or undo it, and print what was changed."""
    if all_ == bool(name):
        raise InputError(f"name one agent ({', '.join(AGENTS)}), or add --all for those found here")
    refused: list[str] = []
    if name:
        done = [(name, *_connect(name, dry_run=dry_run, **how))]
    else:
        done, refused = connect_all(filter(is_present, AGENTS), dry_run=dry_run, **how)
    if options().json:
        names = ("agent", "files", "notes")
        print_json([dict(zip(names, as_data(one), strict=True)) for one in done])
    else:
        for one, changes, notes in done:
            _print_changes(one, changes, notes, dry_run=dry_run, undo=how["undo"])
    if refused or not done:
        raise InputError("; ".join(refused) or "no agent found on this machine; name one")


def _share(dry_run: bool, *, undo: bool, **scope: Any) -> tuple[Sequence[FileChange], list[str]]:
    """Let git merge cards key by key, or stop it; return the changes, and notes on them."""
    roots = options().brains
    if not roots:
        found = look(os.getcwd())
        own = os.path.realpath(user_brain())
        known = (*found.trusted, *found.untrusted)
        roots = tuple(root for root in known if root != own) or known
    if undo:
        return unshare(roots, dry_run=dry_run, **scope), []
    program = find_entries(bare=scope["shared"]).server
    changes = share(roots, program=program, dry_run=dry_run, **scope)
    notes = [_COMMIT, _EACH] if scope["shared"] else []
    return changes, notes + ([] if any(map(git_top, roots)) else [_NO_BRAIN])


def _print_changes(
    name: str, changes: Sequence[FileChange], notes: Sequence[str], *, dry_run: bool, undo: bool
) -> None:
    for change in changes if dry_run else ():
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        would = "would be " if dry_run and change.diff else ""
        kept = f" (backup: {change.backup})" if change.backup else ""
        word = "nothing of ours in it" if undo and change.action == "unchanged" else ""
        done = f"{would}{word or WORDS[change.action]}{kept}"
        print_wrapped(visible(f"{name}: {change.path}: {done}"))
    for note in notes:
        print_wrapped(f"  → {note}")
