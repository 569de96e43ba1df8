"""Propose the next step for a lesson whose mistake came back, and take it after consent."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.collection.compose_card import insert_patterns
from lessons_kb.collection.due_escalations import describe_returns, find_candidates, judge_linter
from lessons_kb.collection.linter_rules import (
    Linters,
    RuleProposal,
    propose_rule,
)
from lessons_kb.detect.matcher import Matcher, Rule, parse_diff
from lessons_kb.errors import GitError, InputError
from lessons_kb.find.project_detection import find_in_tree
from lessons_kb.ledger.escalation import CALL, DETECT, GATE, LINTER, find_next_step, find_returns
from lessons_kb.mining.commit_facts import is_code
from lessons_kb.mining.draft_text import names_of, split_files
from lessons_kb.model import COMMIT_SOURCE, Card, Pattern
from lessons_kb.process.git import decode, read_commit, read_history
from lessons_kb.store import card_files
from lessons_kb.store.files import write_export
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen

MOST_OTHERS = 0.1
"""The maximum share of matched commits that were not a mistake, for a supported pattern."""
_MOST_COMMITS = 2_000
_MAX_PATHS = 3


@frozen
class Replay:
    """The matches of a pattern in the history of a project."""

    commits: int = 0
    """The number of commits that were searched."""
    mistakes: int = 0
    """The number of commits that added a match which was removed later."""
    others: int = 0
    """The number of commits that added a match which is still there."""

    @property
    def is_supported(self) -> bool:
        """Whether the pattern matches commits that made the mistake, and almost no others."""
        return self.mistakes > 0 and self.others <= MOST_OTHERS * (self.mistakes + self.others)


@frozen
class Escalation:
    """The next step for one card."""

    card: Card
    brain: Brain
    step: str
    """A step of ``ledger.escalation``, STOP or TAKE_BACK."""
    reason: str
    changes: tuple[tuple[str, Change], ...] = ()
    """The keys of the header, with their new values."""
    pattern: Pattern | None = None
    """The pattern that the card gets."""
    replay: Replay | None = None
    rule: RuleProposal | None = None
    missing: str = ""
    """The parts that a person has to supply first, or "" if the step can be taken."""


def find_escalations(brains: Brains) -> list[Escalation]:
    """Return the next step of each card whose mistake came back or that a linter covers."""
    found: list[Escalation] = []
    linters = Linters(brains.directory)
    for brain in brains.members:
        for card, returns in find_candidates(brain):
            escalation = _propose(brains, brain, card, returns, linters=linters)
            if escalation is not None:
                found.append(escalation)
    return found


def find_escalation(
    brains: Brains, name: str, *, paths: Sequence[str] = (), pattern: Pattern | None = None
) -> Escalation | None:
    """Return the next step of one card, or None if it needs none.

    ``paths`` and ``pattern`` are supplied by a person for the step that needs them.
    """
    brain, card = CardEdits(brains).find(name, notes=False)
    occasions = brain.journal.ledger.find(cards=[card.id])
    returns = len(find_returns(card, occasions))
    return _propose(brains, brain, card, returns, paths=paths, pattern=pattern)


def _propose(
    brains: Brains,
    brain: Brain,
    card: Card,
    returns: int,
    *,
    paths: Sequence[str] = (),
    pattern: Pattern | None = None,
    linters: Linters | None = None,
) -> Escalation | None:
    linters = linters or Linters(brains.directory)
    by_linter = judge_linter(card, linters)
    if by_linter is not None:
        return Escalation(
            card=card,
            brain=brain,
            step=by_linter.step,
            reason=by_linter.reason,
            changes=by_linter.changes,
        )
    step = find_next_step(card)
    if not returns or card.status != "active":
        return None
    reason = describe_returns(returns)
    changes: tuple[tuple[str, Change], ...]
    if not step:
        missing = f"{card.enforced_by} is not enabled yet; add it to the project"
        return Escalation(card=card, brain=brain, step=LINTER, reason=reason, missing=missing)
    escalated: tuple[str, Change] = ("escalated", _format_now())
    if step == CALL:
        chosen = tuple(paths) or _find_paths(brains, brain, card)
        missing = "" if chosen else "name the files that it guards: `--paths GLOBS`"
        changes = (("paths", chosen), escalated)
        return Escalation(
            card=card, brain=brain, step=step, reason=reason, changes=changes, missing=missing
        )
    if step == GATE:
        changes = (("gate", "once"), escalated)
        return Escalation(card=card, brain=brain, step=step, reason=reason, changes=changes)
    if step == DETECT:
        return _propose_detect(brains, brain, card, reason, escalated, pattern)
    rule = propose_rule(card, linters)
    if rule is None:
        missing = "its patterns fit no rule of a linter; write one by hand, and `enforced-by` here"
        return Escalation(card=card, brain=brain, step=LINTER, reason=reason, missing=missing)
    changes = (("enforced-by", rule.name), escalated)
    return Escalation(
        card=card, brain=brain, step=LINTER, reason=reason, changes=changes, rule=rule
    )


def _find_paths(brains: Brains, brain: Brain, card: Card) -> tuple[str, ...]:
    """Return the files in which the mistake was made, from the ledger or else from the commits."""
    files: dict[str, None] = {}
    for occasion in find_returns(card, brain.journal.ledger.find(cards=[card.id])):
        kind, _, file = occasion.occasion.partition(" ")
        if kind == "change" and file:
            files[file] = None
    if not files:
        for diff in _read_fixes(brains, brain, card):
            names = [names_of(part)[-1] for part in split_files(diff)]
            files.update(dict.fromkeys(filter(is_code, names)))
    return tuple(files)[:_MAX_PATHS]


def _read_fixes(brains: Brains, brain: Brain, card: Card) -> list[str]:
    """Return the diffs of the commits that a card names as its sources."""
    limit = brain.settings.index.max_file_bytes
    text = card_files.read_bytes(brain.root, card.id, limit=limit).decode("utf-8", "replace")
    diffs = []
    for source in read_sources_of(text):
        if source.scheme == COMMIT_SOURCE:
            with contextlib.suppress(GitError):
                diffs.append(read_commit(brains.directory, source.name))
    return diffs


def _propose_detect(
    brains: Brains,
    brain: Brain,
    card: Card,
    reason: str,
    escalated: tuple[str, Change],
    pattern: Pattern | None,
) -> Escalation:
    """Return the step that adds ``pattern``, which a person wrote, to a card. Writes nothing.

    The pattern is tested on the git history of the project, which may be another repository than
    the brain's. The step cannot be taken yet, and ``missing`` says why, if there is no pattern or
    if the history does not support the pattern. Without git, the history supports no pattern.
    """
    missing = ""
    measured: Replay | None = None
    if pattern is None:
        missing = "write the pattern of the mistake: `--detect PATTERN`"
    else:
        measured = replay_in_project(brains.directory, pattern, brain_root=brain.root)
        if not measured.is_supported:
            missing = f"the history does not support it ({describe(measured)}); write a closer one"
    return Escalation(
        card=card,
        brain=brain,
        step=DETECT,
        reason=reason,
        changes=(escalated,),
        pattern=pattern,
        replay=measured,
        missing=missing,
    )


def replay_in_project(project_root: str, pattern: Pattern, *, brain_root: str) -> Replay:
    """Search the git history of the project at ``project_root`` for a pattern. Writes nothing.

    A commit made the mistake if a later commit removed its additions. Code that is still there was
    not a mistake. Markdown files in commits are not searched. Of the Markdown files that are still
    there, those of the brain at ``brain_root`` are not searched.

    A GitError ends the search of the commits and is not raised, so without git ``commits`` is 0.
    """
    rule = Rule(card="card", pattern=pattern, globs=compile_globs(pattern.files))
    matcher = Matcher([rule])
    standing = {match.text for match in find_in_tree(project_root, matcher, root=brain_root)}
    commits = mistakes = others = 0
    with contextlib.suppress(GitError):
        for commit in read_history(project_root, most=_MOST_COMMITS):
            commits += 1
            added: set[str] = set()
            for change in parse_diff(decode(commit.patch)):
                if not change.path.endswith((".md", ".markdown")):
                    added.update(match.text for match in matcher.find_added(change))
            if added & standing:
                others += 1
            elif added:
                mistakes += 1
    return Replay(commits=commits, mistakes=mistakes, others=others)


def describe(measured: Replay) -> str:
    """Describe the matches of a pattern in the history."""
    made = counted(measured.mistakes, "commit")
    return (
        f"of {counted(measured.commits, 'commit')} it finds {made} whose line was removed later, "
        f"and {measured.others} whose line still stands"
    )


def take_step(brains: Brains, escalation: Escalation) -> Card:
    """Take the step: change the header of the card, and write the new files of a rule.

    Raises InputError if something is missing, or if a new file exists already.
    """
    if escalation.missing:
        raise InputError(f"{escalation.card.id}: {escalation.missing}")
    files = escalation.rule.files if escalation.rule else ()
    full_paths = [os.path.join(brains.directory, *path.split("/")) for path, _text in files]
    for full in full_paths:
        if os.path.lexists(full):
            raise InputError(f"{full} exists already; rename it first")
    for full, (_path, text) in zip(full_paths, files, strict=True):
        write_export(full, text.splitlines())

    def edit(_card: Card, text: str) -> str:
        changed = edit_header(text, dict(escalation.changes))
        return insert_patterns(changed, [escalation.pattern]) if escalation.pattern else changed

    return CardEdits(brains).rewrite(escalation.brain, escalation.card.id, edit)


def _format_now() -> str:
    now = dt.datetime.now(tz=dt.UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
