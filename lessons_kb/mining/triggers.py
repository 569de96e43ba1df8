"""Mistakes in a session, each to become a draft.

``find_triggers`` finds them in the events that our hooks journalled, ``SessionReader`` in a
transcript that no hook saw.

A trigger decides alone, for the hooks saw its events. Of a transcript several weak signals are
counted together: errors are compared by their signature, the line that tells them without what
differs each time; what users say is searched for complaints as they open a turn.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from math import log

from lessons_kb.calls.failure_signs import (
    CHANGES,
    FEEDBACK,
    REQUEST,
    RUNS,
    SPOKEN,
    error_excerpt,
    find_failing,
    find_phrase,
    find_test_command,
    is_test,
    one_line,
    read_result,
    rolls_back,
    shows_outcome,
)
from lessons_kb.model import CALLS, DONE, FAILURES, Event
from lessons_kb.text.analyzer import analyze, get_share
from lessons_kb.text.error_signature import find_errors, shows
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen

_RARE = 0.0005
"""Share of texts that hold a term which is not listed."""
_LEAST = 4.0
"""Nats of shared words below which a turn has nothing to do with a title."""
_MAX_CHARS = 4_000
"""Of one event that are looked at."""


def pick_turns(events: Sequence[Event], title: str) -> list[Event]:
    """Return the events that belong to the mistake of a title; all where none shows that.

    That is the turn (a prompt and what follows it) that shares most with the title, the later one
    of two alike, and those after it until what failed in it has passed.
    """
    turns: list[list[Event]] = []
    for event in events:
        if not turns or (event.kind == "prompt" and event.text.strip()):
            turns.append([])
        turns[-1].append(event)
    title_terms = {*analyze(title)}
    scores = [_shared(turn, title_terms) for turn in turns]
    best = max(scores, default=0.0)
    if best < _LEAST:
        return list(events)
    first = len(turns) - 1 - scores[::-1].index(best)
    failed = find_failure(turns[first], title)
    passed = (
        place
        for place, turn in enumerate(turns[first:], first)
        for event in turn
        if failed
        and event.kind in RUNS
        and (event.outcome, event.text) == ("ok", failed.text)
        and event.at >= failed.at
    )
    return [event for turn in turns[first : next(passed, first) + 1] for event in turn]


def find_failure(events: Sequence[Event], title: str) -> Event | None:
    """Return the failed command that shares most with a title, the latest of some alike."""
    failures = [one for one in events if one.kind in RUNS and one.outcome == "exec_error"]
    title_terms = {*analyze(title)}
    return max(reversed(failures), key=lambda one: _shared([one], title_terms), default=None)


def _shared(turn: Sequence[Event], title_terms: Collection[str]) -> float:
    """Return the nats of the words of a title that stand in a turn."""
    found: set[str] = set()
    for event in turn:
        texts = (event.text[:_MAX_CHARS], event.output[:_MAX_CHARS], *event.targets)
        found.update(analyze(" ".join(texts)))
    return sum(-log(get_share(term) or _RARE) for term in found.intersection(title_terms))


RED_GREEN, STAGE, ROLLBACK = "red-green", "stage", "rollback"
MISTAKES, INTERRUPT, REJECTION = "mistakes", "interrupt", "rejection"
TRIGGERS = (RED_GREEN, REQUEST, FEEDBACK, STAGE, ROLLBACK, MISTAKES, INTERRUPT, REJECTION)
"""Strongest first: a turn becomes one draft, of the kind of its strongest, or one for each test."""

_PAUSE_SECONDS = 3_600
"""Events without prompts, such as captured runs, belong together until nothing is seen so long."""
_OWN_TOOL = r"(?:\A|[^a-z])lessons_[a-z]+\Z"
"""Each agent puts the server's name in front in a form of its own."""
_OWN_COMMAND = r"(?:\A|[;&|(\n]\s*)(?:[^\s;&|]*/)?lessons(?:\s|\Z)"
"""Who declines to work with lessons does not say that something went wrong."""


@frozen
class Trigger:
    """One mistake that a session shows."""

    kind: str
    """One of TRIGGERS."""
    key: str
    """Equal where the same mistake was seen, in whatever session."""
    ids: tuple[str, ...]
    """One for each observation that it stands for, different from every other in any session."""
    cause: Event
    """The event that completed it: the prompt, the green run, the rejected call …"""
    failure: Event | None = None
    """The test's last failing run, the call itself that was refused or failed too often; for
    the other kinds the last call that failed before."""
    request: str = ""
    """The last prompt before ``cause``, "" when none is known."""
    quote: str = ""
    """The user's sentence, the reason of a failed stage; "" when nobody said anything."""
    files: tuple[str, ...] = ()
    """Those a rollback names, else those changed before: since the test failed first, for the
    other kinds since the session began."""
    changes: tuple[str, ...] = ()
    """What the journal holds of these changes: diffs and edits."""


def find_triggers(events: Iterable[Event], *, phrases: Sequence[str] = ()) -> list[Trigger]:
    """Return what a session's events call for, in order: one a turn, or one for each test mended.

    ``phrases`` are patterns for feedback beyond our own. Events of several sessions are kept
    apart, by session and scope.
    """
    sessions: dict[tuple[str, str], _Watched] = {}
    for event in sorted(events, key=lambda event: event.at):
        sessions.setdefault((event.session, event.scope), _Watched(phrases)).see(event)
    found = []
    for session in sessions.values():
        turns = [_fold(turn) if turn else [] for turn in session.turns]
        for earlier, turn in pairwise(turns):
            # "It broke again" behind a fix is about that fix: one incident.
            was_fixed = bool(earlier) and earlier[-1].kind == RED_GREEN
            if len(turn) == 1 and turn[0].kind == FEEDBACK and was_fixed:
                last, said = earlier[-1], turn.pop()
                quote = last.quote or said.quote
                earlier[-1] = replace(last, ids=(*last.ids, *said.ids), quote=quote)
        found += [trigger for turn in turns for trigger in turn]
    return sorted(found, key=lambda trigger: trigger.cause.at)


class _Watched:
    """What is known while the events of one session pass by."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self._phrases = phrases
        self.turns: list[list[Trigger]] = [[]]
        self._request = ""
        self._asked_at = 0.0
        self._before = ""
        """The request of the turn before: what a complaint is about."""
        self._red: dict[str, list[Event]] = {}
        self._broken: dict[str, Event] = {}
        """Other commands that failed with an error, by their text."""
        self._failed: Event | None = None
        self._edits: list[Event] = []
        self._commands: list[Event] = []
        self._interrupted = False
        self._refused: Event | None = None
        """The last call that the user declined without a word."""
        self._last = 0.0

    def see(self, event: Event) -> None:
        """Take in one event."""
        if event.kind == "prompt" or event.at - self._last > _PAUSE_SECONDS:
            self.turns.append([])
        self._last = event.at
        if event.kind == "prompt":
            self._before, self._request = self._request, event.text
        self._listen(event)
        if event.kind == "prompt":
            self._asked_at = event.at
        if event.kind in RUNS:
            self._ran(event)
        if event.kind == "rollback" and event.outcome in DONE:
            self._add(ROLLBACK, event, quote=event.text, files=event.targets)
        is_own = re.search(_OWN_TOOL, event.tool) or re.search(_OWN_COMMAND, event.text)
        if not is_own and (event.kind == "rejection" or event.outcome == "permission_denied"):
            if quote := _why_refused(event.output):
                self._refuse(event, event, quote)
            elif not event.record.get("asked"):  # whose question it was has its card
                self._refused = event
        if event.kind == "stage" and event.outcome in FAILURES:
            self._add(STAGE, event, key=f"{event.stage}\n{event.text}", quote=event.text)
        if _escalated(event.record):
            self._add(MISTAKES, event, key=f"{event.tool}\n{event.text}", failure=event)
        if event.kind in CHANGES and event.outcome in DONE:
            self._edits.append(event)
        if event.outcome in FAILURES and (event.kind in CALLS or event.tool):
            self._failed = event

    def _refuse(self, cause: Event, call: Event, quote: str) -> None:
        key = f"{call.tool}\n{call.text}\n{' '.join(call.targets)}"
        self._add(REJECTION, cause, key=key, failure=call, quote=quote)

    def _listen(self, event: Event) -> None:
        """Add what the user says; the reason of an interrupt may come with the next prompt."""
        typed = event.text.strip()
        if event.kind in SPOKEN:
            if found := find_phrase(event.text, self._phrases):
                self._add(found[0], event, quote=found[1])
            elif said := self._find_correction(typed):
                self._add(FEEDBACK, event, quote=said)
            elif self._interrupted and typed and not shows("go on", typed.lower()):
                self._add(INTERRUPT, event, quote=event.text)
            elif self._refused and any(shows(one, typed.lower()) for one in ("opener", "advises")):
                self._refuse(event, self._refused, event.text)
            self._interrupted, self._refused = False, None
        elif event.kind == "interrupt" and typed:
            self._add(INTERRUPT, event, quote=event.text)
        elif event.kind == "interrupt" or (event.kind in CALLS and event.outcome == "cancelled"):
            self._interrupted = True
        elif event.kind in CALLS or (event.kind == "answer" and event.text):
            self._interrupted = False  # the work went on, nobody said why

    def _find_correction(self, typed: str) -> str:
        """Return the sentence that says what was wrong with the changes of the turn before."""
        sentences = _sentences(typed)
        changed = any(edit.at >= self._asked_at for edit in self._edits)
        if not (changed and sentences and shows("opener", sentences[0].lower())):
            return ""
        told = [one for one in sentences if not one.endswith("?")]
        return _find_said("complaint", told) or _find_said("advises", told)

    def _ran(self, event: Event) -> None:
        test = find_test_command(event.text) or (event.text if event.kind == "test" else "")
        outcome = event.outcome
        if test and not shows_outcome(event.text):
            outcome = read_result(event.output) if outcome in (*DONE, *FAILURES) else ""
        if test and outcome in FAILURES and outcome != "permission_denied":
            self._red.setdefault(test, []).append(event)
        elif test and outcome == "ok" and (red := self._pop_red(test)):
            failing = find_failing("\n".join(run.output for run in red))
            if self._request and self._is_no_mistake(red, failing):
                return
            key = f"{test}\n{' '.join(failing)}"
            self._add(RED_GREEN, event, key=key, failure=red[-1], since=red[0].at)
        elif outcome == "exec_error" and find_errors(event.output):
            self._broken.setdefault(event.text, event)
        elif outcome in DONE:
            self._commands.append(event)
            edited = [path for edit in self._edits for path in edit.targets]
            if rolls_back(event.text, edited):
                self._add(ROLLBACK, event, quote=event.text)
            elif (failed := self._broken.pop(event.text, None)) and self._is_fixed(failed):
                self._add(RED_GREEN, event, key=event.text, failure=failed, since=failed.at)

    def _pop_red(self, test: str) -> list[Event]:
        """Return the failed runs of the tests that have passed now, of all or of these alone.

        That is the same command, one that runs more, or one that is told to run what had failed.
        """
        found = list[Event]()
        program = re.match(_PROGRAM, test)
        for known, runs in [*self._red.items()]:
            failing = find_failing("\n".join(run.output for run in runs))
            chosen = {*test.split()} - {*known.split()}
            narrowed = failing and all(any(word in name for word in chosen) for name in failing)
            same = program and known.startswith(program[0]) and (narrowed or not chosen)
            if known == test or same:
                found += self._red.pop(known)
        return sorted(found, key=lambda run: run.at)

    def _is_fixed(self, failed: Event) -> bool:
        """Tell whether a file that an error names was changed since, and not written before."""
        edited = {path for one in self._edits if one.at >= failed.at for path in one.targets}
        own = {path for one in self._edits if one.kind == "create" for path in one.targets}
        return any(posixpath.basename(path) in failed.output for path in edited - own)

    def _is_no_mistake(self, red: Sequence[Event], failing: Sequence[str]) -> bool:
        """Tell whether an agent's test failed for another reason than that something was wrong.

        There was none yet, it was there before what it tests, it lacked a package, a name was not
        changed everywhere yet, or it expected what was no longer wanted: code was changed before,
        tests alone after.
        """
        said = "\n".join(error_excerpt(run.output) for run in red).lower()
        commands = [one.text.lower() for one in self._commands if one.at >= red[0].at]
        if not failing and re.search(
            r"\bno tests (?:ran|found|were found)|collected 0 items", said
        ):
            return True
        if shows("absent", said) and any(shows("install", one) for one in commands):
            return True
        before = [edit for edit in self._edits if edit.at <= red[-1].at]
        after = [path for one in self._edits if one.at > red[-1].at for path in one.targets]
        asked = [p for one in before if one.at >= self._asked_at for p in one.targets]
        if after and all(map(is_test, after)) and not all(map(is_test, asked)):
            return True
        shown = "\n".join(_show_edit(one) for one in before if any(map(is_test, one.targets)))
        added = "\n".join(line for line in shown.splitlines() if line.startswith("+"))
        created = {p for one in before if one.kind == "create" for p in one.targets}
        created |= {name for name in failing if _FUNCTION.sub("", name) in added}
        if are_new(failing, created):
            return True
        names = _QUOTED_NAME.findall(said) if shows("unknown name", said) else []
        return any(
            re.search(word, str(edit.record.get("before", "")).lower())
            and not re.search(word, edit.output.lower())
            for edit in before
            for word in (rf"\b{re.escape(name)}\b" for name in names)
        )

    def _add(
        self,
        kind: str,
        cause: Event,
        *,
        key: str = "",
        failure: Event | None = None,
        since: float = 0.0,
        quote: str = "",
        files: tuple[str, ...] = (),
    ) -> None:
        edits = [edit for edit in self._edits if edit.at >= since]
        mark = cause.id or f"{cause.at:.6f} {cause.text[:60]}"
        own = f"{kind}\n{cause.session}\n{mark}"
        trigger = Trigger(
            kind=kind,
            key=f"{kind}\n{key}" if key else own,
            ids=(own,),
            cause=cause,
            failure=failure or self._failed,
            request=self._before if cause.kind == "prompt" else self._request,
            quote=quote,
            files=files or tuple(dict.fromkeys(path for edit in edits for path in edit.targets)),
            changes=tuple(filter(None, map(_show_edit, edits))),
        )
        self.turns[-1].append(trigger)


def are_new(failing: Sequence[str], created: Collection[str]) -> bool:
    """Tell whether all the tests that fail are in files that were written just before."""
    return bool(failing) and all(any(p in n or n in p for p in created) for n in failing)


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
    """Return one trigger for each test that went green in a turn, else the strongest alone.

    The first stands for those left out as well: it has their ids, and what the user said.
    """
    tests: dict[str, Trigger] = {}
    for trigger in turn:
        if trigger.kind == RED_GREEN:
            known = tests[trigger.key].ids if trigger.key in tests else ()
            tests[trigger.key] = replace(trigger, ids=(*known, *trigger.ids))
    others = [trigger for trigger in turn if trigger.kind != RED_GREEN]
    others.sort(key=lambda trigger: TRIGGERS.index(trigger.kind))
    first, *further = tests.values() or [others.pop(0)]
    said = next((one.quote for one in others if one.kind in (REQUEST, FEEDBACK)), "")
    ids = (*first.ids, *(name for one in others for name in one.ids))
    return [replace(first, ids=ids, quote=first.quote or said), *further]


def _why_refused(output: str) -> str:
    """Return what the user said of a call, without the agent's own words around it.

    A rule of the user's settings says nothing.
    """
    reason = re.split(r"(?i)the user said:|with the following feedback:", output, maxsplit=1)
    if len(reason) > 1:
        return reason[1].strip()
    is_frame = re.search(r"doesn't want to proceed with|has been denied|specified a rule", output)
    return "" if is_frame else output


def _escalated(record: object) -> bool:
    if isinstance(record, dict):
        if record.get("kind") == "mistake_recovery" and record.get("escalated"):
            return True
        return any(_escalated(value) for value in record.values())
    return isinstance(record, (list, tuple)) and any(map(_escalated, record))


SAME_ERROR, PASTED = "same error again", "pasted error"
OPENER, COMPLAINT = "turn opened with a complaint", "complaint"
SAID_SO, ADMISSION = "said it broke again", "agent admitted it"
THEN_GREEN, RETURNED = "red, then green", "error came back"
REVIEW = "review"
"""In place of the agent of a session: reviewers said it of a change."""
REVIEWED, CAUSE, SUGGESTED = "review comment", "gives a cause", "suggests a change"
REQUESTED, AGREED = "changes requested", "the author agreed"
RESOLVED = "resolved"
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
    RESOLVED: 1.0,
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
_PROMPT_CHARS = 4_000
_MAX_DIFF = 3_000
_MAX_TITLE = 160
_PROSE, _SENTENCE, _MAX_SENTENCES = 600, 300, 20
"""Characters of a line and of a sentence that somebody may have written; sentences looked at."""
_EXCERPT = 800
_OUTPUT_CHARS = 8_000
"""Of an output, its end: where programs say what was wrong."""
_COMMAND_CHARS = 2_000
_OPENING_CHARS = 800
"""Of an answer: what went wrong is told first, what was done after it."""
_PROGRAM = r"(?:cd \S+ && )?\S+"
_FUNCTION = re.compile(r"^.*::|\[.*$")
"""Around the name of a test function."""
_QUOTED_NAME = re.compile(r"['\"`]([\w@./-]+)['\"`]")
_LABEL = re.compile(r"^(?:E|>|\||\*|-|\d+[:.)])\s+")


@frozen
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
    typed: set[int] = field(default_factory=set)
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
        self._session = self._agent = ""

    def see(self, event: Event) -> None:
        """Take in one event."""
        self._session = event.session or self._session
        self._agent = event.agent or self._agent
        if event.kind == "prompt":
            self._asked(event)
        elif event.kind == "answer":
            self._answered(event.text[:_OPENING_CHARS])
        elif event.kind in CALLS:
            self._called(event)

    def finish(self) -> list[Sighting]:
        """Return what the session shows, strongest first: errors, and what was said of none.

        Behind it stand errors of no weight alone, which other sessions may know, too.
        """
        errors = {
            signature: self._sighting_of(signature, error)
            for signature, error in self._errors.items()
            if error.typed or not error.installed
        }
        spoken = []
        for turn, said in self._said:
            near = [sign for sign in errors if {turn, turn - 1} & {*self._errors[sign].turns}]
            if not near:
                spoken.append(said)
                continue
            host = max(near, key=lambda sign: (self._errors[sign].seen, self._errors[sign].last))
            signals = dict.fromkeys((*errors[host].signals, *said.signals))
            quote = errors[host].quote or said.quote
            errors[host] = replace(errors[host], signals=tuple(signals), quote=quote)
        found = [*errors.values(), *spoken]
        sure = sorted((o for o in found if o.points >= LEAST), key=lambda one: -one.points)
        unsure = [one for one in found if one.points < LEAST and one.signature]
        return [*sure[:MAX_SIGHTINGS], *unsure[:MAX_UNSURE]]

    def _asked(self, event: Event) -> None:
        number, text = len(self._turns), event.text[:_PROMPT_CHARS]
        self._turns.append(_Turn(prompt=text, at=event.at))
        for signature in self._note_errors(text, "", event.at):
            self._errors[signature].typed.add(number)
        if shows("go on", text.lower()):
            return
        sentences = _sentences(text)
        told: dict[str, str] = {}
        if (found := find_phrase(text, self._phrases)) and found[0] == FEEDBACK:
            told[SAID_SO] = found[1]
        # In the first turn nothing had been done that could be wrong.
        if number and sentences and shows("opener", sentences[0].lower()):
            told |= {} if sentences[0].endswith("?") else {OPENER: sentences[0]}
        if complaint := _find_said("complaint", sentences):
            told[COMPLAINT] = complaint
        if told:
            clear = (one for one in told.values() if len(one.split()) >= FEW_WORDS)
            self._speak(number, next(clear, " ".join(sentences[:3])), *told)

    def _answered(self, opening: str) -> None:
        """Count an admission with what was said in this turn, for it has no words of its own."""
        turn = len(self._turns) - 1
        if turn < 0 or not (sentence := _find_said("admission", _sentences(opening))):
            return
        for place, (number, one) in enumerate(self._said):
            if number == turn and ADMISSION not in one.signals:
                self._said[place] = (turn, replace(one, signals=(*one.signals, ADMISSION)))
                return
        self._speak(turn, sentence, ADMISSION)

    def _speak(self, number: int, quote: str, *signals: str) -> None:
        turn, before = self._turns[number], self._turns[max(number - 1, 0)]
        said = Sighting(
            session=self._session,
            agent=self._agent,
            at=turn.at,
            began=turn.at,
            title=one_line(quote, _MAX_TITLE),
            signals=signals,
            quote=one_line(quote, 500),
            prompts=_prompts([before.prompt] if number else []),
            paths=tuple(before.paths)[:5],
        )
        self._said.append((number, said))

    def _called(self, event: Event) -> None:
        self._calls += 1
        if not self._turns:
            self._turns.append(_Turn(prompt="", at=0.0))
        turn, failed = self._turns[-1], event.outcome in FAILURES
        if event.kind in ("edit", "create") and not failed:
            self._last_edit = self._calls
            turn.paths |= dict.fromkeys(event.targets)
            turn.created |= {*event.targets} if event.kind == "create" else set()
            change = event.record.get("change")
            if isinstance(change, str) and change:
                turn.edits = [*turn.edits, change[:_MAX_DIFF]][-6:]
        is_run, output = event.kind in RUNS, event.output[-_OUTPUT_CHARS:]
        if is_run and shows("install", event.text.lower()):
            self._forget_absent(event.text)
        looks = is_run or event.outcome != "permission_denied"
        looks = looks and (failed or (is_run and event.outcome == "unknown"))
        signatures = self._note_errors(output, event.text, event.at) if looks else []
        if is_run and (failed or signatures):
            if are_new(find_failing(output) if turn.created else (), turn.created):
                signatures = []
            self._red.setdefault(_identify_run(event), []).extend(signatures)
        elif is_run and self._red and event.outcome in ("ok", "unknown"):
            for signature in self._red.pop(_identify_run(event), ()):
                error = self._errors[signature]
                error.fixed = error.fixed or self._last_edit > error.first

    def _note_errors(self, text: str, command: str, at: float) -> list[str]:
        """Note the errors that a text names; return their signatures."""
        found = find_errors(text)
        for signature, line in found.items():
            error = self._errors.get(signature)
            if error is None:
                excerpt, now = error_excerpt(text, limit=_EXCERPT), self._calls
                error = _Error(line=line, excerpt=excerpt, command=command, first=now, began=at)
                self._errors[signature] = error
            elif self._last_edit > error.last:
                error.changed = True
            error.seen += 1
            error.turns[max(len(self._turns) - 1, 0)] = None
            error.last, error.at = self._calls, at or error.at
        return list(found)

    def _forget_absent(self, command: str) -> None:
        """Forget a missing package that is installed now: nobody did anything wrong."""
        for error in self._errors.values():
            if shows("absent", error.line.lower()):
                names = _QUOTED_NAME.findall(error.line)
                stem = names[0].split("/")[0].split(".")[0].lower() if names else ""
                if not stem or stem in command.lower() or " -r " in command or " -e" in command:
                    error.installed = True

    def _sighting_of(self, signature: str, error: _Error) -> Sighting:
        signals = {
            SAME_ERROR: len(error.typed) > 1,
            PASTED: len(error.typed) == 1,
            RETURNED: error.seen > 1 and (error.changed or len(error.turns) > 1),
            THEN_GREEN: error.fixed,
        }
        turns = [self._turns[turn] for turn in error.turns if turn < len(self._turns)]
        edits = turns[-1].edits if turns and error.fixed else []
        return Sighting(
            session=self._session,
            agent=self._agent,
            at=error.at,
            began=error.began,
            title=one_line(_LABEL.sub("", error.line), _MAX_TITLE),
            signature=signature,
            signals=tuple(signal for signal, shown in signals.items() if shown),
            prompts=_prompts(turn.prompt for turn in turns),
            paths=tuple(dict.fromkeys(p for turn in turns for p in turn.paths))[:5],
            command=one_line(error.command, _MAX_TITLE),
            excerpt=error.excerpt,
            diff="\n".join(edits)[:_MAX_DIFF],
            turns=len(error.turns),
            calls=error.last - error.first,
        )


_find_test = lru_cache(maxsize=1_000)(find_test_command)


def _identify_run(event: Event) -> str:
    return _find_test(event.text[:_COMMAND_CHARS]) or event.text


def _sentences(text: str) -> list[str]:
    """Return the first sentences that somebody wrote: no code, no lists, no log."""
    prose = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
    lines = [line for line in prose.splitlines() if len(line) < _PROSE]
    found = [one.strip() for line in lines for one in split_sentences(line)]
    return [one for one in found if len(one) <= _SENTENCE][:_MAX_SENTENCES]


def _find_said(section: str, sentences: Iterable[str]) -> str:
    """Return the first sentence that says what a section of the table tells, "" if none does."""
    found = (one for one in sentences if shows(section, one.lower()))
    return next((one for one in found if not shows("not said", one.lower())), "")


def _prompts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return prompts that ask for something, as one line each; a complaint came after it."""
    found = filter(None, (one_line(text, 200) for text in texts))
    asked = (p for p in found if not (shows("go on", p.lower()) or shows("opener", p.lower())))
    return tuple(dict.fromkeys(asked))[:3]
