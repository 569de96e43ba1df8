"""What became of the sessions that a lesson was due for, told by facts: no likeness of words.

A session made a card's mistake if what it wrote or ran holds a pattern of the card, or if its runs
print the card's error or fail its test; it put the mistake right if the line is gone, or the same
run went well, by its end. It avoided the mistake if it wrote or ran what would have shown it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lessons_kb.brain.detection import read_text
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.post_check import find_evidence
from lessons_kb.detect.matcher import Change, Matcher, Rule, language_of
from lessons_kb.guards.command_files import find_run
from lessons_kb.learn.failure_signs import CHANGES, RUNS, find_failing, find_test_command
from lessons_kb.model import (
    AVOIDED,
    CAME_BACK,
    CORRECTED,
    DONE,
    ERROR_FACT,
    FACTS,
    LEFT,
    PATTERN_FACT,
    TEST_FACT,
    UNKNOWN_OUTCOME,
    WITHHELD,
    Card,
    Event,
    Evidence,
    Occasion,
)
from lessons_kb.store.journal import Journal
from lessons_kb.text.error_signature import error_signature, is_same_error
from lessons_kb.text.patterns import compile_globs, match_globs

_MAX_EVENTS = 300
_FENCED = re.compile(r"^\s*(?:```|~~~).*\n((?:.*\n)*?)\s*(?:```|~~~)\s*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
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


def read_facts(layer: Layer, card: Card) -> Facts:
    """Return what shows a card's mistake: its patterns, and the errors and tests in its text."""
    shown = [*card.symptoms, *_FENCED.findall(layer.read_body(card.id) + "\n")]
    rules = (Rule(card=card.id, pattern=one, globs=compile_globs(one.files)) for one in card.detect)
    return Facts(
        matcher=Matcher(rules),
        errors=tuple(filter(None, map(error_signature, shown))),
        tests=frozenset(name for text in shown for name in find_failing(text)),
    )


Step = tuple[Event, Evidence]


def read_steps(events: Iterable[Event], layers: Sequence[Layer]) -> list[Step]:
    """Return each event with what it did."""
    return [(event, find_evidence([event], layers)) for event in events]


def judge(facts: Facts, steps: Iterable[Step], *, folder: str = "") -> tuple[str, str]:
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
            if any(_is_looked_for(rule, edit.path) for rule in facts.matcher.rules):
                chance = chance or PATTERN_FACT
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
            made[fact, path, text] = _is_gone(os.path.join(folder, *path.split("/")), text)
    left = [fact for (fact, _where, _text), gone in made.items() if not gone]
    if made:
        return (LEFT if left else CORRECTED), next(iter([*left, *(key[0] for key in made)]))
    return (AVOIDED if chance else UNKNOWN_OUTCOME), chance


def _is_looked_for(rule: Rule, path: str) -> bool:
    """Tell whether a pattern is looked for in a file."""
    pattern = rule.pattern
    return (
        pattern.kind != "command"
        and (not rule.globs or match_globs(rule.globs, path))
        and pattern.language in ("", language_of(path))
    )


def _is_gone(path: str, text: str) -> bool:
    """Tell whether a line is no longer in a file; of one that cannot be read nobody knows."""
    now = read_text(path)
    return text not in now if now else not os.path.exists(path)


def settle(brain: Layers, journal: Journal, session: str, *, folder: str) -> None:
    """Note what became, by now, of each lesson that was due in a session.

    What was seen once is not unseen where a long session's first events are no longer read.
    """
    steps: list[Step] | None = None
    for layer in brain.layers:
        ledger = layer.hook_journal.ledger
        due = ledger.find(session=session) if session else []
        cards = find_cards(layer, {one.card for one in due})
        known = {card.id: facts for card in cards if (facts := read_facts(layer, card)).kinds}
        for one in due if known else ():
            if one.card not in known:
                continue
            if steps is None:
                kinds = (*CHANGES, *RUNS)
                done = journal.events.find(session=session, kinds=kinds, limit=_MAX_EVENTS)
                steps = read_steps(done, brain.layers)
            since = (step for step in steps if step[0].at >= one.at)
            outcome, fact = judge(known[one.card], since, folder=folder)
            if outcome == LEFT and _was_told_before(one, ledger.find(cards=[one.card])):
                outcome = CAME_BACK
            seen = one.outcome not in (UNKNOWN_OUTCOME, AVOIDED)
            if outcome != one.outcome and not (seen and outcome in (UNKNOWN_OUTCOME, AVOIDED)):
                ledger.settle(one, outcome, fact)


def _was_told_before(now: Occasion, occasions: Iterable[Occasion]) -> bool:
    """Tell whether a session was told a lesson that an earlier one was told, too."""
    told = [one for one in occasions if one.told != WITHHELD and one.at <= now.at]
    return now in told and any(one.session != now.session for one in told)
