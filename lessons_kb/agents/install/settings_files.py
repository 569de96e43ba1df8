"""Where each agent keeps its settings, and what of ours stands there: one table per agent."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lessons_kb.agents.install.hook_entries import build_hooks, build_plugin
from lessons_kb.agents.install.slash_commands import build_commands, find_skill
from lessons_kb.errors import InputError
from lessons_kb.store.disk import shown

SCOPES = ("user", "project")
ROUTES = ("command", "mcp")
MCP_HOOKS = ("claude-code", "codex")
"""Agents whose hooks can call a tool of a server that is running."""
SERVER = "lessons"
"""Name of our server in the settings of every agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """How our two programs are called: absolute paths, or bare names in a committed file."""

    hook: str
    server: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be installed where."""

    agent: str
    project: str
    """Root of the project, also where the scope is the user's."""
    scope: str = "user"
    shared: bool = False
    """Write the file that is committed instead of the agent's personal one."""
    via: str = "command"
    server: bool = True
    """Whether the agent's list of MCP servers gets ours too."""
    entries: Entries


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One thing of ours in a file."""

    form: str
    """``hooks``: lists by event; ``entry``: our object; ``mark``: set where missing; ``text``:
    the whole file; ``offer``: likewise, but a file of somebody else's stays."""
    path: tuple[str, ...] = ()
    value: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One file and what of ours stands in it."""

    path: str
    syntax: str = "json"
    """``json`` (comments and trailing commas allowed), ``toml`` or ``text``."""
    pieces: tuple[Piece, ...]
    part_of: str = ""
    """The file of ours that this one is nothing without."""


def find_targets(request: Request) -> list[Target]:
    """List the files that an installation writes."""
    return _TARGETS[request.agent](request)


def checked_targets(request: Request) -> list[Target]:
    """List the files to write; those of a project lie in it, wherever its links lead.

    Raises InputError for one that is a link out of the project.
    """
    targets = find_targets(request)
    if request.scope == "project":
        top = os.path.realpath(request.project).rstrip(os.sep) + os.sep
        for target in targets:
            inside = target.path.startswith(request.project.rstrip(os.sep) + os.sep)
            full = os.path.realpath(target.path)
            if inside and not full.startswith(top):
                raise InputError(
                    f"{shown(target.path)} is a link out of the project, to {shown(full)}; "
                    "remove it or use --scope user"
                )
    return targets


def is_present(agent: str) -> bool:
    """Tell whether this user has the agent: its folder in the home, or its program."""
    folder, program = _SIGNS[agent]
    return os.path.isdir(folder()) or shutil.which(program) is not None


def check_request(request: Request) -> None:
    """Raise InputError for a combination that does not exist."""
    if request.agent not in _TARGETS:
        raise InputError(f"unknown agent {request.agent!r}; use one of {', '.join(_TARGETS)}")
    if request.scope not in SCOPES:
        raise InputError(f"--scope must be one of {', '.join(SCOPES)}, not {request.scope!r}")
    if request.via not in ROUTES:
        raise InputError(f"--via must be one of {', '.join(ROUTES)}, not {request.via!r}")
    if request.shared and request.scope != "project":
        raise InputError("--shared writes a project's committed file; add --scope project")
    if request.via == "mcp" and request.agent not in MCP_HOOKS:
        raise InputError(f"the hooks of {request.agent} cannot call an MCP tool; use --via command")


def is_committed(request: Request) -> bool:
    """Tell whether the files belong to the project, so that every user of it gets them."""
    personal = request.agent in _PERSONAL
    return request.scope == "project" and (request.shared or not personal)


def _hooks(request: Request) -> Piece:
    groups = build_hooks(request.agent, request.entries.hook, via=request.via)
    return Piece(form="hooks", path=("hooks",), value=groups)


def _server(request: Request, *path: str, **more: Any) -> tuple[Piece, ...]:
    if not request.server:
        return ()
    value = {**more, "command": request.entries.server, "args": ["mcp"]}
    return (Piece(form="entry", path=(*path, SERVER), value=value),)


def _commands(request: Request, folder: str) -> list[Target]:
    """Return the files of our commands; ``folder`` is the agent's own.

    None in a project for this user alone: they would lie among its files for git to find.
    """
    if request.scope == "project" and not is_committed(request):
        return []
    files = build_commands(request.agent, request.entries.server)
    return [
        Target(
            path=os.path.join(folder, path),
            syntax="text",
            pieces=(Piece(form="offer", value=text),),
            part_of=os.path.join(folder, skill) if (skill := find_skill(path)) else "",
        )
        for path, text in files.items()
    ]


def _claude_code(request: Request) -> list[Target]:
    folder = _claude_home()
    state = os.path.join(folder if os.environ.get("CLAUDE_CONFIG_DIR") else _home(), ".claude.json")
    name = "settings.json"
    server = _server(request, "mcpServers", type="stdio")
    if request.scope == "project":
        folder = os.path.join(request.project, ".claude")
        if request.shared:
            state = os.path.join(request.project, ".mcp.json")
        else:
            name = "settings.local.json"
            server = _server(request, "projects", request.project, "mcpServers", type="stdio")
    return [
        Target(path=os.path.join(folder, name), pieces=(_hooks(request),)),
        *_if_any(state, server),
        *_commands(request, folder),
    ]


def _codex(request: Request) -> list[Target]:
    folder = _folder(request, _codex_home(), ".codex")
    return [
        Target(path=os.path.join(folder, "hooks.json"), pieces=(_hooks(request),)),
        *_if_any(os.path.join(folder, "config.toml"), _server(request, "mcp_servers"), "toml"),
        *_commands(request, folder),
    ]


def _gemini_cli(request: Request) -> list[Target]:
    folder = _folder(request, _in_home(".gemini"), ".gemini")
    pieces = (_hooks(request), *_server(request, "mcpServers"))
    settings = Target(path=os.path.join(folder, "settings.json"), pieces=pieces)
    return [settings, *_commands(request, folder)]


def _cursor(request: Request) -> list[Target]:
    folder = _folder(request, _in_home(".cursor"), ".cursor")
    version = Piece(form="mark", path=("version",), value=1)
    return [
        Target(path=os.path.join(folder, "hooks.json"), pieces=(version, _hooks(request))),
        *_if_any(os.path.join(folder, "mcp.json"), _server(request, "mcpServers")),
        *_commands(request, folder),
    ]


def _github_files(request: Request) -> list[Target]:
    # Copilot CLI and VS Code read the same folders: one file, or both would fire every event
    # twice. Each finds in an entry the keys that it knows.
    folder = _folder(request, _copilot_home(), ".github")
    version = Piece(form="mark", path=("version",), value=1)
    path = os.path.join(folder, "hooks", "lessons.json")
    hooks = Target(path=path, pieces=(version, _hooks(request)))
    return [hooks, *_commands(replace(request, agent="copilot-cli"), folder)]


def _copilot_cli(request: Request) -> list[Target]:
    user = os.path.join(_copilot_home(), "mcp-config.json")
    shared = os.path.join(request.project, ".mcp.json")
    personal = request.scope == "user"
    more = {"type": "stdio", "tools": ["*"]} if personal else {"type": "stdio"}
    server = _server(request, "mcpServers", **more)
    return [*_github_files(request), *_if_any(user if personal else shared, server)]


def _vscode(request: Request) -> list[Target]:
    folder = _folder(request, _code_home(), ".vscode")
    server = _server(request, "servers", type="stdio")
    return [*_github_files(request), *_if_any(os.path.join(folder, "mcp.json"), server)]


def _opencode(request: Request) -> list[Target]:

    user = os.path.join(_opencode_home(), "plugins")
    folder = _folder(request, user, os.path.join(".opencode", "plugins"))
    text = Piece(form="text", value=build_plugin(request.entries.hook))
    plugin = Target(path=os.path.join(folder, "lessons.ts"), syntax="text", pieces=(text,))
    own = [plugin, *_commands(request, os.path.dirname(folder))]
    where = request.project if request.scope == "project" else _opencode_home()
    names = ("opencode.json", "opencode.jsonc")
    present = [name for name in names if os.path.isfile(os.path.join(where, name))]
    config = os.path.join(where, (*present, names[0])[0])
    if not request.server:
        return own
    value = {"type": "local", "command": [request.entries.server, "mcp"], "enabled": True}
    entry = Piece(form="entry", path=("mcp", SERVER), value=value)
    return [*own, Target(path=config, pieces=(entry,))]


def _if_any(path: str, pieces: tuple[Piece, ...], syntax: str = "json") -> list[Target]:
    return [Target(path=path, syntax=syntax, pieces=pieces)] if pieces else []


def _folder(request: Request, user: str, project: str) -> str:
    return user if request.scope == "user" else os.path.join(request.project, project)


def _home() -> str:
    return os.path.expanduser("~")


def _in_home(name: str) -> str:
    return os.path.join(_home(), name)


def _claude_home() -> str:
    return os.environ.get("CLAUDE_CONFIG_DIR") or _in_home(".claude")


def _codex_home() -> str:
    return os.environ.get("CODEX_HOME") or _in_home(".codex")


def _copilot_home() -> str:
    return os.environ.get("COPILOT_HOME") or _in_home(".copilot")


def _opencode_home() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or _in_home(".config")
    return os.path.join(base, "opencode")


def _code_home() -> str:
    if sys.platform == "darwin":
        return _in_home("Library/Application Support/Code/User")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("APPDATA") or _home(), "Code", "User")
    base = os.environ.get("XDG_CONFIG_HOME") or _in_home(".config")
    return os.path.join(base, "Code", "User")


_PERSONAL = ("claude-code",)
"""Agents that have a file of the user's own in a project."""

_TARGETS: Mapping[str, Callable[[Request], list[Target]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "cursor": _cursor,
    "copilot-cli": _copilot_cli,
    "vscode": _vscode,
    "opencode": _opencode,
}

_SIGNS: Mapping[str, tuple[Callable[[], str], str]] = {
    "claude-code": (_claude_home, "claude"),
    "codex": (_codex_home, "codex"),
    "gemini-cli": (lambda: _in_home(".gemini"), "gemini"),
    "cursor": (lambda: _in_home(".cursor"), "cursor"),
    "copilot-cli": (_copilot_home, "copilot"),
    "vscode": (_code_home, "code"),
    "opencode": (_opencode_home, "opencode"),
}
"""Agent → its folder in the home, its program."""
