"""Where each agent keeps its settings, and what of ours stands there: one table per agent."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.copilot_cli import write_progress
from lessons_kb.agents.install.edit_json import (
    get,
    put,
    put_table,
    read_data,
    read_toml,
    take,
    take_table,
)
from lessons_kb.errors import InputError
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import shown

WRITTEN = "Written by `lessons install"
"""Stands in every file of ours that is not somebody else's settings."""

COMMANDS: Mapping[str, str] = {
    "lesson": "Draft a lesson card about the mistake that was just made",
    "lessons-review": "Confirm, complete or discard drafts of lesson cards",
}
"""Name → what the agent's menu says of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Form:
    """How one agent wants a command."""

    path: str
    """Of the file, below the agent's folder."""
    layout: str
    """One of _LAYOUTS."""
    arguments: str = ""
    """What stands for the words that the user typed behind the command."""


_SKILL = os.path.join("skills", "{}", "SKILL.md")
_COMMAND_FORMS: Mapping[str, _Form] = {
    "claude-code": _Form(
        path=os.path.join("commands", "{}.md"), layout="silent", arguments="$ARGUMENTS"
    ),
    "codex": _Form(path=_SKILL, layout="skill"),
    "gemini-cli": _Form(
        path=os.path.join("commands", "{}.toml"), layout="toml", arguments="{{args}}"
    ),
    "cursor": _Form(path=os.path.join("commands", "{}.md"), layout="plain"),
    "copilot-cli": _Form(path=_SKILL, layout="silent"),
    "vscode": _Form(path=_SKILL, layout="silent"),
    "opencode": _Form(
        path=os.path.join("commands", "{}.md"), layout="described", arguments="$ARGUMENTS"
    ),
}
_POLICY = os.path.join("skills", "{}", "agents", "openai.yaml")
_EXPLICIT_ONLY = "policy:\n  allow_implicit_invocation: false\n"


def build_commands(agent: str, program: str) -> dict[str, str]:
    """Return the text of each file, by its path below the agent's folder.

    ``program`` is the path or name of ``lessons``.
    """
    form = _COMMAND_FORMS[agent]
    files = {}
    for name, about in COMMANDS.items():
        files[form.path.format(name)] = _layout(agent, name, about, _body(agent, name, program))
        if agent == "codex":
            files[_POLICY.format(name)] = f"# {_note(agent)}\n{_EXPLICIT_ONLY}"
    return files


def find_skill(path: str) -> str:
    """Return the skill that a file of ours is only the policy of, "" for any other file."""
    folder, name = os.path.split(path)
    is_policy = name == os.path.basename(_POLICY)
    return os.path.join(os.path.dirname(folder), os.path.basename(_SKILL)) if is_policy else ""


def _body(agent: str, name: str, program: str) -> str:
    form = _COMMAND_FORMS[agent]
    arguments = f" The user adds: {form.arguments}" if form.arguments else ""
    shown = {
        "arguments": arguments,
        "agent": agent,
        "lessons": program if os.name == "nt" else shlex.quote(program),
        "review": AGENTS[agent].call.format("lessons-review"),
    }
    text = read_template(os.path.join("commands", f"{name}.md"))
    for key, value in shown.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def _layout(agent: str, name: str, about: str, body: str) -> str:
    layout = _COMMAND_FORMS[agent].layout
    if layout == "toml":
        prompt = f'"""\n{body}"""' if '"""' not in body and "\\" not in body else json.dumps(body)
        return f"# {_note(agent)}\ndescription = {json.dumps(about)}\nprompt = {prompt}\n"
    if layout == "plain":
        return f"<!-- {_note(agent)} -->\n\n{body}"
    keys = [f"# {_note(agent)}"]
    if layout in ("skill", "silent"):
        keys.append(f"name: {name}")
    keys.append(f"description: {about}")
    if layout == "silent":
        keys.append("disable-model-invocation: true")
    return "\n".join(["---", *keys, "---", "", body])


def _note(agent: str) -> str:
    return f"{WRITTEN} {agent}`; `lessons uninstall {agent}` removes it."


HOOK = "lessons-hook"
TOOL = "lessons_hook"
SERVER = "lessons"

_SECONDS = 10
"""Far above our own deadline: an agent that kills a hook may show an error."""
_STOP_SECONDS = 20
_LAST_SECONDS = 3
"""The most that Codex grants at the end of a session."""

MATCHERS: Mapping[str, Mapping[str, str]] = {
    "claude-code": {
        "PreToolUse": "Bash|PowerShell|Edit|Write|NotebookEdit|Agent|Task",
        "PostToolUse": "Bash|PowerShell|Read|Edit|Write|NotebookEdit|Grep|Glob",
    },
    "codex": {"PreToolUse": "Bash|apply_patch", "PostToolUse": "Bash|apply_patch"},
    "gemini-cli": {
        "BeforeTool": "replace|write_file|run_shell_command",
    },
    "cursor": {"preToolUse": "Write|Delete"},
}
"""Agent → event → which tools fire it; without one all do. A success of any tool ends a run of
failures, but a process for each call of a tool that nothing is learned from is too dear where
matchers are exact."""

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt", "prompt_id", "source"),
    "PreToolUse": ("tool_name", "tool_use_id", "tool_input"),
    "PostToolUse": ("tool_name", "tool_use_id", "tool_input", "tool_response"),
    "PostToolUseFailure": ("tool_name", "tool_use_id", "tool_input", "error", "is_interrupt"),
    "Stop": ("last_assistant_message",),
}
"""Events that the mcp route serves → what is handed on of their payload. At a session's start
and end servers are not connected: there a command answers."""
_COMMON: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("session_id", "transcript_path", "cwd", "agent_id", "permission_mode"),
    "codex": ("session_id", "transcript_path", "cwd", "turn_id"),
}
_NOT_SENT: Mapping[str, tuple[str, ...]] = {"codex": ("prompt_id", "source")}
"""Codex drops a call whose input names what the payload lacks; Claude Code leaves it as it is."""
_GONE = "Lessons are off: lessons-hook is gone; run `lessons install {}`"
_OURS = re.compile(r"(?:^|[\\/\"'\s])lessons-hook(?:\.exe|\.cmd)?(?:[\"'\s]|$)")
_LINES = ("command", "bash", "powershell", "windows", "linux", "osx")


def build_hooks(agent: str, program: str, *, via: str) -> dict[str, list[dict[str, Any]]]:
    """Return our entries by the agent's event; ``program`` is the path or name of our hook."""
    groups = {}
    for event in AGENTS[_EVENTS_OF.get(agent, agent)].events:
        handler = _HOOK_FORMS[agent](agent, event, program)
        if via == "mcp" and event in _FIELDS:
            handler = _calling(agent, event)
        nested = agent not in _FLAT
        group = {"hooks": [handler]} if nested else handler
        matcher = MATCHERS.get(agent, {}).get(event)
        groups[event] = [{"matcher": matcher, **group} if matcher else group]
    return groups


def build_plugin(program: str) -> str:
    """Return the text of the plugin for opencode that calls ``program``."""
    text = read_template(os.path.join("opencode", "lessons.ts"))
    return text.replace('"lessons-hook"', json.dumps(program), 1)


def is_ours(entry: Any) -> bool:
    """Tell whether a hook entry, or every one in a group, is ours."""
    if not isinstance(entry, dict):
        return False
    if isinstance(inner := entry.get("hooks"), list):
        return bool(inner) and all(is_ours(one) for one in inner)
    if entry.get("type") == "mcp_tool":
        return entry.get("server") == SERVER and entry.get("tool") == TOOL
    lines = (entry.get(key) for key in _LINES)
    return any(isinstance(line, str) and _OURS.search(line) for line in lines)


def _claude_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    # With ``args`` no shell stands in between: one process less, and nothing to quote.
    return {"type": "command", "command": program, "args": [agent], "timeout": _seconds(event)}


def _line_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    return {"type": "command", "command": _line(program, agent), "timeout": _seconds(event)}


def _codex_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    handler = _line_handler(agent, event, program)
    return {**handler, "timeout": _LAST_SECONDS} if event == "SessionEnd" else handler


def _gemini_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    told = json.dumps({"systemMessage": _GONE.format(agent)})
    return {
        "name": f"lessons-{event}",
        "type": "command",
        "command": _harmless(program, agent, instead=told if event == "SessionStart" else "{}"),
        "timeout": _seconds(event) * 1000,
    }


def _cursor_handler(agent: str, event: str, program: str) -> dict[str, Any]:
    return {"command": _line(program, agent), "timeout": _seconds(event)}


def _github_handler(_agent: str, event: str, program: str) -> dict[str, Any]:
    copilot, code = _line(program, "copilot-cli"), _line(program, "vscode")
    called = f"& {copilot}" if copilot.startswith(("'", '"')) else copilot
    told = write_progress(_GONE.format("copilot-cli")).rstrip()
    return {
        "type": "command",
        "bash": _harmless(program, "copilot-cli", instead=told if event == "SessionStart" else ""),
        "powershell": f"try {{ {called} }} catch {{ }}; exit 0",
        "timeoutSec": _seconds(event),
        # VS Code's. Not "linux" and the like as well: Copilot CLI would take those before "bash".
        "command": code,
        "timeout": _seconds(event),
    }


def _calling(agent: str, event: str) -> dict[str, Any]:
    names = (*_COMMON[agent], *_FIELDS[event])
    lacking = _NOT_SENT.get(agent, ())
    fields = {name: f"${{{name}}}" for name in names if name not in lacking}
    return {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": TOOL,
        "input": {
            "agent": agent,
            "event": {"hook_event_name": event, **fields},
        },
        "timeout": _seconds(event),
    }


def _line(program: str, agent: str) -> str:
    if os.name == "nt":
        return f'"{program}" {agent}' if " " in program else f"{program} {agent}"
    return f"{shlex.quote(program)} {agent}"


def _harmless(program: str, agent: str, *, instead: str = "") -> str:
    """Return a line that prints ``instead``, and does no harm, where the program is gone.

    For agents that take its failure for a refusal: Gemini CLI of the prompt and of every call,
    Copilot CLI of every call. A committed file runs at colleagues who have no such program, and
    in either kind of shell.
    """
    line = _line(program, agent)
    if os.name == "nt" or not os.path.isabs(program):
        return f"{line}; exit 0"
    return f"{line} || echo '{instead}'" if instead else f"{line} || true"


def _seconds(event: str) -> int:
    return _STOP_SECONDS if event.lower() in ("stop", "afteragent") else _SECONDS


_HOOK_FORMS = {
    "claude-code": _claude_handler,
    "codex": _codex_handler,
    "gemini-cli": _gemini_handler,
    "cursor": _cursor_handler,
    "copilot-cli": _github_handler,
    "vscode": _github_handler,
}
_FLAT = ("cursor", "copilot-cli", "vscode")
"""Agents whose entries stand in the event's list themselves, not in groups."""
_EVENTS_OF = {"vscode": "copilot-cli"}
"""They share a file: VS Code passes over the one event that it does not know."""


SCOPES = ("user", "project")
ROUTES = ("command", "mcp")
MCP_HOOKS = ("claude-code", "codex")
"""Agents whose hooks can call a tool of a server that is running."""
SERVER_ENTRY = "lessons"
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
    return (Piece(form="entry", path=(*path, SERVER_ENTRY), value=value),)


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
    entry = Piece(form="entry", path=("mcp", SERVER_ENTRY), value=value)
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


_SERVER_PROGRAM = re.compile(r"(?:^|[\\/])lessons(?:\.exe|\.cmd)?$")
_BOM = "\ufeff"


def add_pieces(data: bytes | None, target: Target) -> bytes:
    """Return the file with our pieces in it; nothing else of it changes.

    Raises InputError for a file that cannot be read or holds something else in our place.
    """
    if target.syntax == "text":
        (piece,) = target.pieces
        if is_foreign(data, target):
            if piece.form == "offer" and data is not None:
                return data
            raise InputError("not a file written by lessons; rename it and run this again")
        return str(piece.value).encode()
    text, bom = _decoded(data)
    if target.syntax == "toml":
        for piece in target.pieces:
            _check_foreign(get(read_toml(text), piece.path), piece)
            text = put_table(text, piece.path, piece.value)
        return (bom + text).encode()
    if not text.strip():
        text = "{}\n"
    for piece in target.pieces:
        text = _add(text, piece)
    return (bom + text).encode()


def is_foreign(data: bytes | None, target: Target) -> bool:
    """Tell whether somebody else has written the file that would be ours as a whole."""
    return target.syntax == "text" and data is not None and WRITTEN.encode() not in data


def take_pieces(data: bytes, target: Target, *, like: bytes | None = None) -> bytes | None:
    """Return the file without our pieces, None when nothing else is left of it.

    What they leave empty goes as well, unless ``like``, the file as it was before, had it. A
    file that has none comes back as it is. Raises InputError for one that cannot be read.
    """
    if target.syntax == "text":
        return data if is_foreign(data, target) else None
    old, bom = _decoded(data)
    if not old.strip():
        return data
    text = old
    if target.syntax == "toml":
        for piece in target.pieces:
            if _is_our_server(get(read_toml(text), piece.path)):
                text = take_table(text, piece.path)
        left: object = text.strip()
    else:
        model = _model(like)
        for piece in target.pieces:
            text = _take(text, piece, model)
        marks = {piece.path[0] for piece in target.pieces if piece.form == "mark"}
        data_left = read_data(text)
        left = not isinstance(data_left, dict) or set(data_left) - marks
    if text == old:
        return data
    return (bom + text).encode() if left else None


def _add(text: str, piece: Piece) -> str:
    data = read_data(text)
    if piece.form == "mark":
        return text if get(data, piece.path) is not None else put(text, piece.path, piece.value)
    if piece.form == "entry":
        present = get(data, piece.path)
        if present is None:
            return put(text, piece.path, piece.value)
        _check_foreign(present, piece)
        for key, value in piece.value.items():
            text = put(text, (*piece.path, key), value)
        return text
    text = _take_stale(text, piece)
    for event, groups in piece.value.items():
        for group in groups:
            present = get(read_data(text), (*piece.path, event))
            if present is None:
                text = put(text, (*piece.path, event), [group])
            elif not isinstance(present, list):
                raise InputError(f"{'.'.join((*piece.path, event))} must be a list; correct it")
            elif group not in present:
                old = [number for number, one in enumerate(present) if is_ours(one)]
                place = old[0] if old else len(present)
                text = put(text, (*piece.path, event, place), group)
    return text


def _model(like: bytes | None) -> Any:
    """Return the data of a former file, {} for one that cannot be read."""
    try:
        return read_data(_decoded(like)[0])
    except InputError:
        return {}


def _take(text: str, piece: Piece, model: Any) -> str:
    data = read_data(text)
    if piece.form == "entry":
        if not _is_our_server(get(data, piece.path)):
            return text
        return _take_empty(take(text, piece.path), piece.path[:-1], model)
    return _take_hooks(text, piece.path, {}, model) if piece.form == "hooks" else text


def _take_stale(text: str, piece: Piece) -> str:
    """Take out what an earlier installation left: at most one of ours an event may stay."""
    return _take_hooks(text, piece.path, piece.value, read_data(text))


def _take_hooks(text: str, path: tuple[str, ...], keep: dict[str, Any], model: Any) -> str:
    hooks = get(read_data(text), path)
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        if not isinstance(groups, list):
            continue
        ours = [number for number, group in enumerate(groups) if is_ours(group)]
        # One that will be replaced keeps its place in the order.
        wanted = keep.get(event, [])
        same = [number for number in ours if groups[number] in wanted]
        spared = (same or ours)[: len(wanted)]
        for number in reversed(range(len(groups))):
            if number in spared:
                continue
            if number in ours:
                text = take(text, (*path, event, number))
            else:
                text = _take_mixed(text, (*path, event, number), groups[number])
        text = _take_empty(text, (*path, event), model) if ours else text
    return text


def _take_mixed(text: str, path: tuple[str | int, ...], group: Any) -> str:
    found = group.get("hooks") if isinstance(group, dict) else None
    inner: list[Any] = found if isinstance(found, list) else []
    for number in reversed(range(len(inner))):
        if is_ours(inner[number]):
            text = take(text, (*path, "hooks", number))
    return text


def _take_empty(text: str, path: tuple[str, ...], model: Any) -> str:
    while path and get(read_data(text), path) in ({}, []) and get(model, path) is None:
        text = take(text, path)
        path = path[:-1]
    return text


def _check_foreign(present: Any, piece: Piece) -> None:
    if present is not None and not _is_our_server(present):
        name = ".".join(piece.path)
        raise InputError(f"{name} is a different server; rename it and run this again")


def _is_our_server(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    command = entry.get("command")
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list):
        return False
    words = [*words, *(entry.get("args") or [])]
    first = words[0] if words else None
    return isinstance(first, str) and bool(_SERVER_PROGRAM.search(first)) and "mcp" in words[1:]


def _decoded(data: bytes | None) -> tuple[str, str]:
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start}: not UTF-8; save the file as UTF-8") from None
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")


def show(data: bytes | None) -> list[str]:
    """Return the lines of a file for a difference."""
    return (data or b"").decode("utf-8", "replace").splitlines()


def digest_of(pieces: tuple[Piece, ...]) -> list[str]:
    """Name pieces, so that two installations can tell whether they want the same."""
    return [json.dumps([piece.form, *piece.path]) for piece in pieces]
