"""What counts as done: what was written and run, never what was read, nor the brain's own files.

A card that comes with its fix would else be found by its own words and be its own evidence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lessons_kb.brain.detection import find_in_evidence
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.shared_server import read_card
from lessons_kb.check.claims import is_harmless, is_quiet
from lessons_kb.check.item_states import (
    check_items,
    format_request,
    is_patch,
    read_closings,
    read_patch,
    read_verdicts,
)
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.guards.file_names import relative_path
from lessons_kb.learn.failure_signs import CHANGES, RUNS, find_test_command
from lessons_kb.learn.lesson_effect import ADDRESSED, UNADDRESSED
from lessons_kb.model import DONE, SHOWN, Card, Check, CheckedItem, Command, Edit, Event, Evidence
from lessons_kb.process.git import Diff, read_diff
from lessons_kb.process.run import run_filter
from lessons_kb.store.files import read_inside
from lessons_kb.store.journal import Journal
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES
from lessons_kb.store.settings import JudgeSettings, read_user_settings
from lessons_kb.store.user_state import CACHE_NAME, CONFIG_NAME, state_home


def count_items(given: Sequence[tuple[Layer, Card]], check: Check, *, at: float) -> None:
    """Count for each card how many of its items were visible in the answer, and how many not."""
    for layer, card in given:
        shown = [item.state == SHOWN for item in check.items if item.card is card]
        with layer.hook_journal.transaction():
            for what, is_shown in ((UNADDRESSED, False), (ADDRESSED, True)):
                if times := shown.count(is_shown):
                    layer.hook_journal.outcomes.count(card.id, what, at=at, times=times)


def judge(check: Check, answer: str, evidence: Evidence, *, within: float = 0.0) -> Check:
    """Return a check as the user's program sees it, the same check where there is none.

    ``within`` seconds it has to be done, where that is less than the user allows; 0 = no limit of
    its own. Whatever goes wrong is the check's ``trouble``, and the built-in verdict holds.
    """
    if not check.items:
        return check
    try:
        settings = read_user_settings(JudgeSettings)
        if not settings.command.strip():
            return check
        seconds = min(settings.seconds, within) if within else settings.seconds
        request = format_request(check, answer, evidence)
        output = run_filter(settings.command, request, seconds=seconds)
        return read_verdicts(check, output, answer)
    except (ConfigError, InputError) as error:
        return replace(check, trouble=f"check.command had no say: {error}")


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
    """Return what some changes and runs did.

    ``earlier`` are those of the session before its last prompt. ``complete`` says that there were
    no others; a call by an unknown tool among them may have done anything.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for is_earlier, some in ((True, earlier), (False, events)):
        calls: dict[str, list[Event]] = {}
        for number, event in enumerate(some):
            calls.setdefault(event.id or f"#{number}", []).append(event)
            if event.kind == "tool" and event.outcome in DONE and not is_harmless(event.tool):
                complete = False
        for call in calls.values():
            written = [
                os.path.normpath(os.path.join(event.scope, target))
                for event in call
                if event.kind in CHANGES
                for target in event.targets
            ]
            if written and all(any(_is_own(p, one.root) for one in layers) for p in written):
                continue
            for event in call:
                if event.kind in CHANGES and event.outcome in DONE:
                    edits += (replace(edit, earlier=is_earlier) for edit in _edits_of(event))
                elif event.kind in RUNS and event.text and event.outcome in (*DONE, "exec_error"):
                    done = read_command(event.text, failed=event.outcome == "exec_error")
                    commands.append(replace(done, earlier=is_earlier))
    return Evidence(edits=tuple(edits), commands=tuple(commands), complete=complete)


def find_session_evidence(
    journal: Journal, session: str, layers: Sequence[Layer], *, after: int, until: int | None = None
) -> Evidence:
    """Return what a session did, complete unless there was too much of it.

    What was journalled up to number ``after`` is ``earlier``; what came behind ``until`` is left
    out.
    """
    kinds = (*CHANGES, *RUNS, "tool")
    done = journal.events.numbered(session=session, kinds=kinds, limit=_MAX_EVENTS)
    return find_evidence(
        [event for number, event in done if number > after and (not until or number <= until)],
        layers,
        earlier=[event for number, event in done if number <= after],
        complete=len(done) < _MAX_EVENTS,
    )


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


def _edits_of(event: Event) -> list[Edit]:
    edits: list[Edit] = []
    if event.kind != "remove" and event.output:
        path = event.targets[0] if event.targets else ""
        edits = read_patch(event.output, path=path) if is_patch(event.output) else []
        edits = edits or [Edit(path=path, text=event.output)]
        # opencode's diffs name files in full.
        edits = [replace(edit, path=relative_path(edit.path, event.scope)) for edit in edits]
    named = {edit.path for edit in edits}
    return edits + [Edit(path=path) for path in event.targets if path not in named]


def _is_own(path: str, root: str) -> bool:
    inside = os.path.relpath(path, root).split(os.sep)
    own = inside[-1].endswith(SUFFIXES) or inside[-1] in _SETTINGS or CACHE_NAME in inside
    return own and inside[0] != os.pardir


_CHECKED = "checked"
"""Key of an answer's record: [root, card id, number in the block or 0] of the lessons that it was
held against, and those that a server told."""
_FIELDS = 3
_MAX_ANSWERS = 50
_MAX_FILE = 1_000_000
"""Bytes of a file in which a line is looked for."""


def note_checked(
    journal: Journal,
    answer: Event,
    cards: Sequence[Sequence[str]],
    numbered: Mapping[int, str],
    served: Sequence[dict[str, Any]] = (),
) -> None:
    """Remember which lessons an answer, as it was journalled, was held against.

    ``cards`` are (root, id); ``numbered`` maps their numbers in the block to ids; ``served`` are
    those that a server told.
    """
    ranks = {card: rank for rank, card in numbered.items()}
    local = [[*pair, ranks.get(pair[-1], 0)] for pair in cards]
    journal.events.tell(answer, _CHECKED, [*local, *served])


def check_answer(
    brain: Layers,
    text: str,
    cards: Sequence[Card],
    evidence: Evidence,
    numbered: Mapping[int, str],
    *,
    look: bool = True,
) -> Check:
    """Return the check of an answer in an agent, before the user's program has its say.

    ``numbered`` maps numbers in the block to ids; unless we may ``look``, no file is read.
    """
    closings = read_closings(text, numbered, {card.id: card.checklist for card in cards})
    detected = find_in_evidence(brain, evidence, look=look)
    return check_items(cards, text, evidence, detected, closings=closings)


def check_last(brain: Layers, session: str | None = None) -> Check:
    """Return the check of the latest answer that lessons were given for, in a session or in any.

    Lines of edits come with their numbers in the files as they are now. Raises InputError where no
    such answer is known.
    """
    layers = brain.layers
    events = layers[0].journal.events
    answers = events.numbered(session=session, kinds=("answer",), limit=_MAX_ANSWERS)
    checked = [(n, one) for n, one in answers if isinstance(one.record.get(_CHECKED), list)]
    if not checked:
        raise InputError("no answer with lessons yet; run a task in an agent, or pass an answer")
    number, answer = checked[-1]
    given: Any = answer.record[_CHECKED]
    prompts = events.numbered(session=answer.session, kinds=("prompt",))
    after = max((at for at, _event in prompts if at < number), default=-1)
    evidence = find_session_evidence(
        layers[0].journal, answer.session, layers, after=after, until=number
    )
    local = [one for one in given if isinstance(one, list) and len(one) == _FIELDS]
    cards = [read_card(one) for one in given if isinstance(one, dict)]
    for layer in reversed(layers):
        ids = {str(name) for root, name, _rank in local if root == layer.root}
        cards = [*find_cards(layer, ids), *cards]
    numbered = {int(rank): str(name) for _root, name, rank in local if rank}
    check = check_answer(brain, answer.text, cards, evidence, numbered)
    check = judge(check, answer.text, evidence)
    return replace(check, items=tuple(_locate(x, answer.scope, evidence) for x in check.items))


def _locate(item: CheckedItem, scope: str, evidence: Evidence) -> CheckedItem:
    """Add the number of the line that an item's quote has in its file today, if it is there."""
    if not item.quote or all(edit.path != item.where for edit in evidence.edits):
        return item
    root, name = os.path.split(os.path.normpath(os.path.join(scope, item.where)))
    try:
        lines = read_inside(root, name, limit=_MAX_FILE).decode("utf-8", "replace").splitlines()
    except (StorageError, OSError):
        return item
    number = next((n for n, line in enumerate(lines, 1) if line.strip() == item.quote), 0)
    return replace(item, where=f"{item.where}:{number}") if number else item
