"""The edits and commands of a session, as evidence for a check.

Only edits and commands are evidence. Reading is not evidence. Changes to the brain's own files are
not evidence either, because a card that comes with its fix would be evidence for itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.calls.failure_signs import RUNS, find_test_command
from lessons_kb.model import CHANGES, DONE, Command, Edit, Event, Evidence
from lessons_kb.postcheck.claims import is_harmless, is_quiet
from lessons_kb.postcheck.item_states import is_patch, read_patch
from lessons_kb.store.journal import Journal
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES
from lessons_kb.text.paths import relative_path
from lessons_kb.values import replace

MAX_EVENTS = 300
SETTINGS = (CONFIG_NAME, IGNORE_NAME)
"""The names of a brain's settings files."""


def find_evidence(
    events: Iterable[Event],
    brains: Sequence[Brain],
    *,
    earlier: Iterable[Event] = (),
    complete: bool = False,
) -> Evidence:
    """Return the edits and commands of some events.

    ``earlier`` are the events of the session before its last prompt. ``complete`` states that there
    were no other events. The evidence is still incomplete if an unknown tool was called, because
    the tool may have done anything.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for is_earlier, phase in ((True, earlier), (False, events)):
        calls: dict[str, list[Event]] = {}
        for number, event in enumerate(phase):
            calls.setdefault(event.id or f"#{number}", []).append(event)
            if event.kind == "tool" and event.outcome in DONE and not is_harmless(event.tool):
                complete = False
        for call in calls.values():
            if _writes_only_brains(call, brains):
                continue
            for event in call:
                if event.kind in CHANGES and event.outcome in DONE:
                    edits += [replace(edit, earlier=is_earlier) for edit in _read_edits(event)]
                elif event.kind in RUNS and event.text and event.outcome in (*DONE, "exec_error"):
                    command = read_command(event.text, failed=event.outcome == "exec_error")
                    commands.append(replace(command, earlier=is_earlier))
    return Evidence(edits=tuple(edits), commands=tuple(commands), complete=complete)


def _writes_only_brains(call: Sequence[Event], brains: Sequence[Brain]) -> bool:
    """Return whether a call writes files, and all of them belong to brains."""
    targets: list[str] = []
    for event in call:
        if event.kind in CHANGES:
            paths = [os.path.join(event.scope, target) for target in event.targets]
            targets += map(os.path.normpath, paths)
    if not targets:
        return False
    return all(any(_is_own(target, brain.root) for brain in brains) for target in targets)


def find_session_evidence(
    journal: Journal, session: str, brains: Sequence[Brain], *, after: int, until: int | None = None
) -> Evidence:
    """Return the edits and commands of a session. They are complete unless it has too many events.

    Events up to the number ``after`` are ``earlier``, and events after the number ``until`` are
    left out.
    """
    kinds = (*CHANGES, *RUNS, "tool")
    numbered = journal.events.numbered(session=session, kinds=kinds, limit=MAX_EVENTS)
    earlier: list[Event] = []
    events: list[Event] = []
    for number, event in numbered:
        if number <= after:
            earlier.append(event)
        elif not until or number <= until:
            events.append(event)
    is_complete = len(numbered) < MAX_EVENTS
    return find_evidence(events, brains, earlier=earlier, complete=is_complete)


def read_command(line: str, *, failed: bool = False) -> Command:
    """Return a command line that was run, as evidence."""
    return Command(line=line, failed=failed, tests=find_test_command(line) is not None)


def is_change(evidence: Evidence) -> bool:
    """Return whether the turn changed anything, or ran a command that may have changed anything."""
    if any(not edit.earlier for edit in evidence.edits):
        return True
    return any(not command.earlier and not is_quiet(command) for command in evidence.commands)


def _read_edits(event: Event) -> list[Edit]:
    """Return the edits of an event, one for each file or part of its patch."""
    edits: list[Edit] = []
    if event.kind != "remove" and event.output:
        path = event.targets[0] if event.targets else ""
        edits = read_patch(event.output, path=path) if is_patch(event.output) else []
        edits = edits or [Edit(path=path, text=event.output)]
        # The diffs of opencode have absolute paths.
        edits = [replace(edit, path=relative_path(edit.path, event.scope)) for edit in edits]
    patched = {edit.path for edit in edits}
    return edits + [Edit(path=path) for path in event.targets if path not in patched]


def _is_own(path: str, root: str) -> bool:
    """Return whether a file is a card, a note or a settings file of the brain at ``root``."""
    inside = os.path.relpath(path, root).split(os.sep)
    own = inside[-1].endswith(SUFFIXES) or inside[-1] in SETTINGS or CACHE_NAME in inside
    return own and inside[0] != os.pardir
