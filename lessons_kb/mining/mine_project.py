"""Search the sessions and the commits of a project for candidates for lessons."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from lessons_kb.brain.brains import Brains
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.calls.parse_call import find_command, kind_of_tool, parse_call
from lessons_kb.errors import GitError, StorageError
from lessons_kb.mining.candidates import Candidate, find_candidates
from lessons_kb.mining.commit_facts import CommitFacts
from lessons_kb.mining.read_commits import add_bodies, read_commits, redact_facts
from lessons_kb.mining.review_comments import read_comments, show_replacement
from lessons_kb.mining.triggers import SessionReader, Sighting
from lessons_kb.model import CHANGES, Event, as_data
from lessons_kb.process.git import list_commits, list_files
from lessons_kb.process.programs import map_batches
from lessons_kb.store.database import Mined
from lessons_kb.store.files import (
    MAX_LINE_BYTES,
    is_inside,
    open_readonly,
    read_byte_lines,
    read_head,
    read_source,
)
from lessons_kb.text.redact import redact_data
from lessons_kb.text.sanitize import counted
from lessons_kb.text.times import read_time
from lessons_kb.transcripts import session_records as records
from lessons_kb.transcripts.session_records import (
    CLAUDE,
    CODEX,
    COPILOT,
    GEMINI,
    Entry,
    mapping,
    open_record,
    read_part,
)
from lessons_kb.transcripts.specstory import read_export
from lessons_kb.values import field, frozen, list_fields, mutable, replace

OPENCODE, SPECSTORY = "opencode", "specstory"


_PEEK = 65_536


_CWD = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.)*)"')


_RECORDS = (
    (CLAUDE, "CLAUDE_CONFIG_DIR", ".claude", "projects/PROJECT*/**/*.jsonl"),
    (CODEX, "CODEX_HOME", ".codex", "sessions/**/*.jsonl"),
    (CODEX, "CODEX_HOME", ".codex", "archived_sessions/**/*.jsonl"),
    (COPILOT, "COPILOT_HOME", ".copilot", "session-state/*.jsonl"),
    (COPILOT, "COPILOT_HOME", ".copilot", "session-state/*/events.jsonl"),
)
"""Tuples (agent, variable that names its folder, default name of the folder in the home folder,
glob of its session files).
"""


_SUBAGENT = os.sep + "subagents" + os.sep


@frozen
class Source:
    """The record of one session."""

    agent: str
    path: str
    """Its file. For a database, this is the file followed by ``#`` and the session's id."""
    size: int
    """The size in bytes, or 0 for a session in a database."""
    stamp: str
    """A value that changes with the record."""
    at: float
    """The time of the last write, in seconds since the epoch."""
    cwd: str = ""


def find_sources(directory: str, *, everywhere: bool = False) -> list[Source]:
    """Return the sessions of the project at ``directory``, or of all projects, oldest first.

    Only names, sizes and the first bytes of files are read.
    """
    directory = os.path.realpath(directory)
    sources: list[Source] = []
    with contextlib.suppress(OSError, sqlite3.Error):
        sources += _find_opencode(directory, everywhere=everywhere)
    files = (_find_files(directory, everywhere), _find_gemini(directory, everywhere))
    for agent, path, cwd in chain(*files, _find_specstory(directory)):
        with contextlib.suppress(OSError):
            info = os.stat(path)
            stamp, size = f"{info.st_size}:{info.st_mtime_ns}", info.st_size
            sources.append(
                Source(agent=agent, path=path, size=size, stamp=stamp, at=info.st_mtime, cwd=cwd)
            )
    return sorted(sources, key=lambda source: (source.at, source.path))


def read_entries(source: Source, *, usage: bool = False) -> Iterator[Entry]:
    """Yield the entries of a session. Raises StorageError, sqlite3.Error or OSError.

    With ``usage``, the requests to the model are entries as well.
    """
    if source.agent == SPECSTORY:
        text = read_head(source.path, MAX_LINE_BYTES).decode("utf-8", "replace")
        yield from read_export(text, session=os.path.basename(source.path))
    elif source.agent == OPENCODE:
        yield from _read_opencode(source, usage=usage)
    else:
        transcript = open_record(source.agent, subagent=is_subagent(source), usage=usage)
        whole = source.path.endswith(".json")
        lines = (line for _number, line in read_byte_lines(source.path))
        yield from transcript.feed([read_head(source.path, MAX_LINE_BYTES)] if whole else lines)
        yield from transcript.finish()
        yield from transcript.finish_requests()


def read_usage(source: Source, kinds: Collection[str]) -> list[Entry]:
    """Return the entries of some kinds, among them the requests to the model.

    The list is empty if the record cannot be read.
    """
    try:
        return [entry for entry in read_entries(source, usage=True) if entry.kind in kinds]
    except (OSError, sqlite3.Error, StorageError, ValueError):
        return []


def is_subagent(source: Source) -> bool:
    """Return whether a record is from a Claude Code subagent."""
    return _SUBAGENT in source.path


def _home(variable: str, *names: str) -> str:
    return os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *names)


_SessionFiles = Iterator[tuple[str, str, str]]
"""Tuples (agent, file, working directory), one for each session."""


def _find_files(directory: str, everywhere: bool) -> _SessionFiles:
    """Yield the sessions of agents that write one file per session, which has the working
    directory.
    """
    project = glob.escape(re.sub(r"[^A-Za-z0-9]", "-", directory)[:200])
    for agent, variable, folder, pattern in _RECORDS:
        inside = pattern.replace("PROJECT", "" if everywhere else project)
        home = glob.escape(_home(variable, folder))
        for path in glob.iglob(os.path.join(home, *inside.split("/")), recursive=True):
            with contextlib.suppress(StorageError, ValueError):
                match = _CWD.search(read_head(path, _PEEK))
                cwd = str(json.loads(b'"' + match[1] + b'"')) if match else ""
                if everywhere or (cwd and is_inside(cwd, directory)):
                    yield agent, path, cwd


def _find_gemini(directory: str, everywhere: bool) -> _SessionFiles:
    home = os.path.join(_home("GEMINI_CLI_HOME"), ".gemini", "tmp")
    digest = hashlib.sha256(directory.encode()).hexdigest()
    for folder in glob.iglob(os.path.join(glob.escape(home), "*")):
        root = ""
        with contextlib.suppress(StorageError):
            data = read_head(os.path.join(folder, ".project_root"), 4_096)
            root = data.decode("utf-8", "replace").strip()
        if everywhere or os.path.basename(folder) == digest or root == directory:
            pattern = os.path.join(glob.escape(folder), "chats", "**", "*.json*")
            cwd = root or ("" if everywhere else directory)
            yield from ((GEMINI, path, cwd) for path in glob.iglob(pattern, recursive=True))


def _find_specstory(directory: str) -> _SessionFiles:
    home = glob.escape(directory)
    for above in ((), ("*",), ("*", "*")):  # a subfolder may be a workspace of its own
        for path in glob.iglob(os.path.join(home, *above, ".specstory", "history", "*.md")):
            # A repository is not trusted: a link in it could point to a private file.
            if os.path.realpath(path) == path:
                yield SPECSTORY, path, directory


def _find_opencode(directory: str, *, everywhere: bool) -> list[Source]:
    place = os.path.join(_home("XDG_DATA_HOME", ".local", "share"), "opencode", "opencode.db")
    if not os.path.isfile(place):
        return []
    with contextlib.closing(open_readonly(place)) as db:
        rows = db.execute("SELECT id, directory, time_updated FROM session").fetchall()
    return [
        Source(
            agent=OPENCODE,
            path=f"{place}#{number}",
            size=0,
            stamp=str(at),
            at=float(at or 0) / 1000,
            cwd=str(cwd),
        )
        for number, cwd, at in rows
        if everywhere or (cwd and is_inside(str(cwd), directory))
    ]


def _read_opencode(source: Source, *, usage: bool) -> Iterator[Entry]:
    place, _, session = source.path.rpartition("#")
    with contextlib.closing(open_readonly(place)) as db:
        rows = db.execute(
            "SELECT m.id, m.data, p.data FROM message m JOIN part p ON p.message_id = m.id"
            " WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.time_created, p.id",
            (session,),
        )
        for number, message, part in rows:
            try:
                parent = {"id": number, "sessionID": session, **mapping(json.loads(message))}
                data = mapping(json.loads(part))
            except (ValueError, RecursionError):
                continue
            yield from read_part(parent, data, cwd=source.cwd, usage=usage)


FORMAT = 2
"""The version of the stored results. Sources with another version are read again."""


FEW_COMMITS = 20
"""The minimum number of commits in a history for scores that compare its commits."""


_BATCH = 200
"""The number of commits after which progress is reported."""


_MAX_CHANGE = 1_500


_MANY_BYTES = 50_000_000
"""The size of the sessions, in bytes, from which a second process saves time."""


_WORKERS = 2


_CHANGE_KEYS = (
    ("old_string", "old_str", "oldString"),
    ("new_string", "new_str", "newString"),
    ("file_path", "path", "filePath"),
)
"""Argument names of edit tools for the old text, the new text, and the file."""


_T = TypeVar("_T")


Progress = Callable[[str, int, int], None]
"""Called with (``sessions`` or ``commits``, amount read, total). Sessions are counted in bytes."""


@mutable
class MiningResult:
    """The candidates, and the amount of data that was searched."""

    candidates: list[Candidate] = field(default_factory=list)
    sessions: int
    commits: int
    comments: int = 0
    """The number of comments by reviewers that name a mistake."""
    read: int = 0
    """The number of sessions and commits that were read because they were new or changed."""
    trouble: list[str] = field(default_factory=list)


def _survey(
    directory: str, *, everywhere: bool = False, since: str | None = None
) -> tuple[list[Source], list[str], list[str]]:
    """Return the sessions of a project, its commits (newest first), and error messages.

    The contents of the commits are not read.
    """
    after = read_time(since)
    sources = [one for one in find_sources(directory, everywhere=everywhere) if one.at >= after]
    try:
        return sources, list_commits(directory, since=since), []
    except GitError as error:
        return sources, [], [str(error)]


def tell_past(directory: str) -> str:
    """Describe in a phrase the data that can be mined in a project. Return "" if there is too
    little.
    """
    sessions, commits, _trouble = _survey(directory)
    if not sessions and len(commits) < FEW_COMMITS:
        return ""
    parts = []
    if sessions:
        parts.append(counted(len(sessions), "session"))
    if commits:
        parts.append(f"{counted(len(commits), 'commit')} without merges")
    return ", ".join(parts)


def count_solutions(directory: str) -> int:
    """Return the number of files of lessons in docs/solutions."""
    pattern = os.path.join(glob.escape(directory), "docs", "solutions", "**", "*.md")
    return len(glob.glob(pattern, recursive=True, include_hidden=True))


def mine(
    brains: Brains,
    *,
    everywhere: bool = False,
    since: str | None = None,
    comments: Sequence[str] = (),
    progress: Progress,
) -> MiningResult:
    """Search the past of the project around a brain for candidates for lessons.

    ``comments`` are files of review comments as GitHub or GitLab export them. Redacted results are
    stored in the user's state folder, so that a source is read only once. An interrupt loses only
    the source that is being read. Raises StorageError, or an InputError that names a file of
    comments in another format.
    """
    reviewed = []
    for path in comments:
        comments_of_file = read_comments(read_source(path), name=path)
        reviewed += [restore(Sighting, redact_data(as_data(one))) for one in comments_of_file]
    sources, commits, trouble = _survey(brains.directory, everywhere=everywhere, since=since)
    result = MiningResult(
        sessions=len(sources), commits=len(commits), comments=len(reviewed), trouble=trouble
    )
    home = "" if everywhere else brains.directory
    with contextlib.closing(Mined(brains.members[0].root)) as mined:
        phrases = tuple(brains.members[0].settings.triggers.patterns)
        sightings = [*_read_sessions(mined, sources, home, phrases, result, progress), *reviewed]
        facts = _read_commits(mined, brains.directory, commits, result, progress)
    after = read_time(since)
    recent = [sighting for sighting in sightings if sighting.at >= after or not sighting.at]
    files: Sequence[str] = ()
    with contextlib.suppress(GitError):
        files = list_files(brains.directory)
    candidates = find_candidates(recent, facts, now=time.time(), files=files)
    result.candidates = add_bodies(brains.directory, candidates)
    return result


def _read_sessions(
    mined: Mined,
    sources: Sequence[Source],
    directory: str,
    phrases: tuple[str, ...],
    result: MiningResult,
    progress: Progress,
) -> Iterator[Sighting]:
    """Yield the sightings of sessions, with stored sightings first. ``directory`` is as for
    `extract`.
    """
    fresh: list[tuple[Source, str]] = []
    for source in sources:
        stamp = f"{FORMAT}:{int(not directory)}:{source.stamp}"
        rows = mined.read_source(source.path, stamp)
        if rows is None:
            fresh.append((source, stamp))
        else:
            yield from (restore(Sighting, row) for row in rows)
    done = 0
    total = sum(source.size for source, _stamp in fresh)
    jobs = [(source, directory, phrases) for source, _stamp in fresh]
    workers = min(_WORKERS, os.cpu_count() or 1) if total > _MANY_BYTES else 1
    results = map_batches(extract, jobs, workers=workers)
    for (source, stamp), (rows, trouble) in zip(fresh, results, strict=True):
        mined.write_sources([(source.path, stamp, rows)])
        if trouble:
            result.trouble.append(trouble)
        result.read += 1
        done += source.size
        progress("sessions", done, total)
        yield from (restore(Sighting, row) for row in rows)


def _read_commits(
    mined: Mined, directory: str, ids: Sequence[str], result: MiningResult, progress: Progress
) -> list[CommitFacts]:
    """Return the facts about commits, oldest first. New commits are read and stored."""
    rows = mined.read_commits()
    missing = [commit for commit in ids if commit not in rows]
    new_rows: dict[str, dict[str, Any]] = {}
    clean_paths: set[str] = set()
    done = 0
    try:
        for facts in read_commits(directory, missing) if missing else ():
            new_rows[facts.id] = redact_facts(facts, clean_paths)
            done += 1
            if not done % _BATCH:
                mined.write_commits(new_rows)
                rows |= new_rows
                new_rows = {}
                progress("commits", done, len(missing))
    except GitError as error:
        result.trouble.append(str(error))
    else:
        lost = len(missing) - done
        if lost:
            lack = f"{lost} of {len(ids)} commits lack content in this clone; left out"
            result.trouble.append(lack)
    finally:
        mined.write_commits(new_rows)
        rows |= new_rows
    result.read += done
    return [restore(CommitFacts, rows[commit]) for commit in reversed(ids) if commit in rows]


def extract(
    source: Source, directory: str, phrases: Sequence[str]
) -> tuple[list[dict[str, Any]], str]:
    """Return the redacted sightings of one session, and an error message, or "" if there is no
    error.

    Entries outside ``directory`` are ignored, unless it is "".
    """
    reader = SessionReader(phrases)
    trouble = ""
    try:
        for entry in read_entries(source):
            event = _event(entry, source, directory)
            if event is not None:
                reader.see(event)
    except (OSError, sqlite3.Error, StorageError, ValueError) as error:
        trouble = f"{source.path}: {error}"
    return [redact_data(as_data(one)) for one in reader.finish()], trouble


_lies_in = cache(is_inside)


_OUTCOMES = {records.CANCELLED: "cancelled", records.UNKNOWN: "unknown"}


def _event(entry: Entry, source: Source, directory: str) -> Event | None:
    """Return an entry as an event, or None if it is outside ``directory`` or an irrelevant call.

    A successful call is relevant only if it ran a command or changed a file.
    """
    cwd = entry.cwd or source.cwd
    if directory and cwd and not _lies_in(cwd, directory):
        return None
    is_call = entry.kind == records.CALL
    outcome = _OUTCOMES.get(entry.ended, "ok")
    if is_call and entry.ended == records.FAILED:
        outcome = kind_of_failure(entry.output)
    event = Event(
        kind="tool" if is_call else entry.kind,
        at=entry.at or source.at,
        session=entry.session or source.path,
        id=entry.id,
        agent=source.agent,
        scope=(directory or cwd).replace("\\", "/"),
        tool=entry.tool,
        outcome=outcome if is_call else "ok",
        text=entry.text,
        output=entry.output,
    )
    if not is_call:
        return event
    kind = kind_of_tool(entry.tool, agent=source.agent)
    is_command = kind == "command" and isinstance(entry.arguments, Mapping)
    if event.outcome == "ok" and not is_command and kind not in CHANGES:
        return None
    data = mapping(entry.arguments)
    event = replace(event, kind=kind, text=find_command(data) if is_command else entry.text)
    if kind not in CHANGES or event.outcome != "ok":
        return event
    first = parse_call(event, entry.arguments, cwd=cwd, secrets=True)[0]
    before, after, path = (_first_value(data, keys) for keys in _CHANGE_KEYS)
    change = ""
    if isinstance(before, str) and isinstance(after, str):
        old = before[:_MAX_CHANGE].splitlines()
        new = after[:_MAX_CHANGE].splitlines()
        change = show_replacement(os.path.basename(str(path or "file")), old, new)
    return replace(first, record={"change": change})


def _first_value(data: Mapping[str, Any], keys: Sequence[str]) -> object:
    return next((data[key] for key in keys if key in data), None)


def restore(kind: type[_T], row: Mapping[str, Any]) -> _T:
    """Return a dataclass from its stored row. Lists become tuples, and unknown keys are ignored."""
    names = list_fields(kind)
    values: dict[str, Any] = {}
    for name, value in row.items():
        if name in names:
            values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
