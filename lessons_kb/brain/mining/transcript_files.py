"""Where coding agents keep the records of past sessions on this machine, and how to read one."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from lessons_kb.errors import StorageError
from lessons_kb.store.import_files import read_byte_lines, read_head
from lessons_kb.transcripts.entries import Entry
from lessons_kb.transcripts.opencode import read_part
from lessons_kb.transcripts.reader import (
    CLAUDE,
    CODEX,
    COPILOT,
    GEMINI,
    MAX_LINE_BYTES,
    Transcript,
)
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
