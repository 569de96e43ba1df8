"""Which lessons guard a file by their ``paths``, and which files a prompt means to change."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.retrieve import find_usable
from lessons_kb.model import Card
from lessons_kb.text.paths import find_paths
from lessons_kb.text.sentences import is_question


def find_guarding(
    layers: Sequence[Layer], path: str, *, project: str | None
) -> list[tuple[Layer, Card]]:
    """Return the cards that guard a file, nearest brain first; ``path`` starts from the project.

    The last commit is looked at as it is.
    """
    found: list[tuple[Layer, Card]] = []
    for layer in layers:
        layer.prepare()
        if layer.state is not None:
            cards = layer.read(lambda one: find_usable(one, one.guarding([path]), project))
            found += [(layer, card) for card in cards.values()]
    return found


def files_to_guard(prompt: str) -> tuple[str, tuple[str, ...]]:
    """Return what to search for, and the files that the prompt names as ones to work on.

    A question changes no file: what guards one, or is named like it, comes with the change.
    """
    paths = find_paths(prompt)
    if not paths or not is_question(prompt):
        return prompt, paths
    for path in paths:
        prompt = prompt.replace(path, " ")
    return prompt, ()
