"""The everyday words of a project, for the gate of a brain with few cards.

A word such as "agent" is rare in the world, but common in a project about agents. A few cards do
not show this yet, but the subjects of the project's commits do: a prompt about the project contains
such a word about as often as a subject does, and a card is as likely to contain it by chance as a
few subjects together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from lessons_kb.model import as_data
from lessons_kb.relevance.background_prompts import PASSAGE
from lessons_kb.text.analyzer import analyze
from lessons_kb.values import field, frozen

FEW_DOCUMENTS = 20
"""A brain with as many documents shows by itself which words are common."""
MOST_SUBJECTS = 1_000
"""The number of the newest commits whose subjects are read."""
_FEWEST_SUBJECTS = 30
"""With fewer commits, the share of a word is unknown."""
_FEWEST_USES = 3
"""Reason: one mistake may have been mentioned by two commits, so fewer uses say nothing."""
_FEWEST_PASSAGES = 3
"""With fewer passages, the share of a word in them is unknown."""
_LEAST_SHARE = 0.005
"""Reason: a rarer word is about as rare as a word that no table contains."""


@frozen
class ProjectWords:
    """The everyday words of a project, with their shares of its commits and passages."""

    basis: str = ""
    """The build and the rough number of cards for which they were counted, or "" if they were
    never counted.
    """
    shares: Mapping[str, float] = field(default_factory=dict)
    """Mapping from each word, as a term of the index, to the share of subjects with it, in 0..1."""
    passages: Mapping[str, float] = field(default_factory=dict)
    """Mapping from each word to the share of passages of subjects with it, in 0..1. A passage has
    PASSAGE terms of successive subjects, because commits about one subject follow one another.
    """


def count_words(subjects: Sequence[str], basis: str) -> ProjectWords:
    """Return the everyday words in the subjects of commits."""
    if len(subjects) < _FEWEST_SUBJECTS:
        return ProjectWords(basis=basis)
    uses = Counter[str]()
    for subject in subjects:
        uses.update(set(analyze(subject)))
    shares: dict[str, float] = {}
    for term, count in uses.items():
        share = (count + 0.5) / (len(subjects) + 1)
        if count >= _FEWEST_USES and share >= _LEAST_SHARE:
            shares[term] = round(share, 4)
    return ProjectWords(basis=basis, shares=shares, passages=_count_passages(subjects, shares))


def _count_passages(subjects: Sequence[str], words: Collection[str]) -> dict[str, float]:
    """Return the share of passages with each of the words, or nothing for a short history."""
    passages: list[set[str]] = []
    terms: list[str] = []
    for subject in subjects:
        terms += analyze(subject)
        if len(terms) >= PASSAGE:
            passages.append(set(terms))
            terms = []
    if len(passages) < _FEWEST_PASSAGES:
        return {}
    uses = Counter(term for passage in passages for term in passage.intersection(words))
    return {term: round((count + 0.5) / (len(passages) + 1), 4) for term, count in uses.items()}


def format_words(words: ProjectWords) -> str:
    """Return the words as a text, which `parse_words` reads."""
    return json.dumps(as_data(words))


@lru_cache(maxsize=64)
def parse_words(text: str) -> ProjectWords:
    """Return the words in a text, or no words if the text is empty or invalid."""
    try:
        data = json.loads(text) if text else {}
        return ProjectWords(**data)
    except (TypeError, ValueError):
        return ProjectWords()
