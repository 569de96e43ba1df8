"""Install into an agent's settings and uninstall: plan first, then write, then remember."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lessons_kb.agents.install.launcher import launcher_path, write_launcher
from lessons_kb.agents.install.settings_entries import (
    add_pieces,
    digest_of,
    is_foreign,
    show,
    take_pieces,
)
from lessons_kb.agents.install.settings_files import (
    Request,
    Target,
    check_request,
    checked_targets,
    find_targets,
)
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.store import agent_settings
from lessons_kb.store.disk import shown
from lessons_kb.store.session_roots import end_silence, silence_sessions
from lessons_kb.text.redact import redact

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What is or would be done to one file."""

    path: str
    action: str
    """``created``, ``changed``, ``unchanged``, ``removed`` (the file), ``kept`` (another agent
    uses the same entries) or ``foreign`` (a file of somebody else's stands in its place)."""
    diff: str = ""
    """Unified, without secrets."""
    backup: str = ""
    """Where the file's former content is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    target: Target
    before: bytes | None
    after: bytes | None
    record: dict[str, Any]
    original: bytes | None
    """What the file is to hold once all of ours is gone."""
    kept: bool = False


def install(request: Request, *, dry_run: bool = False) -> list[Change]:
    """Write our hooks and server entry into the agent's files.

    Doing it twice changes nothing. All files are read and edited before the first is written;
    what cannot be edited raises InputError, EditRefused or StorageError and touches nothing.
    """
    check_request(request)
    steps = [
        (_plan_removal if _is_astray(target) else _plan_install)(target, _holder(request))
        for target in checked_targets(request)
    ]
    if not dry_run and request.entries.hook == launcher_path():
        write_launcher()
    changes = _carry_out(steps, dry_run=dry_run)
    if not dry_run:
        end_silence(request.agent)
    return changes


def uninstall(request: Request, *, dry_run: bool = False) -> list[Change]:
    """Take everything of ours out of the agent's files.

    A file in which nothing else changed since gets its former bytes back. Sessions that run with
    the hooks that they began with get no more answer. Errors as ``install``.
    """
    check_request(request)
    steps = [_plan_removal(target, _holder(request)) for target in checked_targets(request)]
    changes = _carry_out(steps, dry_run=dry_run)
    if not dry_run and any(step.before != step.after for step in steps):
        silence_sessions(request.agent, "" if request.scope == "user" else request.project)
    return changes


def find_installed(request: Request) -> list[str]:
    """List the files in which this installation is remembered and still stands as written."""
    found = []
    for target in find_targets(request):
        record, _original = agent_settings.read_change(target.path)
        if _holder(request) in record.get("holders", {}):
            found.append(target.path)
    return found


def _holder(request: Request) -> str:
    where = "" if request.scope == "user" else request.project
    return json.dumps([request.agent, request.scope, where])


def _is_astray(target: Target) -> bool:
    """Tell whether a file would configure what is somebody else's."""
    if not target.part_of:
        return False
    whole = replace(target, path=target.part_of)
    return is_foreign(agent_settings.read_settings_file(whole.path), whole)


def _plan_install(target: Target, holder: str) -> _Step:
    before = agent_settings.read_settings_file(target.path)
    record, original = agent_settings.read_change(target.path)
    after = _named(target.path, lambda: add_pieces(before, target))
    if is_foreign(before, target):  # nothing of ours is in it: nothing to remember or to miss
        return _Step(target=target, before=before, after=before, record={}, original=None)
    if not record or record.get("after") != _hash(before):
        # Others have edited the file since: what they left is what will be given back.
        original = _stripped(before, target, original)
    holders = dict(record.get("holders", {}))
    holders[holder] = digest_of(target.pieces)
    record = {**record, "holders": holders, "after": _hash(after)}
    return _Step(target=target, before=before, after=after, record=record, original=original)


def _stripped(data: bytes | None, target: Target, like: bytes | None) -> bytes | None:
    """Return a file without our pieces, the same bytes when there are none."""
    if data is None:
        return None
    return _named(target.path, lambda: take_pieces(data, target, like=like))


def _plan_removal(target: Target, holder: str) -> _Step:
    before = agent_settings.read_settings_file(target.path)
    record, original = agent_settings.read_change(target.path)
    holders = dict(record.get("holders", {}))
    mine = holders.pop(holder, None)
    others = {name for names in holders.values() for name in names}
    if before is None:
        return _Step(target=target, before=None, after=None, record={}, original=None)
    untouched = record.get("after") == _hash(before)
    if mine is not None and not holders and untouched:
        return _Step(target=target, before=before, after=original, record={}, original=None)
    pieces = tuple(p for p in target.pieces if digest_of((p,))[0] not in others)
    kept = len(pieces) < len(target.pieces)
    after: bytes | None = before
    if any(piece.form != "mark" for piece in pieces):
        shorter = replace(target, pieces=pieces)
        after = _stripped(before, shorter, original)
        original = _stripped(original, shorter, original)
    record = {**record, "holders": holders, "after": _hash(after) if untouched else ""}
    if not holders:
        record = {}
    return _Step(
        target=target, before=before, after=after, record=record, original=original, kept=kept
    )


def _carry_out(steps: list[_Step], *, dry_run: bool) -> list[Change]:
    changing = [step for step in steps if step.before != step.after]
    if not dry_run:
        for step in changing:
            agent_settings.check_writable(step.target.path)
    backups = [] if dry_run else [_write(step) for step in steps]
    if not dry_run:
        _clear_away(steps)
    return [
        Change(path=step.target.path, action=_action(step), diff=_diff(step), backup=backup)
        for step, backup in zip(steps, backups or [""] * len(steps), strict=True)
    ]


def _write(step: _Step) -> str:
    """Change one file and return where its former content is kept, "" when it was not changed."""
    path, record, backup = step.target.path, step.record, ""
    if step.before != step.after:
        if step.before is not None:
            backup = agent_settings.back_up(path, step.before)
        if record:
            # Before the file itself: a kill in between leaves a record of what is not there,
            # which its hash tells, and never a change that is not remembered.
            agent_settings.remember_change(path, record, step.original)
        made = agent_settings.replace_settings_file(path, step.after, expected=step.before)
        if made:
            record = {**record, "made": made}
    if record:
        agent_settings.remember_change(path, record, step.original)
    return backup


def _clear_away(steps: list[_Step]) -> None:
    """Forget what is undone, with the folders that were made for it."""
    made: set[str] = set()
    for step in steps:
        if not step.record:
            made.update(map(str, agent_settings.read_change(step.target.path)[0].get("made", [])))
            agent_settings.forget_change(step.target.path)
    agent_settings.remove_empty(list(made))


def _action(step: _Step) -> str:
    if step.before == step.after:
        if step.kept:
            return "kept"
        return "foreign" if is_foreign(step.before, step.target) else "unchanged"
    if step.before is None:
        return "created"
    return "removed" if step.after is None else "changed"


def _diff(step: _Step) -> str:
    old = step.target.path if step.before is not None else os.devnull
    new = step.target.path if step.after is not None else os.devnull
    lines = difflib.unified_diff(show(step.before), show(step.after), old, new, lineterm="", n=2)
    return redact("\n".join(lines))


def _named(path: str, work: Callable[[], T]) -> T:
    """Let an error name the file."""
    try:
        return work()
    except LessonsError as error:
        message = f"{shown(path)}: {error}"
        if isinstance(error, InputError) and ";" not in message:
            message += "; nothing was changed; fix it by hand and run this again"
        raise type(error)(message) from None


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else "-"
