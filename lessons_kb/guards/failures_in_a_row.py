"""Failures in a row: guidance for the model first, then a stop."""

from __future__ import annotations

from lessons_kb.guards.counting_guard import CountingGuard
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


class MistakeTracker(CountingGuard):
    """Counts consecutive failures of whatever kinds; any success or a new prompt clears it.

    It speaks at every ``limit`` failures in a row: a nudge first, then a stop. Calls that were made
    together fail once: the model could learn from none of them yet.
    """

    SHAPE = {"run": [""], "nudged": False, "step": ""}  # noqa: RUF012 never changed

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return a nudge, an escalation or nothing."""
        state = self._state
        is_call = event.kind in CALLS or event.tool != ""
        if event.kind == "prompt" or (is_call and event.outcome in DONE):
            state.update(run=[], nudged=False)
        is_known = event.step and event.step == state["step"]
        if event.kind == "prompt" or event.outcome not in FAILURES or is_known:
            return None
        state["step"] = event.step
        kinds: list[str] = [*state["run"], event.outcome]
        if len(kinds) < self._limit:
            state["run"] = kinds
            return None
        stop = bool(state["nudged"])
        state.update(run=[], nudged=True)
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
