"""Install into an agent's settings, and uninstall: plan and write files, and record the changes.

`lessons doctor` also checks and repairs installations with the functions here.
"""

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
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from lessons_kb.agents.install.launcher import (
    find_launcher_problem,
    launcher_path,
    refresh_launcher,
    write_launcher,
)
from lessons_kb.agents.install.settings_files import (
    HOOK,
    TOOL,
    WRITTEN,
    Entries,
    HookState,
    Piece,
    Request,
    Target,
    add_pieces,
    check_targets,
    compare_hooks,
    expand,
    find_targets,
    has_hooks_of_ours,
    has_strict_files,
    is_committed,
    is_foreign,
    is_present,
    take_pieces,
)
from lessons_kb.agents.table import AGENTS
from lessons_kb.collection.health import FIX, Health
from lessons_kb.errors import InputError, LessonsError, StorageError
from lessons_kb.process.installation import install_command, upgrade_command
from lessons_kb.process.programs import find_program
from lessons_kb.store import foreign_settings as agent_settings
from lessons_kb.store.files import shown
from lessons_kb.store.foreign_settings import FileChange
from lessons_kb.store.session_notes import end_silence, silence_sessions
from lessons_kb.text.sanitize import ago, visible
from lessons_kb.values import field, frozen, replace
from lessons_kb.version import __version__

NAMES = {"hook": "lessons-hook", "server": "lessons"}


def find_entries(*, without_folder: bool) -> Entries:
    """Return the names by which agents call our programs: absolute paths, or with
    ``without_folder`` the names alone.

    Raises InputError if a program is neither in the folder of Python's installers nor on the PATH.
    """
    if without_folder:
        return Entries(**NAMES)
    hook, server = _find_program(NAMES["hook"]), _find_program(NAMES["server"])
    return Entries(hook=launcher_path() or hook, server=server)


def _find_program(name: str) -> str:
    """Return the absolute path of a program of this installation. Raises InputError."""
    # The link of the interpreter is not resolved, because it leads out of a virtual environment.
    folder = os.path.abspath(os.path.dirname(sys.executable))
    for place in (folder, sysconfig.get_path("scripts"), None):
        path = find_program(name, place)
        if path:
            return path
    raise InputError(f"{name} is missing beside {sys.executable}; reinstall lessons-kb")


def has_sdk() -> bool:
    """Return whether the SDK that ``lessons mcp`` needs is installed."""
    return find_spec("mcp") is not None


@frozen
class _Step:
    """A file of an installation: its content before and after, and the record of the change."""

    target: Target
    before: bytes | None
    after: bytes | None
    """The content after the step, or None if the file does not exist then."""
    record: dict[str, Any] = field(default_factory=dict)
    original: bytes | None = None
    """The content of the file without any part of ours."""
    kept: bool = False
    """Whether a part of ours stays because another installation needs it."""
    unread: bool = False
    """Whether the file cannot be parsed and was never ours."""
    edited: bool = False
    """Whether the file stays because somebody changed it after we had written all of it."""

    @property
    def action(self) -> str:
        """The value of ``FileChange.action``."""
        if self.unread:
            return "unread"
        if self.edited:
            return "edited"
        if self.before == self.after:
            if self.kept:
                return "kept"
            return "foreign" if is_foreign(self.before, self.target) else "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"


def install(request: Request, *, dry_run: bool = False) -> list[FileChange]:
    """Write our hooks, our server entry and our commands into the agent's files.

    A second call changes nothing. All files are read and edited before the first file is written.
    If a file cannot be edited, InputError, EditRefused or StorageError is raised, and no file
    changes.
    """
    steps = []
    for target in check_targets(request):
        if target.part_of and _is_foreign_file(target.part_of, target):
            # A file next to a skill of somebody else would configure that skill.
            steps.append(_plan_removal(target, request))
        else:
            steps.append(_plan_install(target, request))
    if not dry_run and request.entries.hook == launcher_path():
        write_launcher()
    changes = _carry_out(steps, dry_run=dry_run)
    if not dry_run:
        end_silence(request.agent)
        refresh_launcher()
    return changes


def _is_foreign_file(path: str, target: Target) -> bool:
    """Return whether somebody else wrote the file at ``path`` to which ``target`` belongs."""
    return is_foreign(agent_settings.read_settings_file(path), target)


def uninstall(request: Request, *, dry_run: bool = False) -> list[FileChange]:
    """Remove everything of ours from the agent's files.

    If nobody else has changed a file since the installation, its original bytes are restored.
    Sessions that still run with the removed hooks no longer get an answer. Raises the same errors
    as ``install``.
    """
    steps = [_plan_removal(target, request) for target in check_targets(request)]
    steps = _keep_parts(steps)
    changes = _carry_out(steps, dry_run=dry_run)
    if not dry_run and any(step.before != step.after for step in steps):
        silence_sessions(request.agent, "" if request.scope == "user" else request.project)
        refresh_launcher()
    return changes


def _holder(request: Request) -> str:
    """Return the key of an installation in the records: its agent, scope and project."""
    where = "" if request.scope == "user" else request.project
    return json.dumps([request.agent, request.scope, where])


def _keep_parts(steps: Sequence[_Step]) -> list[_Step]:
    """Return the steps. If an edited file stays, the other parts that belong to it stay too."""
    edited = {step.target.path for step in steps if step.edited}
    kept = []
    for step in steps:
        target, before = step.target, step.before
        if target.part_of in edited and before is not None:
            kept.append(_Step(target=target, before=before, after=before, edited=True))
        else:
            kept.append(step)
    return kept


def _is_edited(data: bytes | None, target: Target, request: Request) -> bool:
    """Return whether somebody changed a file that we had written as a whole.

    The file is unchanged if its bytes are those of the last change in its record, or those that
    this release writes for any path of our programs.
    """
    if data is None or target.syntax != "text" or is_foreign(data, target):
        return False
    record, _original = agent_settings.read_change(target.path)
    if record.get("after") == _hash(data):
        return False
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")  # git may change line ends
    paths = {match[0].replace("\\\\", "\\") for match in _OWN_PATH.finditer(text)}
    for program in (launcher_path(), *NAMES.values(), *paths):
        entries = Entries(hook=program, server=program)
        for written in find_targets(replace(request, entries=entries)):
            if written.path == target.path and written.pieces[0].value == text:
                return False
    return True


def _plan_install(target: Target, request: Request) -> _Step:
    holder = _holder(request)
    before = agent_settings.read_settings_file(target.path)
    record, original = agent_settings.read_change(target.path)
    is_offer = target.pieces[0].form == "offer"
    if is_offer and _is_edited(before, target, request):
        return _Step(target=target, before=before, after=before, edited=True)
    with _naming(target.path):
        after = add_pieces(before, target)
    if is_foreign(before, target):  # it contains nothing of ours, so that no record is needed
        return _Step(target=target, before=before, after=after)
    if not record or record.get("after") != _hash(before):
        # Somebody has edited the file since: uninstalling will restore the edited version.
        original = _strip(before, target, original)
    holders = {**record.get("holders", {}), holder: list(map(_name, target.pieces))}
    record = {**record, "holders": holders, "after": _hash(after), "version": __version__}
    return _Step(target=target, before=before, after=after, record=record, original=original)


def _plan_removal(target: Target, request: Request) -> _Step:
    holder = _holder(request)
    before = agent_settings.read_settings_file(target.path)
    record, original = agent_settings.read_change(target.path)
    holders = dict(record.get("holders", {}))
    mine = holders.pop(holder, None)
    untouched = record.get("after") == _hash(before)
    if before is None:
        return _Step(target=target, before=None, after=None)
    if _is_edited(before, target, request):
        return _Step(target=target, before=before, after=before, edited=True)
    if not record and _is_unreadable(before, target):
        return _Step(target=target, before=before, after=before, unread=True)
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


def _is_unreadable(data: bytes, target: Target) -> bool:
    """Return whether a file cannot be parsed and does not contain the names of our programs."""
    if HOOK.encode() in data or b"lessons" in data:
        return False
    try:
        take_pieces(data, target)  # raises InputError if the file cannot be parsed
    except InputError:
        return True
    return False


def _name(piece: Piece) -> str:
    """Return a key for a piece. Installations that need the same piece have the same key."""
    return json.dumps([piece.form, *piece.path])


def _strip(data: bytes | None, target: Target, like: bytes | None) -> bytes | None:
    """Return a file without our pieces, or the same bytes if it has none."""
    if data is None:
        return None
    with _naming(target.path):
        return take_pieces(data, target, like=like)


def _carry_out(steps: list[_Step], *, dry_run: bool) -> list[FileChange]:
    """Write the planned files unless ``dry_run`` is set. Return one change for each step."""
    backups = {} if dry_run else _write_files(steps)
    if not dry_run:
        _forget_undone(steps)
    return [
        FileChange(
            path=step.target.path,
            action=step.action,
            diff=agent_settings.show_change(step.target.path, step.before, step.after),
            backup=backups.get(step.target.path, ""),
        )
        for step in steps
    ]


def _write_files(steps: Sequence[_Step]) -> dict[str, str]:
    """Write and record the changes. Return the path of the backup of each changed file."""
    changed = [step for step in steps if step.before != step.after]
    for step in changed:
        agent_settings.check_writable(step.target.path)
    backups = {}
    for step in steps:
        path = step.target.path
        record = step.record
        folders = list[str]()
        if step in changed and step.before is not None:
            backups[path] = agent_settings.back_up(path, step.before)
        if record:
            # The record is written first. If the process is killed before the change, the hash in
            # the record shows that the change is missing. There is never a change without a record.
            agent_settings.remember_change(path, record, step.original)
        if step in changed:
            folders = agent_settings.replace_settings_file(path, step.after, expected=step.before)
            if step.target.executable and step.after is not None:
                agent_settings.make_executable(path)
        if record and folders:
            record = {**record, "made": folders}
            agent_settings.remember_change(path, record, step.original)
    return backups


def _forget_undone(steps: Sequence[_Step]) -> None:
    """Delete the records of changes that are undone, and the empty folders created for them."""
    folders: set[str] = set()
    for step in steps:
        if not step.record:
            record, _original = agent_settings.read_change(step.target.path)
            folders.update(map(str, record.get("made", [])))
            agent_settings.forget_change(step.target.path)
    agent_settings.remove_empty(sorted(folders))


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the path of the file to the beginning of the message of an error."""
    try:
        yield
    except LessonsError as error:
        message = f"{shown(path)}: {error}"
        if isinstance(error, InputError) and ";" not in message:
            message += "; nothing was changed; fix it by hand and run this again"
        raise type(error)(message) from None


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else "-"


@frozen
class Connection:
    """A file of an agent that still has our entries."""

    agent: str
    path: str
    scope: str
    project: str
    """The project, or "" for the scope ``user``."""
    shared: bool

    @property
    def command(self) -> str:
        """The command that disconnects the file. It has to be run in the project."""
        words = ["lessons uninstall", self.agent]
        if self.scope == "project":
            words.append("--scope project")
        if self.shared:
            words.append("--shared")
        return " ".join(words)


def list_connections() -> list[Connection]:
    """List the recorded installations file by file, with committed files first."""
    connections = []
    for record in agent_settings.list_changes():
        path = str(record["path"])
        for holder in record.get("holders", {}):
            agent, scope, project = json.loads(holder)
            shared = scope == "project" and not _is_personal(agent, project, path)
            connections.append(
                Connection(agent=agent, path=path, scope=scope, project=project, shared=shared)
            )
    return sorted(connections, key=lambda connection: not connection.shared)


def _is_personal(agent: str, project: str, path: str) -> bool:
    """Return whether an installation without ``--shared`` writes this file of a project."""
    if agent not in AGENTS:
        return True
    request = Request(agent=agent, project=project, scope="project", entries=Entries(**NAMES))
    return path in {os.path.realpath(target.path) for target in find_targets(request)}


def find_remaining(agent: str, changes: Sequence[FileChange]) -> Iterator[str]:
    """Yield a note for each installation of an agent that remains after these changes."""
    undone = {os.path.realpath(change.path) for change in changes if change.diff}
    commands = set()
    for connection in list_connections():
        place = connection.command, connection.project
        if connection.agent == agent and connection.path not in undone and place not in commands:
            commands.add(place)
            where = f" in {shown(connection.project)}" if connection.project else ""
            yield f"Still connected: {shown(connection.path)}; run `{connection.command}`{where}."


_OWN_PATH = re.compile(
    r"(?:/|[A-Za-z]:\\)[^\"'`\r\n]*?[\\/]lessons(?:-hook)?(?:\.exe|\.cmd)?(?=[\"'`\s])"
)
"""Matches an absolute path of one of our programs in a file that we write as a whole."""
_PROGRAM = re.compile(r"[\"'](?P<path>[^\"'\r\n]*[\\/]lessons(?:-hook)?(?:\.exe)?)[\"' ]")


def check_agents(project: str, calls: Mapping[str, float] = MappingProxyType({})) -> list[Health]:
    """Return lines about each agent that is set up or present on this machine. Never raises.

    ``calls`` contains the time of each agent's last call, in seconds since the epoch, because the
    settings alone do not show that hooks work.
    """
    lines: list[Health] = []
    for agent in AGENTS:
        requests = list(_find_requests(agent, project))
        for request, paths in requests:
            lines += _check(request, paths, calls)
        plugin = list(_check_plugin(agent, calls, connected=bool(requests)))
        lines += plugin
        if not (requests or plugin) and is_present(agent):
            detail = f"{agent} is installed but not connected (`lessons install {agent}`)"
            lines.append(Health("off", "agent", detail))
    return lines


def has_hooks(agent: str, project: str) -> bool:
    """Return whether an agent calls us here, by settings of the user or project, or by a plugin."""
    for scope, shared in (("user", False), ("project", False), ("project", True)):
        entries = Entries(**NAMES)
        request = Request(agent=agent, project=project, scope=scope, shared=shared, entries=entries)
        for target in find_targets(request):
            with contextlib.suppress(InputError, StorageError):
                data = agent_settings.read_settings_file(target.path)
                if data is not None and has_hooks_of_ours(data, target):
                    return True
    return any(_check_plugin(agent, {}, connected=False))


def _check_plugin(agent: str, calls: Mapping[str, float], *, connected: bool) -> Iterator[Health]:
    """Yield a line about our plugin if the agent has installed it."""
    row = AGENTS[agent]
    manifests = glob.glob(os.path.join(expand(row.folder), row.plugin)) if row.plugin else []
    if not manifests:
        return
    try:
        newest = max(manifests, key=os.path.getmtime)  # an agent may keep earlier versions
        version = json.loads(_read(newest))["version"]
    except (LessonsError, OSError, ValueError, LookupError, TypeError):
        version = "unknown"
    detail = f"plugin {visible(str(version))}"
    fix = ""
    if version != __version__:
        level = "warning"
        fix = f"`{row.update}` updates it; `{upgrade_command()}` this package"
        detail += f" beside lessons-kb {__version__}"
    elif connected:
        level, fix = "warning", f"run `lessons uninstall {agent}`, or remove the plugin"
        detail += ": it and the settings both call lessons-hook"
    else:
        level, last_call = _describe_last_call(agent, calls)
        detail += f"; {last_call}"
    yield Health(level=level, what="agent", detail=f"{agent}: {detail}", fix=fix)


def _find_requests(agent: str, project: str) -> Iterator[tuple[Request, list[str]]]:
    """Yield each recorded installation of an agent, with its files."""
    if not agent_settings.has_changes():
        return  # the usual case for a plugin; each file would be looked up
    listed: set[str] = set()
    for scope, shared in (("user", False), ("project", False), ("project", True)):
        entries = Entries(**NAMES)
        request = Request(agent=agent, project=project, scope=scope, shared=shared, entries=entries)
        paths = []
        for target in find_targets(request):
            if target.path not in listed and _is_recorded(target.path, request):
                paths.append(target.path)
                listed.add(target.path)
        if paths:
            yield request, paths


def _is_recorded(path: str, request: Request) -> bool:
    """Return whether the record of a file names this installation."""
    record, _original = agent_settings.read_change(path)
    return _holder(request) in record.get("holders", {})


def _list_programs(text: str) -> list[str]:
    """List the absolute paths of our programs that settings call."""
    paths = (match["path"].replace("\\\\", "\\") for match in _PROGRAM.finditer(text))
    return list(dict.fromkeys(filter(os.path.isabs, paths)))


def _has_missing_program(text: str) -> bool:
    """Return whether settings call one of our programs that cannot be started."""
    others = (path for path in _list_programs(text) if path != launcher_path())
    return not all(os.access(path, os.X_OK) for path in others) or _lacks_launcher(text)


def _lacks_launcher(text: str) -> bool:
    return launcher_path() in _list_programs(text) and not os.path.exists(launcher_path())


def _find_program_problem(text: str) -> str | None:
    """Return a program of ours that settings call but that does not work, and the reason."""
    for path in _list_programs(text):
        if not os.path.exists(path):
            return f"{path}, which no longer exists"
        problem = find_launcher_problem() if path == launcher_path() else None
        if problem:
            return f"{path}, which {problem}"
        if not os.access(path, os.X_OK):
            return f"{path}, which is not executable"
    return None


def _compare_hooks(request: Request, path: str, text: str) -> HookState:
    """Compare the hooks in a file with those that `lessons install` writes there.

    The hooks may call the program of any installation of ours. Raises InputError.
    """
    programs = [launcher_path(), NAMES["hook"], *_list_programs(text)]
    request = replace(request, via=_find_route(text) or "command")
    states = []
    for program in filter(None, programs):
        entries = Entries(hook=program, server=NAMES["server"])
        targets = find_targets(replace(request, entries=entries))
        states += [compare_hooks(text.encode(), t) for t in targets if t.path == path]
    return min(states, key=lambda state: len(state.changed))


def _find_route(text: str) -> str | None:
    """Return the route of our hooks in these settings, or None if there are no hooks of ours."""
    if TOOL in text and "mcp_tool" in text:
        return "mcp"
    return "command" if HOOK in text else None


def _describe_last_call(agent: str, calls: Mapping[str, float]) -> tuple[str, str]:
    """Return the level of installed hooks, and a text with the time of their last call."""
    if agent in calls:
        return "ok", f"last called {ago(time.time() - calls[agent])}"
    return "off", "no call seen yet"


def _check(request: Request, paths: Sequence[str], calls: Mapping[str, float]) -> Iterator[Health]:
    """Yield a line for each file of an installation, except for commands without a problem."""
    agent = request.agent
    options = "" if request.scope == "user" else " --scope project"
    options += " --shared" if request.shared else ""
    outdated = False
    with contextlib.suppress(LessonsError):  # the loop below reports it
        outdated = _plan_renewal(request, paths) is not None
    for path in paths:
        level, fix = "warning", f"run `lessons install {agent}{options}` again"
        try:
            text = _read(path)
        except StorageError as error:
            yield _report_error(agent, error)
            continue
        route = _find_route(text)
        if "lessons" not in text:
            detail = f"the entries in {path} are missing"
        elif problem := _find_program_problem(text):
            level, detail = "error", f"{path} calls {problem}"
            fix = f"{fix}, or {FIX}"
        elif is_committed(request) and shutil.which(NAMES["hook"]) is None:
            detail, fix = f"{path} calls {NAMES['hook']}, which is not on your PATH", _GET
        elif WRITTEN in text and not route:
            continue
        else:
            part = f"hooks by {route}" if route else "MCP server"
            detail = f"{part}, {'shared' if request.shared else request.scope}: {path}"
            writer = _find_other_writer(path)
            if outdated and writer:
                detail += f", written by version {writer}"
                fix = f"run `lessons upgrade` to bring it to {__version__}"
            elif route:
                try:
                    with _naming(path):
                        state = _compare_hooks(request, path, text)
                except LessonsError as error:
                    yield _report_error(agent, error)
                    continue
                if state.changed or state.unknown:
                    events = ", ".join(dict.fromkeys([*state.changed, *state.unknown]))
                    detail += f"; not as `lessons install` writes them: {visible(events)}"
                    fix = f"{fix}, or {FIX}" if state.unknown else fix
                else:
                    level, last_call = _describe_last_call(agent, calls)
                    detail, fix = f"{detail}; {last_call}", ""
            else:  # calls of the MCP server are not recorded
                level, fix = "off", ""
        yield Health(level=level, what="agent", detail=f"{agent}: {detail}", fix=fix)


def _report_error(agent: str, error: LessonsError) -> Health:
    """Return a line about an error. The advice after the semicolon in its message is the fix."""
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
    "These files belong to the project: everybody who works in it needs `lessons` and"
    " `lessons-hook` on the PATH."
)
_BY_SERVER = (
    "With this route the MCP server answers the hooks: while it is not connected, they say nothing."
)


def find_notes(request: Request) -> Iterator[str]:
    """Yield the notes for the user after an installation, one or two sentences each."""
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
    """Rewrite the installations that do not work or that another version wrote.

    An installation does not work if it calls a broken program or calls a program for an unknown
    event. Only recorded installations are rewritten, in the same scope and with the same route. A
    part that the user removed stays removed. Never raises: the returned lines contain the errors.
    """
    lines = []
    for agent in AGENTS:
        for request, paths in _find_requests(agent, project):
            try:
                if _repair_launcher(paths):
                    detail = f"{agent}: {launcher_path()} starts this installation again"
                    lines.append(Health("fixed", "agent", detail))
                renewal = _plan_renewal(request, paths)
                if renewal is None:
                    continue
                changes = install(renewal)
            except LessonsError as error:
                lines.append(_report_error(agent, error))
                continue
            called = f"calls {renewal.entries.hook}, as version {__version__} does"
            fixed = [change.path for change in changes if change.diff]
            lines += [Health("fixed", "agent", f"{agent}: {path} {called}") for path in fixed]
    return lines


def _repair_launcher(paths: Sequence[str]) -> bool:
    """Write the launcher again if these files call it and it does not work.

    Returns whether it was written.
    """
    programs = {program for path in paths for program in _list_programs(_read(path))}
    if launcher_path() not in programs or not find_launcher_problem():
        return False
    write_launcher()
    return True


def _calls_for_unknown_event(request: Request, path: str) -> bool:
    """Return whether settings call our hook for an event that the agent does not have."""
    text = _read(path)
    if not _find_route(text):
        return False
    return bool(_compare_hooks(request, path, text).unknown)


def _plan_renewal(request: Request, paths: Sequence[str]) -> Request | None:
    """Return the request that rewrites an installation, or None if nothing has to be rewritten."""
    texts = list(map(_read, paths))
    renewal = replace(
        request,
        via=next(filter(None, map(_find_route, texts)), "command"),
        entries=find_entries(without_folder=is_committed(request)),
        server=has_sdk() and any('"mcp"' in text for text in texts),  # the server's argument
    )
    if any(map(_has_missing_program, texts)):
        return renewal
    if any(_calls_for_unknown_event(request, path) for path in paths):
        return renewal
    targets = {target.path: target for target in find_targets(renewal)}
    for path, text in zip(paths, texts, strict=True):
        if _find_route(text) and not has_strict_files(text, targets[path]):
            return renewal  # the cards with `gate: strict` protect other files now
    # Files of this version are left alone. They may call another installation on purpose, or lack a
    # part that the user removed.
    outdated = any(map(_find_other_writer, paths)) and all("lessons" in text for text in texts)
    differs = outdated and any(change.diff for change in install(renewal, dry_run=True))
    return renewal if differs else None


def _find_other_writer(path: str) -> str | None:
    """Return the version that wrote our part of a file, or None if it is this version."""
    record, _original = agent_settings.read_change(path)
    version = str(record.get("version", "0.1.0 or before"))
    return None if version == __version__ else version
