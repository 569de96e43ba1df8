"""What guards have in common: a limit, and a state that is plain JSON data."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from lessons_kb.errors import InputError


class CountingGuard:
    """A guard that speaks at a count and remembers plain JSON data."""

    SHAPE: ClassVar[Mapping[str, Any]]
    """What is remembered, by what it is like; see ``check_state``. A new guard's is empty."""

    def __init__(self, *, limit: int = 3) -> None:
        """Speak at ``limit``; InputError below 1."""
        if limit < 1:
            raise InputError(f"a guard's limit must be at least 1, not {limit}")
        self._limit = limit
        self._state: dict[str, Any] = {name: type(like)() for name, like in self.SHAPE.items()}

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return copy.deepcopy(self._state)

    @classmethod
    def from_state(cls, state: object, *, limit: int = 3) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        guard = cls(limit=limit)
        guard._state = copy.deepcopy(check_state(state, dict(cls.SHAPE)))
        return guard


def check_state(state: object, like: object) -> Any:
    """Return ``state`` if it has the shape of ``like``, else raise InputError.

    A list holds any number of what its one item is like, a dict whose one key is "" any keys.
    """
    if type(state) is not type(like):
        raise InputError(f"a guard's state holds {state!r:.60}; start a new guard")
    if isinstance(state, list) and isinstance(like, list):
        for item in state:
            check_state(item, like[0])
    if isinstance(state, dict) and isinstance(like, dict):
        if "" not in like and state.keys() != like.keys():
            raise InputError(f"a guard's state has the keys {sorted(state)}; start a new guard")
        for key, value in state.items():
            check_state(value, like[key] if key in like else like[""])
    return state
