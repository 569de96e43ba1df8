"""Find the lessons that agents and people already wrote down, in files that `import` reads."""

from __future__ import annotations

import glob
import os
import re

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.file_kinds import is_note_name
from lessons_kb.model import NOTE
from lessons_kb.store.repositories import git_top

_IN_PROJECT = (
    *("tasks/lessons.md", ".ai/lessons.md", "lessons.md", "LESSONS.md", "LESSONS_LEARNED.md"),
    *("lessons-learned.md", "docs/lessons-learned.md", "docs/LESSONS_LEARNED.md"),
    *("docs/solutions/**/*.md", ".cursor/rules/**/*.mdc"),
    ".github/instructions/**/*.instructions.md",
)
"""Globs relative to a project's root."""
_LONGEST_NAME = 200
"""In characters. Claude Code cuts a longer name of a project's folder."""


def find_kept_lessons(brains: Brains, *, claude: str, codex: str) -> list[str]:
    """Return the files with lessons that agents and people wrote for the open project.

    These are the memories of Claude Code and Codex about it, and the files in the project that are
    not yet cards. ``claude`` and ``codex`` are the folders of the two agents.
    """
    root = git_top(brains.directory) or brains.directory
    paths = [*find_memories(root, claude, codex), *_find_in_project(root)]
    cards = _list_cards(brains)
    return [path for path in dict.fromkeys(paths) if os.path.realpath(path) not in cards]


def find_memories(root: str, claude: str, codex: str) -> list[str]:
    """Return the memory files of the two agents about a project."""
    project = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(root))[:_LONGEST_NAME]
    folder = os.path.join(glob.escape(claude), "projects", glob.escape(project), "memory")
    handbook = os.path.join(codex, "memories", "MEMORY.md")
    memories = sorted(glob.glob(os.path.join(folder, "**", "*.md"), recursive=True))
    return [*memories, *([handbook] if os.path.isfile(handbook) else [])]


def _find_in_project(root: str) -> list[str]:
    files: list[str] = []
    for pattern in _IN_PROJECT:
        path = os.path.join(glob.escape(root), *pattern.split("/"))
        files += sorted(glob.glob(path, recursive=True, include_hidden=True))
    return [path for path in files if not is_note_name(os.path.basename(path))]


def _list_cards(brains: Brains) -> frozenset[str]:
    """Return the files on disk that are already cards of a brain, or copies of cards."""
    brains.refresh()
    files: set[str] = set()
    for brain in brains.members:
        for card in brain.read(lambda opened: opened.catalogue.all_cards()):
            if card.kind != NOTE:
                files.add(os.path.realpath(os.path.join(brain.root, card.id)))
        copies = brain.read(lambda opened: opened.catalogue.copies())
        files.update(os.path.realpath(os.path.join(brain.root, path)) for path in copies)
    return frozenset(files)
