"""All guards over one session: one event in, what should be said out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from lessons_kb.errors import InputError
from lessons_kb.guards.edit_loop import EditLoopGuard
from lessons_kb.guards.failures_in_a_row import MistakeTracker
from lessons_kb.guards.files_touched import FileLedger
from lessons_kb.guards.repeated_calls import RepeatGuard, speak_instead
from lessons_kb.model import Event, Signal

STATE_VERSION = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """When the guards of a watch speak."""

    mistakes: int = 3
    """Failures in a row."""
    repeats: int = 3
    """Equal calls in a row."""
    edits: int = 3
    """Edits of one target without a look at it."""
    ledger_bytes: int = 4000
    """Longest text of the file ledger."""


DEFAULT_LIMITS = Limits()


class Watch:
    """The guards of one session, fed together."""

    def __init__(self, *, scope: str = "", limits: Limits = DEFAULT_LIMITS) -> None:
        """Start afresh; ``scope`` is the session's own workspace, whose files need no prefix."""
        self._mistakes = MistakeTracker(limit=limits.mistakes)
        self._repeats = RepeatGuard(limit=limits.repeats)
        self._edits = EditLoopGuard(limit=limits.edits)
        self._files = FileLedger(scope=scope, max_bytes=limits.ledger_bytes)

    @property
    def files(self) -> FileLedger:
        """The files read and modified so far."""
        return self._files

    def see(self, event: Event) -> tuple[Signal, ...]:
        """Take in one event; return at most one nudge or escalation, then the notes.

        Where failures and a repeated call come together, the repeat speaks for both.
        """
        spoken = self._mistakes.see(event)
        if repeat := self._repeats.see(event):
            spoken = speak_instead(repeat, spoken) if spoken else repeat
        said = (spoken, self._edits.see(event), self._files.see(event))
        return tuple(signal for signal in said if signal)

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return {
            "version": STATE_VERSION,
            "mistakes": self._mistakes.to_state(),
            "repeats": self._repeats.to_state(),
            "edits": self._edits.to_state(),
            "files": self._files.to_state(),
        }

    @classmethod
    def from_state(cls, state: object, *, scope: str = "", limits: Limits = DEFAULT_LIMITS) -> Self:
        """Go on from ``to_state()``.

        Anything else, such as the state of another version, starts afresh: a forgotten count
        is harmless, a watch that cannot start is not.
        """
        watch = cls(scope=scope, limits=limits)
        if isinstance(state, dict) and state.get("version") == STATE_VERSION:
            with suppress(InputError):
                guards = (
                    MistakeTracker.from_state(state.get("mistakes"), limit=limits.mistakes),
                    RepeatGuard.from_state(state.get("repeats"), limit=limits.repeats),
                    EditLoopGuard.from_state(state.get("edits"), limit=limits.edits),
                    FileLedger.from_state(
                        state.get("files"), scope=scope, max_bytes=limits.ledger_bytes
                    ),
                )
                watch._mistakes, watch._repeats, watch._edits, watch._files = guards
        return watch
