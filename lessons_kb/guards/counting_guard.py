"""What guards have in common: a state that is plain JSON data, and a count at which they speak."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from lessons_kb.data import read_table
from lessons_kb.errors import InputError

TEXTS = {head: " ".join(lines) for head, lines in read_table("guard_texts.txt")["texts"]}
"""What guards say to the model and, the lines, to the user."""


class StatefulGuard:
    """A guard that remembers plain JSON data."""

    SHAPE: ClassVar[Mapping[str, Any]]
    """What is remembered, by what it is like: a list of any number of its one item, a dict of any
    keys where its one key is "". A new guard's is empty."""

    def __init__(self) -> None:
        self._state: dict[str, Any] = {name: type(like)() for name, like in self.SHAPE.items()}

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return copy.deepcopy(self._state)

    @classmethod
    def from_state(cls, state: object, **options: Any) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        guard = cls(**options)
        guard.load(state)
        return guard

    def load(self, state: Any) -> None:
        """Go on from another's ``to_state()``; InputError when it is something else."""
        _check(state, dict(self.SHAPE))
        self._state.update(copy.deepcopy(state))


class CountingGuard(StatefulGuard):
    """A guard that speaks at a count."""

    def __init__(self, *, limit: int = 3) -> None:
        """Speak at ``limit``; InputError below 1."""
        super().__init__()
        if limit < 1:
            raise InputError(f"a guard's limit must be at least 1, not {limit}")
        self._limit = limit


def _check(state: object, like: object) -> None:
    """Raise InputError unless ``state`` has the shape of ``like``."""
    if type(state) is not type(like):
        raise InputError(f"a guard's state holds {state!r:.60}; start a new guard")
    if isinstance(state, list) and isinstance(like, list):
        for item in state:
            _check(item, like[0])
    if isinstance(state, dict) and isinstance(like, dict):
        if "" not in like and state.keys() != like.keys():
            raise InputError(f"a guard's state has the keys {sorted(state)}; start a new guard")
        for key, value in state.items():
            _check(value, like.get(key, like.get("")))
