"""Group the mistakes in sessions, commits and review comments, and rank them as candidates."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from statistics import fmean, median, pstdev
from typing import Any, NamedTuple, TypeVar

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
from lessons_kb.values import frozen, replace

MAX_FILE_BYTES = 400_000
"""The size limit of one file's part of a patch. A longer part is data or generated code."""
_MAX_CAUSES = 6
_SMALL, _MUCH = 20, 60
"""Added lines of code. A history with a median below ``_SMALL`` has small commits; there, commits
above ``_MUCH`` lose points."""
_ENOUGH = (50, 3, 600)
"""For small commits: lines of tests, comments with a cause, and characters of the message beyond
which more lines, comments or characters give no more points."""
_WEIGHTS = (1, 1, 1, 1, 2, 2, 1)
"""Weights of the signals in `score`. Signals of the subject are 0 if commits are large."""
_MAX_PATHS = 12

_NAME = re.compile(rb'^\+\+\+ "?b/(.+?)"?\t?$', re.MULTILINE)
_FILE = b"\ndiff --git "
_BLANK = b" \t+-{}()[];,\r"
"""Lines of only these characters are not counted."""
_COMMENT = re.compile(
    rb"^\+[ \t]*(?:///?|#|\*|/\*\*?|--|;;|<!--)[ \t]+([^\n]{10,400})"
    rb"|[ \t](?://|#)[ \t]+([^\n]{10,400})"
)
_WRAPS = 4
"""How many lines before and after the line with the cause may belong to its sentence."""
_ENDS = (".", "!", "?", ":", ";")
_LONG_LINE = 2_000
_REWRAPPED = 0.9
"""A comment with this share of its words in the removed lines was only re-wrapped."""
_CODE = frozenset(" ".join(read_patterns("mining_signals.toml")["code"]).split())
"""Extensions of files with code that people write."""


@frozen
class CommitFacts:
    """The facts about one commit. Lines of brackets alone are not counted."""

    id: str
    at: float
    """Seconds since the epoch."""
    subject: str
    body: str = ""
    paths: tuple[str, ...] = ()
    """Changed code files without tests, the most changed first."""
    tests: tuple[str, ...] = ()
    """Changed test files."""
    added: int = 0
    """Added lines of code, without tests."""
    removed: int = 0
    """Removed lines of code, without tests."""
    test_lines: int = 0
    """Added lines of tests."""
    causes: tuple[str, ...] = ()
    """The first few added comments that give a cause."""
    cause_count: int = 0
    """How many different added comments give a cause."""


def read_facts(commit_id: str, at: float, message: str, patch: bytes) -> CommitFacts:
    """Return the facts about a commit. ``patch`` is git's patch without context lines."""
    subject, _, body = message.strip().partition("\n")
    changed: dict[str, int] = {}
    tests: dict[str, None] = {}
    added = removed = test_lines = 0
    causes: dict[str, str] = {}  # equal comments in copies of a file count once
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
        before = b" ".join(line[1:].strip(b" \t#/*;-") for line in lines if line[:1] == b"-")
        old_words = before.decode("utf-8", "replace").split()
        for text, sentence in _find_causes(lines):
            words = text.split()
            is_rewrapped = sum(word in old_words for word in words) >= _REWRAPPED * len(words)
            if not is_rewrapped:
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
    """Yield each added comment that gives a cause, with its sentence, which may span lines."""
    for number, line in enumerate(lines):
        if line[:1] != b"+" or len(line) >= _LONG_LINE:
            continue
        # Written out for speed: this runs for every added line of a history.
        if b"#" in line or b"//" in line or b"* " in line or b"--" in line:
            comment = _COMMENT.search(line)
            text = (comment[1] or comment[2]).decode("utf-8", "replace") if comment else ""
            if text and shows("cause", text.lower()):
                yield text.strip(), _read_sentence(lines, number) or text.strip()


def _read_sentence(lines: Sequence[bytes], number: int) -> str:
    """Return the sentence of a comment that spans lines; "" if the comment follows code."""

    def comment_of(number: int) -> str:
        match = _COMMENT.match(lines[number]) if 0 <= number < len(lines) else None
        return match[1].decode("utf-8", "replace").strip() if match and match[1] else ""

    first = last = number
    while number - first < _WRAPS:
        before = comment_of(first - 1)
        if not before or before.endswith(_ENDS):
            break
        first -= 1
    while last - number < _WRAPS:
        if comment_of(last).endswith(_ENDS) or not comment_of(last + 1):
            break
        last += 1
    return " ".join(map(comment_of, range(first, last + 1)))


@cache
def is_code(path: str) -> bool:
    """Return whether the path is that of code that people wrote."""
    extension = path.rpartition(".")[2].lower()
    return extension in _CODE and not shows("generated", path.lower())


def score(history: Sequence[CommitFacts]) -> list[float]:
    """Return for each commit how much it looks like a fix, in standard deviations.

    A positive score is above the average of this history. In histories of large commits all
    signals have equal weights: weights that were fitted on three repositories, with a penalty for
    large changes, reached a mean recall@20 of .31 on four unseen repositories, and equal weights
    reached .33. In such histories a commit is a whole feature, often an agent's work, and contains
    fixes. In histories of small commits a fix is a small commit whose subject says so, and large
    commits would lead because they have more of everything. There the two signals of the subject
    count twice: on three such repositories (encode/httpx, encode/starlette, tokio-rs/tracing) that
    raised recall@20 from .45 to .49 and precision@10 from .57 to .70.
    """
    small = median([facts.added for facts in history] or [0]) < _SMALL
    rows = [_measure_signals(facts, small=small) for facts in history]
    columns = list(zip(*rows, strict=True))
    means = [fmean(column) for column in columns]
    spreads = [pstdev(column) or 1.0 for column in columns]
    scores = []
    for row in rows:
        signals = zip(row, _WEIGHTS, means, spreads, strict=True)
        scores.append(
            sum(weight * (value - mean) / spread for value, weight, mean, spread in signals)
        )
    return scores


def _measure_signals(facts: CommitFacts, *, small: bool) -> tuple[float, ...]:
    """Return the signals of a commit, in the order of ``_WEIGHTS``.

    Counts are logarithms, so that a difference means the same for small and large values.
    """
    tests, causes, body = _ENOUGH if small else (math.inf,) * 3
    subject = facts.subject.lower()
    repairs, builds = float(shows("repairs", subject)), float(shows("builds", subject))
    excess = max(math.log1p(facts.added) - math.log1p(_MUCH), 0.0)
    return (
        math.log1p(min(facts.test_lines, tests)),
        float(facts.test_lines > 0 and facts.removed > 0),
        math.log1p(min(facts.cause_count, causes)),
        math.log1p(min(len(facts.body), body)),
        small * (repairs - builds),
        small * float(repairs > builds),
        -excess if small else 0.0,
    )


def choose(history: Iterable[CommitFacts]) -> list[CommitFacts]:
    """Return the commits that change code: only they can fix a mistake."""
    return [facts for facts in history if facts.paths]


ALIKE = 0.6
"""Titles that share this part of their terms are about the same mistake (Jaccard index)."""
SURE_COMMIT = 2.0
"""The score, in standard deviations, at which a commit is a fix with a probability of one half."""
SURE_POINTS = 3.0
"""The points of signals at which a sighting is a mistake with a probability of one half."""
HALF_LIFE_DAYS = 180.0
_DAY = 86_400.0
_FIXED_WITHIN = 3 * _DAY
"""The longest time, in seconds, between a mistake in a session and the commit that fixed it."""
MIN_TERMS = 3
_MAX_EXAMPLES = 5


@frozen
class Candidate:
    """One mistake with all its sightings and commits."""

    id: str
    """Stable as long as the first sighting or commit is the same."""
    title: str
    occurrences: int
    """How many sessions, or how many commits, show it."""
    at: float
    """The last time it was seen, in seconds since the epoch."""
    rank: float
    reasons: tuple[str, ...]
    """Why it looks like a mistake, the strongest reason first."""
    paths: tuple[str, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    """The strongest sightings, in order."""
    commits: tuple[CommitFacts, ...] = ()


def find_candidates(
    sightings: Iterable[Sighting], commits: Sequence[CommitFacts], *, now: float
) -> list[Candidate]:
    """Return the candidates for lessons, best first. ``now`` is in seconds since the epoch."""
    code = _drop_repeated_commits(commits)
    scores = dict(zip([facts.id for facts in code], score(code), strict=True))
    used: set[str] = set()
    candidates: list[Candidate] = []
    for group in _group_sightings(sightings):
        fixes = _find_fixes(group, code, scores)
        used.update(facts.id for facts in fixes)
        candidate = _of_sightings(group, fixes, now)
        if candidate:
            candidates.append(candidate)
    rest = [facts for facts in code if facts.id not in used and scores[facts.id] > 0]
    rest.sort(key=lambda facts: -scores[facts.id])
    candidates += [_of_commits(similar, scores, now) for similar in _group_commits(rest)]
    return sorted(candidates, key=lambda one: (-one.rank, -one.at, one.id))


def _drop_repeated_commits(commits: Sequence[CommitFacts]) -> list[CommitFacts]:
    """Return the first commit of each change: after a rebase or cherry-pick it is there again."""
    first: dict[tuple[object, ...], CommitFacts] = {}
    for facts in sorted(choose(commits), key=lambda facts: facts.at):
        size = (facts.added, facts.removed, facts.test_lines)
        first.setdefault((facts.subject, facts.paths, *size), facts)
    return list(first.values())


def _group_sightings(sightings: Iterable[Sighting]) -> list[list[Sighting]]:
    """Group the sightings of one mistake, by the error's signature or by similar titles.

    Groups with more points come first; among equal ones, those with an error's signature.
    """
    groups: dict[object, list[Sighting]] = defaultdict(list)
    for number, sighting in enumerate(_merge_copies(sightings)):
        groups[sighting.signature or number].append(sighting)
    ranked = sorted(groups.values(), key=lambda group: not group[0].signature)
    ranked.sort(key=lambda group: -sum(sighting.points for sighting in group))
    joined = _join(ranked, lambda group: group[0].title, lambda group: analyze(group[0].title))
    return [list(chain.from_iterable(some)) for some in joined]


def _group_commits(commits: Sequence[CommitFacts]) -> list[list[CommitFacts]]:
    """Group commits with similar subjects that share a file.

    Subjects such as "Minor cleanup" are ignored: two of them do not show the same mistake.
    """

    def subject_of(facts: CommitFacts) -> str:
        return "" if shows("noise", facts.subject.lower()) else facts.subject

    return _join(commits, subject_of, lambda facts: facts.paths)


def typed_before(candidate: Candidate) -> tuple[str, ...]:
    """Return the prompts of the tasks in which a mistake was made.

    For a mistake of several sessions these are only the prompts that resemble each other: an error
    of the machine occurs in any task.
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
    """Return each sighting once. A session that is resumed or exported again repeats its events."""
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
    """Group items that share a place and whose text resembles that of the group's first item."""
    first_terms: list[frozenset[str]] = []
    groups: list[list[_Item]] = []
    index: dict[str, set[int]] = defaultdict(set)
    """Place → numbers of the groups that have an item there."""
    for item in items:
        terms, places = frozenset(analyze(text_of(item))), list(places_of(item))
        near = sorted(set().union(*(index[place] for place in places)))
        similar = (number for number in near if _alike(terms, first_terms[number]))
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
    """Return commits soon after a sighting that change its files and share words with it.

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
    """Return the candidate of a group of sightings; None if its signals are too weak."""
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
    )


def _name_sources(group: Sequence[Sighting]) -> str:
    are_reviews = {sighting.agent == REVIEW for sighting in group}
    if are_reviews == {True}:
        return "reviews"
    return "sessions and reviews" if True in are_reviews else "sessions"


def _of_commits(group: Sequence[CommitFacts], scores: Mapping[str, float], now: float) -> Candidate:
    """Return the candidate of a group of similar commits."""
    first = group[0]
    reasons = [f"{len(group)} commits alike"] if len(group) > 1 else []
    if first.causes:
        reasons.append(f"{counted(first.cause_count, 'comment')} with a reason")
    reasons += [f"{first.test_lines:,} lines of tests"] if first.test_lines else []
    return _rank(
        scores[first.id] - SURE_COMMIT,
        0,
        now,
        # Two commits of one feature are not a mistake that was made twice.
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
    """Return a candidate whose rank grows with its likelihood, frequency, cost and recency.

    ``points`` are relative to a likelihood of one half; ``cost`` counts tool calls and turns.
    """
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
"""Seconds since the epoch. Later dates are ignored: Python cannot show them in every time zone."""
_MAX_QUOTE = 300
_MAX_TITLE = 160
_MAX_CODE = 20
"""Lines of a suggested change."""
_MAX_HUNK = 6
"""Lines of code up to the commented line."""


class _Comment(NamedTuple):
    data: Mapping[str, Any]
    """The comment as it was exported."""
    request: str
    """Its pull or merge request."""
    parent: str
    """The id of the comment that it answers; "" if none."""


def read_comments(text: str, *, name: str) -> list[Sighting]:
    """Return the comments of an export that name a mistake, as sightings.

    Praise, questions without a cause and matters of taste are left out. A reply that agrees counts
    for the comment it answers. ``name`` is the file's, for messages. Raises InputError if the text
    is not an export of comments.
    """
    comments: list[_Comment] = []
    for data in _documents(text, name):
        comments += _walk(data, name)
    if not comments:
        raise InputError(f"{name}: no review comments; export them as GitHub or GitLab do")
    agreed = {one.parent for one in comments if shows("agrees", one.data["body"].lower())}
    agreed.discard("")
    sightings = []
    for comment in comments:
        if comment.parent:
            continue
        is_agreed = _text(comment.data.get("id")) in agreed
        sighting = _sighting(comment.data, comment.request, is_agreed=is_agreed)
        if sighting is not None:
            sightings.append(sighting)
    return sightings


def _documents(text: str, name: str) -> Iterator[Any]:
    """Yield the JSON documents of a text: a single one, one per line, or concatenated pages."""
    decoder, position = json.JSONDecoder(), 0
    text = text.strip()
    while position < len(text):
        try:
            data, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            line = text.count("\n", 0, position) + 1
            raise InputError(f"{name}:{line}: not JSON; export the comments as JSON") from None
        yield data
        between = _BETWEEN.match(text, position)
        if between:
            position = between.end()


def _walk(data: Any, request: str, depth: int = 0) -> Iterator[_Comment]:
    """Yield the comments anywhere in exported data."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, list):
        yield from _walk_list(data, request, depth)
    elif isinstance(data, dict):
        request = _text(data.get("pull_request_url")) or _text(data.get("url")) or request
        if "isResolved" in data and isinstance(data.get("comments"), dict):
            yield from _walk_thread(data, request, depth)
            return
        if isinstance(data.get("body"), str) and not data.get("system"):
            merge = data.get("noteable_id")
            own_request = f"merge request {merge}" if merge else request
            yield _Comment(data, own_request, _text(data.get("in_reply_to_id")))
        for value in data.values():
            if isinstance(value, (list, dict)):
                yield from _walk(value, request, depth + 1)


def _walk_list(data: list[Any], request: str, depth: int) -> Iterator[_Comment]:
    """Yield the comments of a list. GitLab stores a thread as a list of notes."""
    first = ""
    for item in data:
        is_note = isinstance(item, dict) and "noteable_id" in item
        for comment in _walk(item, request, depth + 1):
            yield comment._replace(parent=first) if is_note and first else comment
            if is_note and not first:
                first = _text(comment.data.get("id"))


def _walk_thread(data: Mapping[str, Any], request: str, depth: int) -> Iterator[_Comment]:
    """Yield the comments of a thread of GitHub's GraphQL API, which all answer the first one.

    They share the position of the thread.
    """
    shared = {key: value for key, value in data.items() if key != "comments"}
    nodes = [node for node in data["comments"].get("nodes") or () if isinstance(node, dict)]
    for number, node in enumerate(nodes):
        reply: dict[str, Any] = {"in_reply_to_id": nodes[0].get("id")} if number else {}
        yield from _walk({**shared, **node, **reply}, request, depth + 1)


def _sighting(data: Mapping[str, Any], request: str, *, is_agreed: bool) -> Sighting | None:
    """Return the mistake that a comment names; None if it names none."""
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
        first, last = data.get("start_line"), data.get("line")
        count = 1
        if isinstance(first, int) and isinstance(last, int):
            count = max(last - first + 1, 1)
        code = [line[1:] for line in hunk if line[:1] in ("+", " ")]
        before = code[-count:][:_MAX_CODE]  # the suggestion replaces the end of the hunk
        after = suggestion[1].splitlines()[:_MAX_CODE]
        diff = show_replacement(path, before, after)
    times = [read_time(data.get(name)) for name in _TIMES]
    return Sighting(
        session=request,
        agent=REVIEW,
        at=next((at for at in times if 0 < at < _LATEST), 0.0),
        title=one_line(sentences[0], _MAX_TITLE),
        signals=(REVIEWED, *(signal for signal, is_present in signals.items() if is_present)),
        quote=one_line(prose, _MAX_QUOTE),
        paths=(path,) if path else (),
        excerpt="\n".join(line[:_MAX_QUOTE] for line in hunk[1:][-_MAX_HUNK:]),
        diff=diff,
    )


def show_replacement(path: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return a diff in which new lines of a file replace old ones. Line numbers are not real."""
    head = f"--- a/{path}\n+++ b/{path}\n@@ -1,{len(old)} +1,{len(new)} @@"
    return "\n".join((head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
