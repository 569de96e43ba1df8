"""The doctor's look around: brains that wait, hooks that failed, programs, rights and room."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from lessons_kb.brain.discovery import look
from lessons_kb.brain.doctor.health import FIX, Health, size_of
from lessons_kb.process.installation import install_command
from lessons_kb.store.folder_rights import find_open_folders
from lessons_kb.store.hook_log import LOG_NAME, Trouble, read_troubles
from lessons_kb.store.locate import state_home
from lessons_kb.text.plurals import counted

_OUR_ERRORS = re.compile(r"^\w*(?:Error|NotFound|Untrusted|Broken|Busy|Refused|Missing): (?=\S)")
_RECENT_DAYS = 7
_SHOWN = 5
_MAX_CHARS = 240
_LITTLE = 200_000_000
"""Bytes: an index, a journal and a trash grow within this."""


def check_trust(directory: str) -> Iterator[Health]:
    """Name the brains that were found and are silent."""
    found = look(directory)
    if found.missing:
        detail, _, fix = found.missing.partition("; ")
        yield Health(level="error", what="trust", detail=detail, fix=fix)
    for root in found.untrusted:
        fix = f"read its cards, then run `lessons trust {root}`"
        yield Health(level="warning", what="trust", detail=f"{root} is not trusted", fix=fix)


def check_hooks(_directory: str) -> Iterator[Health]:
    """Tell the last errors of hooks in words, alike ones together, the newest first."""
    found: dict[tuple[str, str], list[Trouble]] = {}
    for trouble in read_troubles(1_000):
        where = f"{trouble.agent} {trouble.hook_event}".strip()
        key = where, _OUR_ERRORS.sub("", trouble.message)[:_MAX_CHARS]
        found.setdefault(key, []).append(trouble)
    if not found:
        yield Health(level="ok", what="hooks", detail="no errors logged")
        return
    newest = sorted(found.items(), key=lambda item: item[1][-1].at, reverse=True)
    log = os.path.join(state_home(), LOG_NAME)
    since = dt.datetime.now() - dt.timedelta(days=_RECENT_DAYS)
    recent = [item for item in newest if item[1][-1].at >= since.isoformat()]
    for (where, message), troubles in recent[:_SHOWN]:
        times = f"{len(troubles)}×, last " if len(troubles) > 1 else ""
        detail = f"{where}: {message} ({times}{troubles[-1].at.replace('T', ' ')})"
        fix = f"the agent continued without an answer; fix the cause, then delete {log}"
        yield Health(level="warning", what="hooks", detail=detail, fix=fix)
    if len(newest) > len(recent[:_SHOWN]):
        more = sum(len(troubles) for _key, troubles in newest[len(recent[:_SHOWN]) :])
        errors = counted(more, "further error" if recent else "error")
        detail = errors if recent else f"{errors}, none in the last week"
        yield Health(level="ok", what="hooks", detail=f"{detail}, in {log}")


def check_state(_directory: str) -> Iterator[Health]:
    """See whether the state folder can be written, and by this user alone."""
    home = state_home()
    for folder in find_open_folders():
        detail = f"other users can read {folder}"
        yield Health(level="warning", what="state", detail=detail, fix=f"{FIX} closes it")
    if os.path.lexists(home) and not os.path.isdir(home):
        fix = "move it away; journal, drafts and trust need a folder there"
        yield Health(level="error", what="state", detail=f"{home} is not a folder", fix=fix)
    elif os.path.isdir(home) and not os.access(home, os.W_OK | os.X_OK):
        fix = "grant yourself write access; journal, drafts and trash are stored there"
        yield Health(level="error", what="state", detail=f"{home} cannot be written", fix=fix)
    else:
        yield Health(level="ok", what="state", detail=home)


def check_disk(directory: str) -> Iterator[Health]:
    """See whether there is room, once for each file system."""
    seen: set[int] = set()
    for place in (directory, _existing(state_home())):
        device = os.stat(place).st_dev
        if device in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(place).free
        detail = f"{size_of(free)} free at {place}"
        if free < _LITTLE:
            fix = "free some space; on a full disk, cards and journal cannot be changed"
            yield Health(level="warning", what="disk", detail=detail, fix=fix)
        else:
            yield Health(level="ok", what="disk", detail=detail)


def check_extras(_directory: str) -> Iterator[Health]:
    """Tell which optional parts are installed, and their versions."""

    def told(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return ""

    parts = [part for part in map(told, ("lessons-kb", "tantivy", "mcp", "onnxruntime")) if part]
    detail = ", ".join(parts)
    if not told("mcp"):
        detail += f"; no MCP server (`{install_command('mcp')}`)"
    yield Health(level="ok", what="versions", detail=detail)


def _existing(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


CHECKS = (check_trust, check_hooks, check_state, check_disk, check_extras)
