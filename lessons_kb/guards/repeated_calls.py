"""The doom loop: one call made again and again with the same arguments."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.guards.counting_guard import CountingGuard
from lessons_kb.guards.file_names import show_path
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


class RepeatGuard(CountingGuard):
    """Counts equal calls in a row, whatever their outcome; another call or a prompt ends them.

    It speaks at every ``limit`` equal calls in a row.
    """

    SHAPE = {"call": [""], "count": 0}  # noqa: RUF012 never changed

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return a nudge or nothing."""
        if event.kind != "prompt" and not event.tool:
            return None
        if event.kind == "prompt" or not event.arguments:
            self._state.update(call=[], count=0)
            return None
        call = [event.scope, event.tool, event.arguments]
        count = self._state["count"] + 1 if call == self._state["call"] else 1
        self._state.update(call=call, count=count)
        if count % self._limit:
            return None
        return Signal(
            guard="repeats",
            level="nudge",
            message=_GUIDANCE.format(tool=show_path(event.tool), count=count),
            user_line=_GUIDED_LINE.format(count=count),
            record={
                "kind": "repeated_call",
                "tool": event.tool,
                "count": count,
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
