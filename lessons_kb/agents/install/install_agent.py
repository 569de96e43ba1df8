"""Install into an agent's settings and uninstall: plan first, then write, then remember."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from lessons_kb.agents.install.launcher import launcher_path, refresh_launcher, write_launcher
from lessons_kb.agents.install.settings_files import (
    HOOK,
    TOOL,
    WRITTEN,
    Entries,
    Piece,
    Request,
    Target,
    add_pieces,
    check_targets,
    expand,
    find_targets,
    is_committed,
    is_foreign,
    is_present,
    take_pieces,
)
from lessons_kb.agents.table import AGENTS
from lessons_kb.collection.doctor import FIX
from lessons_kb.collection.health import Health
from lessons_kb.errors import InputError, LessonsError, StorageError
from lessons_kb.process.installation import install_command, upgrade_command
from lessons_kb.process.programs import find_program
from lessons_kb.store import foreign_settings as agent_settings
from lessons_kb.store.files import shown
from lessons_kb.store.foreign_settings import FileChange
from lessons_kb.store.session_notes import end_silence, silence_sessions
from lessons_kb.text.sanitize import ago, visible
from lessons_kb.values import frozen
from lessons_kb.version import __version__

NAMES = {"hook": "lessons-hook", "server": "lessons"}


def find_entries(*, bare: bool) -> Entries:
    """Return how agents call us: bare names, or the absolute paths of this installation.

    Raises InputError when a program is not where Python's installers put it, nor on the PATH.
    """
    if bare:
        return Entries(**NAMES)
    # The interpreter's own folder, not where its link leads: a virtual environment is a link.
    places = (os.path.abspath(os.path.dirname(sys.executable)), sysconfig.get_path("scripts"), None)
    found = {}
    for what, name in NAMES.items():
        paths = (find_program(name, place) for place in places)
        found[what] = next(filter(None, paths), "")
        if not found[what]:
            raise InputError(f"{name} is missing beside {sys.executable}; reinstall lessons-kb")
    return Entries(hook=launcher_path() or found["hook"], server=found["server"])


def has_sdk() -> bool:
    """Tell whether the SDK that ``lessons mcp`` needs is installed."""
    return find_spec("mcp") is not None


@frozen
class _Step:
    target: Target
    before: bytes | None
    after: bytes | None
    record: dict[str, Any] = field(default_factory=dict)
    original: bytes | None = None
    """What the file is to hold once all of ours is gone."""
    kept: bool = False

    @property
    def action(self) -> str:
        """What it does to the file."""
        if self.before == self.after:
            foreign = is_foreign(self.before, self.target)
            return "kept" if self.kept else "foreign" if foreign else "unchanged"
        return "created" if self.before is None else "removed" if self.after is None else "changed"


def install(request: Request, *, dry_run: bool = False) -> list[FileChange]:
    """Write our hooks and server entry into the agent's files.

    Doing it twice changes nothing. All files are read and edited before the first is written;
    what cannot be edited raises InputError, EditRefused or StorageError and touches nothing.
    """
    steps = []
    for target in check_targets(request):
        # Nothing is put beside a file of somebody else's: it would configure that.
        of_other = target.part_of and is_foreign(
            agent_settings.read_settings_file(target.part_of), target
        )
        steps.append((_plan_removal if of_other else _plan_install)(target, _holder(request)))
    if not dry_run and request.entries.hook == launcher_path():
        write_launcher()
    changes = _carry_out(steps, dry_run=dry_run)
    if not dry_run:
        end_silence(request.agent)
        refresh_launcher()
    return changes


def uninstall(request: Request, *, dry_run: bool = False) -> list[FileChange]:
    """Take everything of ours out of the agent's files.

    A file in which nothing else changed since gets its former bytes back. Sessions that run with
    the hooks that they began with get no more answer. Errors as ``install``.
    """
    steps = [_plan_removal(target, _holder(request)) for target in check_targets(request)]
    changes = _carry_out(steps, dry_run=dry_run)
    if not dry_run and any(step.before != step.after for step in steps):
        silence_sessions(request.agent, "" if request.scope == "user" else request.project)
        refresh_launcher()
    return changes


def _holder(request: Request) -> str:
    where = "" if request.scope == "user" else request.project
    return json.dumps([request.agent, request.scope, where])


def _plan_install(target: Target, holder: str) -> _Step:
    before = agent_settings.read_settings_file(target.path)
    record, original = agent_settings.read_change(target.path)
    with _naming(target.path):
        after = add_pieces(before, target)
    if is_foreign(before, target):  # nothing of ours is in it: nothing to remember or to miss
        return _Step(target=target, before=before, after=after)
    if not record or record.get("after") != _hash(before):
        # Others have edited the file since: what they left is what will be given back.
        original = _strip(before, target, original)
    holders = {**record.get("holders", {}), holder: list(map(_name, target.pieces))}
    record = {**record, "holders": holders, "after": _hash(after), "version": __version__}
    return _Step(target=target, before=before, after=after, record=record, original=original)


def _plan_removal(target: Target, holder: str) -> _Step:
    before = agent_settings.read_settings_file(target.path)
    record, original = agent_settings.read_change(target.path)
    holders = dict(record.get("holders", {}))
    mine = holders.pop(holder, None)
    untouched = record.get("after") == _hash(before)
    if before is None:
        return _Step(target=target, before=None, after=None)
    if mine is not None and not holders and untouched:
        return _Step(target=target, before=before, after=original)
    others = {name for names in holders.values() for name in names}
    pieces = tuple(piece for piece in target.pieces if _name(piece) not in others)
    after: bytes | None = before
    if any(piece.form != "mark" for piece in pieces):
        shorter = replace(target, pieces=pieces)
        after = _strip(before, shorter, original)
        original = _strip(original, shorter, original)
    kept = len(pieces) < len(target.pieces)
    record = {**record, "holders": holders, "after": _hash(after) if untouched else ""}
    files: dict[str, Any] = {"before": before, "after": after, "original": original}
    return _Step(target=target, **files, record=record if holders else {}, kept=kept)


def _name(piece: Piece) -> str:
    """Name a piece, so that two installations can tell whether they want the same."""
    return json.dumps([piece.form, *piece.path])


def _strip(data: bytes | None, target: Target, like: bytes | None) -> bytes | None:
    """Return a file without our pieces, the same bytes when there are none."""
    if data is None:
        return None
    with _naming(target.path):
        return take_pieces(data, target, like=like)


def _carry_out(steps: list[_Step], *, dry_run: bool) -> list[FileChange]:
    changed = [step for step in steps if step.before != step.after and not dry_run]
    for step in changed:
        agent_settings.check_writable(step.target.path)
    backups, made = {}, []
    for step in () if dry_run else steps:
        path, record, folders = step.target.path, step.record, list[str]()
        if step in changed and step.before is not None:
            backups[path] = agent_settings.back_up(path, step.before)
        if record:
            # Before the file itself: a kill in between leaves a record of what is not there,
            # which its hash tells, and never a change that is not remembered.
            agent_settings.remember_change(path, record, step.original)
        if step in changed:
            folders = agent_settings.replace_settings_file(path, step.after, expected=step.before)
        if record and folders:
            record = {**record, "made": folders}
            agent_settings.remember_change(path, record, step.original)
    for step in () if dry_run else steps:
        if not step.record:  # forget what is undone, with the folders that were made for it
            made += agent_settings.read_change(step.target.path)[0].get("made", [])
            agent_settings.forget_change(step.target.path)
    agent_settings.remove_empty(sorted(set(map(str, made))))
    return [
        FileChange(
            path=step.target.path,
            action=step.action,
            diff=agent_settings.show_change(step.target.path, step.before, step.after),
            backup=backups.get(step.target.path, ""),
        )
        for step in steps
    ]


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let an error name the file that it is about."""
    try:
        yield
    except LessonsError as error:
        message = f"{shown(path)}: {error}"
        if isinstance(error, InputError) and ";" not in message:
            message += "; nothing was changed; fix it by hand and run this again"
        raise type(error)(message) from None


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else "-"


_PROGRAM = re.compile(r"[\"'](?P<path>[^\"'\r\n]*[\\/]lessons(?:-hook)?(?:\.exe)?)[\"' ]")


def check_agents(project: str, calls: Mapping[str, float] = MappingProxyType({})) -> list[Health]:
    """Return a line for each agent that is set up or found here; nothing is raised.

    ``calls`` has the time of each agent's last call: settings alone do not show that hooks work.
    """
    lines = []
    for agent in AGENTS:
        requests = list(_find_requests(agent, project))
        lines += [line for request, paths in requests for line in _check(request, paths, calls)]
        plugin = list(_check_plugin(agent, calls, connected=bool(requests)))
        lines += plugin
        if not (requests or plugin) and is_present(agent):
            detail = f"{agent} is installed but not connected (`lessons install {agent}`)"
            lines.append(Health("off", "agent", detail))
    return lines


def has_hooks(agent: str, project: str) -> bool:
    """Return whether an agent calls us here: by the user's settings, the project's or a plugin."""
    for scope, shared in (("user", False), ("project", False), ("project", True)):
        entries = Entries(**NAMES)
        request = Request(agent=agent, project=project, scope=scope, shared=shared, entries=entries)
        for target in find_targets(request):
            with contextlib.suppress(StorageError):
                if _find_route(_read(target.path)):
                    return True
    return any(_check_plugin(agent, {}, connected=False))


def _check_plugin(agent: str, calls: Mapping[str, float], *, connected: bool) -> Iterator[Health]:
    """Yield a line for our plugin, if the agent has installed it."""
    row = AGENTS[agent]
    found = glob.glob(os.path.join(expand(row.folder), row.plugin)) if row.plugin else []
    if not found:
        return
    try:  # an agent may keep former versions
        version = json.loads(_read(max(found, key=os.path.getmtime)))["version"]
    except (LessonsError, OSError, ValueError, LookupError, TypeError):
        version = "unknown"
    detail, fix = f"plugin {visible(str(version))}", ""
    if version != __version__:
        level, fix = "warning", f"`{row.update}` updates it; `{upgrade_command()}` this package"
        detail += f" beside lessons-kb {__version__}"
    elif connected:
        level, fix = "warning", f"run `lessons uninstall {agent}`, or remove the plugin"
        detail += ": it and the settings both call lessons-hook"
    else:
        level, seen = _tell_last_call(agent, calls)
        detail += f"; {seen}"
    yield Health(level=level, what="agent", detail=f"{agent}: {detail}", fix=fix)


def _find_requests(agent: str, project: str) -> Iterator[tuple[Request, list[str]]]:
    """Yield each installation of an agent that is remembered, with its files."""
    seen: set[str] = set()
    for scope, shared in (("user", False), ("project", False), ("project", True)):
        entries = Entries(**NAMES)
        request = Request(agent=agent, project=project, scope=scope, shared=shared, entries=entries)
        paths = {target.path: None for target in find_targets(request)}
        fresh = [
            path
            for path in paths
            if path not in seen
            and _holder(request) in agent_settings.read_change(path)[0].get("holders", {})
        ]
        seen.update(fresh)
        if fresh:
            yield request, fresh


def _find_gone(text: str) -> str:
    """Return the path of a program of ours that settings call and that is not there, or ""."""
    programs = (match["path"].replace("\\\\", "\\") for match in _PROGRAM.finditer(text))
    gone = (path for path in programs if os.path.isabs(path) and not os.path.exists(path))
    return next(gone, "")


def _find_route(text: str) -> str:
    """Return by which route the hooks in these settings reach us, "" where there are none."""
    if TOOL in text and "mcp_tool" in text:
        return "mcp"
    return "command" if HOOK in text else ""


def _tell_last_call(agent: str, calls: Mapping[str, float]) -> tuple[str, str]:
    """Return the level of hooks that are set up, and when they were last called."""
    if agent in calls:
        return "ok", f"last called {ago(time.time() - calls[agent])}"
    return "off", "no call seen yet"


def _check(request: Request, paths: Sequence[str], calls: Mapping[str, float]) -> Iterator[Health]:
    """Yield a line for each file of an installation; none for a command that is as it should be."""
    agent = request.agent
    options = "" if request.scope == "user" else " --scope project"
    options += " --shared" if request.shared else ""
    outdated = False
    with contextlib.suppress(LessonsError):  # told below
        outdated = _plan_renewal(request, paths) is not None
    for path in paths:
        level, fix = "warning", f"run `lessons install {agent}{options}` again"
        try:
            text = _read(path)
        except StorageError as error:
            yield _tell_error(agent, error)
            continue
        route = _find_route(text)
        if "lessons" not in text:
            detail = f"the entries in {path} are missing"
        elif program := _find_gone(text):
            level, detail = "error", f"{path} calls {program}, which no longer exists"
            fix = f"{fix}, or {FIX}"
        elif is_committed(request) and shutil.which(NAMES["hook"]) is None:
            detail, fix = f"{path} calls {NAMES['hook']}, which is not on your PATH", _GET
        elif WRITTEN in text and not route:
            continue
        else:
            what = f"hooks by {route}" if route else "MCP server"
            detail = f"{what}, {'shared' if request.shared else request.scope}: {path}"
            if outdated and (writer := _find_writer(path)):
                detail += f", written by version {writer}"
                fix = f"run `lessons upgrade` to bring it to {__version__}"
            elif route:
                level, seen = _tell_last_call(agent, calls)
                detail, fix = f"{detail}; {seen}", ""
            else:  # calls of the MCP server are not recorded
                level, fix = "off", ""
        yield Health(level=level, what="agent", detail=f"{agent}: {detail}", fix=fix)


def _tell_error(agent: str, error: LessonsError) -> Health:
    detail, _, fix = str(error).partition("; ")
    return Health(level="error", what="agent", detail=f"{agent}: {detail}", fix=fix)


def _read(path: str) -> str:
    return (agent_settings.read_settings_file(path) or b"").decode("utf-8", "replace")


_GET = "install it for yourself"
_NO_SDK = (
    "The MCP server was not added because the `mcp` package is missing; run `{}`, then run this"
    " again."
)
_FOR_ALL = (
    "These files belong to the project: whoever works in it needs `lessons` and"
    " `lessons-hook` on the PATH."
)
_BY_SERVER = (
    "By this route hooks are answered by the MCP server: while it is not connected,"
    " they say nothing."
)


def find_notes(request: Request) -> Iterator[str]:
    """Yield what to tell the user, one sentence or two each."""
    row = AGENTS[request.agent]
    yield from row.notes.splitlines()
    if request.scope == "project" and row.project_note:
        yield row.project_note
    if is_committed(request):
        yield _FOR_ALL
        if request.server and row.shared_note:
            yield row.shared_note
    if request.via == "mcp":
        yield _BY_SERVER
    if not request.server:
        yield _NO_SDK.format(install_command("mcp"))


def fix_agents(project: str) -> list[Health]:
    """Write anew what calls a program that has vanished, or what another version has written.

    Only what `install` remembers to have written, in the same scope and by the same route. What
    the user took out stays out. Nothing is raised.
    """
    lines = []
    for agent in AGENTS:
        for request, paths in _find_requests(agent, project):
            try:
                again = _plan_renewal(request, paths)
                changes = install(again) if again else []
            except LessonsError as error:
                lines.append(_tell_error(agent, error))
                continue
            for one in changes:
                if again and one.diff:
                    called = f"calls {again.entries.hook}, as version {__version__} does"
                    lines.append(Health("fixed", "agent", f"{agent}: {one.path} {called}"))
    return lines


def _plan_renewal(request: Request, paths: Sequence[str]) -> Request | None:
    """Return how an installation is written anew, None where that would change nothing."""
    texts = list(map(_read, paths))
    again = replace(
        request,
        via=next(filter(None, map(_find_route, texts)), "command"),
        entries=find_entries(bare=is_committed(request)),
        server=has_sdk() and any('"mcp"' in text for text in texts),  # its argument
    )
    if any(map(_find_gone, texts)):
        return again
    # Of the same version it may call another installation, or lack what the user took out.
    outdated = any(map(_find_writer, paths)) and all("lessons" in text for text in texts)
    differs = outdated and any(one.diff for one in install(again, dry_run=True))
    return again if differs else None


def _find_writer(path: str) -> str:
    """Return the version that wrote our part of a file, "" where it is this one."""
    version = str(agent_settings.read_change(path)[0].get("version", "0.1.0 or before"))
    return "" if version == __version__ else version
