"""The noun ``brain.mine``: lessons that a project's past holds, in its sessions and its history."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from lessons_kb.brain.detect_in_project import propose_patterns
from lessons_kb.brain.drafts.drafts import Draft, Drafts
from lessons_kb.brain.mining.transcript_files import Source, find_sources, is_inside, read_entries
from lessons_kb.errors import GitError, StorageError
from lessons_kb.guards.tool_calls import find_command, kind_of_failure, kind_of_tool, parse_call
from lessons_kb.learn.draft_text import (
    MAX_DIFF,
    names_of,
    pick_hunks_with,
    sketch_candidate,
    split_files,
)
from lessons_kb.learn.fix_commits import CommitFacts, is_code, is_test, read_facts
from lessons_kb.learn.mining_candidates import Candidate, find_candidates, typed_before
from lessons_kb.learn.review_comments import read_comments
from lessons_kb.learn.session_signals import SessionReader, Sighting
from lessons_kb.model import Event, as_data
from lessons_kb.process.git_history import list_commits, read_commit, read_patches
from lessons_kb.process.pool import map_batches
from lessons_kb.store.import_files import read_source
from lessons_kb.store.locate import git_top
from lessons_kb.store.mined_sources import Mined
from lessons_kb.text.plurals import counted
from lessons_kb.text.redact import redact, redact_data
from lessons_kb.text.times import read_time
from lessons_kb.transcripts import entries
from lessons_kb.transcripts.entries import Entry

if TYPE_CHECKING:
    from lessons_kb.brain.layers import Layers

FORMAT = 2
"""Of what is remembered of a source; another one makes it be read again."""
FEW_COMMITS = 20
"""A shorter history cannot show what is unusual in it."""
_RULES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
_BATCH = 200
"""Commits that are remembered together."""
_BATCH_SESSIONS = 20
_TELLING = 5
"""Words by which a cause is found again in a diff."""
_MAX_CHANGE = 1_500
_MANY_BYTES = 50_000_000
"""Of sessions, from which on another process is worth its start."""
_WORKERS = 2
_CHANGES = ("edit", "create", "remove")
_OUTCOMES: Mapping[str, str] = {entries.CANCELLED: "cancelled", entries.UNKNOWN: "unknown"}

Progress = Callable[[str, int, int], None]
"""Told what is read, how much of it, and how much there is: ``sessions`` in bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What there is to look through."""

    sessions: tuple[Source, ...]
    commits: tuple[str, ...]
    """Their ids, newest first."""
    trouble: tuple[str, ...] = ()
    """What could not be looked at, one line each."""


@dataclass(kw_only=True, slots=True)
class Found:
    """What was found, and in how much."""

    candidates: list[Candidate]
    sessions: int
    commits: int
    comments: int = 0
    """Comments of reviewers that name a mistake."""
    read: int
    """Of sessions and commits, those that were new or had changed."""
    trouble: list[str] = field(default_factory=list)


def survey(directory: str, *, everywhere: bool = False, since: str | None = None) -> Past:
    """Return what sessions and commits a project has; nothing but names is read."""
    trouble: list[str] = []
    commits: list[str] = []
    try:
        commits = list_commits(directory, since=since)
    except GitError as error:
        trouble.append(str(error))
    sources = find_sources(directory, everywhere=everywhere)
    after = _seconds(since)
    return Past(
        sessions=tuple(source for source in sources if source.at >= after),
        commits=tuple(commits),
        trouble=tuple(trouble),
    )


def tell_past(directory: str) -> str:
    """Return in words what a project has to look through, "" if it has next to nothing."""
    past = survey(directory)
    notes = [name for name in _RULES if os.path.isfile(os.path.join(directory, name))]
    told = [
        *([counted(len(past.sessions), "session")] if past.sessions else []),
        *([counted(len(past.commits), "commit")] if past.commits else []),
        *notes,
    ]
    if count := _count_markdown(os.path.join(directory, "docs", "solutions")):
        told.append(f"docs/solutions ({counted(count, 'file')})")
    return ", ".join(told) if past.sessions or len(past.commits) >= FEW_COMMITS else ""


def _count_markdown(folder: str) -> int:
    return sum(
        name.endswith(".md") for _place, _folders, names in os.walk(folder) for name in names
    )


def mine(
    brain: Layers,
    *,
    everywhere: bool = False,
    since: str | None = None,
    comments: Sequence[str] = (),
    progress: Progress = lambda _what, _done, _total: None,
    now: float | None = None,
) -> Found:
    """Look through the past of the project around a brain for what may be worth a lesson.

    ``comments`` are files of review comments, as GitHub or GitLab export them: InputError names
    one that is none. Nothing is written but what was found, redacted, into the user's state: what
    was read once is not read again. An interrupt loses only what is being read. Raises
    StorageError.
    """
    directory = brain.directory
    reviewed = [
        parse_sighting(redact_data(as_data(one)))
        for path in comments
        for one in read_comments(read_source(path), name=path)
    ]
    past = survey(directory, everywhere=everywhere, since=since)
    found = Found(
        candidates=[],
        sessions=len(past.sessions),
        commits=len(past.commits),
        read=0,
        trouble=list(past.trouble),
    )
    phrases = brain.layers[0].settings.triggers.patterns
    with contextlib.closing(Mined(brain.layers[0].root)) as mined:
        sightings = list(
            _read_sessions(
                mined, past.sessions, "" if everywhere else directory, phrases, found, progress
            )
        )
        commits = _read_commits(mined, past.commits, directory, found, progress)
    after = _seconds(since)
    kept = [one for one in (*sightings, *reviewed) if one.at >= after or not one.at]
    found.comments = len(reviewed)
    at = time.time() if now is None else now
    found.candidates = find_candidates(kept, commits, now=at)
    return found


def draft(brain: Layers, candidates: Sequence[Candidate], count: int) -> list[Draft]:
    """Write drafts of the first ``count`` candidates that have none yet, and return them."""
    made: list[Draft] = []
    learn = partial(propose_patterns, brain.directory)
    for place, candidate in enumerate(candidates):
        if len(made) >= count:
            break
        diff = ""
        for commit in candidate.commits[:1]:
            with contextlib.suppress(GitError):
                diff = _pick_code(read_commit(brain.directory, commit.id), commit.causes)
        prompts = typed_before(candidate)
        current = replace(candidate, paths=_find_present(brain.directory, candidate.paths))
        sketch = sketch_candidate(current, prompts=prompts, diff=redact(diff), propose=learn)
        draft = Drafts(brain).add_mined(
            candidate.id,
            sketch,
            symptoms=prompts[:3],
            seen=candidate.occurrences,
            at=candidate.at,
            place=place,
        )
        if draft is not None:
            made.append(draft)
    return made


def _find_present(directory: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of a project's files that are still there: a card cannot guard another."""
    roots = {git_top(directory) or directory, directory}
    return tuple(
        path for path in paths if any(os.path.isfile(os.path.join(root, path)) for root in roots)
    )


def _pick_code(diff: str, causes: Sequence[str] = ()) -> str:
    """Return a diff without lessons, which would tell what is to be found out, and tests.

    The tests stay where nothing else is changed. Of a change that is too long to be shown, what
    stays is the hunks that give a cause.
    """
    parts = [(names_of(part)[-1], part) for part in split_files(diff)]
    parts = [(name, part) for name, part in parts if not name.endswith((".md", ".lock"))]
    code = [part for name, part in parts if is_code(name) and not is_test(name)]
    whole = "".join(code or [part for _name, part in parts])
    told = [cause.split(maxsplit=_TELLING)[:_TELLING] for cause in causes]
    if len(whole) <= MAX_DIFF or not told:
        return whole
    return "".join(pick_hunks_with(part, told) for part in code) or whole


def _read_sessions(
    mined: Mined,
    sources: Sequence[Source],
    directory: str,
    phrases: Sequence[str],
    found: Found,
    progress: Progress,
) -> Iterator[Sighting]:
    """Yield what sessions show; ``directory`` "" is no matter where they took place."""
    stamps = {one.path: f"{FORMAT}:{int(not directory)}:{one.stamp}" for one in sources}
    fresh: list[Source] = []
    for source in sources:
        known = mined.read_source(source.path, stamps[source.path])
        if known is None:
            fresh.append(source)
        else:
            yield from map(parse_sighting, known)
    total, done = sum(one.size for one in fresh), 0
    jobs = [(one, directory, tuple(phrases)) for one in fresh]
    workers = min(_WORKERS, os.cpu_count() or 1) if total > _MANY_BYTES else 1
    told = zip(fresh, map_batches(extract, jobs, workers=workers), strict=True)
    batch: list[tuple[str, str, list[dict[str, Any]]]] = []
    try:
        for source, (rows, trouble) in told:
            if trouble:
                found.trouble.append(trouble)
            batch.append((source.path, stamps[source.path], rows))
            if len(batch) >= _BATCH_SESSIONS:
                mined.write_sources(batch)
                batch = []
            found.read += 1
            done += source.size
            progress("sessions", done, total)
            yield from map(parse_sighting, rows)
    finally:
        mined.write_sources(batch)


def extract(
    source: Source, directory: str, phrases: Sequence[str]
) -> tuple[list[dict[str, Any]], str]:
    """Return what one session shows, without secrets, and what was wrong with its record."""
    reader, trouble = SessionReader(phrases), ""
    try:
        for entry in read_entries(source):
            event = _event(entry, source, directory)
            if event is not None:
                reader.see(event)
    except (OSError, sqlite3.Error, StorageError, ValueError) as error:
        trouble = f"{source.path}: {error}"
    told = [*reader.finish(), *reader.unsure()]
    return [redact_data(as_data(one)) for one in told], trouble


def _event(entry: Entry, source: Source, directory: str) -> Event | None:
    """Return what an entry tells; None outside ``directory``, and for what needs no look."""
    cwd = entry.cwd or source.cwd
    if directory and cwd and not _lies_in(cwd, directory):
        return None
    kind, outcome, text = entry.kind, "ok", entry.text
    if kind == entries.CALL:
        kind = kind_of_tool(entry.tool, agent=source.agent)
        outcome = _OUTCOMES.get(entry.ended, "ok")
        if entry.ended == entries.FAILED:
            outcome = kind_of_failure(entry.output)
        if kind == "command" and isinstance(entry.arguments, Mapping):
            text = find_command(entry.arguments)
        elif outcome == "ok" and kind not in _CHANGES:
            return None
    event = Event(
        kind=kind,
        at=entry.at or source.at,
        session=entry.session or source.path,
        id=entry.id,
        agent=source.agent,
        scope=(directory or cwd).replace("\\", "/"),
        tool=entry.tool,
        outcome=outcome,
        text=text,
        output=entry.output,
    )
    if kind not in _CHANGES or outcome != "ok":
        return event
    first = parse_call(event, entry.arguments, cwd=cwd, secrets=True)[0]
    return replace(first, record={"change": _change(entry)})


_lies_in = cache(is_inside)


def _change(entry: Entry) -> str:
    """Return what an edit replaced as a diff without places."""
    data = entry.arguments
    if not isinstance(data, Mapping):
        return ""
    before = data.get("old_string", data.get("old_str", data.get("oldString")))
    after = data.get("new_string", data.get("new_str", data.get("newString")))
    if not isinstance(before, str) or not isinstance(after, str):
        return ""
    path = data.get("file_path", data.get("path", data.get("filePath", "file")))
    old, new = before[:_MAX_CHANGE].splitlines(), after[:_MAX_CHANGE].splitlines()
    rows = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    name = os.path.basename(str(path))
    head = f"--- a/{name}\n+++ b/{name}\n@@ -1,{len(old)} +1,{len(new)} @@"
    return "\n".join((head, *rows))


def _read_commits(
    mined: Mined, ids: Sequence[str], directory: str, found: Found, progress: Progress
) -> list[CommitFacts]:
    known = mined.read_commits()
    missing = [number for number in ids if number not in known]
    rows: dict[str, dict[str, Any]] = {}
    done = 0
    try:
        for patch in read_patches(directory, missing) if missing else ():
            facts = read_facts(patch.id, patch.at, patch.message, patch.patch)
            rows[facts.id] = redact_data(as_data(facts))
            done += 1
            if len(rows) >= _BATCH:
                mined.write_commits(rows)
                known |= rows
                rows = {}
                progress("commits", done, len(missing))
    except GitError as error:
        found.trouble.append(str(error))
    finally:
        mined.write_commits(rows)
    known |= rows
    found.read += done
    lost = len(missing) - done
    if missing and lost:
        found.trouble.append(f"{lost} of {len(ids)} commits lack content in this clone; left out")
    return [_facts(known[number]) for number in reversed(ids) if number in known]


def parse_sighting(row: Mapping[str, Any]) -> Sighting:
    """Return a sighting of what is remembered of it."""
    return Sighting(**_values(row, Sighting))


def _facts(row: Mapping[str, Any]) -> CommitFacts:
    return CommitFacts(**_values(row, CommitFacts))


def _values(row: Mapping[str, Any], kind: type) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in row.items()
        if name in names
    }


def _seconds(since: str | None) -> float:
    return read_time(since) if since else 0.0
