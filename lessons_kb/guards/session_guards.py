"""The guards: failures in a row, equal calls, edits without a look, files, and silent runs."""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from lessons_kb.data import read_toml
from lessons_kb.errors import InputError
from lessons_kb.model import CALLS, DONE, FAILURES, Event, Signal
from lessons_kb.text.paths import escape, parse_path, show_path
from lessons_kb.text.token_estimate import count_bytes
from lessons_kb.values import frozen

TEXTS: Mapping[str, str] = read_toml("guard_texts.toml")["texts"]
"""What guards say to the model and, the lines, to the user."""


class StatefulGuard:
    """A guard that remembers plain JSON data; most speak at a count."""

    SHAPE: ClassVar[Mapping[str, Any]]
    """What is remembered, by what it is like: a list of any number of its one item, a dict of any
    keys where its one key is "". A new guard's is empty."""

    def __init__(self, *, limit: int = 3) -> None:
        """Speak at ``limit``; InputError below 1."""
        if limit < 1:
            raise InputError(f"a guard's limit must be at least 1, not {limit}")
        self._limit = limit
        self._state: dict[str, Any] = {name: type(like)() for name, like in self.SHAPE.items()}

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return what the guard has to say, if anything."""
        raise NotImplementedError

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return copy.deepcopy(self._state)

    @classmethod
    def from_state(cls, state: object, **options: Any) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        guard = cls(**options)
        guard.load(state)
        return guard

    def load(self, state: Any) -> None:
        """Go on from another's ``to_state()``; InputError when it is something else."""
        _check(state, dict(self.SHAPE))
        self._state.update(copy.deepcopy(state))


def _check(state: object, like: object) -> None:
    """Raise InputError unless ``state`` has the shape of ``like``."""
    if type(state) is not type(like):
        raise InputError(f"a guard's state holds {state!r:.60}; start a new guard")
    if isinstance(state, list) and isinstance(like, list):
        for item in state:
            _check(item, like[0])
    if isinstance(state, dict) and isinstance(like, dict):
        if "" not in like and state.keys() != like.keys():
            raise InputError(f"a guard's state has the keys {sorted(state)}; start a new guard")
        for key, value in state.items():
            _check(value, like.get(key, like.get("")))


_LOOKS_AT_ALL = ("command", "test")
_UNDOES = ("remove", "rollback")


class MistakeTracker(StatefulGuard):
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
        record = {"kind": "mistake_recovery", "failure_kinds": kinds, "count": len(kinds)}
        return Signal(
            guard="mistakes",
            level="escalate" if stop else "nudge",
            message=text.format(count=len(kinds), kinds=", ".join(kinds)),
            user_line=TEXTS["stopped line" if stop else "guided line"],
            record={**record, "escalated": stop} | ({"can_continue": True} if stop else {}),
        )


class RepeatGuard(StatefulGuard):
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


class EditLoopGuard(StatefulGuard):
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
            if message := "\n".join(notes):
                record: dict[str, object] = {"kind": "edit_loop", "scope": event.scope}
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


READ_TITLE = "Files Read"
MODIFIED_TITLE = "Files Modified"
_TOUCHES = {"read": "read", "edit": "modified", "create": "modified", "remove": "modified"}
_BULLETS = ("-", "*", "+", "•")
_NOTHING = ("none", "(none)", "_none_", "n/a")


class FileLedger(StatefulGuard):
    """Two sets of paths that outlive any compaction; the order of events does not matter."""

    SHAPE = {"read": [""], "modified": [""]}  # noqa: RUF012 never changed

    def __init__(self, *, scope: str = "", max_bytes: int = 4000) -> None:
        """Name files of ``scope`` as they are and others in full; hold texts to ``max_bytes``."""
        super().__init__()
        self._scope = scope
        self._max_bytes = max_bytes

    @property
    def read(self) -> tuple[str, ...]:
        """Files looked at, sorted."""
        return tuple(self._state["read"])

    @property
    def modified(self) -> tuple[str, ...]:
        """Files edited, written or removed, sorted."""
        return tuple(self._state["modified"])

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return the files as a note when the context was compacted.

        A compaction's ``text`` is the summary that stands in the place of what was cut.
        """
        if event.kind == "compaction":
            self.merge(event.text)
            if text := self.format():
                record = {"kind": "file_ledger", **self.to_state()}
                return Signal(guard="files", level="note", message=text, record=record)
        elif event.outcome in DONE and (what := _TOUCHES.get(event.kind)):
            folder = "" if event.scope in ("", self._scope) else event.scope
            self._add(what, {posixpath.join(folder, target) for target in event.targets if target})
        return None

    def merge(self, summary: str) -> None:
        """Add the files that an earlier summary lists under our two headings."""
        for what, paths in zip(self.SHAPE, parse_ledger(summary), strict=True):
            self._add(what, paths)

    def format(self, max_bytes: int | None = None) -> str:
        """Return both lists under their headings, or "" when there is nothing to list.

        Never longer than ``max_bytes``: modified files come first for room, and a cut list says
        how many more there are.
        """
        room = self._max_bytes if max_bytes is None else max_bytes
        modified = _format_list(MODIFIED_TITLE, self.modified, room)
        room -= count_bytes(modified) + 2 if modified else 0
        read = _format_list(READ_TITLE, self.read, room)
        return "\n\n".join(part for part in (read, modified) if part)

    def _add(self, what: str, paths: set[str]) -> None:
        self._state[what] = sorted({*self._state[what], *paths})


def parse_ledger(summary: str) -> tuple[set[str], set[str]]:
    """Return the files read and modified that a text lists under our headings.

    A summary may have been rewritten by a model: any heading level and case, any bullet,
    names in backticks.
    """
    found: dict[str, set[str]] = {READ_TITLE.lower(): set(), MODIFIED_TITLE.lower(): set()}
    listed: set[str] | None = None
    begun = False
    for text in filter(None, map(str.strip, summary.splitlines())):
        name = text.strip("#:* ").lower()
        if name in found or text.startswith("#"):
            listed, begun = found.get(name), False
            continue
        mark, _, item = text.partition(" ")
        if mark not in _BULLETS and not (mark[:-1].isdigit() and mark[-1] in ".)"):
            listed = None if begun else listed  # other text ends a list
            continue
        begun = True
        item = item.strip()
        if item.startswith("`"):
            item = item[1:].partition("`")[0]
        if (
            listed is not None
            and item
            and not item.startswith("…")
            and item.lower() not in _NOTHING
        ):
            listed.add(parse_path(item))
    return found[READ_TITLE.lower()], found[MODIFIED_TITLE.lower()]


def _format_list(title: str, paths: Collection[str], room: int) -> str:
    """Return a heading and as many items as fit, "" if not even one does."""
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
    """Return a path so that it is not taken for what ``parse_ledger`` skips."""
    shown = show_path(path)
    if shown.startswith(("`", "…")) or shown.lower() in _NOTHING:
        return escape(shown[0]) + shown[1:]
    return shown


STATE_VERSION = 2


@frozen
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
        self.files = FileLedger(scope=scope, max_bytes=limits.ledger_bytes)
        """The files read and modified so far."""
        self._guards: dict[str, StatefulGuard] = {
            "mistakes": MistakeTracker(limit=limits.mistakes),
            "repeats": RepeatGuard(limit=limits.repeats),
            "edits": EditLoopGuard(limit=limits.edits),
            "files": self.files,
        }

    def see(self, event: Event) -> tuple[Signal, ...]:
        """Take in one event; return at most one nudge or escalation, then the notes.

        Where failures and a repeated call come together, the repeat speaks for both.
        """
        spoken, repeat, *notes = (guard.see(event) for guard in self._guards.values())
        if repeat:
            spoken = RepeatGuard.speak_for(repeat, spoken) if spoken else repeat
        return tuple(signal for signal in (spoken, *notes) if signal)

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


RUNNING, COMPLETED, FAILED = "running", "completed", "failed"
CANCELLED, STALLED = "cancelled", "stalled"


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
        """``running``, or how it ended: ``completed``, ``failed``, ``cancelled``, ``stalled``."""

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
