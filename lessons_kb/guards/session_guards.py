"""The guards of a session, for repeated failures, equal calls, edit loops, files and silent
runs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self

from lessons_kb.data import read_toml
from lessons_kb.errors import InputError
from lessons_kb.model import CALLS, DONE, FAILURES, Event, Signal
from lessons_kb.text.paths import escape, parse_path, show_path
from lessons_kb.text.token_estimate import count_bytes
from lessons_kb.values import frozen, replace

TEXTS: Mapping[str, str] = read_toml("guard_texts.toml")["texts"]
"""Mapping from names to messages. Names that end with ``line`` are for the user, the others for the
model.
"""


class StatefulGuard:
    """A guard whose state is JSON data. Most guards signal when a count reaches a limit."""

    SHAPE: ClassVar[Mapping[str, Any]]
    """An example of the state, from which types are checked. A list may have any number of items
    like its only item, and a dict whose only key is "" may have any keys. A new guard's state has
    empty values of the same types.
    """

    def __init__(self, *, limit: int = 3) -> None:
        """Signal when a count reaches ``limit``. Raises InputError below 1."""
        if limit < 1:
            raise InputError(f"a guard's limit must be at least 1, not {limit}")
        self._limit = limit
        self._state: dict[str, Any] = {
            name: type(example)() for name, example in self.SHAPE.items()
        }

    def see(self, event: Event) -> Signal | None:
        """Process one event and return a signal, or None."""
        raise NotImplementedError

    def to_state(self) -> dict[str, Any]:
        """Return a copy of the state as JSON data."""
        state: dict[str, Any] = _copy(self._state)
        return state

    @classmethod
    def from_state(cls, state: object, **options: Any) -> Self:
        """Return a guard with a state from ``to_state()``. Raises InputError for other values."""
        guard = cls(**options)
        guard.load(state)
        return guard

    def load(self, state: Any) -> None:
        """Restore a state from ``to_state()``. Raises InputError for any other value."""
        _check(state, dict(self.SHAPE))
        self._state.update(_copy(state))


def _copy(state: object) -> Any:
    """Return a copy of JSON data. The module ``copy`` takes longer to import than this."""
    if isinstance(state, dict):
        return {key: _copy(value) for key, value in state.items()}
    if isinstance(state, list):
        return [_copy(item) for item in state]
    return state


def _check(state: object, shape: object) -> None:
    """Raise InputError unless ``state`` has the shape of ``shape``."""
    if type(state) is not type(shape):
        raise InputError(f"a guard's state contains {state!r:.60}; start a new guard")
    if isinstance(state, list) and isinstance(shape, list):
        for item in state:
            _check(item, shape[0])
    if isinstance(state, dict) and isinstance(shape, dict):
        if "" not in shape and state.keys() != shape.keys():
            raise InputError(f"a guard's state has the keys {sorted(state)}; start a new guard")
        for key, value in state.items():
            _check(value, shape.get(key, shape.get("")))


_LOOKS_AT_ALL = ("command", "test")
_UNDOES = ("remove", "rollback")


class MistakeTracker(StatefulGuard):
    """Counts consecutive failures of any kind. A success or a new prompt resets the count.

    After ``limit`` consecutive failures it nudges, and after the same number again it escalates.
    Calls of one step count as one failure, because the model has not seen any of their results yet.
    """

    SHAPE = {"run": [""], "nudged": False, "step": ""}  # noqa: RUF012 never changed

    def see(self, event: Event) -> Signal | None:
        """Process one event and return a nudge, an escalation or None."""
        state = self._state
        is_call = event.kind in CALLS or event.tool != ""
        if event.kind == "prompt" or (is_call and event.outcome in DONE):
            state.update(run=[], nudged=False)
        is_same_step = event.step and event.step == state["step"]
        if event.kind == "prompt" or event.outcome not in FAILURES or is_same_step:
            return None
        kinds: list[str] = [*state["run"], event.outcome]
        state.update(step=event.step, run=kinds)
        if len(kinds) < self._limit:
            return None
        stop = bool(state["nudged"])
        text = TEXTS["stop" if stop else "guidance"]
        state.update(run=[], nudged=True)
        record = {"kind": "mistake_recovery", "failure_kinds": kinds, "count": len(kinds)}
        record["escalated"] = stop
        if stop:
            record["can_continue"] = True
        return Signal(
            guard="mistakes",
            level="escalate" if stop else "nudge",
            message=text.format(count=len(kinds), kinds=", ".join(kinds)),
            user_line=TEXTS["stopped line" if stop else "guided line"],
            record=record,
        )


class RepeatGuard(StatefulGuard):
    """Counts consecutive equal calls of any outcome. Another call or a prompt resets the count.

    It nudges at every ``limit``-th equal call in a row.
    """

    SHAPE = {"call": [""], "count": 0}  # noqa: RUF012 never changed

    def see(self, event: Event) -> Signal | None:
        """Process one event and return a nudge or None."""
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
        """Return the signal of the repeat guard with the level and the failure kinds of the mistake
        signal.
        """
        stop = mistake.level == "escalate"
        kinds = {"escalated": stop, "failure_kinds": mistake.record["failure_kinds"]}
        repeat = replace(repeat, record=repeat.record | kinds)
        if not stop:
            return repeat
        tool = show_path(str(repeat.record["tool"]))
        count = repeat.record["count"]
        return replace(
            repeat,
            level="escalate",
            message=TEXTS["keeps failing"].format(tool=tool, count=count),
            user_line=TEXTS["keeps failing line"],
            record={**repeat.record, "can_continue": True},
        )


class EditLoopGuard(StatefulGuard):
    """Counts the edits of each (scope, target) since the target was last read.

    It returns a note at the ``limit``-th edit and at every further edit. Edits and reads that
    failed do not count. A remove or a rollback without targets resets all counts of its scope.
    Prompts do not reset a count.
    """

    SHAPE = {"counts": {"": {"": 0}}}  # noqa: RUF012 never changed

    def see(self, event: Event) -> Signal | None:
        """Process one event and return a note or None."""
        if event.outcome not in DONE:
            return None
        scopes: dict[str, dict[str, int]] = self._state["counts"]
        undoes = event.kind in _UNDOES
        if event.kind in _LOOKS_AT_ALL or (undoes and not event.targets):
            scopes.pop(event.scope, None)
        elif event.kind == "edit":
            return self._count_edits(event, scopes.setdefault(event.scope, {}))
        elif undoes or event.kind in CALLS:
            counts = scopes.get(event.scope, {})
            for target in event.targets:
                counts.pop(target, None)
                if undoes:
                    for path in list(counts):
                        if path.startswith(f"{target}/"):
                            del counts[path]
        return None

    def _count_edits(self, event: Event, counts: dict[str, int]) -> Signal | None:
        targets = dict.fromkeys(event.targets)
        for target in targets:
            counts[target] = counts.get(target, 0) + 1
        looping = {target: counts[target] for target in targets if counts[target] >= self._limit}
        if not looping:
            return None
        notes = [
            TEXTS["edited"].format(nth=format_ordinal(count), target=show_path(target))
            for target, count in looping.items()
        ]
        record: dict[str, object] = {"kind": "edit_loop", "scope": event.scope, "counts": looping}
        return Signal(guard="edits", level="note", message="\n".join(notes), record=record)


def format_ordinal(number: int) -> str:
    """Return the English ordinal of a number: ``1st``, ``12th``, ``22nd``."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else suffix}"


READ_TITLE = "Files Read"
MODIFIED_TITLE = "Files Modified"
_TOUCHES = {"read": "read", "edit": "modified", "create": "modified", "remove": "modified"}
_BULLETS = ("-", "*", "+", "•")
_NOTHING = ("none", "(none)", "_none_", "n/a")


class FileLedger(StatefulGuard):
    """The files read and the files modified in a session. The lists survive every compaction.

    The order of events does not matter.
    """

    SHAPE = {"read": [""], "modified": [""]}  # noqa: RUF012 never changed

    def __init__(self, *, scope: str = "", max_bytes: int = 4000) -> None:
        """List files of ``scope`` by relative path and other files by full path, within
        ``max_bytes``.
        """
        super().__init__()
        self._scope = scope
        self._max_bytes = max_bytes

    @property
    def read(self) -> tuple[str, ...]:
        """The files read, sorted."""
        return tuple(self._state["read"])

    @property
    def modified(self) -> tuple[str, ...]:
        """The files edited, written or removed, sorted."""
        return tuple(self._state["modified"])

    def see(self, event: Event) -> Signal | None:
        """Process one event. After a compaction, return the files as a note.

        The ``text`` of a compaction event is the summary that replaced the conversation.
        """
        if event.kind == "compaction":
            self.merge(event.text)
            if text := self.format():
                record = {"kind": "file_ledger", **self.to_state()}
                return Signal(guard="files", level="note", message=text, record=record)
        elif event.outcome in DONE and event.kind in _TOUCHES:
            folder = "" if event.scope in ("", self._scope) else event.scope
            paths = {posixpath.join(folder, target) for target in event.targets if target}
            self._add(_TOUCHES[event.kind], paths)
        return None

    def merge(self, summary: str) -> None:
        """Add the files that an earlier summary lists under our two headings."""
        for name, paths in zip(self.SHAPE, parse_ledger(summary), strict=True):
            self._add(name, paths)

    def format(self, max_bytes: int | None = None) -> str:
        """Return both lists under their headings, or "" if both are empty.

        The text has at most ``max_bytes`` bytes. Modified files are listed first, and a list that
        was cut states the number of missing files.
        """
        room = self._max_bytes if max_bytes is None else max_bytes
        modified = _format_list(MODIFIED_TITLE, self.modified, room)
        room -= count_bytes(modified) + 2 if modified else 0
        read = _format_list(READ_TITLE, self.read, room)
        return "\n\n".join(part for part in (read, modified) if part)

    def _add(self, name: str, paths: set[str]) -> None:
        self._state[name] = sorted({*self._state[name], *paths})


def parse_ledger(summary: str) -> tuple[set[str], set[str]]:
    """Return the files read and the files modified that a text lists under our headings.

    A model may have rewritten the summary. Therefore headings of any level and case, any bullets,
    and names in backticks are accepted.
    """
    sections: dict[str, set[str]] = {READ_TITLE.lower(): set(), MODIFIED_TITLE.lower(): set()}
    section: set[str] | None = None
    has_items = False
    for line in filter(None, map(str.strip, summary.splitlines())):
        name = line.strip("#:* ").lower()
        if name in sections or line.startswith("#"):
            section = sections.get(name)
            has_items = False
            continue
        mark, _, item = line.partition(" ")
        is_numbered = mark[:-1].isdigit() and mark[-1] in ".)"
        if mark not in _BULLETS and not is_numbered:
            if has_items:
                section = None  # other text ends a list
            continue
        has_items = True
        item = item.strip()
        if item.startswith("`"):
            item = item[1:].partition("`")[0]
        is_path = item and not item.startswith("…") and item.lower() not in _NOTHING
        if section is not None and is_path:
            section.add(parse_path(item))
    return sections[READ_TITLE.lower()], sections[MODIFIED_TITLE.lower()]


def _format_list(title: str, paths: Collection[str], room: int) -> str:
    """Return a heading and as many items as fit into ``room`` bytes, or "" if no item fits."""
    text = f"## {title}"
    items = [f"\n- {_show(path)}" for path in paths]
    if items and count_bytes(text) + sum(map(count_bytes, items)) <= room:
        return text + "".join(items)
    for index, item in enumerate(items):
        more = f"\n- … {len(items) - index} more"
        if count_bytes(text) + count_bytes(item) + count_bytes(more) > room:
            return text + more if index else ""
        text += item
    return ""


def _show(path: str) -> str:
    """Return a path for display. It is escaped so that ``parse_ledger`` does not skip it."""
    shown = show_path(path)
    if shown.startswith(("`", "…")) or shown.lower() in _NOTHING:
        return escape(shown[0]) + shown[1:]
    return shown


STATE_VERSION = 2


@frozen
class Limits:
    """The counts at which the guards of a watch signal."""

    mistakes: int = 3
    """Failures in a row."""
    repeats: int = 3
    """Equal calls in a row."""
    edits: int = 3
    """Edits of one target without a read in between."""
    ledger_bytes: int = 4000
    """Length limit of the file ledger's text."""


DEFAULT_LIMITS = Limits()


class Watch:
    """All guards of one session. Each event is passed to all of them."""

    def __init__(self, *, scope: str = "", limits: Limits = DEFAULT_LIMITS) -> None:
        """Start with empty states. Files of the workspace ``scope`` are listed by relative path."""
        self.files = FileLedger(scope=scope, max_bytes=limits.ledger_bytes)
        """The files read and modified so far."""
        self._guards: dict[str, StatefulGuard] = {
            "mistakes": MistakeTracker(limit=limits.mistakes),
            "repeats": RepeatGuard(limit=limits.repeats),
            "edits": EditLoopGuard(limit=limits.edits),
            "files": self.files,
        }

    def see(self, event: Event) -> tuple[Signal, ...]:
        """Process one event and return at most one nudge or escalation, followed by the notes.

        If an event triggers both the mistake tracker and the repeat guard, one signal reports both.
        """
        mistake, repeat, *notes = [guard.see(event) for guard in self._guards.values()]
        nudge = repeat or mistake
        if repeat and mistake:
            nudge = RepeatGuard.speak_for(repeat, mistake)
        return tuple(signal for signal in (nudge, *notes) if signal)

    def to_state(self) -> dict[str, Any]:
        """Return the states of all guards as JSON data."""
        states = {name: guard.to_state() for name, guard in self._guards.items()}
        return {"version": STATE_VERSION, **states}

    @classmethod
    def from_state(cls, state: object, *, scope: str = "", limits: Limits = DEFAULT_LIMITS) -> Self:
        """Return a watch with a state from ``to_state()``.

        Any other value, such as the state of another version, gives a new watch. A lost count is
        harmless, but an error at the start of a session is not.
        """
        watch = cls(scope=scope, limits=limits)
        if isinstance(state, dict) and state.get("version") == STATE_VERSION:
            try:
                for name, guard in watch._guards.items():
                    guard.load(state.get(name))
            except InputError:
                return cls(scope=scope, limits=limits)
        return watch


RUNNING, COMPLETED, FAILED = "running", "completed", "failed"
CANCELLED, STALLED = "cancelled", "stalled"


class StallGuard:
    """Detects a run that prints nothing for too long. Each chunk of output resets the deadline.

    The caller passes times, in seconds of one monotonic clock. The first of ``check``, ``cancel``
    and ``finish`` that ends the run decides its state; later calls have no effect.
    """

    def __init__(self, *, now: float, patience: float | None = 90.0) -> None:
        """Set the deadline ``patience`` seconds after ``now``, or no deadline if ``patience`` is
        None.

        Raises InputError if ``patience`` is not above 0.
        """
        if patience is not None and not patience > 0:
            raise InputError(f"patience must be above 0 seconds, not {patience:g}; None = no limit")
        self._patience = patience
        self._last_output = now
        self.state = RUNNING
        """``running`` or, after the end, ``completed``, ``failed``, ``cancelled`` or
        ``stalled``.
        """

    @property
    def deadline(self) -> float | None:
        """The time at which the run counts as stalled, or None if there is no deadline or the run
        has ended.
        """
        if self._patience is None or self.state != RUNNING:
            return None
        return self._last_output + self._patience

    def chunk(self, now: float) -> None:
        """Record that output has arrived, and reset the deadline."""
        self._last_output = now

    def check(self, now: float) -> Signal | None:
        """End the run as stalled if its deadline has passed. Return the signal the first time, and
        None otherwise.
        """
        if self.deadline is None or now < self.deadline:
            return None
        silence = now - self._last_output
        self.state = STALLED
        return Signal(
            guard="stalls",
            level="nudge",
            message=TEXTS["stalled"].format(silence=silence),
            user_line=TEXTS["stalled line"].format(silence=silence),
            record={"kind": "stall", "state": STALLED, "silence": silence},
        )

    def cancel(self) -> str:
        """End the run as cancelled unless it has already ended. Return its state."""
        return self._end(CANCELLED)

    def finish(self, *, ok: bool) -> str:
        """End the run as completed or failed unless it has already ended. Return its state."""
        return self._end(COMPLETED if ok else FAILED)

    def _end(self, state: str) -> str:
        if self.state == RUNNING:
            self.state = state
        return self.state
