"""What counts as done: what was written and run, never what was read, nor the brain's own files.

A card that comes with its fix would else be found by its own words and be its own evidence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.model import DONE, Event
from lessons_kb.process.git import Diff, read_diff
from lessons_kb.store.locate import CACHE_NAME, CONFIG_NAME, state_home
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

WRITES, RUNS = ("edit", "create", "remove"), ("command", "test")
_SETTINGS = (CONFIG_NAME, IGNORE_NAME)
_PATCHES, _PATCHED = ("*** Begin Patch", "\n@@ -"), ("+", "-", "*")
"""What shows a patch, and how those of its lines begin that are not around the change."""


def read_change(brain: Layers, revision: str = "") -> Diff:
    """Return the diff to a revision, or of the working tree, without files of the brain itself."""
    globs = (*(f"*{suffix}" for suffix in SUFFIXES), *_SETTINGS, f"{CACHE_NAME}/**")
    own = [(layer.root, f"**/{glob}") for layer in brain.layers for glob in globs]
    drafts = (state_home(), "**")
    return read_diff(brain.directory, revision or None, without=[*own, drafts])


def find_evidence(events: Iterable[Event], layers: Sequence[Layer]) -> list[str]:
    """Return what some events of WRITES and RUNS did, one text each.

    Of an edit or a creation that is its files and the text written, of a command the line alone.
    """
    calls: dict[str, list[Event]] = {}
    for number, event in enumerate(events):
        calls.setdefault(event.id or str(number), []).append(event)
    return [
        text
        for call in calls.values()
        if not _writes_own_files(call, layers)
        for event in call
        if (text := _deed(event))
    ]


def _deed(event: Event) -> str:
    if event.kind in RUNS:
        return event.text if event.outcome in (*DONE, "exec_error") else ""
    if event.kind not in WRITES or event.outcome not in DONE:
        return ""
    written = event.output
    if any(sign in written for sign in _PATCHES):
        written = "\n".join(line for line in written.splitlines() if line.startswith(_PATCHED))
    return "\n".join((*event.targets, event.text, written)).strip()


def _writes_own_files(call: Iterable[Event], layers: Sequence[Layer]) -> bool:
    """Tell whether all files that a call wrote belong to a brain; not, if it wrote none."""
    written = [
        os.path.normpath(os.path.join(event.scope, target))
        for event in call
        if event.kind in WRITES
        for target in event.targets
    ]
    return bool(written) and all(any(_is_own(p, one.root) for one in layers) for p in written)


def _is_own(path: str, root: str) -> bool:
    inside = os.path.relpath(path, root).split(os.sep)
    if inside[0] == os.pardir:
        return False
    return inside[-1].endswith(SUFFIXES) or inside[-1] in _SETTINGS or CACHE_NAME in inside
