"""What counts as done: what was written and run, never what was read, nor the brain's own files.

A card that comes with its fix would else be found by its own words and be its own evidence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.check.claims import is_harmless, is_quiet
from lessons_kb.check.item_evidence import is_patch, read_patch
from lessons_kb.guards.file_names import relative_path
from lessons_kb.learn.test_runs import find_test_command
from lessons_kb.model import DONE, Command, Edit, Event, Evidence
from lessons_kb.process.git import Diff, read_diff
from lessons_kb.store.journal import Journal
from lessons_kb.store.locate import CACHE_NAME, CONFIG_NAME, state_home
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

WRITES, RUNS = ("edit", "create", "remove"), ("command", "test")
_MAX_EVENTS = 300
_SETTINGS = (CONFIG_NAME, IGNORE_NAME)


def read_change(brain: Layers, revision: str = "") -> Diff:
    """Return the diff to a revision, or of the working tree, without files of the brain itself."""
    globs = (*(f"*{suffix}" for suffix in SUFFIXES), *_SETTINGS, f"{CACHE_NAME}/**")
    own = [(layer.root, f"**/{glob}") for layer in brain.layers for glob in globs]
    drafts = (state_home(), "**")
    return read_diff(brain.directory, revision or None, without=[*own, drafts])


def find_evidence(
    events: Iterable[Event],
    layers: Sequence[Layer],
    *,
    earlier: Iterable[Event] = (),
    complete: bool = False,
) -> Evidence:
    """Return what some events of WRITES and RUNS did.

    ``earlier`` are those of the session before its last prompt. ``complete`` says that there were
    no others; a call by an unknown tool among them may have done anything.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for is_earlier, some in ((True, earlier), (False, events)):
        for call in _calls(some):
            complete = complete and not any(map(_may_do_anything, call))
            if _writes_own_files(call, layers):
                continue
            for event in call:
                edits += (replace(edit, earlier=is_earlier) for edit in _edits_of(event))
                commands += (replace(one, earlier=is_earlier) for one in _commands_of(event))
    return Evidence(edits=tuple(edits), commands=tuple(commands), complete=complete)


def find_session_evidence(
    journal: Journal, session: str, layers: Sequence[Layer], *, after: int, until: int | None = None
) -> Evidence:
    """Return what a session did, complete unless there was too much of it.

    What was journalled up to number ``after`` is ``earlier``; what came behind ``until`` is left
    out.
    """
    kinds = (*WRITES, *RUNS, "tool")
    done = journal.events.numbered(session=session, kinds=kinds, limit=_MAX_EVENTS)
    return find_evidence(
        [event for number, event in done if number > after and (not until or number <= until)],
        layers,
        earlier=[event for number, event in done if number <= after],
        complete=len(done) < _MAX_EVENTS,
    )


def _calls(events: Iterable[Event]) -> Iterable[list[Event]]:
    calls: dict[str, list[Event]] = {}
    for number, event in enumerate(events):
        calls.setdefault(event.id or str(number), []).append(event)
    return calls.values()


def read_command(line: str, *, failed: bool = False) -> Command:
    """Return a command line that was run, as evidence."""
    return Command(line=line, failed=failed, tests=find_test_command(line) is not None)


def read_diff_evidence(diff: Diff) -> Evidence:
    """Return a change that git tells of as evidence; nothing is known of what was run."""
    edits = read_patch(diff.text)
    named = {edit.path for edit in edits}
    edits += (Edit(path=path) for path in diff.files if path not in named)
    return Evidence(edits=tuple(edits))


def is_change(evidence: Evidence) -> bool:
    """Tell whether the turn changed anything, or ran a command that may have."""
    return any(not edit.earlier for edit in evidence.edits) or any(
        not command.earlier and not is_quiet(command) for command in evidence.commands
    )


def _may_do_anything(event: Event) -> bool:
    return event.kind == "tool" and event.outcome in DONE and not is_harmless(event.tool)


def _commands_of(event: Event) -> Iterator[Command]:
    if event.kind in RUNS and event.text and event.outcome in (*DONE, "exec_error"):
        yield read_command(event.text, failed=event.outcome == "exec_error")


def _edits_of(event: Event) -> Iterator[Edit]:
    if event.kind not in WRITES or event.outcome not in DONE:
        return
    told: list[Edit] = []
    if event.kind != "remove" and event.output:
        path = event.targets[0] if event.targets else ""
        told = read_patch(event.output, path=path) if is_patch(event.output) else []
        told = told or [Edit(path=path, text=event.output)]
        # opencode's diffs name files in full.
        told = [replace(edit, path=relative_path(edit.path, event.scope)) for edit in told]
    yield from told
    named = {edit.path for edit in told}
    yield from (Edit(path=path) for path in event.targets if path not in named)


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
