"""Describe, for people, the origins of the lesson of a card."""

from __future__ import annotations

import contextlib
import re

from lessons_kb.cards.sources import read_sources_of
from lessons_kb.errors import GitError
from lessons_kb.model import COMMIT_SOURCE, FILE_SOURCE, REQUEST_SOURCE, SESSION_SOURCE, Source
from lessons_kb.process.git_history import CommitLine, read_commit_line
from lessons_kb.text.sanitize import clean_line

_HASH = re.compile(r"[0-9a-f]{7,40}")


def describe_sources(text: str, *, directory: str = "") -> list[str]:
    """Return a line for each source of a card or draft with this text.

    With ``directory``, a folder of the project, commits are looked up in git.
    """
    return [_describe(source, directory) for source in read_sources_of(text)]


def describe_rest(text: str) -> str:
    """Return where the evidence is that an accepted draft left out of its card, or "".

    ``text`` is the text of the draft.
    """
    for source in read_sources_of(text):
        if source.scheme == COMMIT_SOURCE and _HASH.fullmatch(source.name):
            return f"`git show {source.name[:8]}` shows the rest of its evidence"
    return ""


def _describe(source: Source, directory: str) -> str:
    title, day = source.title, source.last_modified[:10]
    commit = _find_commit(source, directory) if directory else None
    if commit is not None:
        title, day = commit.subject, commit.day
    facts = ", ".join(filter(None, (title, day)))
    if source.scheme == COMMIT_SOURCE:
        name = f"commit {source.name}"
    elif source.scheme == REQUEST_SOURCE:
        name = f"pull request {source.name}"
    elif source.scheme == SESSION_SOURCE:
        name = f"session {source.name}"
    elif source.scheme == FILE_SOURCE:
        name = source.name.replace("#L", ":")
    else:
        name = source.resource
    line = f"from {name}"
    if facts:
        line += f": {facts}"
    if source.quote:
        line += f"; \u201c{source.quote}\u201d"
    if source.scheme == COMMIT_SOURCE and directory and commit is None:
        line += " (not in this repository)"
    return clean_line(line)


def _find_commit(source: Source, directory: str) -> CommitLine | None:
    """Return git's data about the commit of a source, or None if git does not have the commit."""
    if source.scheme != COMMIT_SOURCE or not _HASH.fullmatch(source.name):
        return None
    with contextlib.suppress(GitError):
        return read_commit_line(directory, source.name)
    return None
