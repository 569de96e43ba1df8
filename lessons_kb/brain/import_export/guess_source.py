"""What a file is that somebody wants to import, told by its name and its content."""

from __future__ import annotations

import json
import os

from lessons_kb.errors import InputError
from lessons_kb.importers.review_findings import read_review
from lessons_kb.store import import_files
from lessons_kb.transcripts.reader import detect_agent

GALANGAL, REVIEW, MEMORY, JSONL = SOURCES = ("galangal", "review", "memory", "jsonl")
TRANSCRIPT = "transcript"
NAMES = {
    GALANGAL: "a database of mistakes",
    REVIEW: "a review",
    MEMORY: "notes for agents",
    JSONL: "lessons, one a line",
    TRANSCRIPT: "an agent's session",
}
"""Source → what it is called in a message."""

_KNOWN = (
    *("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules"),
    *(".cursor/rules", ".github/copilot-instructions.md", ".github/instructions"),
)
"""What a project keeps for its agents, relative to its root."""
_TEXTS = (".md", ".mdc", ".markdown", ".txt")
_SQLITE = b"SQLite format 3\0"
_HEAD = 1 << 20
"""Bytes by which a file is told."""


def find_files(path: str) -> list[str]:
    """Return the files that a path means: itself, or the notes in a folder.

    In a project's root these are the files that agents read; else all texts of the folder. Raises
    InputError for a folder without any.
    """
    if not os.path.isdir(path):
        return [path]
    known = [os.path.join(path, name) for name in _KNOWN]
    folders = [path] if not any(map(os.path.exists, known)) else filter(os.path.isdir, known)
    found = [one for one in known if os.path.isfile(one)]
    for folder in folders:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_TEXTS))
        paths = (os.path.join(folder, name) for name in names)
        found += filter(os.path.isfile, paths)
    if not found:
        raise InputError(f"{path} holds no notes (*.md, *.mdc, *.txt); give a file")
    return [os.path.normpath(one) for one in found]


def guess_source(path: str) -> str:
    """Return one of SOURCES or TRANSCRIPT; raises StorageError for a file that cannot be read."""
    head = import_files.read_head(path, _HEAD)
    if head.startswith(_SQLITE):
        return GALANGAL
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if first.startswith(b"{") or path.endswith((".jsonl", ".ndjson")):
        return TRANSCRIPT if _is_transcript(first) else JSONL
    if path.endswith(".json"):
        return TRANSCRIPT
    found = read_review(head.decode("utf-8", "replace").replace("\r\n", "\n"), name=path)
    return REVIEW if found.lessons or found.passed_over else MEMORY


def _is_transcript(head: bytes) -> bool:
    """Tell by the first lines whether an agent wrote them; a whole document counts as one."""
    for text in (*head.split(b"\n", 20)[:20], head):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and detect_agent(data):
            return True
    return False
