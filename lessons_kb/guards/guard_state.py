"""What a guard remembers, as plain JSON data: between hook processes it lives in the journal."""

from __future__ import annotations

from typing import Any

from lessons_kb.errors import InputError


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


def check_limit(limit: int) -> int:
    """Return a count at which a guard speaks; InputError below 1."""
    if limit < 1:
        raise InputError(f"a guard's limit must be at least 1, not {limit}")
    return limit
