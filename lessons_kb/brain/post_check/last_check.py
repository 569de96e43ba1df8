"""The post-check of the latest answer, once more and in full."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lessons_kb.brain.detect_in_change import find_in_evidence
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.post_check.judge import judge
from lessons_kb.brain.post_check.work_done import find_session_evidence
from lessons_kb.brain.shared_server.served_cards import read_card
from lessons_kb.check.item_closings import read_closings
from lessons_kb.check.item_states import check_items
from lessons_kb.errors import InputError, StorageError
from lessons_kb.model import Card, Check, CheckedItem, Event, Evidence
from lessons_kb.store.disk import read_inside
from lessons_kb.store.journal import Journal

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


def check_last(brain: Layers, session: str | None = None) -> Check:
    """Return the check of the latest answer that lessons were given for, in a session or in any.

    Lines of edits come with their numbers in the files as they are now. Raises InputError where no
    such answer is known.
    """
    layers = brain.layers
    journal = layers[0].journal
    answers = journal.events.numbered(session=session, kinds=("answer",), limit=_MAX_ANSWERS)
    checked = [
        (number, answer, told)
        for number, answer in answers
        if isinstance(told := answer.record.get(_CHECKED), list)
    ]
    if not checked:
        raise InputError("no answer with lessons yet; run a task in an agent, or pass an answer")
    number, answer, given = checked[-1]
    prompts = journal.events.numbered(session=answer.session, kinds=("prompt",))
    after = max((at for at, _event in prompts if at < number), default=-1)
    evidence = find_session_evidence(journal, answer.session, layers, after=after, until=number)
    told = [one for one in given if isinstance(one, list) and len(one) == _FIELDS]
    served = [read_card(one) for one in given if isinstance(one, dict)]
    cards = _cards(layers, told) + served
    numbered = {int(rank): str(name) for _root, name, rank in told if rank}
    checklists = {card.id: card.checklist for card in cards}
    closings = read_closings(answer.text, numbered, checklists)
    detected = find_in_evidence(brain, evidence)
    check = check_items(cards, answer.text, evidence, detected, closings=closings)
    check = judge(check, answer.text, evidence)
    return replace(
        check, items=tuple(_locate(item, answer.scope, evidence) for item in check.items)
    )


def _cards(layers: Sequence[Layer], told: Sequence[Sequence[object]]) -> list[Card]:
    return [
        card
        for layer in layers
        for card in find_cards(layer, {str(name) for root, name, _ in told if root == layer.root})
    ]


def _locate(item: CheckedItem, scope: str, evidence: Evidence) -> CheckedItem:
    """Add the number of the line that an item's quote has in its file today, if it is there."""
    if not item.quote or all(edit.path != item.where for edit in evidence.edits):
        return item
    root, name = os.path.split(os.path.normpath(os.path.join(scope, item.where)))
    try:
        lines = read_inside(root, name, limit=_MAX_FILE).decode("utf-8", "replace").splitlines()
    except (StorageError, OSError):
        return item
    found = (number for number, line in enumerate(lines, 1) if line.strip() == item.quote)
    number = next(found, 0)
    return replace(item, where=f"{item.where}:{number}") if number else item
