"""Set up the merge driver in git: what `lessons install git` does."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lessons_kb.cli.options import options, print_json
from lessons_kb.model import as_data
from lessons_kb.text.escape_controls import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.git_merge_setup import SharingChange

GIT = "git"
"""Stands where `install` takes the name of an agent."""
_WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
}
_COMMIT = "Commit .gitattributes, so that every clone knows which files are cards."
_EACH = (
    "Git never takes a merge driver from a repository. In each clone, run `lessons install git` "
    "once; until then cards are merged line by line."
)


_NO_BRAIN = "No brain in a git repository here; run this again inside one to set its attributes."


def set_up(*, scope: str, shared: bool, dry_run: bool, undo: bool) -> None:
    """Let git merge cards key by key, or stop it."""
    from lessons_kb.agents.install.own_programs import find_entries
    from lessons_kb.brain.git_merge_setup import share, unshare
    from lessons_kb.store.locate import git_top

    roots = _roots()
    notes: list[str] = []
    if undo:
        changes = unshare(roots, scope=scope, shared=shared, dry_run=dry_run)
    else:
        program = find_entries(bare=shared).server
        changes = share(roots, program=program, scope=scope, shared=shared, dry_run=dry_run)
        notes = [_COMMIT, _EACH] if shared else []
        notes += [] if any(map(git_top, roots)) else [_NO_BRAIN]
    if options().json:
        print_json([{"agent": GIT, "files": [as_data(c) for c in changes], "notes": notes}])
        return
    _print(changes, notes, dry_run=dry_run)


def _roots() -> Sequence[str]:
    from lessons_kb.brain.discovery import look
    from lessons_kb.store.locate import user_brain

    if options().brains:
        return options().brains
    found = look(os.getcwd())
    own = os.path.realpath(user_brain())
    roots = (*found.trusted, *found.untrusted)
    return [root for root in roots if root != own] or [root for root in roots if root == own]


def _print(changes: Sequence[SharingChange], notes: Sequence[str], *, dry_run: bool) -> None:
    for change in changes:
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        would = "would be " if dry_run and change.diff else ""
        print(visible(f"{GIT}: {change.path}: {would}{_WORDS[change.action]}"))
    for note in notes:
        print(f"  → {note}")
    sys.stdout.flush()
