"""When a turn ends: what became of the lessons that the session was given, for ``brain.stats``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.ledger import settle
from lessons_kb.learn.lesson_effect import find_marks
from lessons_kb.session.state import Hook
from lessons_kb.store.scan import SUFFIXES


def note_effects(hook: Hook) -> None:
    """Note the lessons that the answer judges, and what became of those that were due."""
    session = hook.event.session
    layers = hook.brain.layers
    given = {layer: layer.hook_journal.outcomes.given(session) for layer in layers}
    for name, mark in find_marks(hook.event.text) if session and any(given.values()) else ():
        if name.isdecimal():
            named = find_ranked(given, session).get(int(name), [])
        else:
            named = [(x, card) for x in given for card in given[x] if _is_called(card, name)]
        if len(named) == 1:  # whoever could mean two lessons means none
            layer, card_id = named[0]
            layer.hook_journal.outcomes.note(session, card_id, mark, at=hook.now)
    settle(hook.brain, hook.journal, session, folder="" if hook.event.posted else hook.scope)


def find_ranked(layers: Iterable[Layer], session: str) -> dict[int, list[tuple[Layer, str]]]:
    """Return the lessons by their number in the blocks of the latest turn that had any.

    Each brain counts turns from when it was first asked: how many came since is comparable.
    """
    rows = [(x, *row) for x in layers for row in x.hook_journal.injections.ranked(session)]
    latest = min((since for _layer, since, _rank, _card in rows), default=0)
    ranked: dict[int, list[tuple[Layer, str]]] = {}
    for layer, since, rank, card in rows:
        if since == latest:
            ranked.setdefault(rank, []).append((layer, card))
    return ranked


def _is_called(card: str, name: str) -> bool:
    """Tell whether a name means a card: with or without its folders and its ending."""
    bare, wanted = (
        next((text.removesuffix(end) for end in SUFFIXES if text.endswith(end)), text)
        for text in (card.lower(), name.strip("./"))
    )
    return wanted in (bare, posixpath.basename(bare))
