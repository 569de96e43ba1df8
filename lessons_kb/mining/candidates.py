"""Candidates for lessons: what sessions and commits show, brought together and ranked."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from statistics import fmean, median, pstdev
from typing import Any, TypeVar

from lessons_kb.calls.failure_signs import is_test, one_line
from lessons_kb.data import read_patterns
from lessons_kb.errors import InputError
from lessons_kb.mining.triggers import (
    AGREED,
    CAUSE,
    POINTS,
    REQUESTED,
    RESOLVED,
    REVIEW,
    REVIEWED,
    SUGGESTED,
    Sighting,
)
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.error_signature import shows
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.text.sentences import split_sentences
from lessons_kb.text.times import read_time
from lessons_kb.values import frozen

MAX_FILE_BYTES = 400_000
"""Of one file's part of a patch; a longer one is data, or generated."""
_MAX_CAUSES = 6
_SMALL, _MUCH = 20, 60
"""Lines of code that half of the commits add at most where they are small; too many for a fix."""
_ENOUGH = (50, 3, 600)
"""Lines of tests, comments with a cause, and characters of a message: more show no more there."""
_WEIGHTS = (1, 1, 1, 1, 2, 2, 1)
"""Of the signals in `score`; the subject's are 0 where commits are large."""
_MAX_PATHS = 12

_NAME = re.compile(rb'^\+\+\+ "?b/(.+?)"?\t?$', re.MULTILINE)
_FILE = b"\ndiff --git "
_BLANK = b" \t+-{}()[];,\r"
"""A line of these alone counts for nothing."""
_COMMENT = re.compile(
    rb"^\+[ \t]*(?:///?|#|\*|/\*\*?|--|;;|<!--)[ \t]+([^\n]{10,400})"
    rb"|[ \t](?://|#)[ \t]+([^\n]{10,400})"
)
_WRAPS = 4
"""Lines of a sentence on either side of the one that gives the cause."""
_ENDS = (".", "!", "?", ":", ";")
_LONG_LINE = 2_000
_REWRAPPED = 0.9
"""Share of a comment's words that stand in what was removed where it is only broken elsewhere."""
_CODE = frozenset(" ".join(read_patterns("mining_signals.toml")["code"]).split())
"""Endings of files that people write by hand."""


@frozen
class CommitFacts:
    """What one commit tells: counts of lines that hold more than brackets."""

    id: str
    at: float
    """Seconds since the epoch."""
    subject: str
    body: str = ""
    paths: tuple[str, ...] = ()
    """Code that it changes, tests left out, the most changed first."""
    tests: tuple[str, ...] = ()
    added: int = 0
    """Lines of code, tests left out."""
    removed: int = 0
    test_lines: int = 0
    causes: tuple[str, ...] = ()
    """Added comments that give a cause, the first few."""
    cause_count: int = 0
    """All of them, each once."""


def read_facts(commit_id: str, at: float, message: str, patch: bytes) -> CommitFacts:
    """Return what a commit tells; ``patch`` is git's, without context lines."""
    subject, _, body = message.strip().partition("\n")
    changed: dict[str, int] = {}
    tests: dict[str, None] = {}
    added = removed = test_lines = 0
    causes: dict[str, str] = {}  # a file that is kept in several places says it once
    for part in (b"\n" + patch).split(_FILE)[1:]:
        name = _NAME.search(part[:2_000])
        path = name[1].decode("utf-8", "replace") if name else ""
        if name is None or len(part) > MAX_FILE_BYTES or not is_code(path):
            continue
        lines = part[name.end() :].split(b"\n")
        signs = [line[:1] for line in lines if line.strip(_BLANK)]
        plus, minus = signs.count(b"+"), signs.count(b"-")
        if is_test(path):
            test_lines += plus
            tests[path] = None
            continue
        changed[path] = plus + minus
        added += plus
        removed += minus
        # A comment that was there before and is broken elsewhere says nothing new.
        before = b" ".join(line[1:].strip(b" \t#/*;-") for line in lines if line[:1] == b"-")
        known = before.decode("utf-8", "replace").split()
        for text, sentence in _find_causes(lines):
            words = text.split()
            if sum(word in known for word in words) < _REWRAPPED * len(words):
                causes.setdefault(text, sentence)
    return CommitFacts(
        id=commit_id,
        at=at,
        subject=subject.strip(),
        body=body.strip(),
        paths=tuple(sorted(changed, key=lambda path: -changed[path])[:_MAX_PATHS]),
        tests=tuple(tests)[:_MAX_PATHS],
        added=added,
        removed=removed,
        test_lines=test_lines,
        causes=tuple(dict.fromkeys(causes.values()))[:_MAX_CAUSES],
        cause_count=len(causes),
    )


def _find_causes(lines: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Yield each added comment that gives a cause, and its sentence, which may go over lines."""
    for place, line in enumerate(lines):
        if line[:1] != b"+" or len(line) >= _LONG_LINE:
            continue
        # Spelt out: this is asked of every added line of a history.
        if b"#" in line or b"//" in line or b"* " in line or b"--" in line:
            comment = _COMMENT.search(line)
            text = (comment[1] or comment[2]).decode("utf-8", "replace") if comment else ""
            if text and shows("cause", text.lower()):
                yield text.strip(), _read_sentence(lines, place) or text.strip()


def _read_sentence(lines: Sequence[bytes], place: int) -> str:
    """Return the sentence around a line of a comment over several; "" where code stands before."""

    def comment_of(place: int) -> str:
        found = _COMMENT.match(lines[place]) if 0 <= place < len(lines) else None
        return found[1].decode("utf-8", "replace").strip() if found and found[1] else ""

    first = last = place
    while place - first < _WRAPS and (before := comment_of(first - 1)):
        if before.endswith(_ENDS):
            break
        first -= 1
    while last - place < _WRAPS and not comment_of(last).endswith(_ENDS):
        if not comment_of(last + 1):
            break
        last += 1
    return " ".join(map(comment_of, range(first, last + 1)))


@cache
def is_code(path: str) -> bool:
    """Tell whether a file holds code that people wrote."""
    ending = path.rpartition(".")[2].lower()
    return ending in _CODE and not shows("generated", path.lower())


def score(history: Sequence[CommitFacts]) -> list[float]:
    """Return for each commit how much it looks like the fix of a mistake, in standard deviations.

    Positive is more than the average of this history. All signals count alike: weights chosen on
    three repositories, with a penalty for large changes, reached a mean recall@20 of .31 on four
    that neither choice had seen, and equal weights .33. That is so where each commit is a feature's
    worth of an agent's work, and fixes are inside. Where people commit a few lines at a time, a
    fix is one of the small ones and says so: large commits, which have more of everything, led.
    There the two signals of the subject count twice: on three such repositories (encode/httpx,
    encode/starlette, tokio-rs/tracing) that raised recall@20 from .45 to .49, precision@10 from
    .57 to .70.
    """
    small = median([facts.added for facts in history] or [0]) < _SMALL
    tests, causes, body = _ENOUGH if small else (math.inf,) * 3

    def named(what: str, facts: CommitFacts) -> float:
        return float(shows(what, facts.subject.lower()))

    rows = [  # on scales where a difference means the same everywhere
        (
            math.log1p(min(facts.test_lines, tests)),
            float(facts.test_lines > 0 and facts.removed > 0),
            math.log1p(min(facts.cause_count, causes)),
            math.log1p(min(len(facts.body), body)),
            small * (named("repairs", facts) - named("builds", facts)),
            small * float(named("repairs", facts) > named("builds", facts)),
            -max(math.log1p(facts.added) - math.log1p(_MUCH), 0.0) if small else 0.0,
        )
        for facts in history
    ]
    spreads = [(fmean(values), pstdev(values) or 1.0) for values in zip(*rows, strict=True)]
    return [
        sum(
            weight * (value - mean) / spread
            for value, weight, (mean, spread) in zip(row, _WEIGHTS, spreads, strict=True)
        )
        for row in rows
    ]


def choose(history: Iterable[CommitFacts]) -> list[CommitFacts]:
    """Return the commits that can be the fix of a mistake: they change code."""
    return [facts for facts in history if facts.paths]


ALIKE = 0.6
"""Share of their terms that two titles have in common where they tell of one mistake."""
SURE_COMMIT = 2.0
"""Standard deviations at which a commit is as likely a fix as not."""
SURE_POINTS = 3.0
"""Points of signals at which a sighting is."""
HALF_LIFE_DAYS = 180.0
_DAY = 86_400.0
_FIXED_WITHIN = 3 * _DAY
"""Between a mistake in a session and the commit that fixed it."""
MIN_TERMS = 3
_MAX_EXAMPLES = 5


@frozen
class Candidate:
    """One mistake, however often it was met."""

    id: str
    """Equal as long as its first sighting or commit is the same."""
    title: str
    occurrences: int
    """Sessions and commits in which it was met."""
    at: float
    """The last time, seconds since the epoch."""
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
    # Of each change the first commit: rebased or picked, it is in the history again.
    first: dict[tuple[object, ...], CommitFacts] = {}
    for one in sorted(choose(commits), key=lambda facts: facts.at):
        size = (one.added, one.removed, one.test_lines)
        first.setdefault((one.subject, one.paths, *size), one)
    code = list(first.values())
    fixes = dict(zip([facts.id for facts in code], score(code), strict=True))
    taken: set[str] = set()
    found: list[Candidate] = []
    # Sightings of one mistake together: by the error's signature, else by their words.
    groups: dict[object, list[Sighting]] = defaultdict(list)
    for number, sighting in enumerate(_merge_copies(sightings)):
        groups[sighting.signature or number].append(sighting)
    # What only words tell comes behind the errors of as many points.
    ranked = sorted(groups.values(), key=lambda group: not group[0].signature)
    ranked.sort(key=lambda group: -sum(one.points for one in group))
    joined = _join(ranked, lambda one: one[0].title, lambda one: analyze(one[0].title))
    for group in (list(chain.from_iterable(some)) for some in joined):
        own = _find_fixes(group, code, fixes)
        taken.update(facts.id for facts in own)
        candidate = _of_sightings(group, own, now)
        found += [candidate] if candidate else []
    rest = [facts for facts in code if facts.id not in taken and fixes[facts.id] > 0]
    rest.sort(key=lambda facts: -fixes[facts.id])
    # Alike in their subject, and in a file. "Minor cleanup" twice is no mistake.
    noise = {facts.id for facts in rest if shows("noise", facts.subject.lower())}
    alike = _join(rest, lambda one: "" if one.id in noise else one.subject, lambda one: one.paths)
    found += [_of_commits(commits, fixes, now) for commits in alike]
    return sorted(found, key=lambda one: (-one.rank, -one.at, one.id))


def typed_before(candidate: Candidate) -> tuple[str, ...]:
    """Return the prompts that belong to a mistake.

    What was met in several sessions belongs to their task only where the tasks are alike: an error
    of the machine is met whatever somebody asked for.
    """
    typed = list(dict.fromkeys(p for one in candidate.sightings for p in one.prompts))
    if len({one.session for one in candidate.sightings}) == 1 or len(typed) == 1:
        return tuple(typed)
    terms = {prompt: frozenset(analyze(prompt)) for prompt in typed}

    def is_shared(prompt: str) -> bool:
        return any(_alike(terms[prompt], terms[other]) for other in typed if other != prompt)

    return tuple(filter(is_shared, typed))


def _merge_copies(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Return each sighting once: a session that is resumed or exported again is copied whole."""
    kept: list[Sighting] = []
    places: dict[tuple[object, ...], int] = {}
    for one in sightings:
        told = one.signature or one.title
        by_words = [(told, one.prompts, one.excerpt or one.quote)] if one.prompts else []
        keys = [*by_words, *([(told, one.began)] if one.began else [])]
        place = next((places[key] for key in keys if key in places), len(kept))
        if place == len(kept):
            kept.append(one)
        elif one.points > kept[place].points:  # a copy may have gone on
            kept[place] = replace(one, session=kept[place].session)
        places |= dict.fromkeys(keys, place)
    return kept


_Item = TypeVar("_Item")


def _join(
    items: Iterable[_Item],
    text_of: Callable[[_Item], str],
    places_of: Callable[[_Item], Iterable[str]],
) -> list[list[_Item]]:
    """Return items together that share a place and whose words are alike those of the first."""
    groups: list[tuple[frozenset[str], list[_Item]]] = []
    index: dict[str, set[int]] = defaultdict(set)
    for item in items:
        words, places = frozenset(analyze(text_of(item))), list(places_of(item))
        near = sorted({group for place in places for group in index[place]})
        home = next((group for group in near if _alike(words, groups[group][0])), len(groups))
        groups += [(words, [])] if home == len(groups) else []
        groups[home][1].append(item)
        for place in places:
            index[place].add(home)
    return [group for _words, group in groups]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= MIN_TERMS and shared / len(one | other) >= ALIKE


def _find_fixes(
    group: Sequence[Sighting], code: Sequence[CommitFacts], fixes: Mapping[str, float]
) -> list[CommitFacts]:
    """Return commits soon after a sighting that change its files and speak its words.

    ``code`` is in the order of time.
    """
    found: dict[str, CommitFacts] = {}
    for one in group:
        if not one.at or not one.paths:
            continue
        words = frozenset(analyze(f"{one.title} {one.quote}"))
        first = bisect_left(code, one.at, key=lambda facts: facts.at)
        end = bisect_right(code, one.at + _FIXED_WITHIN, key=lambda facts: facts.at)
        found |= {
            facts.id: facts
            for facts in code[first:end]
            if not {*one.paths}.isdisjoint(facts.paths)
            and len(words.intersection(analyze(facts.subject))) > 1
        }
    return sorted(found.values(), key=lambda facts: -fixes[facts.id])[:_MAX_EXAMPLES]


def _of_sightings(
    group: Sequence[Sighting], fixes: Sequence[CommitFacts], now: float
) -> Candidate | None:
    """Return the candidate of a group, None if there is not enough to it."""
    best = sorted(group, key=lambda one: (-one.points, -one.at))
    sessions = len({one.session for one in group})
    points = best[0].points + 1.5 * math.log2(sessions) + bool(fixes)
    if points < SURE_POINTS / 2:
        return None
    signals = {signal for one in group for signal in one.signals}
    reasons = [signal for signal in POINTS if signal in signals]
    if sessions > 1:
        reviews = {one.agent == REVIEW for one in group}
        places = "reviews" if reviews == {True} else "sessions and reviews"
        reasons.insert(0, f"in {sessions} {places if True in reviews else 'sessions'}")
    reasons += [f"fixed by {facts.id[:8]}" for facts in fixes[:1]]
    return _rank(
        points - SURE_POINTS,
        sum(one.calls + 4 * one.turns for one in group),
        now,
        often=sessions,
        id=f"{best[0].session}:{best[0].signature or best[0].title}",
        title=best[0].title,
        occurrences=sessions,
        at=max(one.at for one in group),
        reasons=tuple(reasons),
        paths=tuple(dict.fromkeys(path for one in best for path in one.paths))[:5],
        sightings=tuple(best[:_MAX_EXAMPLES]),
        commits=tuple(fixes),
    )


def _of_commits(group: Sequence[CommitFacts], fixes: Mapping[str, float], now: float) -> Candidate:
    first = group[0]
    reasons = [f"{len(group)} commits alike"] if len(group) > 1 else []
    if first.causes:
        reasons.append(f"{counted(first.cause_count, 'comment')} with a reason")
    reasons += [f"{first.test_lines:,} lines of tests"] if first.test_lines else []
    return _rank(
        fixes[first.id] - SURE_COMMIT,
        0,
        now,
        # A feature that came in two commits was no mistake twice.
        often=len(group) if shows("repairs", first.subject.lower()) else 1,
        id=first.id,
        title=first.subject,
        occurrences=len(group),
        at=max(facts.at for facts in group),
        reasons=tuple(reasons) or ("changes code that was there",),
        paths=first.paths[:5],
        commits=tuple(group[:_MAX_EXAMPLES]),
    )


def _rank(points: float, cost: int, now: float, *, often: int, **facts: Any) -> Candidate:
    """Return a candidate that matters as much as it is likely, frequent, costly and recent."""
    likely = math.log1p(math.exp(points))
    recent = 0.5 + 0.5 * math.exp2(-max(now - facts["at"], 0.0) / _DAY / HALF_LIFE_DAYS)
    rank = likely * (1 + math.log2(often)) * (1 + math.log1p(cost) / 8) * recent
    return Candidate(rank=rank, **facts)


_SUGGESTION = re.compile(r"```suggestion[^\n]*\n(.*?)\n?```", re.DOTALL)
_CODE_SPAN = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<[^<>\n]{1,200}>|!\[[^\]]*\]\([^)]*\)|[*_`#>]", re.DOTALL)
_REQUESTED = "CHANGES_REQUESTED"
_LEAST_WORDS = 4
_MAX_DEPTH = 8
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_TIMES = ("created_at", "createdAt", "submitted_at", "submittedAt")
_LATEST = 4e9
"""Seconds since the epoch; a date that no calendar of Python can show in every zone is none."""
_MAX_QUOTE = 300
_MAX_TITLE = 160
_MAX_CODE = 20
"""Lines of a change."""
_MAX_HUNK = 6
"""Lines of code up to the one that a comment is about."""


_Comment = tuple[Mapping[str, Any], str, str]
"""A comment as it was exported, its pull or merge request, and the comment that it answers."""


def read_comments(text: str, *, name: str) -> list[Sighting]:
    """Return the comments of an export that name a mistake, as sightings; ``name`` for messages.

    Praise, questions without a cause and matters of taste are left out; a reply that agrees
    counts for what it answers. Raises InputError for what is no such export.
    """
    comments = [one for data in _documents(text, name) for one in _walk(data, name)]
    if not comments:
        raise InputError(f"{name}: no review comments; export them as GitHub or GitLab do")
    agreed = {parent for data, _, parent in comments if shows("agrees", data["body"].lower())}
    found = (
        _sighting(data, where, is_agreed=_text(data.get("id")) in agreed - {""})
        for data, where, parent in comments
        if not parent
    )
    return [one for one in found if one is not None]


def _documents(text: str, name: str) -> Iterator[Any]:
    """Yield the documents of a text: one, one a line, or one behind the other, as pages are."""
    decoder, place = json.JSONDecoder(), 0
    text = text.strip()
    while place < len(text):
        try:
            data, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            line = text.count("\n", 0, place) + 1
            raise InputError(f"{name}:{line}: not JSON; export the comments as JSON") from None
        yield data
        if between := _BETWEEN.match(text, place):
            place = between.end()


def _walk(data: Any, where: str, depth: int = 0) -> Iterator[_Comment]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, list):
        first = ""
        for one in data:
            for comment, place, parent in _walk(one, where, depth + 1):
                # GitLab keeps a thread as a list of notes.
                threaded = isinstance(one, dict) and "noteable_id" in one
                yield comment, place, first if threaded and first else parent
                first = first or (_text(comment.get("id")) if threaded else "")
    elif isinstance(data, dict):
        where = _text(data.get("pull_request_url")) or _text(data.get("url")) or where
        if "isResolved" in data and isinstance(data.get("comments"), dict):
            # A thread of GitHub's GraphQL: its place is its comments', which answer the first.
            shared = {key: value for key, value in data.items() if key != "comments"}
            nodes = [one for one in data["comments"].get("nodes") or () if isinstance(one, dict)]
            for number, one in enumerate(nodes):
                above: dict[str, Any] = {"in_reply_to_id": nodes[0].get("id")} if number else {}
                yield from _walk({**shared, **one, **above}, where, depth + 1)
            return
        if isinstance(data.get("body"), str) and not data.get("system"):
            merge = data.get("noteable_id")
            place = f"merge request {merge}" if merge else where
            yield data, place, _text(data.get("in_reply_to_id"))
        for value in data.values():
            if isinstance(value, (list, dict)):
                yield from _walk(value, where, depth + 1)


def _sighting(data: Mapping[str, Any], where: str, *, is_agreed: bool) -> Sighting | None:
    position, body = data.get("position"), data["body"]
    place = position if isinstance(position, Mapping) else {}
    path = clean_line(_text(data.get("path") or place.get("new_path")))
    requested = data.get("state") == _REQUESTED
    if not path and not requested:
        return None  # part of a conversation, or a bot's summary
    prose = _MARKUP.sub("", _CODE_SPAN.sub(" ", body)).strip()
    sentences = [line for line in map(clean_line, split_sentences(prose)) if line]
    if not sentences or shows("minor", prose.lower()) or len(prose.split()) < _LEAST_WORDS:
        return None
    suggestion = _SUGGESTION.search(body)
    signals = {
        CAUSE: shows("cause", prose.lower()),
        SUGGESTED: suggestion is not None,
        REQUESTED: requested,
    }
    if not any(signals.values()) and prose.rstrip().endswith("?"):
        return None
    signals[AGREED] = is_agreed
    signals[RESOLVED] = bool(data.get("isResolved") or data.get("resolved"))
    diff = ""
    hunk = (_text(data.get("diff_hunk")) or _text(data.get("diffHunk"))).splitlines()
    if suggestion:
        first, last = (data.get(key) for key in ("start_line", "line"))
        # Lines of the hunk's end:
        count = max(last - first + 1, 1) if isinstance(first, int) and isinstance(last, int) else 1
        before = [line[1:] for line in hunk if line[:1] in ("+", " ")][-count:][:_MAX_CODE]
        after = suggestion[1].splitlines()[:_MAX_CODE]
        diff = show_replacement(path, before, after)
    times = map(read_time, map(data.get, _TIMES))
    return Sighting(
        session=where,
        agent=REVIEW,
        at=next((at for at in times if 0 < at < _LATEST), 0.0),
        title=one_line(sentences[0], _MAX_TITLE),
        signals=(REVIEWED, *(signal for signal, given in signals.items() if given)),
        quote=one_line(prose, _MAX_QUOTE),
        paths=(path,) if path else (),
        excerpt="\n".join(line[:_MAX_QUOTE] for line in hunk[1:][-_MAX_HUNK:]),
        diff=diff,
    )


def show_replacement(path: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return which lines of a file replaced which, as a diff without places."""
    head = f"--- a/{path}\n+++ b/{path}\n@@ -1,{len(old)} +1,{len(new)} @@"
    return "\n".join((head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
