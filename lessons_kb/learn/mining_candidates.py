"""Candidates for lessons: what sessions and commits show, brought together and ranked."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lessons_kb.learn.fix_commits import CommitFacts, choose, is_noise, score
from lessons_kb.learn.session_signals import POINTS, REVIEW, Sighting
from lessons_kb.text.analyzer import analyze

ALIKE = 0.6
"""Share of their terms that two titles have in common where they tell of one mistake."""
SURE_COMMIT = 2.0
"""Standard deviations at which a commit is as likely a fix as not."""
SURE_POINTS = 3.0
"""Points of signals at which a sighting is."""
MOST_SURE = 0.99
HALF_LIFE_DAYS = 180.0
_DAY = 86_400.0
_FIXED_WITHIN = 3 * _DAY
"""Between a mistake in a session and the commit that fixed it."""
MIN_TERMS = 3
_MAX_EXAMPLES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One mistake, however often it was met."""

    id: str
    """Equal as long as its first sighting or commit is the same."""
    title: str
    occurrences: int
    """Sessions and commits in which it was met."""
    at: float
    """The last time, seconds since the epoch."""
    sure: float
    """Between 0 and 1."""
    rank: float
    reasons: tuple[str, ...]
    """Why it looks like a mistake, the strongest first."""
    paths: tuple[str, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    """The strongest first."""
    commits: tuple[CommitFacts, ...] = ()


def find_candidates(
    sightings: Iterable[Sighting], commits: Sequence[CommitFacts], *, now: float
) -> list[Candidate]:
    """Return what may be worth a lesson, best first."""
    groups = _group(_merge_copies(sightings))
    code = _drop_copies(sorted(choose(commits), key=lambda facts: facts.at))
    times = [facts.at for facts in code]
    fixes = dict(zip([facts.id for facts in code], score(code), strict=True))
    taken: set[str] = set()
    found = []
    for group in groups:
        own = _find_fixes(group, code, times, fixes)
        taken.update(facts.id for facts in own)
        if (made := _of_sightings(group, own, now)) is not None:
            found.append(made)
    rest = [facts for facts in code if facts.id not in taken and fixes[facts.id] > 0]
    found += [_of_commits(group, fixes, now) for group in _group_commits(rest, fixes)]
    return sorted(found, key=lambda one: (-one.rank, -one.at, one.id))


def typed_before(candidate: Candidate) -> tuple[str, ...]:
    """Return the prompts that belong to a mistake.

    What was met in several sessions belongs to their task only where the tasks are alike: an error
    of the machine is met whatever somebody asked for.
    """
    typed = list(dict.fromkeys(p for one in candidate.sightings for p in one.prompts))
    if len({one.session for one in candidate.sightings}) == 1 or len(typed) == 1:
        return tuple(typed)
    terms = [frozenset(analyze(prompt)) for prompt in typed]
    alike = [
        any(_alike(one, other) for place, other in enumerate(terms) if place != number)
        for number, one in enumerate(terms)
    ]
    return tuple(prompt for prompt, kept in zip(typed, alike, strict=True) if kept)


def _merge_copies(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Return each sighting once: a session that is resumed or exported again is copied whole."""
    kept: list[Sighting] = []
    places: dict[tuple[object, ...], int] = {}
    for one in sightings:
        told = one.signature or one.title
        keys: list[tuple[object, ...]] = []
        keys += [(told, one.prompts, one.excerpt or one.quote)] if one.prompts else []
        keys += [(told, one.began, "")] if one.began else []
        place = next((places[key] for key in keys if key in places), len(kept))
        if place == len(kept):
            kept.append(one)
        elif one.points > kept[place].points:  # a copy may have gone on
            kept[place] = replace(one, session=kept[place].session)
        places |= dict.fromkeys(keys, place)
    return kept


def _drop_copies(commits: Iterable[CommitFacts]) -> list[CommitFacts]:
    """Return the first commit of each change: rebased or picked, it is in the history again."""
    found: dict[tuple[object, ...], CommitFacts] = {}
    for one in commits:
        size = (one.added, one.removed, one.test_lines)
        found.setdefault((one.subject, one.paths, *size), one)
    return list(found.values())


def _group(sightings: Iterable[Sighting]) -> list[list[Sighting]]:
    """Return sightings of one mistake together: by the error's signature, else by their words."""
    by_signature: dict[str, list[Sighting]] = defaultdict(list)
    spoken: list[Sighting] = []
    for one in sightings:
        if one.signature:
            by_signature[one.signature].append(one)
        else:
            spoken.append(one)
    groups = list(by_signature.values())
    groups += [[one] for one in spoken]
    merged: list[list[Sighting]] = []
    index: dict[str, list[int]] = defaultdict(list)
    terms: list[frozenset[str]] = []
    for group in sorted(groups, key=lambda group: -sum(one.points for one in group)):
        words = frozenset(analyze(group[0].title))
        near = {place for word in words for place in index[word]}
        home = next((place for place in sorted(near) if _alike(words, terms[place])), None)
        if home is None:
            for word in words:
                index[word].append(len(merged))
            merged.append(list(group))
            terms.append(words)
        else:
            merged[home] += group
    return merged


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= MIN_TERMS and shared / len(one | other) >= ALIKE


def _find_fixes(
    group: Sequence[Sighting],
    code: Sequence[CommitFacts],
    times: Sequence[float],
    fixes: Mapping[str, float],
) -> list[CommitFacts]:
    """Return commits soon after a sighting that change its files and speak its words."""
    found: dict[str, CommitFacts] = {}
    for one in group:
        if not one.at or not one.paths:
            continue
        words = frozenset(analyze(f"{one.title} {one.quote}"))
        soon = slice(bisect_left(times, one.at), bisect_right(times, one.at + _FIXED_WITHIN))
        for facts in code[soon]:
            touches = not set(one.paths).isdisjoint(facts.paths)
            if touches and len(words & frozenset(analyze(facts.subject))) > 1:
                found[facts.id] = facts
    return sorted(found.values(), key=lambda facts: -fixes[facts.id])[:_MAX_EXAMPLES]


def _of_sightings(
    group: Sequence[Sighting], fixes: Sequence[CommitFacts], now: float
) -> Candidate | None:
    best = sorted(group, key=lambda one: (-one.points, -one.at))
    sessions = len({one.session for one in group})
    signals = {signal for one in group for signal in one.signals}
    points = max(one.points for one in group)
    if sessions > 1:
        points += 1.5 * math.log2(sessions)
    points += bool(fixes)
    if points < SURE_POINTS / 2:
        return None
    reasons = [signal for signal in POINTS if signal in signals]
    if sessions > 1:
        kinds = {one.agent == REVIEW for one in group}
        places = "reviews" if kinds == {True} else "sessions and reviews"
        reasons.insert(0, f"in {sessions} {places if True in kinds else 'sessions'}")
    reasons += [f"fixed by {facts.id[:8]}" for facts in fixes[:1]]
    at = max(one.at for one in group)
    cost = sum(one.calls + 4 * one.turns for one in group)
    sure = _logistic(points - SURE_POINTS)
    return Candidate(
        id=f"{best[0].session}:{best[0].signature or best[0].title}",
        title=best[0].title,
        occurrences=sessions,
        at=at,
        sure=sure,
        rank=_rank(sure, sessions, cost, now - at),
        reasons=tuple(reasons),
        paths=tuple(dict.fromkeys(path for one in best for path in one.paths))[:5],
        sightings=tuple(best[:_MAX_EXAMPLES]),
        commits=tuple(fixes),
    )


def _group_commits(
    commits: Sequence[CommitFacts], fixes: Mapping[str, float]
) -> list[list[CommitFacts]]:
    """Return commits of one mistake together: alike in their subject, and in a file."""
    groups: list[list[CommitFacts]] = []
    terms: list[frozenset[str]] = []
    index: dict[str, list[int]] = defaultdict(list)
    for facts in sorted(commits, key=lambda facts: -fixes[facts.id]):
        words = frozenset(analyze(facts.subject))
        near = sorted({place for path in facts.paths for place in index[path]})
        home = next((place for place in near if _alike(words, terms[place])), None)
        if home is None or is_noise(facts.subject):  # "Minor cleanup" twice is no mistake
            home = len(groups)
            groups.append([])
            terms.append(words)
        groups[home].append(facts)
        for path in facts.paths:
            index[path].append(home)
    return groups


def _of_commits(group: Sequence[CommitFacts], fixes: Mapping[str, float], now: float) -> Candidate:
    first = group[0]
    sure = _logistic(fixes[first.id] - SURE_COMMIT)
    reasons = []
    if len(group) > 1:
        reasons.append(f"{len(group)} commits alike")
    if first.causes:
        count = first.cause_count
        reasons.append(f"{count} comment{'s' if count > 1 else ''} with a cause")
    if first.test_lines:
        reasons.append(f"{first.test_lines} lines of tests")
    at = max(facts.at for facts in group)
    return Candidate(
        id=first.id,
        title=first.subject,
        occurrences=len(group),
        at=at,
        sure=sure,
        rank=_rank(sure, len(group), 0, now - at),
        reasons=tuple(reasons) or ("changes code that was there",),
        paths=first.paths[:5],
        commits=tuple(group[:_MAX_EXAMPLES]),
    )


def _rank(sure: float, occurrences: int, cost: float, age: float) -> float:
    """Return how much a candidate matters: sure, often, costly, recent."""
    recent = 0.5 + 0.5 * math.exp2(-max(age, 0.0) / _DAY / HALF_LIFE_DAYS)
    return sure * (1 + math.log2(occurrences)) * (1 + math.log1p(cost) / 8) * recent


def _logistic(value: float) -> float:
    return min(1 / (1 + math.exp(-value)), MOST_SURE)
