"""The edit loop: one target changed again and again without a look at it."""

from __future__ import annotations

from lessons_kb.guards.counting_guard import CountingGuard
from lessons_kb.guards.file_names import show_path
from lessons_kb.model import CALLS, DONE, Event, Signal

_NOTE = (
    "Note: {nth} consecutive edit of {target} without a fresh read — verify the result or report"
    " the current state instead of editing again."
)
_LOOKS_AT_ALL = ("command", "test")
_UNDOES = ("remove", "rollback")
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


class EditLoopGuard(CountingGuard):
    """Counts edits of each (scope, target) since it was last looked at; lives as long as a session.

    It speaks at the ``limit``-th and every further edit. Only what is not known to have failed
    counts, as an edit or as a look. A remove or a rollback without targets is one of everything in
    its scope.
    """

    SHAPE = {"counts": {"": {"": 0}}}  # noqa: RUF012 never changed

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return a note or nothing."""
        if event.outcome not in DONE:
            return None
        scopes: dict[str, dict[str, int]] = self._state["counts"]
        if event.kind == "edit":
            counts = scopes.setdefault(event.scope, {})
            for target in dict.fromkeys(event.targets):
                counts[target] = counts.get(target, 0) + 1
            looping = {t: counts[t] for t in event.targets if counts[t] >= self._limit}
            return _note(event.scope, looping) if looping else None
        undoes = event.kind in _UNDOES
        if event.kind in _LOOKS_AT_ALL or (undoes and not event.targets):
            scopes.pop(event.scope, None)
        elif undoes or event.kind in CALLS:
            counts = scopes.get(event.scope, {})
            for target in event.targets:
                counts.pop(target, None)
                for inside in [one for one in counts if undoes and one.startswith(f"{target}/")]:
                    del counts[inside]
        return None


def _note(scope: str, looping: dict[str, int]) -> Signal:
    notes = (
        _NOTE.format(nth=format_ordinal(count), target=show_path(target))
        for target, count in looping.items()
    )
    return Signal(
        guard="edits",
        level="note",
        message="\n".join(notes),
        record={"kind": "edit_loop", "scope": scope, "counts": looping},
    )


def format_ordinal(number: int) -> str:
    """Return 1 as ``1st``, 12 as ``12th``, 22 as ``22nd``."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else _SUFFIXES.get(number % 10, 'th')}"
