"""Install into an agent's settings and uninstall: plan first, then write, then remember."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, TypeVar

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.launcher import launcher_path, write_launcher
from lessons_kb.agents.install.settings_files import (
    HOOK,
    TOOL,
    WRITTEN,
    Entries,
    Request,
    Target,
    add_pieces,
    check_request,
    checked_targets,
    digest_of,
    find_targets,
    is_committed,
    is_foreign,
    is_present,
    show,
    take_pieces,
)
from lessons_kb.brain.doctor import FIX, Health
from lessons_kb.errors import InputError, LessonsError, StorageError
from lessons_kb.process.programs import find_program, install_command
from lessons_kb.store import settings as agent_settings
from lessons_kb.store.files import shown
from lessons_kb.store.settings import read_settings_file
from lessons_kb.store.user_state import end_silence, silence_sessions
from lessons_kb.text.redact import redact

NAMES = {"hook": "lessons-hook", "server": "lessons"}


def find_entries(*, bare: bool) -> Entries:
    """Return how agents call us: bare names, or the absolute paths of this installation.

    Raises InputError when a program is not where Python's installers put it, nor on the PATH.
    """
    if bare:
        return Entries(**NAMES)
    found = {what: _find(name) for what, name in NAMES.items()}
    return Entries(**{**found, "hook": launcher_path() or found["hook"]})


def has_sdk() -> bool:
    """Tell whether the SDK that ``lessons mcp`` needs is installed."""
    return find_spec("mcp") is not None


def _find(name: str) -> str:

    # The interpreter's own folder, not where its link leads: a virtual environment is a link.
    places = (os.path.dirname(sys.executable), sysconfig.get_path("scripts"))
    for place in places:
        if found := find_program(name, os.path.abspath(place)):
            return found
    if found := find_program(name):
        return found
    raise InputError(f"{name} is missing beside {sys.executable}; reinstall lessons-kb")


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


_PROGRAM = re.compile(r"[\"'](?P<path>[^\"'\r\n]*[\\/]lessons(?:-hook)?(?:\.exe)?)[\"' ]")


def check_agents(project: str) -> list[Health]:
    """Return a line for each agent that is set up or found here; nothing is raised."""
    return [line for agent in AGENTS for line in _check(agent, project)]


def find_requests(agent: str, project: str) -> Iterator[tuple[Request, list[str]]]:
    """Yield each installation of an agent that is remembered, with its files."""
    seen: set[str] = set()
    for scope, shared in (("user", False), ("project", False), ("project", True)):
        request = Request(
            agent=agent,
            project=project,
            scope=scope,
            shared=shared,
            entries=Entries(**NAMES),
        )
        fresh = [path for path in find_installed(request) if path not in seen]
        seen.update(fresh)
        if fresh:
            yield request, fresh


def find_gone(text: str) -> str:
    """Return the path of a program of ours that settings call and that is not there, or ""."""
    for match in _PROGRAM.finditer(text):
        program = match["path"].replace("\\\\", "\\")
        if os.path.isabs(program) and not os.path.exists(program):
            return program
    return ""


def find_route(text: str) -> str:
    """Return by which route the hooks in these settings reach us, "" where there are none."""
    if TOOL in text and "mcp_tool" in text:
        return "mcp"
    return "command" if HOOK in text else ""


def _check(agent: str, project: str) -> Iterator[Health]:
    present = False
    for request, paths in find_requests(agent, project):
        present = True
        lines = (_look(request, path) for path in paths)
        yield from (line for line in lines if not line.detail.startswith(f"{agent}: command"))
    if not present and is_present(agent):
        detail = f"{agent} is installed but not connected (`lessons install {agent}`)"
        yield Health(level="ok", what="agent", detail=detail)


def _look(request: Request, path: str) -> Health:
    agent = request.agent
    options = "" if request.scope == "user" else " --scope project"
    options += " --shared" if request.shared else ""
    fix = f"run `lessons install {agent}{options}` again"
    try:
        text = (read_settings_file(path) or b"").decode("utf-8", "replace")
    except StorageError as error:
        detail, _, fix = str(error).partition("; ")
        return Health(level="error", what="agent", detail=f"{agent}: {detail}", fix=fix)
    if "lessons" not in text:
        detail = f"{agent}: the entries in {path} are missing"
        return Health(level="warning", what="agent", detail=detail, fix=fix)
    if program := find_gone(text):
        detail = f"{agent}: {path} calls {program}, which no longer exists"
        return Health(level="error", what="agent", detail=detail, fix=f"{fix}, or {FIX}")
    bare = is_committed(request)
    if bare and shutil.which(NAMES["hook"]) is None:
        detail = f"{agent}: {path} calls {NAMES['hook']}, which is not on your PATH"
        return Health(level="warning", what="agent", detail=detail, fix="install it for yourself")
    route = find_route(text)
    other = "command" if WRITTEN in text else "MCP server"
    what = f"hooks by {route}" if route else other
    scope = "shared" if request.shared else request.scope
    return Health(level="ok", what="agent", detail=f"{agent}: {what}, {scope}: {path}")


_NO_SDK = "The MCP server was not added because the `mcp` package is missing; run {}."

_LATE = "{} accepts no context with a prompt; lessons arrive at the start of a session and {}."

_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (
        "The hooks take effect at once, except in folders that Claude Code does not trust yet.",
    ),
    "codex": (
        "Codex runs hooks only after you approve them: open `codex`, type /hooks, approve these.",
    ),
    "gemini-cli": ("Restart Gemini CLI. It may warn once about new hooks.",),
    "cursor": (_LATE.format("Cursor", "with tool results"),),
    "copilot-cli": (
        "Copilot CLI names the lessons in its timeline; with `-s` it shows nothing: `lessons why`.",
    ),
    "vscode": (
        "VS Code ignores matchers, so the hook runs for every tool.",
        _LATE.format("VS Code", "with tool results"),
        "Agent hooks are a preview feature of VS Code; your organisation may have disabled them.",
    ),
    "opencode": ("Restart opencode: it loads plugins when it starts.",),
}
_PROJECT: Mapping[str, tuple[str, ...]] = {
    "codex": ("Codex reads project settings only in trusted projects.",),
    "cursor": ("Cursor reads project hooks only in trusted workspaces.",),
    "gemini-cli": ("Gemini CLI asks for approval when the hooks of a project change.",),
}
_SHARED_SERVER: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("Claude Code asks each user once to approve the server in `.mcp.json`.",),
}


def how_to_get_sdk() -> str:
    """Return what to do about the SDK that ``lessons mcp`` needs."""
    return f"`{install_command('mcp')}`, then run this again"


def find_notes(request: Request) -> Iterator[str]:
    """Yield what to tell the user, one sentence or two each."""
    yield from _ALWAYS[request.agent]
    if request.scope == "project":
        yield from _PROJECT.get(request.agent, ())
    if is_committed(request):
        yield (
            "These files belong to the project: whoever works in it needs `lessons` and"
            " `lessons-hook` on the PATH."
        )
        if request.server:
            yield from _SHARED_SERVER.get(request.agent, ())
    if request.via == "mcp":
        yield (
            "By this route hooks are answered by the MCP server: while it is not connected,"
            " they say nothing."
        )
    if not request.server:
        yield _NO_SDK.format(how_to_get_sdk())


def fix_agents(project: str) -> list[Health]:
    """Write this installation's paths where ours have vanished; nothing is raised.

    Only what `install` remembers to have written, in the same scope and by the same route. What
    the user took out stays out.
    """
    return [
        line
        for agent in AGENTS
        for request, paths in find_requests(agent, project)
        for line in _fix(request, paths)
    ]


def _fix(request: Request, paths: Sequence[str]) -> Iterator[Health]:
    try:
        texts = {p: (read_settings_file(p) or b"").decode("utf-8", "replace") for p in paths}
        if not any(map(find_gone, texts.values())):
            return
        routes = [route for route in map(find_route, texts.values()) if route]
        again = replace(
            request,
            via=routes[0] if routes else "command",
            entries=find_entries(bare=False),
            server=has_sdk() and _has_server(texts.values()),
        )
        changes = install(again)
    except LessonsError as error:
        detail, _, fix = str(error).partition("; ")
        yield Health(level="error", what="agent", detail=f"{request.agent}: {detail}", fix=fix)
        return
    for change in changes:
        if change.action != "unchanged":
            detail = f"{request.agent}: {change.path} calls {again.entries.hook}"
            yield Health(level="fixed", what="agent", detail=detail)


def _has_server(texts: Iterable[str]) -> bool:
    """Tell whether any of these settings starts our server: its argument is ``mcp``."""
    return any('"mcp"' in text for text in texts)
