"""Find the thresholds of a brain when its index is built, by asking it prompts to coding agents."""

from __future__ import annotations

from functools import partial
from math import log2

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.open_index import versions
from lessons_kb.find.retrieve import find
from lessons_kb.model import Query
from lessons_kb.relevance.background_prompts import read_developer_prompts
from lessons_kb.relevance.thresholds import find_thresholds, format_thresholds, parse_thresholds
from lessons_kb.store.catalogue import State

FEWEST_CARDS = 30
"""A smaller brain has the default thresholds: too few cards tell nothing about its prompts."""
_STEPS = 2
"""The thresholds are found anew once the number of cards has grown or shrunk by about two fifths:
in so many steps for each doubling."""


def calibrate(brains: Brains) -> None:
    """Find the thresholds of each brain for which they are due."""
    for brain in brains.members:
        calibrate_brain(brain)


def calibrate_brain(brain: Brain) -> None:
    """Find the thresholds of a brain, a second's work, unless they hold for its size already."""
    state = brain.state
    if state is None or state.cards < FEWEST_CARDS:
        return
    basis = describe_basis(brain, state)
    known = parse_thresholds(brain.read(lambda one: one.thresholds))
    if known.basis != basis:
        found = find_thresholds(_ask(brain), basis)
        brain.store_thresholds(format_thresholds(found))


def describe_basis(brain: Brain, state: State) -> str:
    """Return what the thresholds of a brain depend on: build, engine, model, and size in steps."""
    semantic = brain.meaning
    model = "" if semantic is None else f" {semantic.settings.model} {semantic.trouble}"
    size = round(log2(max(state.cards, 1)) * _STEPS)
    return f"{versions(state.settings['index']['engine'])}{model} {size}"


def _ask(brain: Brain) -> list[float]:
    """Return the best confidence of a card for each prompt."""
    best = []
    for prompt in read_developer_prompts():
        query = Query(text=prompt, limit=_LIMIT)
        hits = brain.read(partial(find, query=query)).hits
        best.append(max((hit.confidence for hit in hits), default=0.0))
    return best


_LIMIT = 4
"""The card with the highest confidence is among the first in the ranking."""
