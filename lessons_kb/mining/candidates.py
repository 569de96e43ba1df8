"""Group the mistakes of sessions, reviews and commits into candidates, and rank them."""

from __future__ import annotations

import math
import posixpath
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from lessons_kb.mining.commit_facts import CommitFacts, choose
from lessons_kb.mining.rank_commits import LEAST, RankedCommit, explain_rank, rank_commits
from lessons_kb.mining.reverts import find_reverted, find_targets
from lessons_kb.mining.triggers import POINTS, REVIEW, Sighting
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.error_signature import shows
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen, replace

ALIKE = 0.6
"""The Jaccard index of the terms of two titles from which they are about the same mistake."""
SURE_POINTS = 3.0
"""The points of signals at which the probability that a sighting is a mistake is one half."""
HALF_LIFE_DAYS = 180.0
_DAY = 86_400.0
_FIXED_WITHIN = 3 * _DAY
"""The longest time, in seconds, between a mistake in a session and the commit that fixed it."""
TAKEN_BACK = 2.0
"""The points, in log-odds, that a fix loses if a later commit reverted it. Its draft would teach
what was found to be wrong."""
MIN_TERMS = 3
_MAX_EXAMPLES = 5
GONE = 2.0
"""The points, in log-odds, that a commit loses if none of its files is in the project today. A card
about them would seldom be given."""
NAMED_COMMITS = 3
"""The maximum number of commits that a draft names."""


@frozen
class Candidate:
    """One mistake with all its sightings and commits."""

    id: str
    """The id, which is stable as long as the first sighting or commit is the same."""
    title: str
    occurrences: int
    """The number of sessions, or of commits, that show the mistake."""
    at: float
    """The last time that the mistake was seen, in seconds since the epoch."""
    rank: float
    reasons: tuple[str, ...]
    """The reasons why it looks like a mistake, with the strongest reason first."""
    paths: tuple[str, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    """The sightings, with the strongest first."""
    commits: tuple[CommitFacts, ...] = ()
    keys: tuple[str, ...] = ()
    """The ids of all its commits, and the signatures or titles of all its sightings."""


def find_candidates(
    sightings: Iterable[Sighting],
    commits: Sequence[CommitFacts],
    *,
    now: float,
    files: Iterable[str] = (),
) -> list[Candidate]:
    """Return the candidates for lessons, with the best first.

    ``now`` is in seconds since the epoch. ``files`` are the files of the project today, or nothing
    if they are not known.
    """
    history = choose(commits)
    targets = find_targets(history)
    reverted = find_reverted(history, targets)
    code = _drop_repeated_commits(history, reverted)
    in_force = [facts for facts in code if facts.id not in reverted]
    gone = _find_gone(code, files)
    ranked = [_lower(commit, reverted, gone) for commit in rank_commits(code)]
    scores = {commit.facts.id: commit.score for commit in ranked}
    used: set[str] = set()
    candidates: list[Candidate] = []
    for group in _group_sightings(sightings):
        fixes = _find_fixes(group, in_force, scores)
        used.update(facts.id for facts in fixes)
        candidate = _of_sightings(group, fixes, now)
        if candidate:
            candidates.append(candidate)
    rest = [commit for commit in ranked if commit.facts.id not in used]
    rest.sort(key=lambda commit: -commit.score)
    groups = group_commits(rest, reverts=targets)
    candidates += [_of_commits(group, reverted, gone, now) for group in groups]
    return sorted(candidates, key=lambda candidate: (-candidate.rank, -candidate.at, candidate.id))


def _find_gone(history: Sequence[CommitFacts], files: Iterable[str]) -> frozenset[str]:
    """Return the commits none of whose files is there today.

    A file with the same name in another folder is there: folders are moved more often than files
    are renamed.
    """
    names = {posixpath.basename(path) for path in files}
    if not names:
        return frozenset()
    return frozenset(
        facts.id
        for facts in history
        if names.isdisjoint(map(posixpath.basename, (*facts.paths, *facts.tests)))
    )


def _lower(commit: RankedCommit, reverted: Mapping[str, str], gone: Container[str]) -> RankedCommit:
    """Return a commit with fewer points if a later commit took it back, or its files are gone."""
    points = commit.score
    if commit.facts.id in reverted:
        points -= TAKEN_BACK
    if commit.facts.id in gone:
        points -= GONE
    return replace(commit, score=points)


def _drop_repeated_commits(
    history: Sequence[CommitFacts], reverted: Container[str]
) -> list[CommitFacts]:
    """Return the first commit of each change, sorted by time. A rebase or cherry-pick makes another
    commit of it.

    If the first one was taken back, the same change was made again by a later one.
    """
    first: dict[tuple[object, ...], CommitFacts] = {}
    for facts in sorted(history, key=lambda facts: (facts.id in reverted, facts.at)):
        size = (facts.added, facts.removed, facts.test_lines)
        first.setdefault((facts.subject, facts.paths, *size), facts)
    return sorted(first.values(), key=lambda facts: facts.at)


def _group_sightings(sightings: Iterable[Sighting]) -> list[list[Sighting]]:
    """Group the sightings of one mistake by the signature of the error or by similar titles.

    Groups with more points come first. Among groups with equal points, those with the signature of
    an error come first.
    """
    groups: dict[object, list[Sighting]] = defaultdict(list)
    for number, sighting in enumerate(_merge_copies(sightings)):
        groups[sighting.signature or number].append(sighting)
    ranked = sorted(groups.values(), key=lambda group: not group[0].signature)
    ranked.sort(key=lambda group: -sum(sighting.points for sighting in group))
    joined = _join(ranked, lambda group: group[0].title, lambda group: analyze(group[0].title))
    return [list(chain.from_iterable(some)) for some in joined]


@frozen
class CommitGroup:
    """The commits about one mistake, with the likeliest first."""

    alike: tuple[RankedCommit, ...]
    """Commits with similar subjects."""
    of_subject: tuple[RankedCommit, ...] = ()
    """Other fixes of the first commit's subject, within days of it."""

    @property
    def commits(self) -> tuple[RankedCommit, ...]:
        """All commits of the group, with the likeliest first."""
        return self.alike + self.of_subject


def group_commits(
    ranked: Sequence[RankedCommit], *, reverts: Container[str] = ()
) -> list[CommitGroup]:
    """Group commits about one mistake. ``ranked`` is sorted, with the likeliest commit first.

    Commits with similar subjects that share a file are alike. Subjects such as "Minor cleanup" are
    ignored, because two of them do not show the same mistake. A revert quotes the subject of the
    commit that it takes back, and does not repeat its mistake. A commit that is too unlikely to be
    a candidate can only be a further fix of another commit's subject.
    """

    def subject_of(commit: RankedCommit) -> str:
        subject = commit.facts.subject
        is_ignored = commit.facts.id in reverts or shows("noise", subject.lower())
        return "" if is_ignored else subject

    likely = [commit for commit in ranked if commit.score >= LEAST]
    unlikely = [commit for commit in ranked if commit.score < LEAST]
    groups = _join(likely, subject_of, lambda commit: commit.facts.paths)
    return _join_fixes_of_subject([*groups, *([commit] for commit in unlikely)], reverts)


def _join_fixes_of_subject(
    groups: Iterable[Sequence[RankedCommit]], reverts: Container[str]
) -> list[CommitGroup]:
    """Return the groups, each joined with later groups about the subject of its first commit.

    A draft names few commits, so a group takes no more.
    """
    joined: list[list[RankedCommit]] = []
    alike: list[tuple[RankedCommit, ...]] = []
    numbers: dict[str, int] = {}
    """Mapping from the first commit of each joined group to its number."""
    followers: dict[str, list[int]] = defaultdict(list)
    """Mapping from each fix to the numbers of the groups whose first commit follows it."""
    for group in groups:
        first = group[0]
        same_subject = () if first.facts.id in reverts else first.same_subject
        related = [numbers[name] for name in same_subject if name in numbers]
        related += followers[first.facts.id]
        room = NAMED_COMMITS - len(group)
        number = next((number for number in sorted(related) if len(joined[number]) <= room), None)
        if number is not None:
            joined[number] += group
        elif first.score >= LEAST:
            number = len(joined)
            numbers[first.facts.id] = number
            for name in same_subject:
                followers[name].append(number)
            joined.append(list(group))
            alike.append(tuple(group))
    return [
        CommitGroup(alike=similar, of_subject=tuple(commits[len(similar) :]))
        for similar, commits in zip(alike, joined, strict=True)
    ]


def typed_before(candidate: Candidate) -> tuple[str, ...]:
    """Return the prompts of the tasks in which a mistake was made.

    For a mistake of several sessions, only the prompts that resemble each other are returned,
    because an error of the machine occurs in any task.
    """
    prompts = list(
        dict.fromkeys(chain.from_iterable(sighting.prompts for sighting in candidate.sightings))
    )
    sessions = {sighting.session for sighting in candidate.sightings}
    if len(sessions) == 1 or len(prompts) == 1:
        return tuple(prompts)
    terms = {prompt: frozenset(analyze(prompt)) for prompt in prompts}

    def is_shared(prompt: str) -> bool:
        return any(_alike(terms[prompt], terms[other]) for other in prompts if other != prompt)

    return tuple(filter(is_shared, prompts))


def _merge_copies(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Return each sighting once. If a session is resumed or exported again, its events are
    repeated.
    """
    merged: list[Sighting] = []
    numbers: dict[tuple[object, ...], int] = {}
    for sighting in sightings:
        mistake = sighting.signature or sighting.title
        keys: list[tuple[object, ...]] = []
        if sighting.prompts:
            keys.append((mistake, sighting.prompts, sighting.excerpt or sighting.quote))
        if sighting.began:
            keys.append((mistake, sighting.began))
        number = next((numbers[key] for key in keys if key in numbers), len(merged))
        if number == len(merged):
            merged.append(sighting)
        elif sighting.points > merged[number].points:  # the copy continued the session
            merged[number] = replace(sighting, session=merged[number].session)
        numbers |= dict.fromkeys(keys, number)
    return merged


_Item = TypeVar("_Item")


def _join(
    items: Iterable[_Item],
    text_of: Callable[[_Item], str],
    places_of: Callable[[_Item], Iterable[str]],
) -> list[list[_Item]]:
    """Group items that share a place and whose text resembles the text of the group's first
    item.
    """
    first_terms: list[frozenset[str]] = []
    groups: list[list[_Item]] = []
    index: dict[str, set[int]] = defaultdict(set)
    """Mapping from each place to the numbers of the groups that have an item there."""
    for item in items:
        terms = frozenset(analyze(text_of(item)))
        places = list(places_of(item))
        numbers = sorted(set().union(*(index[place] for place in places)))
        similar = (number for number in numbers if _alike(terms, first_terms[number]))
        number = next(similar, len(groups))
        if number == len(groups):
            first_terms.append(terms)
            groups.append([])
        groups[number].append(item)
        for place in places:
            index[place].add(number)
    return groups


def _alike(terms: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(terms & others)
    return shared >= MIN_TERMS and shared / len(terms | others) >= ALIKE


def _find_fixes(
    group: Sequence[Sighting], code: Sequence[CommitFacts], scores: Mapping[str, float]
) -> list[CommitFacts]:
    """Return the commits soon after a sighting that change its files and share words with it.

    ``code`` is sorted by time.
    """
    fixes: dict[str, CommitFacts] = {}
    for sighting in group:
        if not sighting.at or not sighting.paths:
            continue
        words = frozenset(analyze(f"{sighting.title} {sighting.quote}"))
        first = bisect_left(code, sighting.at, key=lambda facts: facts.at)
        end = bisect_right(code, sighting.at + _FIXED_WITHIN, key=lambda facts: facts.at)
        for facts in code[first:end]:
            shares_file = not set(sighting.paths).isdisjoint(facts.paths)
            if shares_file and len(words.intersection(analyze(facts.subject))) > 1:
                fixes[facts.id] = facts
    return sorted(fixes.values(), key=lambda facts: -scores[facts.id])[:_MAX_EXAMPLES]


def _of_sightings(
    group: Sequence[Sighting], fixes: Sequence[CommitFacts], now: float
) -> Candidate | None:
    """Return the candidate of a group of sightings, or None if its signals are too weak."""
    best = sorted(group, key=lambda sighting: (-sighting.points, -sighting.at))
    sessions = len({sighting.session for sighting in group})
    points = best[0].points + 1.5 * math.log2(sessions) + bool(fixes)
    if points < SURE_POINTS / 2:
        return None
    signals = set(chain.from_iterable(sighting.signals for sighting in group))
    reasons = [signal for signal in POINTS if signal in signals]
    if sessions > 1:
        reasons.insert(0, f"in {sessions} {_name_sources(group)}")
    reasons += [f"fixed by {facts.id[:8]}" for facts in fixes[:1]]
    return _rank(
        points - SURE_POINTS,
        sum(sighting.calls + 4 * sighting.turns for sighting in group),
        now,
        often=sessions,
        id=f"{best[0].session}:{best[0].signature or best[0].title}",
        title=best[0].title,
        occurrences=sessions,
        at=max(sighting.at for sighting in group),
        reasons=tuple(reasons),
        paths=tuple(dict.fromkeys(chain.from_iterable(sighting.paths for sighting in best)))[:5],
        sightings=tuple(best[:_MAX_EXAMPLES]),
        commits=tuple(fixes),
        keys=tuple(dict.fromkeys(sighting.signature or sighting.title for sighting in group)),
    )


def _name_sources(group: Sequence[Sighting]) -> str:
    are_reviews = {sighting.agent == REVIEW for sighting in group}
    if are_reviews == {True}:
        return "reviews"
    return "sessions and reviews" if True in are_reviews else "sessions"


def _of_commits(
    group: CommitGroup, reverted: Mapping[str, str], gone: Container[str], now: float
) -> Candidate:
    """Return the candidate of a group of commits.

    A fix that was taken back, and the same fix when it came again, correct one mistake.
    """
    best = group.alike[0]
    first = best.facts
    commits = group.commits
    fixes = sum(commit.facts.id not in reverted for commit in group.alike)
    reasons = [f"reverted by {reverted[first.id][:8]}"] if first.id in reverted else []
    if first.id in gone:
        reasons.append("its files are gone today")
    if fixes > 1:
        reasons.append(f"{fixes} commits alike")
    reasons += explain_rank(best)
    if group.of_subject:
        more = counted(len(group.of_subject), "more fix", "more fixes")
        reasons.append(f"{more} of its subject")
    return _rank(
        best.score,
        0,
        now,
        # Two commits of one feature are not a mistake that was made twice.
        often=max(fixes, 1) if shows("repairs", first.subject.lower()) else 1,
        id=first.id,
        title=first.subject,
        occurrences=max(fixes, 1),
        at=max(commit.facts.at for commit in commits),
        reasons=tuple(reasons),
        paths=first.paths[:5],
        commits=tuple(commit.facts for commit in commits[:_MAX_EXAMPLES]),
        keys=tuple(commit.facts.id for commit in commits),
    )


def _rank(points: float, cost: int, now: float, *, often: int, **facts: Any) -> Candidate:
    """Return a candidate whose rank increases with its likelihood, frequency, cost and recency.

    ``points`` are relative to a likelihood of one half. ``cost`` counts tool calls and turns.
    """
    likely = math.log1p(math.exp(points))
    recent = 0.5 + 0.5 * math.exp2(-max(now - facts["at"], 0.0) / _DAY / HALF_LIFE_DAYS)
    rank = likely * (1 + math.log2(often)) * (1 + math.log1p(cost) / 8) * recent
    return Candidate(rank=rank, **facts)
