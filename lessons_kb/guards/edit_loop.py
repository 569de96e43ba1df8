"""The edit loop: one target changed again and again without a look at it."""

from __future__ import annotations

from typing import Any, Self

from lessons_kb.guards.file_names import check_limit, check_state, show_path
from lessons_kb.model import CALLS, DONE, Event, Signal

_NOTE = (
    "Note: {nth} consecutive edit of {target} without a fresh read — verify the result or report"
    " the current state instead of editing again."
)
_LOOKS_AT_ALL = ("command", "test")
_UNDOES = ("remove", "rollback")
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


class EditLoopGuard:
    """Counts edits of each (scope, target) since it was last looked at; lives as long as a session.

    Only what is not known to have failed counts, as an edit or as a look. A remove or a
    rollback without targets is one of everything in its scope.
    """

    def __init__(self, *, limit: int = 3) -> None:
        """Speak at the ``limit``-th and every further edit."""
        self._limit = check_limit(limit)
        self._counts: dict[str, dict[str, int]] = {}

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return a note or nothing."""
        if event.outcome not in DONE:
            return None
        if event.kind == "edit":
            return self._edited(event)
        if event.kind in _LOOKS_AT_ALL or (event.kind in _UNDOES and not event.targets):
            self._counts.pop(event.scope, None)
        elif event.kind in CALLS or event.kind in _UNDOES:
            self._looked(event)
        return None

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return {"counts": {scope: dict(counts) for scope, counts in self._counts.items()}}

    @classmethod
    def from_state(cls, state: object, *, limit: int = 3) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        checked = check_state(state, {"counts": {"": {"": 0}}})
        guard = cls(limit=limit)
        guard._counts = {scope: dict(counts) for scope, counts in checked["counts"].items()}
        return guard

    def _edited(self, event: Event) -> Signal | None:
        counts = self._counts.setdefault(event.scope, {})
        looping: dict[str, int] = {}
        for target in dict.fromkeys(event.targets):
            counts[target] = counts.get(target, 0) + 1
            if counts[target] >= self._limit:
                looping[target] = counts[target]
        if not looping:
            return None
        notes = (
            _NOTE.format(nth=format_ordinal(count), target=show_path(target))
            for target, count in looping.items()
        )
        return Signal(
            guard="edits",
            level="note",
            message="\n".join(notes),
            record={"kind": "edit_loop", "scope": event.scope, "counts": looping},
        )

    def _looked(self, event: Event) -> None:
        counts = self._counts.get(event.scope, {})
        for target in event.targets:
            counts.pop(target, None)
            if event.kind in _UNDOES:
                for inside in [known for known in counts if known.startswith(f"{target}/")]:
                    del counts[inside]


def format_ordinal(number: int) -> str:
    """Return 1 as ``1st``, 12 as ``12th``, 22 as ``22nd``."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else _SUFFIXES.get(number % 10, 'th')}"
