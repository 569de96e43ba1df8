"""Rank the commits of a history by the signals that they correct a mistake."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from lessons_kb.data import read_patterns
from lessons_kb.mining.commit_facts import CommitFacts, is_prose, unpack_lines
from lessons_kb.on_demand import REGULAR_EXPRESSIONS, load
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.error_signature import shows
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen, replace

_DAY = 86_400.0
SOON = 7 * _DAY
"""The longest time, in seconds, between a line and its correction, and between two fixes of one
subject."""
_ORDINARY = 3
"""If more commits than this add a line, the line is ordinary and does not indicate anything about
the commit that removes it.
"""
_MANY_FILES = 50
"""A commit that changes more files than this, and whose subject does not name a fix, is never
first.
"""
_LITTLE = 30
"""The number of changed lines that a fix needs. Larger changes lose points."""
_FEW_FILES = 5
_LINES_PER_FILE = _LITTLE / _FEW_FILES
"""The number of changed lines that a file of a fix needs to count as a whole file. A fix may change
one line in each of twenty files and still correct one mistake.
"""
_MUCH_BODY = 600
_MOST_CAUSES, _MOST_FIXES_BEFORE, _MOST_IN_A_ROW = 3, 5, 5
"""The numbers of comments, of earlier fixes, and of commits in a row from which more count no more.
"""
_SHARED_TERMS = 2
"""The number of terms that the subjects of two fixes of one subject share."""
_ORDINARY_SHARE, _ORDINARY_FIXES = 0.05, 4
"""If more than this share of the fixes, and more than this number of them, have a term in their
subjects, the term is ordinary and does not name a subject.
"""
_MANY_WORDS = 12
"""The number of words in a subject from which more count no more."""

_PULL_REQUEST = re.compile(r" \(#\d+\)")
_ISSUE_KEY = re.compile(r"\A[\[(]?(?:[A-Z][A-Z0-9]+-\d+|#\d+)[\])]?:? +")
"""Matches the key of an issue before a subject, such as ``SHOP-108:`` or ``[SHOP-108]``."""


class Signals(NamedTuple):
    """The signals of a mistake in a commit. Each value is 0 if the signal is absent."""

    fix_subject: float
    """1 if the subject begins with *fix* or has that prefix."""
    repairs: float
    """1 if the subject names a repair, such as *prevent* or *no longer*."""
    builds: float
    """1 if the subject names a feature, a restructuring or a chore."""
    noise: float
    """1 for releases, merges, formatting and imports."""
    trivial: float
    """1 if the subject is about typos, linters, looks or documentation."""
    vague: float
    """1 if the subject does not say what was wrong, such as *fix bugs*."""
    contrast: float
    """1 if the subject of a repair says what happens instead of the mistake: *before*, *without*,
    *preserve*, *stop*."""
    reverts: float
    """1 if the commit reverts another one."""
    explained: float
    """1 if the body of a repair gives a cause."""
    failed: float
    """1 if the message names a failure: a crash, an error, a failed test or build."""
    bundled: float
    """1 if, according to the subject, a review led to the change. Such commits bundle small
    changes.
    """
    tested: float
    """1 if a repair comes with lines of tests."""
    quiet: float
    """1 if the subject names no fix, but code changes with tests and a comment with a reason."""
    causes: float
    """The logarithm of the number of added comments that give a cause."""
    body: float
    """The length of the body, from 0 to 1."""
    fixes_fix: float
    """The share of the removed lines that another fix added within the last seven days."""
    again: float
    """The logarithm of the number of fixes of the same subject within seven days."""
    in_a_row: float
    """For configuration, the logarithm of the number of consecutive small commits before this
    commit that changed the same line.
    """
    prose: float
    """1 if only documentation changes."""
    size: float
    """The logarithm of the ratio of the changed lines to the number that a fix needs."""
    files: float
    """The same logarithm for the changed files without tests. A fix with many tests is not
    large, and neither is a fix that repeats a few lines in many files."""
    adds: float
    """The share of the changed lines that are added."""
    words: float
    """The number of words in the subject without its prefix, from 0 to 1."""


class Weight(NamedTuple):
    """The weight of a signal, in log-odds, and the reason for the weight."""

    value: float
    reason: str


BASE = -3.2
"""The log-odds of a commit without signals."""

WEIGHTS = {
    "fix_subject": Weight(1.2, "fitted: 84 % of mistakes, 51 % of all labelled commits"),
    "repairs": Weight(1.0, "fitted: 98 % of mistakes, 77 % of all"),
    "builds": Weight(-0.8, "fitted: 8 % of mistakes, 30 % of all"),
    "noise": Weight(-1.5, "set: by definition not a fix; too few examples to fit"),
    "trivial": Weight(-0.9, "fitted: 8 % of mistakes, 14 % of all"),
    "vague": Weight(-1.0, "set: no example in the labelled commits; such a card has no subject"),
    "contrast": Weight(0.8, "not fitted: 28 % of mistakes, 11 % of others"),
    "reverts": Weight(1.0, "set: no example in the labelled commits; somebody took a change back"),
    "explained": Weight(1.0, "fitted: 56 % of mistakes, 28 % of all"),
    "failed": Weight(0.5, "fitted: 17 % of mistakes, 9 % of all"),
    "bundled": Weight(-2.0, "fitted -1.0; doubled, because such commits led two histories"),
    "tested": Weight(0.8, "fitted: 28 % of mistakes, 13 % of all"),
    "quiet": Weight(1.2, "set: a fix that does not call itself one; none was labelled"),
    "causes": Weight(0.3, "fitted"),
    "body": Weight(0.8, "fitted: mean .62 for mistakes, .41 for all"),
    "fixes_fix": Weight(0.3, "set: the fit gives 0, within its error"),
    "again": Weight(0.2, "set: the fit gives 0, within its error"),
    "in_a_row": Weight(0.8, "set for configuration; in code the fit gives -0.6: looks are tuned"),
    "prose": Weight(-0.7, "set: documentation alone is seldom a mistake of the code"),
    "size": Weight(-0.2, "fitted"),
    "files": Weight(-1.5, "fitted: the first file beyond five counts most"),
    "adds": Weight(0.5, "fitted: a fix that mostly removes is seldom a mistake worth a card"),
    "words": Weight(1.2, "fitted 1.4; lowered, because a short subject may name the mistake too"),
}
"""The weights were fitted by logistic regression with an L2 penalty of 1 on 152 commits of five
repositories, which were drawn at random and labelled before the fit. See `python -m benchmarks mine
--fit` and docs/mine.md.
"""


LEAST = -1.0
"""The score, in log-odds, below which a commit is not a candidate."""


@frozen
class RankedCommit:
    """A commit with its score and the basis of the score."""

    facts: CommitFacts
    score: float
    """The logarithm of the odds that the commit corrects a mistake."""
    signals: Signals
    before: tuple[str, ...] = ()
    """Earlier fixes of the same subject that this commit follows, with the latest first."""
    same_subject: tuple[str, ...] = ()
    """The earlier fixes with which this commit shares a file and uncommon words of the subject."""


def score(history: Sequence[CommitFacts]) -> list[float]:
    """Return, for each commit, the logarithm of the odds that it corrects a mistake."""
    return [commit.score for commit in rank_commits(history)]


def rank_commits(history: Sequence[CommitFacts]) -> list[RankedCommit]:
    """Return each commit of a history with its score, in the same order."""
    corrected = find_corrections(history)
    fixes_before = _find_fixes_before(history, corrected)
    ranked = []
    for facts in history:
        earlier = fixes_before.get(facts.id, _EarlierFixes())
        correction = corrected.get(facts.id, Correction())
        signals = measure_signals(facts, correction, len(earlier.before))
        ranked.append(
            RankedCommit(
                facts=facts,
                score=_weigh(facts, signals),
                signals=signals,
                before=earlier.before,
                same_subject=earlier.same_subject,
            )
        )
    return ranked


GIVES_CAUSE = "gives a cause"


def explain_rank(commit: RankedCommit) -> list[str]:
    """Return the reasons why a commit looks like the correction of a mistake, with the strongest
    first.
    """
    signals, facts = commit.signals, commit.facts
    reasons: list[str] = []
    if signals.reverts:
        reasons.append("takes a change back")
    if commit.before:
        reasons.append(f"fixed again after {commit.before[0][:8]}")
    elif signals.in_a_row:
        reasons.append("the same line changed in a row")
    if signals.failed:
        reasons.append("names a failure")
    if signals.explained:
        reasons.append(GIVES_CAUSE)
    if facts.causes:
        reasons.append(f"{counted(facts.cause_count, 'comment')} with a reason")
    if facts.test_lines:
        reasons.append(f"{counted(facts.test_lines, 'line')} of tests")
    if signals.fix_subject or signals.repairs:
        reasons.append("says that it repairs something")
    return reasons or ["changes code that was there"]


@frozen
class Correction:
    """The corrections in a commit of lines that other commits added shortly before."""

    share_of_fixes: float = 0.0
    """The share of its removed lines that other fixes had added shortly before."""
    commits: tuple[str, ...] = ()
    """The commits whose lines it removes, with the commit with the most such lines first."""
    in_a_row: int = 0
    """The number of consecutive small commits before it that changed the same line."""


_BEST_CORRECTION = Correction(share_of_fixes=1.0, in_a_row=_MOST_IN_A_ROW)


def find_corrections(history: Sequence[CommitFacts]) -> dict[str, Correction]:
    """Return a mapping from each commit to its correction. A commit that corrects nothing recent is
    left out.
    """
    adders: dict[int, CommitFacts] = {}
    times_added: dict[int, int] = defaultdict(int)
    fixes = {facts.id for facts in history if is_fix(facts)}
    corrections: dict[str, Correction] = {}
    for facts in sorted(history, key=lambda facts: facts.at):
        lines = unpack_lines(facts.removed_lines)
        counts: dict[str, int] = defaultdict(int)
        for line in lines:
            adder = adders.get(line)
            if adder is None or times_added[line] > _ORDINARY:
                continue
            if facts.at - adder.at <= SOON:
                counts[adder.id] += 1
        if counts:
            of_fixes = sum(count for commit, count in counts.items() if commit in fixes)
            commits = tuple(sorted(counts, key=lambda commit: -counts[commit]))
            earlier = corrections.get(commits[0], Correction())
            corrections[facts.id] = Correction(
                share_of_fixes=of_fixes / len(lines),
                commits=commits,
                in_a_row=earlier.in_a_row + 1 if _is_small(facts) else 0,
            )
        for line in set(unpack_lines(facts.added_lines)):
            adders[line] = facts
            times_added[line] += 1
    return corrections


def _is_small(facts: CommitFacts) -> bool:
    return facts.added + facts.removed <= _LITTLE


def is_fix(facts: CommitFacts) -> bool:
    """Return whether, according to its subject, the commit repairs something."""
    return _names_fix(_read_subject(facts.subject))


def _read_subject(subject: str) -> str:
    """Return a subject in lower case, without the key of an issue that it begins with."""
    return _ISSUE_KEY.sub("", subject).lower()


@lru_cache(maxsize=10_000)
def _names_fix(low: str) -> bool:
    if shows("noise", low):
        return False
    return shows("repair subject", low) or (shows("repairs", low) and not shows("builds", low))


class _EarlierFixes(NamedTuple):
    """The earlier fixes that a commit follows; see `RankedCommit`."""

    before: tuple[str, ...] = ()
    same_subject: tuple[str, ...] = ()


def _find_fixes_before(
    history: Sequence[CommitFacts], corrected: dict[str, Correction]
) -> dict[str, _EarlierFixes]:
    """Return a mapping from each fix to the fixes shortly before it that it follows, with the
    latest first.

    A fix follows another fix if it changes the lines of the other fix, or if both change the same
    file and their subjects share terms.
    """
    fixes = sorted(filter(is_fix, history), key=lambda facts: facts.at)
    terms = {facts.id: _list_terms(facts.subject) for facts in fixes}
    ordinary = _find_ordinary_terms(terms.values())
    paths = {facts.id: frozenset(facts.paths) for facts in fixes}
    followed: dict[str, _EarlierFixes] = {}
    recent: list[CommitFacts] = []
    for facts in fixes:
        recent = [earlier for earlier in recent if facts.at - earlier.at <= SOON]
        changes_lines_of = set(corrected.get(facts.id, Correction()).commits)
        before: list[str] = []
        same_subject: list[str] = []
        for earlier in reversed(recent):
            shares_file = not paths[facts.id].isdisjoint(paths[earlier.id])
            shared = terms[facts.id] & terms[earlier.id]
            if earlier.id in changes_lines_of or (shares_file and len(shared) >= _SHARED_TERMS):
                before.append(earlier.id)
            if shares_file and len(shared - ordinary) >= _SHARED_TERMS:
                same_subject.append(earlier.id)
        if before:
            followed[facts.id] = _EarlierFixes(tuple(before), tuple(same_subject))
        recent.append(facts)
    return followed


def _list_terms(subject: str) -> frozenset[str]:
    return frozenset(analyze(_strip_prefix(subject)))


def _find_ordinary_terms(subjects: Collection[frozenset[str]]) -> frozenset[str]:
    """Return the terms that occur in so many subjects of fixes that they do not name a subject."""
    counts = Counter(chain.from_iterable(subjects))
    most = max(_ORDINARY_FIXES, _ORDINARY_SHARE * len(subjects))
    return frozenset(term for term, count in counts.items() if count > most)


def _strip_prefix(subject: str) -> str:
    """Return a subject without its prefix, such as ``fix(api):``."""
    head, colon, rest = subject.partition(":")
    return rest if colon and " " not in head.strip() else subject


class _MessageSignals(NamedTuple):
    """The signals in the message of a commit; see `Signals`."""

    is_fix: bool
    fix_subject: bool
    repairs: bool
    builds: bool
    noise: bool
    trivial: bool
    vague: bool
    contrast: bool
    reverts: bool
    explained: bool
    failed: bool
    bundled: bool


@lru_cache(maxsize=20_000)
def _read_message(subject: str, body: str) -> _MessageSignals:
    """Return the signals in a message. A first run needs them twice for each commit."""
    subject = _read_subject(subject)
    body = body.lower()
    message = f"{subject}\n{body}"
    fix = _names_fix(subject)
    return _MessageSignals(
        is_fix=fix,
        fix_subject=shows("repair subject", subject),
        repairs=shows("repairs", subject),
        builds=shows("builds", subject),
        noise=shows("noise", subject),
        trivial=shows("trivial", subject),
        vague=shows("vague subject", subject),
        contrast=fix and shows("contrast", subject),
        reverts=_shows_anywhere("reverts", message),
        explained=fix and (_shows_anywhere("explains", body) or _shows_anywhere("cause", body)),
        failed=_shows_anywhere("failed before", message),
        bundled=shows("reviewed", subject),
    )


def _shows_anywhere(section: str, low: str) -> bool:
    """Return whether a pattern of a ``mining_signals.toml`` section matches a long text.

    The text is in lower case. RE2 takes a quarter of the time that Python takes.
    """
    return _compile_section(section).search(low) is not None


@cache
def _compile_section(section: str) -> Any:
    patterns = read_patterns("mining_signals.toml")[section]
    whole = "|".join(f"(?:{pattern})" for pattern in patterns)
    return load(REGULAR_EXPRESSIONS).compile(f"(?m){whole}")


def measure_signals(facts: CommitFacts, correction: Correction, fixes_before: int) -> Signals:
    """Return the signals of a mistake in a commit."""
    message = _read_message(facts.subject, facts.body)
    is_tested = facts.test_lines > 0 and facts.removed > 0
    is_quiet = is_tested and facts.cause_count > 0 and not message.is_fix and not message.builds
    is_configuration = not facts.has_code and not all(map(is_prose, facts.paths))
    lines = facts.added + facts.removed + facts.test_lines / 4
    excess = math.log1p(lines) - math.log1p(_LITTLE)
    words = _PULL_REQUEST.sub("", _strip_prefix(_read_subject(facts.subject))).split()
    files = float(facts.files - len(facts.tests))
    if message.is_fix:
        files = min(files, (facts.added + facts.removed) / _LINES_PER_FILE)
    many_files = math.log1p(files) - math.log1p(_FEW_FILES)
    return Signals(
        fix_subject=float(message.fix_subject),
        repairs=float(message.repairs),
        builds=float(message.builds),
        noise=float(message.noise),
        trivial=float(message.trivial),
        vague=float(message.vague),
        contrast=float(message.contrast),
        reverts=float(message.reverts),
        explained=float(message.explained),
        failed=float(message.failed),
        bundled=float(message.bundled),
        tested=float(message.is_fix and is_tested),
        quiet=float(is_quiet),
        causes=math.log1p(min(facts.cause_count, _MOST_CAUSES)),
        body=min(len(facts.body), _MUCH_BODY) / _MUCH_BODY,
        fixes_fix=correction.share_of_fixes,
        again=math.log1p(min(fixes_before, _MOST_FIXES_BEFORE)),
        in_a_row=math.log1p(min(correction.in_a_row, _MOST_IN_A_ROW)) if is_configuration else 0.0,
        prose=float(all(map(is_prose, facts.paths))),
        size=max(excess, 0.0),
        files=max(many_files, 0.0),
        adds=facts.added / (facts.added + facts.removed + 1),
        words=min(len(words), _MANY_WORDS) / _MANY_WORDS,
    )


def needs_patch(facts: CommitFacts) -> bool:
    """Return whether the patch of a commit matters. ``facts`` are those of `name_facts`.

    The lines of a fix matter for other fixes. The patch of another commit matters only if the
    commit could be a candidate with the best patch.
    """
    if not facts.paths:
        return False
    if is_fix(facts):
        return True
    tests = len(facts.tests)
    best = replace(facts, added=_LITTLE - 1, removed=1, test_lines=tests, cause_count=_MOST_CAUSES)
    signals = measure_signals(best, _BEST_CORRECTION, _MOST_FIXES_BEFORE)
    return _weigh(facts, signals) >= LEAST


def _weigh(facts: CommitFacts, signals: Signals) -> float:
    """Return the log-odds of a commit. A large feature gets no more than a commit without
    signals.
    """
    total = BASE
    for name, value in signals._asdict().items():
        total += WEIGHTS[name].value * value
    if facts.files > _MANY_FILES and not signals.fix_subject:
        return min(total, BASE)
    return total
