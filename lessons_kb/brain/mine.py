"""The noun ``brain.mine``: lessons that a project's past holds, in its sessions and its history."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from lessons_kb.brain.detection import propose_patterns
from lessons_kb.brain.drafts import Draft, Drafts
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import GitError, StorageError
from lessons_kb.guards.tool_calls import find_command, kind_of_failure, kind_of_tool, parse_call
from lessons_kb.learn.draft_text import (
    MAX_DIFF,
    names_of,
    pick_hunks_with,
    sketch_candidate,
    split_files,
)
from lessons_kb.learn.mining import (
    Candidate,
    CommitFacts,
    find_candidates,
    is_code,
    is_test,
    read_comments,
    read_facts,
    typed_before,
)
from lessons_kb.learn.triggers import SessionReader, Sighting
from lessons_kb.model import Event, as_data
from lessons_kb.process.git import list_commits, read_commit, read_patches
from lessons_kb.process.programs import map_batches
from lessons_kb.store.database import Mined
from lessons_kb.store.files import read_byte_lines, read_head, read_source
from lessons_kb.store.user_state import git_top
from lessons_kb.text.redact import redact, redact_data
from lessons_kb.text.sanitize import counted
from lessons_kb.text.times import read_time
from lessons_kb.transcripts import entries
from lessons_kb.transcripts.entries import Entry
from lessons_kb.transcripts.opencode import read_part
from lessons_kb.transcripts.reader import CLAUDE, CODEX, COPILOT, GEMINI, MAX_LINE_BYTES, Transcript
from lessons_kb.transcripts.specstory import read_export

OPENCODE, SPECSTORY = "opencode", "specstory"
_PEEK = 65_536
_CWD = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.)*)"')
_SUBAGENT = os.sep + "subagents" + os.sep


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """The record of one session."""

    agent: str
    path: str
    """Its file; of a database with ``#`` and the session's id."""
    size: int
    """Bytes; 0 where it is a part of a database."""
    stamp: str
    """Another when the record has changed."""
    at: float
    """When it was written last."""
    cwd: str = ""


def find_sources(directory: str, *, everywhere: bool = False) -> list[Source]:
    """Return the sessions of the project at ``directory``, or all, oldest first.

    Nothing but names, sizes and the first bytes is read.
    """
    found: list[Source] = []
    for find in _FINDERS:
        with contextlib.suppress(OSError, sqlite3.Error):
            found += find(os.path.realpath(directory), everywhere)
    return sorted(found, key=lambda one: (one.at, one.path))


def read_entries(source: Source) -> Iterator[Entry]:
    """Yield what the record of a session tells. Raises StorageError, sqlite3.Error, OSError."""
    if source.agent == SPECSTORY:
        text = read_head(source.path, MAX_LINE_BYTES).decode("utf-8", "replace")
        yield from read_export(text, session=os.path.basename(source.path))
    elif source.agent == OPENCODE:
        yield from _read_opencode(source)
    elif source.path.endswith(".json"):
        data = read_head(source.path, MAX_LINE_BYTES)
        yield from _feed(Transcript(source.agent), iter([data]))
    else:
        transcript = Transcript(source.agent, subagent=_SUBAGENT in source.path)
        yield from _feed(transcript, (line for _number, line in read_byte_lines(source.path)))


def _feed(transcript: Transcript, lines: Iterator[bytes]) -> Iterator[Entry]:
    for line in lines:
        yield from transcript.feed_line(line)
    yield from transcript.finish()


def _home(variable: str, *names: str) -> str:
    return os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *names)


def is_inside(path: str, directory: str) -> bool:
    """Tell whether a path, as an agent wrote it, lies in a folder."""
    real = os.path.realpath(path) if path else ""
    return real == directory or real.startswith(directory.rstrip(os.sep) + os.sep)


def _source(agent: str, path: str, cwd: str = "") -> Source:
    info = os.stat(path)
    stamp = f"{info.st_size}:{info.st_mtime_ns}"
    return Source(agent=agent, path=path, size=info.st_size, stamp=stamp, at=info.st_mtime, cwd=cwd)


def _peek_cwd(path: str) -> str:
    """Return the folder in which a session began, "" where its begin does not say."""
    match = _CWD.search(read_head(path, _PEEK))
    if match is None:
        return ""
    try:
        return str(json.loads(b'"' + match[1] + b'"'))
    except ValueError:
        return ""


def _files(agent: str, pattern: str, directory: str, *, everywhere: bool) -> Iterator[Source]:
    for path in glob.iglob(pattern, recursive=True):
        with contextlib.suppress(OSError, StorageError):
            cwd = _peek_cwd(path)
            if everywhere or (cwd and is_inside(cwd, directory)):
                yield _source(agent, path, cwd)


def _claude(directory: str, everywhere: bool) -> Iterator[Source]:
    home = os.path.join(_home("CLAUDE_CONFIG_DIR", ".claude"), "projects")
    name = re.sub(r"[^A-Za-z0-9]", "-", directory)[:200]
    start = "*" if everywhere else glob.escape(name) + "*"
    pattern = os.path.join(glob.escape(home), start, "**", "*.jsonl")
    yield from _files(CLAUDE, pattern, directory, everywhere=everywhere)


def _codex(directory: str, everywhere: bool) -> Iterator[Source]:
    home = glob.escape(_home("CODEX_HOME", ".codex"))
    for folder in ("sessions", "archived_sessions"):
        pattern = os.path.join(home, folder, "**", "*.jsonl")
        yield from _files(CODEX, pattern, directory, everywhere=everywhere)


def _copilot(directory: str, everywhere: bool) -> Iterator[Source]:
    home = glob.escape(_home("COPILOT_HOME", ".copilot"))
    for name in (("*.jsonl",), ("*", "events.jsonl")):
        pattern = os.path.join(home, "session-state", *name)
        yield from _files(COPILOT, pattern, directory, everywhere=everywhere)


def _gemini(directory: str, everywhere: bool) -> Iterator[Source]:
    home = os.path.join(_home("GEMINI_CLI_HOME"), ".gemini", "tmp")
    digest = hashlib.sha256(directory.encode()).hexdigest()
    for folder in glob.iglob(os.path.join(glob.escape(home), "*")):
        root = _read_line(os.path.join(folder, ".project_root"))
        if not everywhere and os.path.basename(folder) != digest and root != directory:
            continue
        for path in glob.iglob(
            os.path.join(glob.escape(folder), "chats", "**", "*.json*"), recursive=True
        ):
            with contextlib.suppress(OSError):
                yield _source(GEMINI, path, root or ("" if everywhere else directory))


def _read_line(path: str) -> str:
    try:
        return read_head(path, 4_096).decode("utf-8", "replace").strip()
    except StorageError:
        return ""


_EXPORTS = os.path.join(".specstory", "history", "*.md")


def _specstory(directory: str, _everywhere: bool) -> Iterator[Source]:
    home = glob.escape(directory)
    for above in ((), ("*",), ("*", "*")):  # a part of the project may be a workspace of its own
        for path in glob.iglob(os.path.join(home, *above, _EXPORTS)):
            # A repository may be anyone's, and a link in it lead to a private file.
            if os.path.realpath(path) == path:
                with contextlib.suppress(OSError):
                    yield _source(SPECSTORY, path, directory)


def _opencode_home() -> str:
    return os.path.join(_home("XDG_DATA_HOME", ".local", "share"), "opencode")


def _opencode(directory: str, everywhere: bool) -> Iterator[Source]:
    path = os.path.join(_opencode_home(), "opencode.db")
    if os.path.isfile(path):
        with contextlib.closing(_open_readonly(path)) as db:
            rows = db.execute("SELECT id, directory, time_updated FROM session").fetchall()
        for number, cwd, at in rows:
            if everywhere or is_inside(str(cwd), directory):
                yield Source(
                    agent=OPENCODE,
                    path=f"{path}#{number}",
                    size=0,
                    stamp=str(at),
                    at=(at or 0) / 1000,
                    cwd=str(cwd),
                )
        return
    storage = os.path.join(_opencode_home(), "storage")  # before 2026
    for file in glob.iglob(os.path.join(glob.escape(storage), "session", "*", "*.json")):
        session = _read_json(file)
        cwd = str(session.get("directory") or "")
        if session.get("id") and (everywhere or is_inside(cwd, directory)):
            times = session.get("time")
            at = float(times.get("updated") or 0) if isinstance(times, dict) else 0.0
            yield Source(
                agent=OPENCODE,
                path=f"{storage}#{session['id']}",
                size=0,
                stamp=str(at),
                at=at / 1000,
                cwd=cwd,
            )


def _read_opencode(source: Source) -> Iterator[Entry]:
    place, _, session = source.path.rpartition("#")
    if not os.path.isdir(place):
        with contextlib.closing(_open_readonly(place)) as db:
            rows = db.execute(
                "SELECT m.id, m.data, p.data FROM message m JOIN part p ON p.message_id = m.id"
                " WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.time_created, p.id",
                (session,),
            )
            for number, message, part in rows:
                told = {"id": number, "sessionID": session, **_parse(message)}
                yield from read_part(told, _parse(part), cwd=source.cwd)
        return
    for name in sorted(glob.glob(os.path.join(glob.escape(place), "message", session, "*.json"))):
        message = _read_json(name)
        parts = os.path.join(glob.escape(place), "part", str(message.get("id")), "*.json")
        for part in sorted(glob.glob(parts)):
            yield from read_part(message, _read_json(part), cwd=source.cwd)


def _open_readonly(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=2.0)


def _read_json(path: str) -> dict[str, Any]:
    try:
        return _parse(read_head(path, MAX_LINE_BYTES).decode("utf-8", "replace"))
    except StorageError:
        return {}


def _parse(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


_FINDERS: tuple[Callable[[str, bool], Iterator[Source]], ...] = (
    _claude,
    _codex,
    _gemini,
    _opencode,
    _copilot,
    _specstory,
)


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
