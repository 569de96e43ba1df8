"""The diffs of git, as evidence for a check."""

from __future__ import annotations

from lessons_kb.brain.brains import Brains
from lessons_kb.model import Edit, Evidence
from lessons_kb.outcome.session_evidence import SETTINGS
from lessons_kb.postcheck.item_states import read_patch
from lessons_kb.process.git import Diff, read_diff
from lessons_kb.store.locations import CACHE_NAME, state_home
from lessons_kb.store.scan import SUFFIXES


def read_change(brains: Brains, revision: str = "") -> Diff:
    """Return the diff to a revision, or of the working tree, without the files of the brains."""
    globs = (*(f"*{suffix}" for suffix in SUFFIXES), *SETTINGS, f"{CACHE_NAME}/**")
    own = [(brain.root, f"**/{glob}") for brain in brains.members for glob in globs]
    drafts = (state_home(), "**")
    return read_diff(brains.directory, revision or None, without=[*own, drafts])


def read_diff_evidence(diff: Diff) -> Evidence:
    """Return a diff of git as evidence, without commands."""
    edits = read_patch(diff.text)
    patched = {edit.path for edit in edits}
    edits += [Edit(path=path) for path in diff.files if path not in patched]
    return Evidence(edits=tuple(edits))
