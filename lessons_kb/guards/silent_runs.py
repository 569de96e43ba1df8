"""A run that has gone silent, told apart from one that was cancelled and one that failed."""

from __future__ import annotations

from lessons_kb.errors import InputError
from lessons_kb.guards.counting_guard import TEXTS
from lessons_kb.model import Signal

RUNNING, COMPLETED, FAILED = "running", "completed", "failed"
CANCELLED, STALLED = "cancelled", "stalled"
FINAL_STATES = (COMPLETED, FAILED, CANCELLED, STALLED)


class StallGuard:
    """A deadline between chunks of output, armed again by each chunk.

    Times are seconds of one monotonic clock, passed in. The first of ``check``, ``cancel`` and
    ``finish`` to end the run decides its state; whatever comes later changes nothing.
    """

    def __init__(self, *, now: float, patience: float | None = 90.0) -> None:
        """Arm the deadline ``patience`` seconds from ``now``; None waits for ever."""
        if patience is not None and not patience > 0:
            raise InputError(f"patience must be above 0 seconds, not {patience:g}; None = no limit")
        self._patience = patience
        self._heard = now
        self.state = RUNNING
        """``running``, or how it ended: one of FINAL_STATES."""

    @property
    def deadline(self) -> float | None:
        """When the run will count as stalled; None = never, or it has ended."""
        if self._patience is None or self.state != RUNNING:
            return None
        return self._heard + self._patience

    def chunk(self, now: float) -> None:
        """Note that output came: the deadline is armed again."""
        self._heard = now

    def check(self, now: float) -> Signal | None:
        """End the run as stalled if its deadline has come; return the signal once."""
        if self.deadline is None or now < self.deadline:
            return None
        silence = now - self._heard
        self.state = STALLED
        return Signal(
            guard="stalls",
            level="nudge",
            message=TEXTS["stalled"].format(silence=silence),
            user_line=TEXTS["stalled line"].format(silence=silence),
            record={"kind": "stall", "state": STALLED, "silence": silence},
        )

    def cancel(self) -> str:
        """End the run as cancelled unless it has ended; return how it ended."""
        return self._end(CANCELLED)

    def finish(self, *, ok: bool) -> str:
        """End the run by its own exit unless it has ended; return how it ended."""
        return self._end(COMPLETED if ok else FAILED)

    def _end(self, state: str) -> str:
        if self.state == RUNNING:
            self.state = state
        return self.state
