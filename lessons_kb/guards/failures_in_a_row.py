"""Failures in a row: guidance for the model first, then a stop."""

from __future__ import annotations

from typing import Any, Self

from lessons_kb.guards.file_names import check_limit, check_state
from lessons_kb.model import CALLS, DONE, FAILURES, Event, Signal

_GUIDANCE = (
    "{count} tool calls in a row failed ({kinds}). Before the next call: re-read the tool's"
    " schema, verify that the paths you act on exist, and try a different approach instead of a"
    " variation of what failed."
)
_STOP = (
    "{count} more tool calls in a row failed ({kinds}), after guidance. Stop here: tell the user"
    " what you tried, what failed, and what you need to go on."
)
_GUIDED_LINE = "Hit repeated different errors — recovery guidance injected, continuing."
_STOPPED_LINE = "Repeated errors persisted — stopped the turn."


class MistakeTracker:
    """Counts consecutive failures of whatever kinds; any success or a new prompt clears it.

    Calls that were made together fail once: the model could learn from none of them yet.
    """

    def __init__(self, *, limit: int = 3) -> None:
        """Speak at every ``limit`` failures in a row: a nudge first, then a stop."""
        self._limit = check_limit(limit)
        self._run: list[str] = []
        self._nudged = False
        self._step = ""

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return a nudge, an escalation or nothing."""
        if event.kind == "prompt" or (_is_call(event) and event.outcome in DONE):
            self._run, self._nudged = [], False
        elif event.outcome in FAILURES:
            if event.step and event.step == self._step:
                return None
            self._step = event.step
            self._run.append(event.outcome)
            if len(self._run) >= self._limit:
                return self._speak()
        return None

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return {"run": list(self._run), "nudged": self._nudged, "step": self._step}

    @classmethod
    def from_state(cls, state: object, *, limit: int = 3) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        checked = check_state(state, {"run": [""], "nudged": False, "step": ""})
        tracker = cls(limit=limit)
        tracker._run, tracker._nudged = list(checked["run"]), checked["nudged"]
        tracker._step = checked["step"]
        return tracker

    def _speak(self) -> Signal:
        kinds, self._run = self._run, []
        stop, self._nudged = self._nudged, True
        record: dict[str, object] = {
            "kind": "mistake_recovery",
            "failure_kinds": kinds,
            "count": len(kinds),
            "escalated": stop,
        }
        if stop:
            record["can_continue"] = True
        return Signal(
            guard="mistakes",
            level="escalate" if stop else "nudge",
            message=(_STOP if stop else _GUIDANCE).format(count=len(kinds), kinds=", ".join(kinds)),
            user_line=_STOPPED_LINE if stop else _GUIDED_LINE,
            record=record,
        )


def _is_call(event: Event) -> bool:
    return event.kind in CALLS or event.tool != ""
