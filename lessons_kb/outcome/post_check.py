"""What an answer did: the post-check, and what became of the lessons that a session was due.

What was written and run counts as done, never what was read, nor the brain's own files: a card that
comes with its fix would else be found by its own words and be its own evidence.

A session made a card's mistake if what it wrote or ran holds a pattern of the card, or if its runs
print the card's error or fail its test; it put the mistake right if the line is gone, or the same
run went well, by its end. It avoided the mistake if it wrote or ran what would have shown it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.calls.command_lines import find_run
from lessons_kb.calls.failure_signs import CHANGES, RUNS, find_failing, find_test_command
from lessons_kb.detect.matcher import Change, Matcher, Rule, language_of
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.find.detection import find_in_evidence, read_text
from lessons_kb.find.shared_server import read_card
from lessons_kb.ledger.given import find_cards
from lessons_kb.ledger.lesson_effect import ADDRESSED, UNADDRESSED
from lessons_kb.model import (
    AVOIDED,
    CAME_BACK,
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
)
from lessons_kb.postcheck.claims import is_harmless, is_quiet
from lessons_kb.postcheck.closing_line import read_closings
from lessons_kb.postcheck.item_states import (
    check_items,
    format_request,
    is_patch,
    read_patch,
    read_verdicts,
)
from lessons_kb.process.git import Diff, read_diff
from lessons_kb.process.run import run_filter
from lessons_kb.store.files import read_inside
from lessons_kb.store.journal import Journal
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, state_home
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES
from lessons_kb.store.user_settings import JudgeSettings, read_user_settings
from lessons_kb.text.error_signature import error_signature, is_same_error
from lessons_kb.text.paths import relative_path
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.values import frozen, replace


def count_items(given: Sequence[tuple[Brain, Card]], check: Check, *, at: float) -> None:
    """Count for each card how many of its items were visible in the answer, and how many not."""
    for brain, card in given:
        shown = [item.state == SHOWN for item in check.items if item.card is card]
        with brain.hook_journal.transaction():
            for what, is_shown in ((UNADDRESSED, False), (ADDRESSED, True)):
                if times := shown.count(is_shown):
                    brain.hook_journal.outcomes.count(card.id, what, at=at, times=times)


def judge(check: Check, answer: str, evidence: Evidence, *, within: float = 0.0) -> Check:
    """Return a check as the user's program sees it, the same check where there is none.

    ``within`` seconds it has to be done, where that is less than the user allows; 0 = no limit of
    its own. Whatever goes wrong is the check's ``trouble``, and the built-in verdict holds.
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


_MAX_EVENTS = 300
_SETTINGS = (CONFIG_NAME, IGNORE_NAME)


def read_change(brains: Brains, revision: str = "") -> Diff:
    """Return the diff to a revision, or of the working tree, without files of the brain itself."""
    globs = (*(f"*{suffix}" for suffix in SUFFIXES), *_SETTINGS, f"{CACHE_NAME}/**")
    own = [(brain.root, f"**/{glob}") for brain in brains.members for glob in globs]
    drafts = (state_home(), "**")
    return read_diff(brains.directory, revision or None, without=[*own, drafts])


def find_evidence(
    events: Iterable[Event],
    brains: Sequence[Brain],
    *,
    earlier: Iterable[Event] = (),
    complete: bool = False,
) -> Evidence:
    """Return what some changes and runs did.

    ``earlier`` are those of the session before its last prompt. ``complete`` says that there were
    no others; a call by an unknown tool among them may have done anything.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for is_earlier, some in ((True, earlier), (False, events)):
        calls: dict[str, list[Event]] = {}
        for number, event in enumerate(some):
            calls.setdefault(event.id or f"#{number}", []).append(event)
            if event.kind == "tool" and event.outcome in DONE and not is_harmless(event.tool):
                complete = False
        for call in calls.values():
            written = [
                os.path.normpath(os.path.join(event.scope, target))
                for event in call
                if event.kind in CHANGES
                for target in event.targets
            ]
            if written and all(any(_is_own(p, one.root) for one in brains) for p in written):
                continue
            for event in call:
                if event.kind in CHANGES and event.outcome in DONE:
                    edits += (replace(edit, earlier=is_earlier) for edit in _edits_of(event))
                elif event.kind in RUNS and event.text and event.outcome in (*DONE, "exec_error"):
                    done = read_command(event.text, failed=event.outcome == "exec_error")
                    commands.append(replace(done, earlier=is_earlier))
    return Evidence(edits=tuple(edits), commands=tuple(commands), complete=complete)


def find_session_evidence(
    journal: Journal, session: str, brains: Sequence[Brain], *, after: int, until: int | None = None
) -> Evidence:
    """Return what a session did, complete unless there was too much of it.

    What was journalled up to number ``after`` is ``earlier``; what came behind ``until`` is left
    out.
    """
    kinds = (*CHANGES, *RUNS, "tool")
    done = journal.events.numbered(session=session, kinds=kinds, limit=_MAX_EVENTS)
    return find_evidence(
        [event for number, event in done if number > after and (not until or number <= until)],
        brains,
        earlier=[event for number, event in done if number <= after],
        complete=len(done) < _MAX_EVENTS,
    )


def read_command(line: str, *, failed: bool = False) -> Command:
    """Return a command line that was run, as evidence."""
    return Command(line=line, failed=failed, tests=find_test_command(line) is not None)


def read_diff_evidence(diff: Diff) -> Evidence:
    """Return a change that git tells of as evidence; nothing is known of what was run."""
    edits = read_patch(diff.text)
    named = {edit.path for edit in edits}
    edits += (Edit(path=path) for path in diff.files if path not in named)
    return Evidence(edits=tuple(edits))


def is_change(evidence: Evidence) -> bool:
    """Tell whether the turn changed anything, or ran a command that may have."""
    return any(not edit.earlier for edit in evidence.edits) or any(
        not command.earlier and not is_quiet(command) for command in evidence.commands
    )


def _edits_of(event: Event) -> list[Edit]:
    edits: list[Edit] = []
    if event.kind != "remove" and event.output:
        path = event.targets[0] if event.targets else ""
        edits = read_patch(event.output, path=path) if is_patch(event.output) else []
        edits = edits or [Edit(path=path, text=event.output)]
        # opencode's diffs name files in full.
        edits = [replace(edit, path=relative_path(edit.path, event.scope)) for edit in edits]
    named = {edit.path for edit in edits}
    return edits + [Edit(path=path) for path in event.targets if path not in named]


def _is_own(path: str, root: str) -> bool:
    inside = os.path.relpath(path, root).split(os.sep)
    own = inside[-1].endswith(SUFFIXES) or inside[-1] in _SETTINGS or CACHE_NAME in inside
    return own and inside[0] != os.pardir


_CHECKED = "checked"
"""Key of an answer's record: [root, card id, number in the block or 0] of the lessons that it was
held against, and those that a server told."""
_FIELDS = 3
_MAX_ANSWERS = 50
_MAX_FILE = 1_000_000
"""Bytes of a file in which a line is looked for."""


def note_checked(
    journal: Journal,
    answer: Event,
    cards: Sequence[Sequence[str]],
    numbered: Mapping[int, str],
    served: Sequence[dict[str, Any]] = (),
) -> None:
    """Remember which lessons an answer, as it was journalled, was held against.

    ``cards`` are (root, id); ``numbered`` maps their numbers in the block to ids; ``served`` are
    those that a server told.
    """
    ranks = {card: rank for rank, card in numbered.items()}
    local = [[*pair, ranks.get(pair[-1], 0)] for pair in cards]
    journal.events.tell(answer, _CHECKED, [*local, *served])


def check_answer(
    brains: Brains,
    text: str,
    cards: Sequence[Card],
    evidence: Evidence,
    numbered: Mapping[int, str],
    *,
    look: bool = True,
) -> Check:
    """Return the check of an answer in an agent, before the user's program has its say.

    ``numbered`` maps numbers in the block to ids; unless we may ``look``, no file is read.
    """
    closings = read_closings(text, numbered, {card.id: card.checklist for card in cards})
    detected = find_in_evidence(brains, evidence, look=look)
    return check_items(cards, text, evidence, detected, closings=closings)


def check_last(brains: Brains, session: str | None = None) -> Check:
    """Return the check of the latest answer that lessons were given for, in a session or in any.

    Lines of edits come with their numbers in the files as they are now. Raises InputError where no
    such answer is known.
    """
    members = brains.members
    events = members[0].journal.events
    answers = events.numbered(session=session, kinds=("answer",), limit=_MAX_ANSWERS)
    checked = [(n, one) for n, one in answers if isinstance(one.record.get(_CHECKED), list)]
    if not checked:
        raise InputError("no answer with lessons yet; run a task in an agent, or pass an answer")
    number, answer = checked[-1]
    given: Any = answer.record[_CHECKED]
    prompts = events.numbered(session=answer.session, kinds=("prompt",))
    after = max((at for at, _event in prompts if at < number), default=-1)
    evidence = find_session_evidence(
        members[0].journal, answer.session, members, after=after, until=number
    )
    local = [one for one in given if isinstance(one, list) and len(one) == _FIELDS]
    cards = [read_card(one) for one in given if isinstance(one, dict)]
    for brain in reversed(members):
        ids = {str(name) for root, name, _rank in local if root == brain.root}
        cards = [*find_cards(brain, ids), *cards]
    numbered = {int(rank): str(name) for _root, name, rank in local if rank}
    check = check_answer(brains, answer.text, cards, evidence, numbered)
    check = judge(check, answer.text, evidence)
    return replace(check, items=tuple(_locate(x, answer.scope, evidence) for x in check.items))


def _locate(item: CheckedItem, scope: str, evidence: Evidence) -> CheckedItem:
    """Add the number of the line that an item's quote has in its file today, if it is there."""
    if not item.quote or all(edit.path != item.where for edit in evidence.edits):
        return item
    root, name = os.path.split(os.path.normpath(os.path.join(scope, item.where)))
    try:
        lines = read_inside(root, name, limit=_MAX_FILE).decode("utf-8", "replace").splitlines()
    except (StorageError, OSError):
        return item
    number = next((n for n, line in enumerate(lines, 1) if line.strip() == item.quote), 0)
    return replace(item, where=f"{item.where}:{number}") if number else item


_FENCED = re.compile(r"^\s*(?:```|~~~).*\n((?:.*\n)*?)\s*(?:```|~~~)\s*$", re.MULTILINE)


@frozen
class Facts:
    """What shows a card's mistake."""

    matcher: Matcher
    errors: tuple[str, ...] = ()
    """Signatures."""
    tests: frozenset[str] = frozenset()
    """Names."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of FACTS that the card has."""
        has = (self.matcher.rules, self.errors, self.tests)
        return tuple(kind for kind, some in zip(FACTS, has, strict=True) if some)


def read_facts(brain: Brain, card: Card) -> Facts:
    """Return what shows a card's mistake: its patterns, and the errors and tests in its text."""
    shown = [*card.symptoms, *_FENCED.findall(brain.read_body(card.id) + "\n")]
    rules = (Rule(card=card.id, pattern=one, globs=compile_globs(one.files)) for one in card.detect)
    return Facts(
        matcher=Matcher(rules),
        errors=tuple(filter(None, map(error_signature, shown))),
        tests=frozenset(name for text in shown for name in find_failing(text)),
    )


Step = tuple[Event, Evidence]


def read_steps(events: Iterable[Event], brains: Sequence[Brain]) -> list[Step]:
    """Return each event with what it did."""
    return [(event, find_evidence([event], brains)) for event in events]


def judge_steps(facts: Facts, steps: Iterable[Step], *, folder: str = "") -> tuple[str, str]:
    """Return what became of a card's mistake in some steps of a session, and which fact shows it.

    ``folder`` is the project root, where it may be looked whether a line is still there.
    """
    chance = ""
    runs = any(rule.pattern.kind == "command" for rule in facts.matcher.rules)
    made: dict[tuple[str, str, str], bool] = {}  # (fact, path or run, text) → whether it is gone
    for event, evidence in steps:
        for edit in evidence.edits:
            before = edit.before or str(event.record.get("before", ""))
            for fact, path, text in made:
                gone = event.kind == "remove" or (text in before and text not in edit.text)
                if path == edit.path and fact == PATTERN_FACT and gone:
                    made[fact, path, text] = True
            change = Change(path=edit.path, before=before, after=edit.text, line=0)
            for match in facts.matcher.find_added(change):
                made[PATTERN_FACT, edit.path, match.text.rstrip("…")] = False
            for rule in facts.matcher.rules:
                in_file = not rule.globs or match_globs(rule.globs, edit.path)
                if in_file and rule.pattern.language in ("", language_of(edit.path)):
                    chance = chance or (PATTERN_FACT if rule.pattern.kind != "command" else "")
        for command in evidence.commands if runs else ():
            chance = chance or PATTERN_FACT
            for match in facts.matcher.find_in_commands(find_run(command.line)):
                made[PATTERN_FACT, "", match.text] = False
        if event.kind in RUNS and event.outcome != "cancelled" and (facts.errors or facts.tests):
            run, failing = find_test_command(event.text), find_failing(event.output)
            if run and (failing or event.outcome in DONE):
                chance = chance or (TEST_FACT if facts.tests else ERROR_FACT)
                made |= {key: True for key in made if key[1] == run}
            for name in facts.tests.intersection(failing):
                made[TEST_FACT, run or event.text, name] = False
            for error in facts.errors:
                if event.outcome != "ok" and is_same_error(error, event.output):
                    made[ERROR_FACT, run or event.text, error] = False
                elif event.outcome in DONE:
                    made |= {key: True for key in made if key[1] == event.text}
    for (fact, path, text), gone in made.items():
        if folder and fact == PATTERN_FACT and path and not gone:
            full = os.path.join(folder, *path.split("/"))
            now = read_text(full)  # of a file that cannot be read nobody knows
            made[fact, path, text] = text not in now if now else not os.path.exists(full)
    left = [fact for (fact, _where, _text), gone in made.items() if not gone]
    if made:
        return (LEFT if left else CORRECTED), next(iter([*left, *(key[0] for key in made)]))
    return (AVOIDED if chance else UNKNOWN_OUTCOME), chance


def settle(brains: Brains, journal: Journal, session: str, *, folder: str) -> None:
    """Note what became, by now, of each lesson that was due in a session.

    What was seen once is not unseen where a long session's first events are no longer read.
    """
    steps: list[Step] | None = None
    for brain in brains.members:
        ledger = brain.hook_journal.ledger
        due = ledger.find(session=session) if session else []
        cards = find_cards(brain, {one.card for one in due})
        known = {card.id: facts for card in cards if (facts := read_facts(brain, card)).kinds}
        for one in due if known else ():
            if one.card not in known:
                continue
            if steps is None:
                kinds = (*CHANGES, *RUNS)
                done = journal.events.find(session=session, kinds=kinds, limit=_MAX_EVENTS)
                steps = read_steps(done, brains.members)
            since = (step for step in steps if step[0].at >= one.at)
            outcome, fact = judge_steps(known[one.card], since, folder=folder)
            earlier = ledger.find(cards=[one.card]) if outcome == LEFT else []
            told = [other for other in earlier if other.told != WITHHELD and other.at <= one.at]
            if one in told and any(other.session != one.session for other in told):
                outcome = CAME_BACK  # in spite of what an earlier session was told, too
            seen = one.outcome not in (UNKNOWN_OUTCOME, AVOIDED)
            if outcome != one.outcome and not (seen and outcome in (UNKNOWN_OUTCOME, AVOIDED)):
                ledger.settle(one, outcome, fact)
