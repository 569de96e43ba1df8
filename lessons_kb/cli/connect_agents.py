"""Connect and disconnect agents and git, and print the changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lessons_kb.agents.install import install_agent
from lessons_kb.agents.install.install_agent import (
    NAMES,
    find_entries,
    find_notes,
    find_remaining,
)
from lessons_kb.agents.install.second_copies import find_second_copy
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
from lessons_kb.cli.output import confirm, options, print_json, print_wrapped
from lessons_kb.collection.git_merge import share, unshare
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import as_data
from lessons_kb.process.installation import install_command
from lessons_kb.store.files import shown
from lessons_kb.store.foreign_settings import FileChange
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import git_top
from lessons_kb.text.sanitize import visible
from lessons_kb.values import replace

GIT = "git"
"""The word that `install` accepts in place of the name of an agent."""


ACTION_TEXTS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
    "kept": "unchanged, because another agent uses the same entries",
    "foreign": "left as it is, because it is not ours",
    "unread": "left as it is: it cannot be parsed, and lessons never changed it",
    "edited": "kept, because somebody changed what lessons wrote there; delete it if you do not "
    "need it",
}


class AgentChanges(NamedTuple):
    """The changes after connecting or disconnecting one agent."""

    agent: str
    files: Sequence[FileChange]
    notes: list[str]
    """Advice for the user, one line each."""


BEWARE = "Beware: "
"""The beginnings of the notes that `lessons setup` also prints."""


_COMMIT = "Commit .gitattributes, so that every clone knows which files are cards."


_EVERY_CLONE = (
    "Git never takes a merge driver from a repository. In each clone, run `lessons install git` "
    "once; until then cards are merged line by line."
)


_NO_BRAIN = (
    "There is no brain in a git repository here; to set its attributes, run this inside one."
)


def _connect(
    name: str, *, undo: bool, dry_run: bool, via: str = "command", **scope: Any
) -> AgentChanges:
    """Connect or disconnect one agent, or git."""
    if name == GIT:
        return _connect_git(dry_run, undo=undo, **scope)
    fields = {"agent": name, "project": find_project(), "via": via, **scope}
    request = Request(entries=Entries(**NAMES), **fields)
    check_request(request)
    if undo:
        changes = install_agent.uninstall(request, dry_run=dry_run)
        return AgentChanges(name, changes, list(find_remaining(name, changes)))
    if via == "mcp" and not install_agent.has_sdk():
        raise InputError(f"--via mcp needs the MCP server; run `{install_command('mcp')}` first")
    entries = find_entries(without_folder=is_committed(request))
    request = replace(request, entries=entries, server=install_agent.has_sdk())
    changes = install_agent.install(request, dry_run=dry_run)
    notes = list(find_notes(request))
    copy = find_second_copy(name, request.project)
    if copy is not None:
        notes.append(f"{BEWARE}{copy.detail}; {copy.fix}.")
    return AgentChanges(name, changes, notes)


def connect_all(names: Iterable[str], **request: Any) -> tuple[list[AgentChanges], list[str]]:
    """Connect or disconnect several agents. Return the changes, and the errors as texts.

    The keyword arguments are those of ``_connect``.
    """
    results = []
    errors: list[str] = []
    for name in names:
        try:
            results.append(_connect(name, **request))
        except LessonsError as error:
            errors.append(f"{name}: {error}")
    return results, errors


def change_connections(name: str | None, dry_run: bool, *, all_: bool, **request: Any) -> None:
    """Connect or disconnect one agent, git, or all agents on this machine. Print the changes.

    The other keyword arguments are those of ``_connect``.
    """
    if all_ == bool(name):
        raise InputError(f"name one agent ({', '.join(AGENTS)}), or add --all for those found here")
    errors: list[str] = []
    if name:
        results = [_connect(name, dry_run=dry_run, **request)]
    else:
        results, errors = connect_all(filter(is_present, AGENTS), dry_run=dry_run, **request)
    if options().json:
        print_json([as_data(result._asdict()) for result in results])
    else:
        for result in results:
            _print_changes(result, dry_run=dry_run, undo=request["undo"])
    if not (dry_run or request["undo"]):
        offer_removal(result.agent for result in results)
    if errors or not results:
        raise InputError("; ".join(errors) or "no agent found on this machine; name one")


def offer_removal(names: Iterable[str]) -> None:
    """For each agent that reads a command twice, ask whether to remove the second copy."""
    project = find_project()
    for name in names:
        copy = find_second_copy(name, project) if name in AGENTS else None
        if copy is None or options().json:
            continue
        if confirm(f"{name}: disconnect the project, to remove {shown(copy.projects)}?"):
            for change in install_agent.uninstall(copy.removal):
                print_wrapped(visible(f"{name}: {change.path}: {ACTION_TEXTS[change.action]}"))


def _connect_git(dry_run: bool, *, undo: bool, **scope: Any) -> AgentChanges:
    """Configure git to merge cards key by key, or remove that configuration."""
    roots = options().brains
    if not roots:
        discovery = look(os.getcwd())
        own = os.path.realpath(user_brain())
        every_root = (*discovery.trusted, *discovery.untrusted)
        roots = tuple(root for root in every_root if root != own) or every_root
    if undo:
        return AgentChanges(GIT, unshare(roots, dry_run=dry_run, **scope), [])
    program = find_entries(without_folder=scope["shared"]).server
    changes = share(roots, program=program, dry_run=dry_run, **scope)
    notes = [_COMMIT, _EVERY_CLONE] if scope["shared"] else []
    if not any(map(git_top, roots)):
        notes.append(_NO_BRAIN)
    return AgentChanges(GIT, changes, notes)


def _print_changes(result: AgentChanges, *, dry_run: bool, undo: bool) -> None:
    if dry_run:
        for change in result.files:
            if change.diff:
                print(visible(change.diff))
    for change in result.files:
        would = "would be " if dry_run and change.diff else ""
        backup = f" (backup: {change.backup})" if change.backup else ""
        action = ACTION_TEXTS[change.action]
        if undo and change.action == "unchanged":
            action = "has no entries of lessons-kb"
        print_wrapped(visible(f"{result.agent}: {change.path}: {would}{action}{backup}"))
    for note in result.notes:
        print_wrapped(f"  → {note}")
