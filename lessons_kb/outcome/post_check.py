"""The post-check of an answer, and the outcome of each lesson that was due in a session.

A session made the mistake of a card if an edit or a command matches a pattern of the card, or if a
command printed the error of the card or failed its test. It corrected the mistake if, at its end,
the line is gone or the same command succeeds. It avoided the mistake if it wrote or ran something
in which the mistake would have been visible. A command that only reads shows nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.calls.command_lines import find_run
from lessons_kb.calls.failure_signs import RUNS, find_failing, find_test_command
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Matcher, Rule, language_of
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.find.detection import find_in_evidence, read_text
from lessons_kb.find.shared_server import read_card
from lessons_kb.ledger.given import find_cards
from lessons_kb.ledger.lesson_effect import ADDRESSED, UNADDRESSED
from lessons_kb.model import (
    AVOIDED,
    CAME_BACK,
    CHANGES,
    CORRECTED,
    DONE,
    ERROR_FACT,
    FACTS,
    LEFT,
    PATTERN_FACT,
    SHOWN,
    TEST_FACT,
    UNKNOWN_OUTCOME,
    WITHHELD,
    Card,
    Check,
    CheckedItem,
    Command,
    Edit,
    Event,
    Evidence,
    Occasion,
)
from lessons_kb.outcome.session_evidence import (
    MAX_EVENTS,
    find_evidence,
    find_session_evidence,
)
from lessons_kb.postcheck.claims import is_act
from lessons_kb.postcheck.closing_line import read_closings
from lessons_kb.postcheck.item_states import (
    check_items,
    format_request,
    read_verdicts,
)
from lessons_kb.process.run import run_filter
from lessons_kb.store.files import read_inside
from lessons_kb.store.journal import Journal, Ledger
from lessons_kb.store.user_settings import JudgeSettings, read_user_settings
from lessons_kb.text.error_signature import error_signature, is_same_error
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.values import frozen, replace


def count_items(cards: Sequence[tuple[Brain, Card]], check: Check, *, at: float) -> None:
    """Count, for each card, the items that the answer shows and the items that it does not show."""
    for brain, card in cards:
        states = [item.state for item in check.items if item.card is card]
        shown = states.count(SHOWN)
        outcomes = brain.hook_journal.outcomes
        with brain.hook_journal.transaction():
            if len(states) > shown:
                outcomes.count(card.id, UNADDRESSED, at=at, times=len(states) - shown)
            if shown:
                outcomes.count(card.id, ADDRESSED, at=at, times=shown)


def judge(check: Check, answer: str, evidence: Evidence, *, within: float = 0.0) -> Check:
    """Return a check with the verdicts of the user's program, or the same check if there is no
    program.

    The program gets ``within`` seconds or the time in the user's settings, whichever is shorter. If
    ``within`` is 0, the settings apply. If the program fails, ``trouble`` of the check contains the
    reason, and the built-in verdicts remain.
    """
    if not check.items:
        return check
    try:
        settings = read_user_settings(JudgeSettings)
        if not settings.command.strip():
            return check
        seconds = min(settings.seconds, within) if within else settings.seconds
        request = format_request(check, answer, evidence)
        output = run_filter(settings.command, request, seconds=seconds)
        return read_verdicts(check, output, answer)
    except (ConfigError, InputError) as error:
        return replace(check, trouble=f"check.command had no say: {error}")


_CHECKED = "checked"
"""The key in an answer's record of a list. The list contains [root, card id, number in the block or
0] for the lessons of its check, and dictionaries for the lessons of a server.
"""
_FIELDS = 3
_MAX_ANSWERS = 50
_MAX_FILE = 1_000_000
"""The maximum number of bytes of a file in which a line is searched."""


def note_checked(
    journal: Journal,
    answer: Event,
    cards: Sequence[Sequence[str]],
    numbered: Mapping[int, str],
    served: Sequence[dict[str, Any]] = (),
) -> None:
    """Add the lessons of an answer's check to the record of the journalled answer.

    ``cards`` are (root, id) pairs, ``numbered`` maps numbers in the block to ids, and ``served``
    are the lessons of a server.
    """
    numbers = {card: number for number, card in numbered.items()}
    local = [[root, card, numbers.get(card, 0)] for root, card in cards]
    journal.events.set_record(answer, _CHECKED, [*local, *served])


def check_answer(
    brains: Brains,
    text: str,
    cards: Sequence[Card],
    evidence: Evidence,
    numbered: Mapping[int, str],
    *,
    look: bool = True,
) -> Check:
    """Return the check of an agent's answer, without the verdicts of the user's program.

    ``numbered`` maps numbers in the block to ids. Without ``look``, no file is read.
    """
    closings = read_closings(text, numbered, {card.id: card.checklist for card in cards})
    detected = find_in_evidence(brains, evidence, look=look)
    return check_items(cards, text, evidence, detected, closings=closings)


def check_last(brains: Brains, session: str | None = None) -> Check:
    """Return the check of the latest answer with lessons, in one session or in any.

    The lines of edits have their current numbers in the files. Raises InputError if there is no
    such answer.
    """
    members = brains.members
    number, answer = _find_checked_answer(members[0].journal, session)
    prompts = members[0].journal.events.numbered(session=answer.session, kinds=("prompt",))
    before = [prompt_number for prompt_number, _event in prompts if prompt_number < number]
    evidence = find_session_evidence(
        members[0].journal, answer.session, members, after=max(before, default=-1), until=number
    )
    local: list[list[Any]] = []
    cards: list[Card] = []
    records: Any = answer.record[_CHECKED]
    for record in records:
        if isinstance(record, dict):
            cards.append(read_card(record))
        elif isinstance(record, list) and len(record) == _FIELDS:
            local.append(record)
    for brain in reversed(members):
        ids = {str(card) for root, card, _number in local if root == brain.root}
        cards = [*find_cards(brain, ids), *cards]
    numbered = {int(in_block): str(card) for _root, card, in_block in local if in_block}
    check = check_answer(brains, answer.text, cards, evidence, numbered)
    check = judge(check, answer.text, evidence)
    items = [_add_line_number(item, answer.scope, evidence) for item in check.items]
    return replace(check, items=tuple(items))


def _find_checked_answer(journal: Journal, session: str | None) -> tuple[int, Event]:
    """Return the latest answer that was checked, with its number. Raises InputError if there is
    none.
    """
    answers = journal.events.numbered(session=session, kinds=("answer",), limit=_MAX_ANSWERS)
    for number, answer in reversed(answers):
        if isinstance(answer.record.get(_CHECKED), list):
            return number, answer
    raise InputError("no answer with lessons yet; run a task in an agent, or pass an answer")


def _add_line_number(item: CheckedItem, scope: str, evidence: Evidence) -> CheckedItem:
    """Return an item with the present line number of its quote in its file, if the file contains
    the quote.
    """
    if not item.quote or all(edit.path != item.where for edit in evidence.edits):
        return item
    root, name = os.path.split(os.path.normpath(os.path.join(scope, item.where)))
    try:
        lines = read_inside(root, name, limit=_MAX_FILE).decode("utf-8", "replace").splitlines()
    except (StorageError, OSError):
        return item
    for number, line in enumerate(lines, 1):
        if line.strip() == item.quote:
            return replace(item, where=f"{item.where}:{number}")
    return item


_FENCED = re.compile(r"^\s*(?:```|~~~).*\n((?:.*\n)*?)\s*(?:```|~~~)\s*$", re.MULTILINE)


@frozen
class Facts:
    """The facts that show the mistake of a card."""

    matcher: Matcher
    """The patterns of the card."""
    errors: tuple[str, ...] = ()
    """Signatures of errors."""
    tests: frozenset[str] = frozenset()
    """Names of tests."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of facts that the card has, which are values of FACTS."""
        values = dict(zip(FACTS, (self.matcher.rules, self.errors, self.tests), strict=True))
        return tuple(kind for kind, value in values.items() if value)


def read_facts(brain: Brain, card: Card) -> Facts:
    """Return a card's patterns, and the errors and tests in its symptoms and code blocks."""
    texts = [*card.symptoms, *_FENCED.findall(brain.read_body(card.id) + "\n")]
    rules = [
        Rule(card=card.id, pattern=pattern, globs=compile_globs(pattern.files))
        for pattern in card.detect
    ]
    tests: set[str] = set()
    for text in texts:
        tests.update(find_failing(text))
    return Facts(
        matcher=Matcher(rules),
        errors=tuple(filter(None, map(error_signature, texts))),
        tests=frozenset(tests),
    )


_WORD, _ESCAPE = re.compile(r"[a-z][\w-]*"), re.compile(r"\\.")
"""A word of a regular expression that may be a program, and a class of characters."""
Step = tuple[Event, Evidence]


def read_steps(events: Iterable[Event], brains: Sequence[Brain]) -> list[Step]:
    """Return each event with its evidence."""
    return [(event, find_evidence([event], brains)) for event in events]


def judge_steps(facts: Facts, steps: Iterable[Step], *, folder: str = "") -> tuple[str, str]:
    """Return the outcome of a card in some steps of a session, and the kind of fact that shows it.

    With ``folder``, the project root, the files are searched for the lines with the mistake.
    """
    mistakes = _Mistakes(facts)
    for event, evidence in steps:
        for edit in evidence.edits:
            mistakes.see_edit(event, edit)
        for command in evidence.commands:
            mistakes.see_command(command)
        if event.kind in RUNS and event.outcome != "cancelled":
            mistakes.see_run(event)
    if folder:
        mistakes.search_files(folder)
    return mistakes.judge()


class _Mistake(NamedTuple):
    """One occurrence of a card's mistake."""

    fact: str
    """PATTERN_FACT, ERROR_FACT or TEST_FACT."""
    where: str
    """The path of the file, or the command that failed, or "" for a command that matches."""
    text: str
    """The line, the signature of the error or the name of the test."""


class _Mistakes:
    """The occurrences of one card's mistake in a session, and whether they were corrected."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        sources = [
            rule.pattern.text for rule in facts.matcher.rules if rule.pattern.kind == "command"
        ]
        self._has_command_patterns = bool(sources)
        self._pattern_words = frozenset(_WORD.findall(_ESCAPE.sub(" ", "\n".join(sources))))
        self._corrected: dict[_Mistake, bool] = {}
        """Occurrence → whether it was corrected since."""
        self._fact_that_would_show = ""
        """The kind of the first fact that would have shown the mistake, had it been made; "" if the
        session did nothing that could have shown it."""

    def see_edit(self, event: Event, edit: Edit) -> None:
        """Record the matches that an edit removes, and then the matches that it adds."""
        before = edit.before or str(event.record.get("before", ""))
        for mistake in self._corrected:
            if mistake.fact != PATTERN_FACT or mistake.where != edit.path:
                continue
            is_removed = mistake.text in before and mistake.text not in edit.text
            if event.kind == "remove" or is_removed:
                self._corrected[mistake] = True
        change = Change(path=edit.path, before=before, after=edit.text, line=0)
        for match in self._facts.matcher.find_added(change):
            self._corrected[_Mistake(PATTERN_FACT, edit.path, match.text.rstrip("…"))] = False
        if any(_applies_to(rule, edit.path) for rule in self._facts.matcher.rules):
            self._fact_that_would_show = self._fact_that_would_show or PATTERN_FACT

    def see_command(self, command: Command) -> None:
        """Record the matches in a command. A command that only reads avoids no mistake."""
        if not self._has_command_patterns:
            return
        if is_act(command, self._pattern_words):
            self._fact_that_would_show = self._fact_that_would_show or PATTERN_FACT
        for match in self._facts.matcher.find_in_commands(find_run(command.line)):
            self._corrected[_Mistake(PATTERN_FACT, "", match.text)] = False

    def see_run(self, event: Event) -> None:
        """Note what a run of a command shows about the errors and tests of the card.

        A run that is done, or whose tests ran, first corrects all earlier mistakes of the same
        command. Then each failing test of the card in its output, and each error of the card in the
        output of a run that is not ``ok``, is a mistake that is not corrected. A card without
        errors and tests is not changed.
        """
        errors, tests = self._facts.errors, self._facts.tests
        if not errors and not tests:
            return
        test_command = find_test_command(event.text)
        where = test_command or event.text
        failing = find_failing(event.output)
        is_done = event.outcome in DONE
        if test_command and (failing or is_done):
            fact = TEST_FACT if tests else ERROR_FACT
            self._fact_that_would_show = self._fact_that_would_show or fact
        if is_done or (test_command and failing):
            self._correct_all(where)
        for name in tests.intersection(failing):
            self._corrected[_Mistake(TEST_FACT, where, name)] = False
        if event.outcome == "ok":
            return
        for error in errors:
            if is_same_error(error, event.output):
                self._corrected[_Mistake(ERROR_FACT, where, error)] = False

    def _correct_all(self, where: str) -> None:
        """Mark the mistakes of a file or command as corrected."""
        for mistake in self._corrected:
            if mistake.where == where:
                self._corrected[mistake] = True

    def search_files(self, folder: str) -> None:
        """Record the lines that are no longer in their files."""
        for mistake, is_corrected in self._corrected.items():
            if is_corrected or mistake.fact != PATTERN_FACT or not mistake.where:
                continue
            path = os.path.join(folder, *mistake.where.split("/"))
            text = read_text(path)
            if text:
                self._corrected[mistake] = mistake.text not in text
            else:  # a file that exists but cannot be read may still have the line
                self._corrected[mistake] = not os.path.exists(path)

    def judge(self) -> tuple[str, str]:
        """Return the outcome of the card and the kind of fact that shows it."""
        if not self._corrected:
            outcome = AVOIDED if self._fact_that_would_show else UNKNOWN_OUTCOME
            return outcome, self._fact_that_would_show
        for mistake, is_corrected in self._corrected.items():
            if not is_corrected:
                return LEFT, mistake.fact
        return CORRECTED, next(iter(self._corrected)).fact


def _applies_to(rule: Rule, path: str) -> bool:
    """Return whether a pattern would find its mistake in edits of a file."""
    if rule.pattern.kind == "command":
        return False
    in_file = not rule.globs or match_globs(rule.globs, path)
    return in_file and rule.pattern.language in ("", language_of(path))


def settle(brains: Brains, journal: Journal, session: str, *, folder: str) -> None:
    """Write the present outcome of each lesson that was due in a session to the ledger.

    Of a long session, only the last events are read. Therefore a recorded mistake is never removed.
    """
    steps: list[Step] | None = None
    for brain in brains.members:
        ledger = brain.hook_journal.ledger
        due = ledger.find(session=session) if session else []
        facts_by_card: dict[str, Facts] = {}
        for card in find_cards(brain, {occasion.card for occasion in due}):
            facts = read_facts(brain, card)
            if facts.kinds:
                facts_by_card[card.id] = facts
        for occasion in due:
            if occasion.card not in facts_by_card:
                continue
            if steps is None:
                kinds = (*CHANGES, *RUNS)
                events = journal.events.find(session=session, kinds=kinds, limit=MAX_EVENTS)
                steps = read_steps(events, brains.members)
            since = [(event, evidence) for event, evidence in steps if event.at >= occasion.at]
            outcome, fact = judge_steps(facts_by_card[occasion.card], since, folder=folder)
            if outcome == LEFT and _was_told_before(ledger, occasion):
                outcome = CAME_BACK
            was_seen = occasion.outcome not in (UNKNOWN_OUTCOME, AVOIDED)
            is_unseen = outcome in (UNKNOWN_OUTCOME, AVOIDED)
            if outcome != occasion.outcome and not (was_seen and is_unseen):
                ledger.settle(occasion, outcome, fact)


def _was_told_before(ledger: Ledger, occasion: Occasion) -> bool:
    """Return whether a session got a lesson that an earlier session had got as well."""
    occasions = [other for other in ledger.find(cards=[occasion.card]) if other.at <= occasion.at]
    deliveries = [other for other in occasions if other.told != WITHHELD]
    return occasion in deliveries and any(other.session != occasion.session for other in deliveries)
