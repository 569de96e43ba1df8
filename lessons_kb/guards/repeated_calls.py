"""The doom loop: one call made again and again with the same arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from lessons_kb.guards.file_names import check_limit, check_state, show_path
from lessons_kb.model import Event, Signal

_AGAIN = "The same call of {tool} with the same arguments was made {count} times in a row"
_GUIDANCE = (
    _AGAIN + "; making it again will give the same result. Read what it returned, then change the"
    " arguments, use another tool, or report the current state."
)
_STOP = (
    _AGAIN + " and keeps failing. Stop here: tell the user what you tried, what failed, and what"
    " you need to go on."
)
_GUIDED_LINE = "Same call made {count} times in a row — guidance injected, continuing."
_STOPPED_LINE = "Same call kept failing — stopped the turn."


class RepeatGuard:
    """Counts equal calls in a row, whatever their outcome; another call or a prompt ends them."""

    def __init__(self, *, limit: int = 3) -> None:
        """Speak at every ``limit`` equal calls in a row."""
        self._limit = check_limit(limit)
        self._call: list[str] = []
        self._count = 0

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return a nudge or nothing."""
        if event.kind == "prompt":
            self._call, self._count = [], 0
        elif event.tool:
            return self._called(event)
        return None

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return {"call": list(self._call), "count": self._count}

    @classmethod
    def from_state(cls, state: object, *, limit: int = 3) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        checked = check_state(state, {"call": [""], "count": 0})
        guard = cls(limit=limit)
        guard._call, guard._count = list(checked["call"]), checked["count"]
        return guard

    def _called(self, event: Event) -> Signal | None:
        if not event.arguments:
            self._call, self._count = [], 0
            return None
        call = [event.scope, event.tool, event.arguments]
        self._count = self._count + 1 if call == self._call else 1
        self._call = call
        if self._count % self._limit:
            return None
        return Signal(
            guard="repeats",
            level="nudge",
            message=_GUIDANCE.format(tool=show_path(event.tool), count=self._count),
            user_line=_GUIDED_LINE.format(count=self._count),
            record={
                "kind": "repeated_call",
                "tool": event.tool,
                "count": self._count,
                "escalated": False,
            },
        )


def speak_instead(repeat: Signal, mistake: Signal) -> Signal:
    """Return what the repeat says in the place of the mistakes: as loud, and with their kinds."""
    stop = mistake.level == "escalate"
    record = {**repeat.record, "escalated": stop, "failure_kinds": mistake.record["failure_kinds"]}
    if not stop:
        return replace(repeat, record=record)
    return replace(
        repeat,
        level="escalate",
        message=_STOP.format(tool=show_path(str(record["tool"])), count=record["count"]),
        user_line=_STOPPED_LINE,
        record={**record, "can_continue": True},
    )
