"""Find the thresholds of a brain when its index is built, by searching it for prompts to coding
agents. For a brain with few cards, count the everyday words of its project instead.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial
from math import log2

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.search_index import versions
from lessons_kb.errors import GitError
from lessons_kb.find.retrieve import find
from lessons_kb.model import Query
from lessons_kb.on_demand import PROCESS_GIT, load
from lessons_kb.relevance.background_prompts import read_developer_prompts
from lessons_kb.relevance.project_words import (
    FEW_DOCUMENTS,
    MOST_SUBJECTS,
    count_words,
    format_words,
    parse_words,
)
from lessons_kb.relevance.thresholds import find_thresholds, format_thresholds, parse_thresholds
from lessons_kb.store.catalogue import State
from lessons_kb.store.files import relative
from lessons_kb.store.repositories import git_top
from lessons_kb.values import replace

FEWEST_CARDS = 30
"""A smaller brain has the default thresholds, because too few cards show nothing about its
prompts.
"""
_STEPS = 2
"""The number of steps for each doubling of the number of cards. The thresholds are found anew at
each step, once the number of cards has grown or shrunk by about two fifths.
"""


def calibrate(brains: Brains, *, by_meaning: bool = False) -> None:
    """Find the thresholds of each brain for which they are due."""
    for brain in brains.members:
        calibrate_brain(brain, by_meaning=by_meaning)


def calibrate_brain(brain: Brain, *, by_meaning: bool = False) -> None:
    """Find the thresholds of a brain, unless they are already valid for its size.

    The thresholds for words take up to a second, in which the words of the prompts are searched.
    The thresholds ``by_meaning`` take three more seconds, because a model has to encode the
    prompts. No search waits for this, because ``lessons index`` and the daemon do it.
    """
    state = brain.state
    if state is None:
        return
    if state.cards and state.cards + state.notes < FEW_DOCUMENTS:
        _count_project_words(brain, describe_basis(state))
    if state.cards < FEWEST_CARDS:
        return
    thresholds = parse_thresholds(brain.thresholds)
    basis = describe_basis(state)
    if thresholds.words.basis != basis:
        for_words = find_thresholds(_ask(brain, by_meaning=False), basis)
        thresholds = replace(thresholds, words=for_words)
        brain.store_thresholds(format_thresholds(thresholds))
    meaning = brain.meaning if by_meaning else None
    if meaning is None or not meaning.is_complete():
        return
    basis = f"{basis} {meaning.key}"
    if thresholds.meaning.basis != basis:
        for_meaning = find_thresholds(_ask(brain, by_meaning=True), basis)
        brain.store_thresholds(format_thresholds(replace(thresholds, meaning=for_meaning)))


def _count_project_words(brain: Brain, basis: str) -> None:
    """Count the words in the commits of the repository that contains a brain, unless it is done.

    Commits that changed only cards are left out, because they have the words of the cards.
    """
    if parse_words(brain.project_words).basis == basis:
        return
    subjects: list[str] = []
    top = git_top(brain.root)
    if top:
        inside = relative(os.path.realpath(top), os.path.realpath(brain.root))
        folders = [inside] if inside != "." else [*brain.settings.folders]
        with contextlib.suppress(GitError):
            git = load(PROCESS_GIT)
            subjects = git.list_subjects(top, most=MOST_SUBJECTS, without=folders)
    brain.store_project_words(format_words(count_words(subjects, basis)))


def describe_basis(state: State) -> str:
    """Return the basis of the thresholds of a brain: build, engine, and size in steps."""
    size = round(log2(max(state.cards, 1)) * _STEPS)
    return f"{versions(state.settings['index']['engine'])} {size}"


def _ask(brain: Brain, *, by_meaning: bool) -> list[float]:
    """Return the best confidence of a card for each prompt."""
    best = []
    for prompt in read_developer_prompts():
        query = Query(text=prompt, limit=_LIMIT)
        hits = brain.read(partial(find, query=query, by_meaning=by_meaning)).hits
        best.append(max((hit.confidence for hit in hits), default=0.0))
    return best


_LIMIT = 4
"""The number of cards that are judged, because the card with the highest confidence is among the
first in the ranking.
"""
