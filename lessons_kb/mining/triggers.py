"""Find the mistakes of a session. Each mistake becomes a draft.

``find_triggers`` finds them in the events that our hooks journalled, ``SessionReader`` in a
transcript that no hook saw.

A single trigger is enough, because the hooks saw its events. In a transcript, several weak signals
are added up: equal errors are recognised by their signature (the error line without its variable
parts), and prompts are searched for complaints.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log

from lessons_kb.calls.failure_signs import (
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
from lessons_kb.model import CALLS, CHANGES, DONE, FAILURES, Event
from lessons_kb.text.analyzer import analyze, get_share
from lessons_kb.text.error_signature import find_errors, shows
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import field, frozen, mutable, replace

_RARE = 0.0005
"""The assumed share of texts that contain an unlisted term."""
_LEAST = 4.0
"""The information of the shared words, in nats, below which a turn is unrelated to a title."""
_MAX_CHARS = 4_000
"""The maximum number of characters of an event that are searched."""


def pick_turns(events: Sequence[Event], title: str) -> list[Event]:
    """Return the events that belong to the mistake in a title, or all events if no turn fits the
    title.

    They are the events of the turn (a prompt and the events after it) that shares the most words
    with the title, and of the turns after it until its failed command passed. Of two equal turns,
    the later turn is used.
    """
    turns: list[list[Event]] = []
    for event in events:
        if not turns or (event.kind == "prompt" and event.text.strip()):
            turns.append([])
        turns[-1].append(event)
    title_terms = {*analyze(title)}
    scores = [_shared_nats(turn, title_terms) for turn in turns]
    best = max(scores, default=0.0)
    if best < _LEAST:
        return list(events)
    first = len(turns) - 1 - scores[::-1].index(best)
    last = _find_passing_turn(turns, first, find_failure(turns[first], title))
    return [event for turn in turns[first : last + 1] for event in turn]


def _find_passing_turn(turns: Sequence[Sequence[Event]], first: int, failed: Event | None) -> int:
    """Return the number of the turn in which a failed command passed, or ``first`` if it never
    passed.
    """
    if failed is None:
        return first
    for number, turn in enumerate(turns[first:], first):
        for event in turn:
            is_same = event.kind in RUNS and event.text == failed.text
            if is_same and event.outcome == "ok" and event.at >= failed.at:
                return number
    return first


def find_failure(events: Sequence[Event], title: str) -> Event | None:
    """Return the failed command that shares the most words with a title. Of equal commands, return
    the latest.
    """
    failures = [event for event in events if event.kind in RUNS and event.outcome == "exec_error"]
    title_terms = {*analyze(title)}
    return max(
        reversed(failures), key=lambda event: _shared_nats([event], title_terms), default=None
    )


def _shared_nats(turn: Sequence[Event], title_terms: Collection[str]) -> float:
    """Return the information, in nats, of the title's words that occur in a turn."""
    terms: set[str] = set()
    for event in turn:
        texts = (event.text[:_MAX_CHARS], event.output[:_MAX_CHARS], *event.targets)
        terms.update(analyze(" ".join(texts)))
    return sum(-log(get_share(term) or _RARE) for term in terms.intersection(title_terms))


RED_GREEN, STAGE, ROLLBACK = "red-green", "stage", "rollback"
MISTAKES, INTERRUPT, REJECTION = "mistakes", "interrupt", "rejection"
TRIGGERS = (RED_GREEN, REQUEST, FEEDBACK, STAGE, ROLLBACK, MISTAKES, INTERRUPT, REJECTION)
"""The kinds of triggers, with the strongest first. A turn becomes one draft of its strongest kind,
or one draft for each test.
"""

_PAUSE_SECONDS = 3_600
"""Events without prompts, such as captured runs, form one turn until a pause of this length."""
_COMPLAINING = frozenset(
    analyze(
        "it broke again and is still broken: the same error, failure, crash, bug, problem, issue or"
        " mistake came back; this test fails, it does not work, we fixed that wrong thing before"
    )
)
"""Terms of a complaint that do not name the broken thing."""
_OWN_TOOL = r"(?:\A|[^a-z])lessons_[a-z]+\Z"
"""Matches the names of our tools. Each agent prefixes the server's name in its own way."""
_OWN_COMMAND = r"(?:\A|[;&|(\n]\s*)(?:[^\s;&|]*/)?lessons(?:\s|\Z)"
"""Matches our command. A user who declines this command does not report a mistake."""


@frozen
class Trigger:
    """A mistake in a session, for which a draft is made."""

    kind: str
    """One of TRIGGERS."""
    key: str
    """A key that is equal for the same mistake, even in different sessions."""
    ids: tuple[str, ...]
    """An id for each observation of the mistake, unique across sessions."""
    cause: Event
    """The event that completed the trigger, such as the prompt, the passing run or the rejected
    call.
    """
    failure: Event | None = None
    """The last failing run of the test, or the call that was refused or failed too often. For the
    other kinds, this is the last call that failed before.
    """
    request: str = ""
    """The last prompt before ``cause``, or "" if it is unknown."""
    quote: str = ""
    """The user's sentence, or the reason of a failed stage, or "" if there is none."""
    files: tuple[str, ...] = ()
    """The files that a rollback names. For other kinds, these are the files that were changed
    before the cause, since the test first failed or else since the session began.
    """
    changes: tuple[str, ...] = ()
    """The changes of these files as the journal contains them, as diffs and edits."""


def find_triggers(
    events: Iterable[Event],
    *,
    phrases: Sequence[str] = (),
    has_card: Callable[[Trigger], bool] = lambda _complaint: False,
) -> list[Trigger]:
    """Return the triggers in a session's events, in order. There is one per turn, or one per fixed
    test.

    ``phrases`` are additional patterns for feedback. Events of several sessions are separated by
    session and scope. A complaint that seems to be about an earlier fix of the session is joined
    with it, unless ``has_card`` returns that there is a card about the mistake that it names.
    """
    sessions: dict[tuple[str, str], _Watched] = {}
    for event in sorted(events, key=lambda event: event.at):
        sessions.setdefault((event.session, event.scope), _Watched(phrases)).see(event)
    triggers = []
    for session in sessions.values():
        turns = [_fold(turn) if turn else [] for turn in session.turns]
        for number, turn in enumerate(turns):
            if len(turn) != 1 or turn[0].kind != FEEDBACK:
                continue
            # "It broke again" is about an earlier fix, so both are one incident.
            place = _find_broken_fix(turn[0], turns[:number])
            if place is not None and not (names_mistake(turn[0].cause.text) and has_card(turn[0])):
                feedback, (fix_turn, fix_number) = turn.pop(), place
                fix = turns[fix_turn][fix_number]
                quote = fix.quote or feedback.quote
                merged = replace(fix, ids=(*fix.ids, *feedback.ids), quote=quote)
                turns[fix_turn][fix_number] = merged
        triggers += [trigger for turn in turns for trigger in turn]
    return sorted(triggers, key=lambda trigger: trigger.cause.at)


def names_mistake(text: str) -> frozenset[str]:
    """Return the terms of a complaint that name the broken thing. The result is empty for "it broke
    again".
    """
    return frozenset(analyze(text)).difference(_COMPLAINING)


def _find_broken_fix(
    feedback: Trigger, turns: Sequence[Sequence[Trigger]]
) -> tuple[int, int] | None:
    """Return the turn of the fix that a complaint is about, and the position of the fix in the
    turn.

    A complaint that names nothing is about the last fix of the previous turn. Return None if there
    is no such fix.
    """
    named = names_mistake(feedback.cause.text)
    best, most_shared = None, 0
    for turn_number, turn in enumerate(turns):
        for place, fix in enumerate(turn):
            if fix.kind != RED_GREEN:
                continue
            output = fix.failure.output[:_MAX_CHARS] if fix.failure else ""
            words = analyze(" ".join((fix.request, fix.key, output, *fix.files)))
            shared = len(named.intersection(words))
            if shared and shared >= most_shared:  # the latest of equal ones
                best, most_shared = (turn_number, place), shared
    is_named = any(term.isascii() for term in named)
    if best is not None or is_named or not turns:
        return best
    before = turns[-1]
    if before and before[-1].kind == RED_GREEN:
        return len(turns) - 1, len(before) - 1
    return None


class _Watched:
    """The state of one session while its events are processed in order."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self._phrases = phrases
        self.turns: list[list[Trigger]] = [[]]
        self._request = ""
        self._asked_at = 0.0
        self._before = ""
        """The prompt of the previous turn, to which a complaint refers."""
        self._red: dict[str, list[Event]] = {}
        self._broken: dict[str, Event] = {}
        """Mapping from the text of other commands to their failures with an error."""
        self._failed: Event | None = None
        self._edits: list[Event] = []
        self._commands: list[Event] = []
        self._interrupted = False
        self._refused: Event | None = None
        """The last call that the user declined without a reason."""
        self._last = 0.0

    def see(self, event: Event) -> None:
        """Process one event."""
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
            quote = _find_reason(event.output)
            if quote:
                self._refuse(event, event, quote)
            elif not event.record.get("asked"):  # a card asked the question, so it already exists
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
        """Add the triggers in the user's messages.

        The reason of an interrupt or of a refusal may be in the next prompt.
        """
        typed = event.text.strip()
        if event.kind in SPOKEN:
            phrase = find_phrase(event.text, self._phrases)
            correction = "" if phrase else self._find_correction(typed)
            lower = typed.lower()
            if phrase:
                self._add(phrase[0], event, quote=phrase[1])
            elif correction:
                self._add(FEEDBACK, event, quote=correction)
            elif self._interrupted and typed and not shows("go on", lower):
                self._add(INTERRUPT, event, quote=event.text)
            elif self._refused and (shows("opener", lower) or shows("advises", lower)):
                self._refuse(event, self._refused, event.text)
            self._interrupted, self._refused = False, None
        elif event.kind == "interrupt" and typed:
            self._add(INTERRUPT, event, quote=event.text)
        elif event.kind == "interrupt" or (event.kind in CALLS and event.outcome == "cancelled"):
            self._interrupted = True
        elif event.kind in CALLS or (event.kind == "answer" and event.text):
            self._interrupted = False  # the work continued without a reason for the interrupt

    def _find_correction(self, typed: str) -> str:
        """Return the sentence that corrects the changes of the previous turn, or "" if there is
        none.
        """
        sentences = _sentences(typed)
        changed = any(edit.at >= self._asked_at for edit in self._edits)
        if not (changed and sentences and shows("opener", sentences[0].lower())):
            return ""
        statements = [sentence for sentence in sentences if not sentence.endswith("?")]
        return _find_said("complaint", statements) or _find_said("advises", statements)

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
        """Remove and return the earlier failed runs of a test that has passed now.

        The passing run is the same command, a command that runs more tests, or a command that
        selects the failed tests.
        """
        runs = list[Event]()
        program = re.match(_PROGRAM, test)
        for red_test, red_runs in [*self._red.items()]:
            failing = find_failing("\n".join(run.output for run in red_runs))
            selectors = {*test.split()} - {*red_test.split()}
            narrowed = failing and all(any(word in name for word in selectors) for name in failing)
            is_same_program = program and red_test.startswith(program[0])
            covers = is_same_program and (narrowed or not selectors)
            if red_test == test or covers:
                runs += self._red.pop(red_test)
        return sorted(runs, key=lambda run: run.at)

    def _is_fixed(self, failed: Event) -> bool:
        """Return whether a file that the error names has been edited since then and was not created
        here.
        """
        edited = _targets_of(edit for edit in self._edits if edit.at >= failed.at)
        created = _targets_of(edit for edit in self._edits if edit.kind == "create")
        return any(posixpath.basename(path) in failed.output for path in {*edited} - {*created})

    def _is_no_mistake(self, red: Sequence[Event], failing: Sequence[str]) -> bool:
        """Return whether a test failed for another reason than a mistake in the code.

        The possible reasons are: there was no test yet, the test was written before its feature, a
        package was missing, a name was not yet renamed everywhere, or the test expected the old
        behaviour. The last reason is assumed if code was changed before the failure and only tests
        after it.
        """
        errors = "\n".join(error_excerpt(run.output) for run in red).lower()
        commands = [run.text.lower() for run in self._commands if run.at >= red[0].at]
        if not failing and re.search(_NO_TESTS, errors):
            return True
        if shows("absent", errors) and any(shows("install", command) for command in commands):
            return True
        before = [edit for edit in self._edits if edit.at <= red[-1].at]
        changed_after = _targets_of(edit for edit in self._edits if edit.at > red[-1].at)
        changed_in_turn = _targets_of(edit for edit in before if edit.at >= self._asked_at)
        only_tests_after = changed_after and all(map(is_test, changed_after))
        if only_tests_after and not all(map(is_test, changed_in_turn)):
            return True
        test_edits = [edit for edit in before if any(map(is_test, edit.targets))]
        diff = "\n".join(map(_show_edit, test_edits))
        added = "\n".join(line for line in diff.splitlines() if line.startswith("+"))
        created = {*_targets_of(edit for edit in before if edit.kind == "create")}
        created |= {name for name in failing if _FUNCTION.sub("", name) in added}
        if are_new(failing, created):
            return True
        names = _QUOTED_NAME.findall(errors) if shows("unknown name", errors) else []
        return any(_removes_name(edit, name) for name in names for edit in before)

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
    """Return whether all failing tests are among the created files or test names."""
    for name in failing:
        if not any(path in name or name in path for path in created):
            return False
    return bool(failing)


def _targets_of(edits: Iterable[Event]) -> list[str]:
    return [path for edit in edits for path in edit.targets]


def _removes_name(edit: Event, name: str) -> bool:
    word = rf"\b{re.escape(name)}\b"
    before = str(edit.record.get("before", "")).lower()
    return bool(re.search(word, before)) and not re.search(word, edit.output.lower())


_PATCH = r"(?ms)^\*\*\* Begin Patch\n(.*?)(?:^\*\*\* End Patch|\Z)"


def _show_edit(edit: Event) -> str:
    """Return an edit as a diff if the journal has both sides, or else in the form that the journal
    has.
    """
    patch = None if edit.output else re.search(_PATCH, edit.text)
    if patch:  # the edit was made by a command
        return patch[1].rstrip()
    before = edit.record.get("before")
    if not isinstance(before, str) or not before or not edit.targets or "\n@@ " in edit.output:
        return edit.output
    old = before.splitlines()
    new = edit.output.splitlines()
    names = (f"a/{edit.targets[0]}", f"b/{edit.targets[0]}")
    return "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))


def _fold(turn: Sequence[Trigger]) -> list[Trigger]:
    """Return one trigger for each test that was fixed in a turn, or else only the strongest
    trigger.

    The first trigger represents the triggers that are left out. It has their ids and the user's
    sentence.
    """
    tests: dict[str, Trigger] = {}
    for trigger in turn:
        if trigger.kind == RED_GREEN:
            earlier = tests[trigger.key].ids if trigger.key in tests else ()
            tests[trigger.key] = replace(trigger, ids=(*earlier, *trigger.ids))
    others = [trigger for trigger in turn if trigger.kind != RED_GREEN]
    others.sort(key=lambda trigger: TRIGGERS.index(trigger.kind))
    first, *further = tests.values() or [others.pop(0)]
    quotes = [trigger.quote for trigger in others if trigger.kind in (REQUEST, FEEDBACK)]
    quote = first.quote or next(iter(quotes), "")
    ids = list(first.ids)
    for trigger in others:
        ids += trigger.ids
    return [replace(first, ids=tuple(ids), quote=quote), *further]


def _find_reason(output: str) -> str:
    """Return the user's reason for refusing a call, without the words that the agent adds to it.

    The result is "" without a reason, for example if a rule in the user's settings refused the
    call.
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
"""The value in place of the agent's name for comments by reviewers."""
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
"""Mapping from each signal to its points. A sighting needs at least LEAST points in total."""
LEAST = 1.5
FEW_WORDS = 4
"""The minimum number of words in a complaint. A shorter one, such as "Nope.", does not describe the
mistake.
"""
MAX_SIGHTINGS = 200
"""The maximum number of sightings per session."""
MAX_UNSURE = 50
_PROMPT_CHARS = 4_000
_MAX_DIFF = 3_000
_MAX_TITLE = 160
_PROSE, _SENTENCE, _MAX_SENTENCES = 600, 300, 20
"""The maximum length of a typed line and of a sentence, in characters, and the maximum number of
sentences.
"""
_EXCERPT = 800
_OUTPUT_CHARS = 8_000
"""The number of characters at the end of an output that are searched, because programs report
errors last.
"""
_COMMAND_CHARS = 2_000
_OPENING_CHARS = 800
"""The number of characters of an answer that are searched, because agents admit mistakes first."""
_NO_TESTS = r"\bno tests (?:ran|found|were found)|collected 0 items"
_PROGRAM = r"(?:cd \S+ && )?\S+"
_FUNCTION = re.compile(r"^.*::|\[.*$")
"""Matches the text around the name of a test function."""
_QUOTED_NAME = re.compile(r"['\"`]([\w@./-]+)['\"`]")
_LABEL = re.compile(r"^(?:E|>|\||\*|-|\d+[:.)])\s+")


@frozen
class Sighting:
    """A mistake in one session, or in one review comment."""

    session: str
    agent: str
    at: float
    """The time when it was last seen, in seconds since the epoch, or 0 if the record has no
    times.
    """
    began: float = 0.0
    """The time when it was first seen, which is the same in each copy of a resumed session."""
    title: str
    """The line of the error, or else the user's sentence."""
    signature: str = ""
    """The signature, which is the same for the same error, or "" if no error was printed."""
    signals: tuple[str, ...] = ()
    quote: str = ""
    """The sentence of the user or of the agent."""
    prompts: tuple[str, ...] = ()
    """The prompts before the mistake."""
    paths: tuple[str, ...] = ()
    command: str = ""
    excerpt: str = ""
    diff: str = ""
    """The changes until the command passed."""
    turns: int = 1
    """The number of turns in which it was seen."""
    calls: int = 0
    """The number of tool calls between the first and the last time that it was seen."""

    @property
    def points(self) -> float:
        """The sum of the points of its signals, which shows how likely it is a mistake."""
        return sum(POINTS[signal] for signal in self.signals)


@mutable
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
    """Numbers of the turns whose prompt contains it."""
    seen: int = 0
    changed: bool = False
    """Whether a file was edited between two of its occurrences."""
    fixed: bool = False
    """Whether its command passed after an edit."""
    installed: bool = False
    """Whether it was a missing package that was installed later."""


@mutable
class _Turn:
    prompt: str
    at: float
    paths: dict[str, None] = field(default_factory=dict)
    edits: list[str] = field(default_factory=list)
    created: set[str] = field(default_factory=set)


class SessionReader:
    """Collects the mistakes of one session from its events, which are passed in order."""

    def __init__(self, phrases: Sequence[str] = ()) -> None:
        self._phrases = phrases
        self._turns: list[_Turn] = []
        self._errors: dict[str, _Error] = {}
        self._said: list[tuple[int, Sighting]] = []
        """(number of the turn, sighting) for each complaint."""
        self._red: dict[str, list[str]] = {}
        self._calls = 0
        self._last_edit = -1
        self._session = self._agent = ""

    def see(self, event: Event) -> None:
        """Process one event."""
        self._session = event.session or self._session
        self._agent = event.agent or self._agent
        if event.kind == "prompt":
            self._asked(event)
        elif event.kind == "answer":
            self._answered(event.text[:_OPENING_CHARS])
        elif event.kind in CALLS:
            self._called(event)

    def finish(self) -> list[Sighting]:
        """Return the sightings of errors, and of complaints that are not about an error, with the
        strongest first.

        Errors with too few points follow, because they may also occur in other sessions.
        """
        errors = {
            signature: self._sighting_of(signature, error)
            for signature, error in self._errors.items()
            if error.typed or not error.installed
        }
        complaints = []
        for turn, complaint in self._said:
            turns = {turn, turn - 1}
            of_these_turns = [
                name for name in errors if not turns.isdisjoint(self._errors[name].turns)
            ]
            if not of_these_turns:
                complaints.append(complaint)
                continue
            host = max(
                of_these_turns,
                key=lambda name: (self._errors[name].seen, self._errors[name].last),
            )
            signals = dict.fromkeys((*errors[host].signals, *complaint.signals))
            quote = errors[host].quote or complaint.quote
            errors[host] = replace(errors[host], signals=tuple(signals), quote=quote)
        sightings = [*errors.values(), *complaints]
        sure = [sighting for sighting in sightings if sighting.points >= LEAST]
        sure.sort(key=lambda sighting: -sighting.points)
        weak = [sighting for sighting in sightings if sighting.points < LEAST]
        unsure = [sighting for sighting in weak if sighting.signature]
        return [*sure[:MAX_SIGHTINGS], *unsure[:MAX_UNSURE]]

    def _asked(self, event: Event) -> None:
        number = len(self._turns)
        text = event.text[:_PROMPT_CHARS]
        self._turns.append(_Turn(prompt=text, at=event.at))
        for signature in self._note_errors(text, "", event.at):
            self._errors[signature].typed.add(number)
        if shows("go on", text.lower()):
            return
        sentences = _sentences(text)
        signals: dict[str, str] = {}
        """Mapping from each signal to the sentence with the signal."""
        phrase = find_phrase(text, self._phrases)
        if phrase and phrase[0] == FEEDBACK:
            signals[SAID_SO] = phrase[1]
        # In the first turn, nothing that could be wrong has been done yet.
        opening = sentences[0] if number and sentences else ""
        if shows("opener", opening.lower()) and not opening.endswith("?"):
            signals[OPENER] = opening
        complaint = _find_said("complaint", sentences)
        if complaint:
            signals[COMPLAINT] = complaint
        if signals:
            clear = (text for text in signals.values() if len(text.split()) >= FEW_WORDS)
            self._add_said(number, next(clear, " ".join(sentences[:3])), *signals)

    def _answered(self, opening: str) -> None:
        """Add an agent's admission to the complaint of its turn, or as a sighting if there is no
        complaint.
        """
        turn = len(self._turns) - 1
        sentence = _find_said("admission", _sentences(opening)) if turn >= 0 else ""
        if not sentence:
            return
        for index, (number, complaint) in enumerate(self._said):
            if number == turn and ADMISSION not in complaint.signals:
                signals = (*complaint.signals, ADMISSION)
                self._said[index] = (turn, replace(complaint, signals=signals))
                return
        self._add_said(turn, sentence, ADMISSION)

    def _add_said(self, number: int, quote: str, *signals: str) -> None:
        """Add a complaint or an admission of a turn as a sighting."""
        turn = self._turns[number]
        before = self._turns[max(number - 1, 0)]
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
        turn = self._turns[-1]
        failed = event.outcome in FAILURES
        if event.kind in ("edit", "create") and not failed:
            self._last_edit = self._calls
            turn.paths |= dict.fromkeys(event.targets)
            turn.created |= {*event.targets} if event.kind == "create" else set()
            change = event.record.get("change")
            if isinstance(change, str) and change:
                turn.edits = [*turn.edits, change[:_MAX_DIFF]][-6:]
        is_run = event.kind in RUNS
        output = event.output[-_OUTPUT_CHARS:]
        if is_run and shows("install", event.text.lower()):
            self._forget_absent(event.text)
        may_have_failed = failed or (is_run and event.outcome == "unknown")
        was_run = is_run or event.outcome != "permission_denied"
        signatures = []
        if was_run and may_have_failed:
            signatures = self._note_errors(output, event.text, event.at)
        if is_run and (failed or signatures):
            if are_new(find_failing(output) if turn.created else (), turn.created):
                signatures = []
            self._red.setdefault(_identify_run(event), []).extend(signatures)
        elif is_run and self._red and event.outcome in ("ok", "unknown"):
            for signature in self._red.pop(_identify_run(event), ()):
                error = self._errors[signature]
                error.fixed = error.fixed or self._last_edit > error.first

    def _note_errors(self, text: str, command: str, at: float) -> list[str]:
        """Record the errors that a text names, and return their signatures."""
        lines = find_errors(text)
        for signature, line in lines.items():
            error = self._errors.get(signature)
            if error is None:
                excerpt = error_excerpt(text, limit=_EXCERPT)
                now = self._calls
                error = _Error(line=line, excerpt=excerpt, command=command, first=now, began=at)
                self._errors[signature] = error
            elif self._last_edit > error.last:
                error.changed = True
            error.seen += 1
            error.turns[max(len(self._turns) - 1, 0)] = None
            error.last, error.at = self._calls, at or error.at
        return list(lines)

    def _forget_absent(self, command: str) -> None:
        """Mark errors about a missing package that the command installs, because they are not
        mistakes.
        """
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
    """Return the first sentences of the prose in a text, without code and long lines such as
    logs.
    """
    prose = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
    lines = [line for line in prose.splitlines() if len(line) < _PROSE]
    sentences = [sentence.strip() for line in lines for sentence in split_sentences(line)]
    return [sentence for sentence in sentences if len(sentence) <= _SENTENCE][:_MAX_SENTENCES]


def name_complaint(text: str) -> list[str]:
    """Return the titles that `finish` may give to the sighting of a prompt that complains."""
    sentences = _sentences(text[:_PROMPT_CHARS])
    quotes = [*sentences, " ".join(sentences[:3])]
    if phrase := find_phrase(text):
        quotes.append(phrase[1])
    return list(dict.fromkeys(one_line(quote, _MAX_TITLE) for quote in quotes))


def _find_said(section: str, sentences: Iterable[str]) -> str:
    """Return the first sentence that matches a section of the table of signals, or "" if there is
    none.
    """
    for sentence in sentences:
        lower = sentence.lower()
        if shows(section, lower) and not shows("not said", lower):
            return sentence
    return ""


def _prompts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first three prompts that ask for something, each as one line.

    "Go on" and complaints are left out.
    """
    prompts: dict[str, None] = {}
    for text in texts:
        prompt = one_line(text, 200)
        lower = prompt.lower()
        if prompt and not shows("go on", lower) and not shows("opener", lower):
            prompts[prompt] = None
    return tuple(prompts)[:3]
