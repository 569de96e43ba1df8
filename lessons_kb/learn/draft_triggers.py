"""Which events of a session call for a lesson. A plain success never does."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lessons_kb.learn.failure_output import find_failing
from lessons_kb.learn.feedback_phrases import FEEDBACK, REQUEST, find_phrase
from lessons_kb.learn.rollbacks import find_rolled_back
from lessons_kb.model import CALLS, DONE, FAILURES, Event

RED_GREEN = "red-green"
ROLLBACK = "rollback"
REJECTION = "rejection"
INTERRUPT = "interrupt"
STAGE = "stage"
MISTAKES = "mistakes"

TRIGGERS = (REQUEST, RED_GREEN, FEEDBACK, STAGE, ROLLBACK, MISTAKES, INTERRUPT, REJECTION)
"""Strongest first: what is said of one turn becomes one draft, and the strongest names it."""

_GO_ON = (
    *("continue", "go on", "go ahead", "proceed", "carry on", "keep going", "resume", "ok", "okay"),
    *("yes", "y", "stop", "wait", "thanks", "계속", "계속해", "계속해줘", "계속해 줘", "진행해"),
    *(
        "진행해줘",
        "진행해 줘",
        "이어서",
        "이어서 해줘",
        "응",
        "네",
        "ㅇㅇ",
        "멈춰",
        "잠깐",
        "고마워",
    ),
)
"""Said after an interrupt without saying why."""
_PAUSE_SECONDS = 3_600
"""Events without prompts, such as captured runs, belong together until nothing is seen so long."""
_OWN_TOOL = r"(?:\A|[^a-z])lessons_[a-z]+\Z"
"""Each agent puts the server's name in front in a form of its own."""
_OWN_COMMAND = r"(?:\A|[;&|(\n]\s*)(?:[^\s;&|]*/)?lessons(?:\s|\Z)"
"""Who declines to work with lessons does not say that something went wrong."""
_SPOKEN = ("prompt", "feedback")
_CHANGES = ("edit", "create", "remove")
_RUNS = ("test", "command")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """One mistake that a session shows."""

    kind: str
    """One of TRIGGERS."""
    key: str
    """Equal where the same mistake was seen, in whatever session."""
    ids: tuple[str, ...]
    """What tells each observation apart from every other; the first is that of ``cause``."""
    cause: Event
    """What called for it: the prompt, the green run, the rejected call …"""
    failure: Event | None = None
    """The last failing run before it, or the failed call."""
    request: str = ""
    """The prompt of the turn in which it went wrong, "" when none is known."""
    quote: str = ""
    """The user's sentence, the reason of a failed stage; "" when nobody said anything."""
    files: tuple[str, ...] = ()
    """Changed between failure and cause, else in the turn before."""
    changes: tuple[str, ...] = ()
    """What the journal holds of these changes: diffs and edits."""


def find_triggers(
    events: Iterable[Event],
    *,
    identify: Callable[[str], str | None],
    phrases: Sequence[str] = (),
) -> list[Trigger]:
    """Return what a session's events call for, in order, one a turn and mistake.

    ``identify`` maps a command line to what makes it the same test run as another: None for any
    other command, "" for tests whose outcome it hides; ``phrases`` are patterns for feedback
    beyond our own. Events of several sessions are kept apart, by session and scope.
    """
    sessions: dict[tuple[str, str], _Session] = {}
    for event in sorted(events, key=lambda event: event.at):
        place = (event.session, event.scope)
        if place not in sessions:
            sessions[place] = _Session(identify, phrases)
        sessions[place].see(event)
    found = [trigger for session in sessions.values() for trigger in session.triggers()]
    return sorted(found, key=lambda trigger: trigger.cause.at)


class _Session:
    """What is known while the events of one session pass by."""

    def __init__(self, identify: Callable[[str], str | None], phrases: Sequence[str]) -> None:
        self._identify = identify
        self._phrases = phrases
        self._turns: list[list[Trigger]] = [[]]
        self._request = ""
        self._before = ""
        """The request of the turn before: what a complaint is about."""
        self._red: dict[str, list[Event]] = {}
        self._failed: Event | None = None
        self._edits: list[Event] = []
        self._interrupted: Event | None = None
        self._last = 0.0

    def see(self, event: Event) -> None:
        """Take in one event."""
        if event.kind == "prompt" or event.at - self._last > _PAUSE_SECONDS:
            self._turns.append([])
        self._last = event.at
        if event.kind == "prompt":
            self._before, self._request = self._request, event.text
        self._turns[-1].extend(self._called_for(event))
        if event.kind in _CHANGES and event.outcome in DONE:
            self._edits.append(event)
        if event.outcome in FAILURES and (event.kind in CALLS or event.tool):
            self._failed = event

    def triggers(self) -> list[Trigger]:
        """Return one trigger for each mistake of each turn."""
        return [trigger for turn in self._turns for trigger in _fold(turn)]

    def _called_for(self, event: Event) -> Iterator[Trigger]:
        if event.kind in _SPOKEN:
            yield from self._spoken(event)
        elif event.kind == "interrupt":
            if event.text.strip():
                yield self._make(INTERRUPT, event, quote=event.text)
            else:
                self._interrupted = event
        elif event.kind in CALLS and event.outcome == "cancelled":
            self._interrupted = event
        elif event.kind in CALLS or (event.kind == "answer" and event.text):
            self._interrupted = None  # the work went on, nobody said why
        if event.kind in _RUNS:
            yield from self._ran(event)
        if event.kind == "rollback" and event.outcome in DONE:
            yield self._make(ROLLBACK, event, quote=event.text, files=event.targets)
        is_own = re.search(_OWN_TOOL, event.tool) or re.search(_OWN_COMMAND, event.text)
        if not is_own and (event.kind == "rejection" or event.outcome == "permission_denied"):
            key = f"{event.tool}\n{event.text}\n{' '.join(event.targets)}"
            quote = _why_refused(event.output)
            if quote or not event.record.get("asked"):  # whose question it was has its card
                yield self._make(REJECTION, event, key=key, failure=event, quote=quote)
        if event.kind == "stage" and event.outcome in FAILURES:
            key = f"{event.stage}\n{event.text}"
            yield self._make(STAGE, event, key=key, quote=event.text)
        if _escalated(event.record):
            key = f"{event.tool}\n{event.text}"
            yield self._make(MISTAKES, event, key=key, failure=event)

    def _spoken(self, event: Event) -> Iterator[Trigger]:
        interrupted, self._interrupted = self._interrupted, None
        said = find_phrase(event.text, self._phrases)
        if said:
            yield self._make(said[0], event, quote=said[1])
        elif interrupted and _is_reason(event.text):
            yield self._make(INTERRUPT, event, quote=event.text)

    def _ran(self, event: Event) -> Iterator[Trigger]:
        known = self._identify(event.text)
        test = event.text if known is None and event.kind == "test" else known
        if test and event.outcome in FAILURES and event.outcome != "permission_denied":
            self._red.setdefault(test, []).append(event)
        elif test and event.outcome == "ok" and (red := self._red.pop(test, None)):
            failing = find_failing("\n".join(run.output for run in red))
            key = f"{test}\n{' '.join(failing)}"
            yield self._make(RED_GREEN, event, key=key, failure=red[-1], since=red[0])
        elif event.outcome in DONE and (rolled := find_rolled_back(event.text)) is not None:
            edited = {path for edit in self._edits for path in edit.targets}
            if rolled.always or (edited and any(rolled.touches(path) for path in edited)):
                yield self._make(ROLLBACK, event, quote=event.text)

    def _make(
        self,
        kind: str,
        cause: Event,
        *,
        key: str = "",
        failure: Event | None = None,
        since: Event | None = None,
        quote: str = "",
        files: tuple[str, ...] = (),
    ) -> Trigger:
        edits = [e for e in self._edits if since is None or e.at >= since.at]
        names = files or tuple(dict.fromkeys(path for edit in edits for path in edit.targets))
        complaint = cause.kind == "prompt"
        return Trigger(
            kind=kind,
            key=f"{kind}\n{key}" if key else f"{kind}\n{cause.session}\n{_mark(cause)}",
            ids=(f"{kind}\n{cause.session}\n{_mark(cause)}",),
            cause=cause,
            failure=failure or self._failed,
            request=self._before if complaint else self._request,
            quote=quote,
            files=names,
            changes=tuple(shown for edit in edits if (shown := _show_edit(edit))),
        )


_PATCH = r"(?ms)^\*\*\* Begin Patch\n(.*?)(?:^\*\*\* End Patch|\Z)"


def _show_edit(edit: Event) -> str:
    """Return an edit as a diff where the journal has both sides, else as it stands there."""
    if not edit.output and (patch := re.search(_PATCH, edit.text)):  # run as a command
        return patch[1].rstrip()
    before = edit.record.get("before")
    if not isinstance(before, str) or not before or not edit.targets or "\n@@ " in edit.output:
        return edit.output
    old, new = before.splitlines(), edit.output.splitlines()
    names = (f"a/{edit.targets[0]}", f"b/{edit.targets[0]}")
    return "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))


def _fold(turn: Sequence[Trigger]) -> list[Trigger]:
    """Return the strongest trigger of a turn with the ids of the others; tests stay apart."""
    if not turn:
        return []
    ranked = sorted(turn, key=lambda trigger: TRIGGERS.index(trigger.kind))
    tests: dict[str, Trigger] = {}
    for trigger in turn:
        if trigger.kind == RED_GREEN:
            first = tests.get(trigger.key)
            ids = (*first.ids, *trigger.ids) if first else trigger.ids
            tests[trigger.key] = replace(trigger, ids=ids)
    kept = list(tests.values()) or ranked[:1]
    rest = [trigger for trigger in ranked if trigger.kind != RED_GREEN and trigger not in kept]
    said = next((trigger.quote for trigger in rest if trigger.kind in (REQUEST, FEEDBACK)), "")
    first = kept[0]
    kept[0] = replace(
        first,
        ids=(*first.ids, *(name for trigger in rest for name in trigger.ids)),
        quote=first.quote or said,
    )
    return kept


def _mark(event: Event) -> str:
    return event.id or f"{event.at:.6f} {event.text[:60]}"


def _why_refused(output: str) -> str:
    """Return what the user said of a call, without the agent's own words around it."""
    reason = re.split(r"the user said:", output, maxsplit=1, flags=re.IGNORECASE)
    if len(reason) > 1:
        return reason[1].strip()
    return "" if "doesn't want to proceed with this tool use" in output else output


def _is_reason(text: str) -> bool:
    return text.strip().strip(".!~ ").casefold() not in _GO_ON and bool(text.strip())


def _escalated(record: object) -> bool:
    if isinstance(record, dict):
        if record.get("kind") == "mistake_recovery" and record.get("escalated"):
            return True
        return any(_escalated(value) for value in record.values())
    return isinstance(record, (list, tuple)) and any(map(_escalated, record))
