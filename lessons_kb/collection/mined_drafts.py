"""Drafts of the mistakes that mining found."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Sequence
from functools import partial

from lessons_kb.brain.brains import Brains
from lessons_kb.calls.failure_signs import is_test
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.errors import GitError
from lessons_kb.find.project_detection import propose_pattern
from lessons_kb.mining.candidates import Candidate, is_code, typed_before
from lessons_kb.mining.draft_text import (
    MAX_DIFF,
    names_of,
    pick_hunks_with,
    sketch_candidate,
    split_files,
)
from lessons_kb.mining.triggers import REVIEW, Sighting
from lessons_kb.model import DONE
from lessons_kb.process.git import find_change, read_commit
from lessons_kb.store.repositories import git_top
from lessons_kb.text.redact import redact
from lessons_kb.values import replace

_TELLING = 5
"""Words by which a cause is found again in a diff."""


def draft(brains: Brains, candidates: Sequence[Candidate], count: int) -> list[Draft]:
    """Write drafts of the first ``count`` candidates that have none yet, and return them."""
    made: list[Draft] = []
    roots = {git_top(brains.directory) or brains.directory, brains.directory}
    ran = [
        event.text
        for brain in brains.members
        for event in brain.hook_journal.events.find(kinds=["command", "test"], outcomes=[*DONE])
    ]
    for place, candidate in enumerate(candidates):
        if len(made) >= count:
            break
        diff = tests = ""
        for commit in candidate.commits[:1]:
            with contextlib.suppress(GitError):
                whole = read_commit(brains.directory, commit.id)
                diff = _pick_code(whole, commit.causes)
                tests = "".join(p for p in split_files(whole) if is_test(names_of(p)[-1]))
        for one in candidate.sightings:
            diff = diff or _find_answer(brains.directory, one)
        # A card cannot guard a file that is gone.
        paths = tuple(
            path
            for path in candidate.paths
            if any(os.path.isfile(os.path.join(root, path)) for root in roots)
        )
        sketch = sketch_candidate(
            replace(candidate, paths=paths),
            prompts=typed_before(candidate),
            diff=redact(diff),
            tests=redact(tests) if tests not in diff else "",
            propose=partial(propose_pattern, brains.directory),
            ran=ran,
        )
        draft = Drafts(brains).add_mined(candidate, sketch, place=place)
        made += [draft] if draft is not None else []
    return made


def _find_answer(directory: str, seen: Sighting) -> str:
    """Return the change of the file to which a reviewer's comment led, "" where none is known."""
    line = seen.excerpt.rpartition("\n")[2][1:].strip()
    if seen.agent != REVIEW or not (line and seen.paths and seen.at):
        return ""
    since = dt.datetime.fromtimestamp(seen.at, dt.UTC).isoformat()
    with contextlib.suppress(GitError):
        commit = find_change(directory, line, seen.paths[0], since=since)
        parts = split_files(read_commit(directory, commit)) if commit else ()
        return "".join(part for part in parts if seen.paths[0] in names_of(part))
    return ""


def _pick_code(diff: str, causes: Sequence[str] = ()) -> str:
    """Return a diff without lessons, which would tell what is to be found out, and tests.

    The tests stay where nothing else is changed. Of a change that is too long to be shown, what
    stays is the hunks that give a cause.
    """
    parts = [(names_of(part)[-1], part) for part in split_files(diff)]
    parts = [(name, part) for name, part in parts if not name.endswith((".md", ".lock"))]
    code = [part for name, part in parts if is_code(name) and not is_test(name)]
    whole = "".join(code or [part for _name, part in parts])
    told = [cause.split(maxsplit=_TELLING)[:_TELLING] for cause in causes]
    if len(whole) <= MAX_DIFF or not told:
        return whole
    return "".join(pick_hunks_with(part, told) for part in code) or whole
