"""What hurt in a session that nobody watched: several weak signals, counted together.

No signal decides alone. Errors are compared by their signature, the line that tells them without
what differs each time; what users say is searched for complaints as they open a turn.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from math import log

from lessons_kb.data import read_patterns
from lessons_kb.learn.signs import (
    FEEDBACK,
    REQUEST,
    error_excerpt,
    find_failing,
    find_phrase,
    find_rolled_back,
    find_test_command,
)
from lessons_kb.model import CALLS, DONE, FAILURES, Event
from lessons_kb.text.analyzer import analyze, get_share
from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import split_sentences

_RARE = 0.0005
"""Share of texts that hold a term which is not listed."""
_LEAST = 4.0
"""Nats of shared words below which a turn has nothing to do with a title."""
_MAX_CHARS = 4_000
"""Of one event that are looked at."""
_RUNS = ("test", "command")


def pick_turns(events: Sequence[Event], title: str) -> list[Event]:
    """Return the events that belong to the mistake of a title; all where none shows that.

    That is the turn (a prompt and what follows it) that shares most with the title, the later one
    of two alike, and those after it until what failed in it has passed.
    """
    turns = _split(events)
    title_terms = {*analyze(title)}
    scores = [_shared(turn, title_terms) for turn in turns]
    best = max(scores, default=0.0)
    if best < _LEAST:
        return list(events)
    first = len(turns) - 1 - scores[::-1].index(best)
    last = first
    if failed := find_failure(turns[first], title):
        for place in range(first, len(turns)):
            if _passes(turns[place], failed):
                last = place
                break
    return [event for turn in turns[first : last + 1] for event in turn]


def find_failure(events: Sequence[Event], title: str) -> Event | None:
    """Return the failed command that shares most with a title, the latest of some alike."""
    failures = [one for one in events if one.kind in _RUNS and one.outcome == "exec_error"]
    title_terms = {*analyze(title)}
    shared = [_shared([one], title_terms) for one in failures]
    return max(zip(shared, range(len(failures)), failures, strict=True), default=(0, 0, None))[2]


def _split(events: Sequence[Event]) -> list[list[Event]]:
    turns: list[list[Event]] = []
    for event in events:
        if not turns or (event.kind == "prompt" and event.text.strip()):
            turns.append([])
        turns[-1].append(event)
    return turns


def _passes(turn: Sequence[Event], failed: Event) -> bool:
    return any(
        event.kind in _RUNS
        and event.outcome == "ok"
        and event.text == failed.text
        and event.at >= failed.at
        for event in turn
    )


def _shared(turn: Sequence[Event], title_terms: Collection[str]) -> float:
    """Return the nats of the words of a title that stand in a turn."""
    found: set[str] = set()
    for event in turn:
        told = (event.text[:_MAX_CHARS], event.output[:_MAX_CHARS], *event.targets)
        found.update(analyze(" ".join(told)))
    return sum(-log(get_share(term) or _RARE) for term in found.intersection(title_terms))


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
_RUN_KINDS = ("test", "command")


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
        if event.kind in _RUN_KINDS:
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


SAME_ERROR, PASTED, OPENER, COMPLAINT, SAID_SO = (
    *("same error again", "pasted error", "turn opened with a complaint", "complaint"),
    "said it broke again",
)
ADMISSION, THEN_GREEN, RETURNED = "agent admitted it", "red, then green", "error came back"
REVIEW = "review"
"""In place of the agent of a session: reviewers said it of a change."""
REVIEWED, CAUSE, SUGGESTED, REQUESTED, AGREED = (
    *("review comment", "gives a cause", "suggests a change", "changes requested"),
    "the author agreed",
)
POINTS: Mapping[str, float] = {
    SAME_ERROR: 3.0,
    SAID_SO: 2.5,
    COMPLAINT: 1.5,
    OPENER: 1.5,
    RETURNED: 1.5,
    THEN_GREEN: 1.5,
    PASTED: 1.5,
    ADMISSION: 1.0,
    CAUSE: 1.5,
    REVIEWED: 1.0,
    AGREED: 1.0,
    REQUESTED: 1.0,
    SUGGESTED: 0.5,
}
"""Signal → what it adds; a sighting needs LEAST in all."""
LEAST = 1.5
FEW_WORDS = 4
"""Fewer do not say what went wrong: "Nope."."""
MAX_SIGHTINGS = 200
"""Of one session."""
MAX_UNSURE = 50
_MAX_ERRORS = 12
"""Signatures of one output."""
_MAX_LINE = 300
_SIGNATURE = 100
_PROMPT_CHARS = 4_000
_MAX_DIFF = 3_000
_SENTENCE, _MAX_SENTENCES = 300, 20
_EXCERPT = 800
_OUTPUT_CHARS = 8_000
"""Of an output, its end: where programs say what was wrong."""
_COMMAND_CHARS = 2_000
_MAX_RED = 50
_OPENING_CHARS = 800
"""Of an answer: what went wrong is told first, what was done after it."""
_HINTS = (
    *(
        "error",
        "exception",
        "fatal",
        "panic",
        "fault",
        "dumped",
        "denied",
        "not found",
        "undefined",
    ),
    *("is not ", "cannot", "could not", "no module", "unexpected", "no attribute", "timed out"),
    *("timeout", "refused", "out of memory", "traceback", "externally", "no such file", "killed"),
    *("abort", "오류", "에러", "실패"),
)
"""Without any of these a line is not looked at."""
_INSTALL = re.compile(
    r"\b(?:pip3?|uv|poetry|npm|pnpm|yarn|bun|cargo|gem|go|apt(?:-get)?|brew|conda|composer)\s+"
    r"(?:pip\s+)?(?:install|add|i|get)\b"
)
_ABSENT = re.compile(
    r"no module named|cannot find (?:module|package)|module not found|modulenotfounderror"
    r"|unresolved import|could not resolve|command '?[\w.-]+'? not found|command not found"
)
_QUOTED_NAME = re.compile(r"['\"`]([\w@./-]+)['\"`]")
_LABEL = re.compile(r"^(?:E|>|\||\*|-|\d+[:.)])\s+")
_VARIES = (
    (
        re.compile(
            r"^.*?(?=\b(?:no module named|cannot (?:find|import|resolve)|command '[\w.-]+' not))"
        ),
        "",
    ),
    (re.compile(r"\d{4}[-/]\d\d[-/]\d\d[t ][\d:.,]+z?"), ""),
    (re.compile(r"(?:[\w.~-]*[/\\])+([\w.-]+)"), r"\1"),
    (re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+"), "0"),
    (re.compile(r"^[\W_0]+|[\s.:]+$"), ""),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """One mistake as one session shows it."""

    session: str
    agent: str
    at: float
    """When it was last seen, seconds since the epoch; 0 where the record does not say."""
    began: float = 0.0
    """When it was seen first; the same in each copy of a session that was resumed."""
    title: str
    """The error line, else the user's sentence."""
    signature: str = ""
    """Equal for equal errors; "" where only words tell."""
    signals: tuple[str, ...] = ()
    quote: str = ""
    """What the user or the agent said."""
    prompts: tuple[str, ...] = ()
    """What was typed before it went wrong."""
    paths: tuple[str, ...] = ()
    command: str = ""
    excerpt: str = ""
    diff: str = ""
    """What was changed until it passed."""
    turns: int = 1
    """In how many turns it was seen."""
    calls: int = 0
    """Tool calls between the first and the last time."""

    @property
    def points(self) -> float:
        """How sure it is that something went wrong."""
        return sum(POINTS[signal] for signal in self.signals)


@dataclass(kw_only=True, slots=True)
class _Error:
    line: str
    excerpt: str
    command: str
    first: int
    last: int = 0
    began: float = 0.0
    at: float = 0.0
    turns: dict[int, None] = field(default_factory=dict)
    typed: dict[int, None] = field(default_factory=dict)
    """Turns whose prompt holds it."""
    seen: int = 0
    changed: bool = False
    """Something was changed between two of its times."""
    fixed: bool = False
    installed: bool = False


@dataclass(kw_only=True, slots=True)
class _Turn:
    prompt: str
    at: float
    paths: dict[str, None] = field(default_factory=dict)
    edits: list[str] = field(default_factory=list)
    created: set[str] = field(default_factory=set)


class SessionReader:
    """Takes in the events of one session in order; ``finish`` returns what hurt."""

    def __init__(self, phrases: Sequence[str] = ()) -> None:
        self._phrases = phrases
        self._turns: list[_Turn] = []
        self._errors: dict[str, _Error] = {}
        self._said: list[tuple[int, Sighting]] = []
        """With the number of the turn."""
        self._red: dict[str, list[str]] = {}
        self._calls = 0
        self._last_edit = -1
        self._who = ("", "")

    def see(self, event: Event) -> None:
        """Take in one event."""
        self._who = (event.session or self._who[0], event.agent or self._who[1])
        if event.kind == "prompt":
            self._asked(event)
        elif event.kind == "answer":
            self._answered(event)
        elif event.kind in CALLS:
            self._called(event)

    def finish(self) -> list[Sighting]:
        """Return what the session shows, strongest first."""
        kept = [one for one in self._all() if one.points >= LEAST]
        return sorted(kept, key=lambda one: -one.points)[:MAX_SIGHTINGS]

    def unsure(self) -> list[Sighting]:
        """Return errors of no weight alone, which other sessions may know, too."""
        return [one for one in self._all() if one.points < LEAST and one.signature][:MAX_UNSURE]

    def _all(self) -> list[Sighting]:
        """Return errors, and what was said where it is about none of them."""
        errors = {one.signature: one for one in self._of_errors()}
        spoken = []
        for turn, said in self._said:
            near = [sign for sign in errors if {turn, turn - 1} & set(self._errors[sign].turns)]
            if not near:
                spoken.append(said)
                continue
            host = max(near, key=lambda sign: (self._errors[sign].seen, self._errors[sign].last))
            signals = dict.fromkeys((*errors[host].signals, *said.signals))
            quote = errors[host].quote or said.quote
            errors[host] = replace(errors[host], signals=tuple(signals), quote=quote)
        return [*errors.values(), *spoken]

    def _turn(self) -> _Turn:
        if not self._turns:
            self._turns.append(_Turn(prompt="", at=0.0))
        return self._turns[-1]

    def _asked(self, event: Event) -> None:
        number = len(self._turns)
        self._turns.append(_Turn(prompt=event.text[:_PROMPT_CHARS], at=event.at))
        text = event.text[:_PROMPT_CHARS]
        for line in _find_errors(text):
            error = self._note(line, text, "", event.at)
            error.typed[number] = None
        if _find("go on", text.lower()):
            return
        told = {signal: said for signal, said in _judge(text, self._phrases) if said}
        if number == 0:  # nothing had been done that could be wrong
            told.pop(OPENER, None)
        if told:
            said = self._sighting(number, _quote(text, list(told.values())), list(told))
            self._said.append((number, said))

    def _sighting(self, number: int, quote: str, signals: Sequence[str]) -> Sighting:
        before = self._turns[number - 1] if number else self._turns[number]
        return Sighting(
            session=self._who[0],
            agent=self._who[1],
            at=self._turns[number].at,
            began=self._turns[number].at,
            title=_one_line(quote),
            signals=tuple(dict.fromkeys(signals)),
            quote=_one_line(quote, 500),
            prompts=_prompts([before.prompt] if number else []),
            paths=tuple(before.paths)[:5],
        )

    def _answered(self, event: Event) -> None:
        turn = len(self._turns) - 1
        opening = event.text[:_OPENING_CHARS]
        if turn < 0 or not _find("admission", opening.lower()):
            return
        for sentence in _sentences(opening):
            low = sentence.lower()
            if _find("admission", low) and not _find("not said", low):
                self._admit(turn, sentence)
                return

    def _admit(self, turn: int, sentence: str) -> None:
        """Count an admission with what was said in this turn, for it has no words of its own."""
        for place, (number, one) in enumerate(self._said):
            if number == turn and ADMISSION not in one.signals:
                self._said[place] = (turn, replace(one, signals=(*one.signals, ADMISSION)))
                return
        self._said.append((turn, self._sighting(turn, sentence, [ADMISSION])))

    def _called(self, event: Event) -> None:
        self._calls += 1
        turn = self._turn()
        if event.kind in ("edit", "create") and event.outcome not in FAILURES:
            self._last_edit = self._calls
            turn.paths |= dict.fromkeys(event.targets)
            if event.kind == "create":
                turn.created.update(event.targets)
            change = event.record.get("change")
            if isinstance(change, str) and change:
                turn.edits.append(change[:_MAX_DIFF])
                del turn.edits[:-6]
        if event.kind in ("command", "test"):
            self._ran(event)
        elif event.outcome in FAILURES and event.outcome != "permission_denied":
            self._failed(event)

    def _ran(self, event: Event) -> None:
        failed, unknown = event.outcome in FAILURES, event.outcome == "unknown"
        lines: list[str] = []
        if _INSTALL.search(event.text):
            self._forget_absent(event.text)
        if failed or unknown:
            lines = self._failed(event)
            failed = failed or bool(lines)
        if not failed and not self._red:
            return
        test = _find_test(event.text[:_COMMAND_CHARS]) or event.text
        if failed:
            self._red.setdefault(test, []).extend(self._failing(event, lines))
            while len(self._red) > _MAX_RED:
                del self._red[next(iter(self._red))]
        elif test in self._red and event.outcome in ("ok", "unknown"):
            for signature in self._red.pop(test):
                error = self._errors.get(signature)
                if error is not None and self._last_edit > error.first:
                    error.fixed = True

    def _failing(self, event: Event, lines: Sequence[str]) -> list[str]:
        """Return signatures of a red run; none of tests that this turn has just written."""
        created = self._turn().created
        names = find_failing(event.output[-_OUTPUT_CHARS:]) if created else ()
        fresh = [name for name in names if any(path in name or name in path for path in created)]
        if names and len(fresh) == len(names):
            return []
        return [_sign(line) for line in lines]

    def _failed(self, event: Event) -> list[str]:
        lines = _find_errors(event.output[-_OUTPUT_CHARS:])
        for line in lines:
            self._note(line, event.output, event.text, event.at)
        return lines

    def _note(self, line: str, text: str, command: str, at: float) -> _Error:
        signature, turn = _sign(line), max(len(self._turns) - 1, 0)
        error = self._errors.get(signature)
        if error is None:
            excerpt = error_excerpt(text[-_OUTPUT_CHARS:], limit=_EXCERPT)
            error = _Error(line=line, excerpt=excerpt, command=command, first=self._calls, began=at)
            self._errors[signature] = error
        elif self._last_edit > error.last:
            error.changed = True
        error.seen += 1
        error.turns[turn] = None
        error.last, error.at = self._calls, at or error.at
        return error

    def _forget_absent(self, command: str) -> None:
        """Forget a missing package that is installed now: nobody did anything wrong."""
        for error in self._errors.values():
            if _ABSENT.search(error.line.lower()):
                names = _QUOTED_NAME.findall(error.line)
                stem = names[0].split("/")[0].split(".")[0].lower() if names else ""
                if not stem or stem in command.lower() or " -r " in command or " -e" in command:
                    error.installed = True

    def _of_errors(self) -> Iterator[Sighting]:
        for signature, error in self._errors.items():
            signals = []
            if len(error.typed) > 1:
                signals.append(SAME_ERROR)
            elif error.typed:
                signals.append(PASTED)
            if error.seen > 1 and (error.changed or len(error.turns) > 1):
                signals.append(RETURNED)
            if error.fixed:
                signals.append(THEN_GREEN)
            if error.installed and not error.typed:
                continue
            turns = [self._turns[turn] for turn in error.turns if turn < len(self._turns)]
            last = turns[-1] if turns else None
            yield Sighting(
                session=self._who[0],
                agent=self._who[1],
                at=error.at,
                began=error.began,
                title=_one_line(_LABEL.sub("", error.line)),
                signature=signature,
                signals=tuple(signals),
                prompts=_prompts([turn.prompt for turn in turns]),
                paths=tuple(dict.fromkeys(p for turn in turns for p in turn.paths))[:5],
                command=_one_line(error.command),
                excerpt=error.excerpt,
                diff="\n".join(last.edits)[:_MAX_DIFF] if last and error.fixed else "",
                turns=len(error.turns),
                calls=error.last - error.first,
            )


@lru_cache(maxsize=1_000)
def _find_test(command: str) -> str | None:
    return find_test_command(command)


def _judge(text: str, phrases: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each signal of what a user typed, and the sentence that shows it."""
    found = find_phrase(text, phrases)
    yield SAID_SO, found[1] if found and found[0] == "feedback" else ""
    sentences = _sentences(text)
    first = sentences[0] if sentences else ""
    opened = _find("opener", first.lower()) and not first.endswith("?")
    yield OPENER, first if opened else ""
    complaint = ""
    for sentence in sentences:
        low = sentence.lower()
        if _find("complaint", low) and not _find("not said", low):
            complaint = sentence
            break
    yield COMPLAINT, complaint


def _quote(text: str, told: Sequence[str]) -> str:
    """Return the first sentence that tells something, else how the prompt begins."""
    meaningful = (sentence for sentence in told if len(sentence.split()) >= FEW_WORDS)
    return next(meaningful, " ".join(_sentences(text)[:3]))


def _sentences(text: str) -> list[str]:
    """Return the first sentences that somebody wrote: no code, no lists, no log."""
    prose = re.sub(r"```.*?(?:```|\Z)", " ", text[:_PROMPT_CHARS], flags=re.DOTALL)
    lines = [line for line in prose.splitlines() if len(line) < 600]  # noqa: PLR2004 no prose
    found = [one.strip() for line in lines for one in split_sentences(line)]
    return [one for one in found if len(one) <= _SENTENCE][:_MAX_SENTENCES]


def _find_errors(text: str) -> list[str]:
    """Return the lines of a text that name an error, each signature once."""
    found: dict[str, str] = {}
    if not _has_hint(text.lower()):
        return []
    for line in text.splitlines():
        low = line.lower()
        if len(line) > _MAX_LINE or not _has_hint(low):
            continue
        row = clean(line).strip() if not line.isprintable() else line.strip()
        low = row.lower()
        if (
            _find("error", low)
            and not _find("not said", low)
            and not _find("shell noise", low)
            and len(_sign(row)) > 7  # noqa: PLR2004 "error" alone tells nothing
        ):
            found.setdefault(_sign(row), row)
    specific = [row for row in found.values() if not row.lower().startswith("traceback")]
    return specific[-_MAX_ERRORS:]


def _find(section: str, low: str) -> bool:
    """Tell whether a pattern of a section of the table is in a text in lower case."""
    return _compiled(section).search(low) is not None


@cache
def _compiled(section: str) -> re.Pattern[str]:
    patterns = read_patterns("mining_signals.txt")[section]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE)


def _has_hint(low: str) -> bool:
    return any(hint in low for hint in _HINTS)


def _sign(line: str) -> str:
    text = line.lower()
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    return text[:_SIGNATURE]


def _prompts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return prompts that ask for something, as one line each; a complaint came after it."""
    lines = (_one_line(text, 200) for text in texts)
    told = (line for line in lines if line and not _is_reply(line.lower()))
    return tuple(dict.fromkeys(told))[:3]


def _is_reply(low: str) -> bool:
    return _find("go on", low) or _find("opener", low)


def _one_line(text: str, limit: int = 160) -> str:
    line = clean_line(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"
