"""The guards over one session: failures in a row, equal calls, edits without a look, files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from lessons_kb.errors import InputError
from lessons_kb.guards.counting_guard import TEXTS, CountingGuard, StatefulGuard
from lessons_kb.guards.files_touched import FileLedger
from lessons_kb.model import CALLS, DONE, FAILURES, Event, Signal
from lessons_kb.text.paths import show_path

_LOOKS_AT_ALL = ("command", "test")
_UNDOES = ("remove", "rollback")


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
        kinds: list[str] = [*state["run"], event.outcome]
        state.update(step=event.step, run=kinds)
        if len(kinds) < self._limit:
            return None
        stop = bool(state["nudged"])
        text = TEXTS["stop" if stop else "guidance"]
        state.update(run=[], nudged=True)
        record: dict[str, object] = {"kind": "mistake_recovery", "failure_kinds": kinds}
        record |= {"count": len(kinds), "escalated": stop}
        return Signal(
            guard="mistakes",
            level="escalate" if stop else "nudge",
            message=text.format(count=len(kinds), kinds=", ".join(kinds)),
            user_line=TEXTS["stopped line" if stop else "guided line"],
            record={**record, "can_continue": True} if stop else record,
        )


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
        calls = {"kind": "repeated_call", "tool": event.tool, "count": count}
        return Signal(
            guard="repeats",
            level="nudge",
            message=TEXTS["repeated"].format(tool=show_path(event.tool), count=count),
            user_line=TEXTS["repeated line"].format(count=count),
            record={**calls, "escalated": False},
        )

    @staticmethod
    def speak_for(repeat: Signal, mistake: Signal) -> Signal:
        """Return what a repeat says in the place of mistakes: as loud, and with their kinds."""
        stop = mistake.level == "escalate"
        kinds = {"escalated": stop, "failure_kinds": mistake.record["failure_kinds"]}
        repeat = replace(repeat, record=repeat.record | kinds)
        if not stop:
            return repeat
        tool, count = show_path(str(repeat.record["tool"])), repeat.record["count"]
        return replace(
            repeat,
            level="escalate",
            message=TEXTS["keeps failing"].format(tool=tool, count=count),
            user_line=TEXTS["keeps failing line"],
            record={**repeat.record, "can_continue": True},
        )


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
        undoes = event.kind in _UNDOES
        if event.kind in _LOOKS_AT_ALL or (undoes and not event.targets):
            scopes.pop(event.scope, None)
        elif event.kind == "edit":
            counts = scopes.setdefault(event.scope, {})
            for target in dict.fromkeys(event.targets):
                counts[target] = counts.get(target, 0) + 1
            looping = {t: counts[t] for t in event.targets if counts[t] >= self._limit}
            notes = (
                TEXTS["edited"].format(nth=format_ordinal(count), target=show_path(target))
                for target, count in looping.items()
            )
            record: dict[str, object] = {"kind": "edit_loop", "scope": event.scope}
            if message := "\n".join(notes):
                record["counts"] = looping
                return Signal(guard="edits", level="note", message=message, record=record)
        elif undoes or event.kind in CALLS:
            counts = scopes.get(event.scope, {})
            for target in event.targets:
                for one in list(counts):
                    if one == target or (undoes and one.startswith(f"{target}/")):
                        del counts[one]
        return None


def format_ordinal(number: int) -> str:
    """Return 1 as ``1st``, 12 as ``12th``, 22 as ``22nd``."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else suffix}"


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
        self.files = FileLedger(scope=scope, max_bytes=limits.ledger_bytes)
        """The files read and modified so far."""
        self._guards: dict[str, StatefulGuard] = {
            "mistakes": self._mistakes,
            "repeats": self._repeats,
            "edits": self._edits,
            "files": self.files,
        }

    def see(self, event: Event) -> tuple[Signal, ...]:
        """Take in one event; return at most one nudge or escalation, then the notes.

        Where failures and a repeated call come together, the repeat speaks for both.
        """
        spoken = self._mistakes.see(event)
        if repeat := self._repeats.see(event):
            spoken = RepeatGuard.speak_for(repeat, spoken) if spoken else repeat
        said = (spoken, self._edits.see(event), self.files.see(event))
        return tuple(signal for signal in said if signal)

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        states = {name: guard.to_state() for name, guard in self._guards.items()}
        return {"version": STATE_VERSION, **states}

    @classmethod
    def from_state(cls, state: object, *, scope: str = "", limits: Limits = DEFAULT_LIMITS) -> Self:
        """Go on from ``to_state()``.

        Anything else, such as the state of another version, starts afresh: a forgotten count
        is harmless, a watch that cannot start is not.
        """
        watch = cls(scope=scope, limits=limits)
        if isinstance(state, dict) and state.get("version") == STATE_VERSION:
            try:
                for name, guard in watch._guards.items():
                    guard.load(state.get(name))
            except InputError:
                return cls(scope=scope, limits=limits)
        return watch
