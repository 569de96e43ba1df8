"""Which lessons guard a file by their ``paths``."""

from __future__ import annotations

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_usable
from lessons_kb.model import Card


def find_guarding(brain: Layers, path: str) -> list[tuple[Layer, Card]]:
    """Return the cards that guard a file, nearest brain first; ``path`` starts from the project.

    The last commit is looked at as it is.
    """
    found: list[tuple[Layer, Card]] = []
    for layer in brain.layers:
        layer.prepare()
        if layer.state is not None:
            cards = layer.read(lambda one: find_usable(one, one.guarding([path]), brain.project))
            found += [(layer, card) for card in cards.values()]
    return found
