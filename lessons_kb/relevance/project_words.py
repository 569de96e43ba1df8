"""The everyday words of a project, for the gate of a brain with few cards.

A word such as "agent" is rare in the world, but common in a project about agents. A few cards do
not show this yet, but the subjects of the project's commits do: a prompt about the project contains
such a word about as often as a subject does.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

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
_LEAST_SHARE = 0.005
"""Reason: a rarer word is about as rare as a word that no table contains."""


@frozen
class ProjectWords:
    """The shares of a project's commits whose subjects contain its everyday words."""

    basis: str = ""
    """The build and the rough number of cards for which they were counted, or "" if they were
    never counted.
    """
    shares: Mapping[str, float] = field(default_factory=dict)
    """Mapping from each word, as a term of the index, to its share in 0..1."""


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
    return ProjectWords(basis=basis, shares=shares)


def format_words(words: ProjectWords) -> str:
    """Return the words as a text, which `parse_words` reads."""
    return json.dumps({"basis": words.basis, "shares": dict(words.shares)})


@lru_cache(maxsize=64)
def parse_words(text: str) -> ProjectWords:
    """Return the words in a text, or no words if the text is empty or invalid."""
    try:
        data = json.loads(text) if text else {}
        return ProjectWords(**data)
    except (TypeError, ValueError):
        return ProjectWords()
