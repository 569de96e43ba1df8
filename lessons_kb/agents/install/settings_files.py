"""Where each agent keeps its settings, and what of ours stands there, by the agent's row."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Container, Mapping
from typing import Any

from lessons_kb.agents.install.edit_json import (
    get,
    put,
    put_table,
    read_data,
    read_toml,
    take,
    take_table,
)
from lessons_kb.agents.table import AGENTS, Agent
from lessons_kb.errors import InputError
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import shown
from lessons_kb.values import frozen

WRITTEN = "Written by `lessons install"
"""Stands in every file of ours that is not somebody else's settings."""

COMMANDS: Mapping[str, str] = {
    "lesson": "Draft a lesson card about a mistake. Use when the user asks to record one.",
    "lessons-review": "Confirm or discard drafts of lessons. Use when the user asks to review.",
}
"""Name → what the agent's menu says of it."""
_POLICY = "skills/{}/agents/openai.yaml"
_EXPLICIT_ONLY = "policy:\n  allow_implicit_invocation: false\n"
"""Beside a skill of the layout ``skill``: only the user may call it."""
_LAYOUTS = {
    "plain": "<!-- {note} -->\n\n{body}",
    "toml": "# {note}\ndescription = {quoted}\nprompt = {prompt}\n",
    "described": "---\n# {note}\ndescription: {about}\n---\n\n{body}",
    "skill": "---\n# {note}\nname: {name}\ndescription: {about}\n---\n\n{body}",
    "silent": (
        "---\n# {note}\nname: {name}\ndescription: {about}\ndisable-model-invocation: true\n---\n\n"
        "{body}"
    ),
}
"""Of a command's file; one that is ``silent`` is never called by the model itself."""


def build_commands(agent: str, program: str) -> dict[str, str]:
    """Return the text of each file, by its path below the agent's folder.

    ``program`` is the path or name of ``lessons``.
    """
    row = _owner(AGENTS[agent])
    note = f"{WRITTEN} {row.name}`; `lessons uninstall {row.name}` removes it."
    files = {}
    filled = {
        "arguments": f" The user adds: {row.arguments}" if row.arguments else "",
        "agent": row.name,
        "lessons": program if os.name == "nt" else shlex.quote(program),
        "review": row.call.format("lessons-review"),
    }
    for name, about in COMMANDS.items():
        body = read_template(os.path.join("commands", f"{name}.md"))
        for key, value in filled.items():
            body = body.replace("{{" + key + "}}", value)
        is_plain = '"""' not in body and "\\" not in body
        files[row.command_file.format(name)] = _LAYOUTS[row.layout].format(
            note=note,
            name=name,
            about=about,
            quoted=json.dumps(about),
            body=body,
            prompt=f'"""\n{body}"""' if is_plain else json.dumps(body),
        )
        if row.layout == "skill":
            files[_POLICY.format(name)] = f"# {note}\n{_EXPLICIT_ONLY}"
    return files


HOOK = "lessons-hook"
TOOL = "lessons_hook"
SERVER = "lessons"
"""Name of our server in the settings of every agent."""

_SECONDS = 10
"""Far above our own deadline: an agent that kills a hook may show an error."""
_STOP_SECONDS = 20
_CALL = ("tool_name", "tool_use_id", "tool_input")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt", "prompt_id", "source"),
    "PreToolUse": _CALL,
    "PostToolUse": (*_CALL, "tool_response"),
    "PostToolUseFailure": (*_CALL, "error", "is_interrupt"),
    "Stop": ("last_assistant_message",),
}
"""Events that the mcp route serves → what is handed on of their payload. At a session's start
and end servers are not connected: there a command answers."""
_GONE = "Lessons are off: lessons-hook is gone; run `lessons install {}`"
_OURS = re.compile(r"(?:^|[\\/\"'\s])lessons-hook(?:\.exe|\.cmd)?(?:[\"'\s]|$)")
_LINES = ("command", "bash", "powershell", "windows", "linux", "osx")


def build_hooks(agent: str, program: str, *, via: str) -> dict[str, list[dict[str, Any]]]:
    """Return our entries by the agent's event; ``program`` is the path or name of our hook."""
    row = _owner(AGENTS[agent])
    line = _line(program, row.name)
    called = f"& {line}" if line.startswith(("'", '"')) else line
    groups = {}
    for event, what in row.events.items():
        seconds = _STOP_SECONDS if event.lower() in ("stop", "afteragent") else _SECONDS
        if what == "end":
            seconds = min(seconds, row.end_seconds)
        words: dict[str, Any] = {
            "PROGRAM": program,
            "LINE": line,
            "LINE_OF_VSCODE": _line(program, "vscode"),
            "HARMLESS": _harmless(row, event, program),
            "POWERSHELL": f"try {{ {called} }} catch {{ }}; exit 0",
            "EVENT_NAME": f"lessons-{event}",
            "NAMES": [row.name],
            "SECONDS": seconds,
            "MILLISECONDS": seconds * 1_000,
        }
        handler = {key: words.get(value, value) for key, value in row.handler.items()}
        if via == "mcp" and event in _FIELDS:
            names = (*row.mcp_fields, *_FIELDS[event])
            fields = {name: f"${{{name}}}" for name in names if name not in row.mcp_lacks}
            sent = {"agent": row.name, "event": {"hook_event_name": event, **fields}}
            handler = {"type": "mcp_tool", "server": SERVER, "tool": TOOL, "input": sent}
            handler["timeout"] = seconds
        matcher = {"matcher": row.matchers[event]} if event in row.matchers else {}
        groups[event] = [{**matcher, **({"hooks": [handler]} if row.nested else handler)}]
    return groups


def _owner(row: Agent) -> Agent:
    """Return the agent whose file of hooks and commands an agent reads."""
    return AGENTS[row.shares or row.name]


def build_plugin(program: str) -> str:
    """Return the text of the plugin for opencode that calls ``program``."""
    text = read_template(os.path.join("opencode", "lessons.ts"))
    return text.replace('"lessons-hook"', json.dumps(program), 1)


def _is_ours(entry: Any) -> bool:
    """Tell whether a hook entry, or every one in a group, is ours."""
    if not isinstance(entry, dict):
        return False
    if isinstance(inner := entry.get("hooks"), list):
        return bool(inner) and all(map(_is_ours, inner))
    if entry.get("type") == "mcp_tool":
        return entry.get("server") == SERVER and entry.get("tool") == TOOL
    lines = (entry.get(key) for key in _LINES)
    return any(isinstance(line, str) and _OURS.search(line) for line in lines)


def _line(program: str, agent: str) -> str:
    if os.name == "nt":
        return f'"{program}" {agent}' if " " in program else f"{program} {agent}"
    return f"{shlex.quote(program)} {agent}"


def _harmless(row: Agent, event: str, program: str) -> str:
    """Return a line that says so, and does no harm, where the program is gone.

    For agents that take its failure for a refusal: Gemini CLI of the prompt and of every call,
    Copilot CLI of every call. A committed file runs at colleagues who have no such program, and
    in either kind of shell.
    """
    line = _line(program, row.name)
    if os.name == "nt" or not os.path.isabs(program):
        return f"{line}; exit 0"
    instead = "" if row.progress else row.silence
    if row.events[event] == "start":
        instead = row.show_line(_GONE.format(row.name))
    return f"{line} || echo '{instead}'" if instead else f"{line} || true"


SCOPES = ("user", "project")
ROUTES = ("command", "mcp")
MCP_HOOKS = tuple(name for name, row in AGENTS.items() if row.mcp_fields)
"""Agents whose hooks can call a tool of a server that is running."""


@frozen
class Entries:
    """How our two programs are called: absolute paths, or bare names in a committed file."""

    hook: str
    server: str


@frozen
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


@frozen
class Piece:
    """One thing of ours in a file."""

    form: str
    """``hooks``: lists by event; ``entry``: our object; ``mark``: set where missing; ``text``:
    the whole file; ``offer``: likewise, but a file of somebody else's stays."""
    path: tuple[str, ...] = ()
    value: Any


@frozen
class Target:
    """One file and what of ours stands in it."""

    path: str
    syntax: str = "json"
    """``json`` (comments and trailing commas allowed), ``toml`` or ``text``."""
    pieces: tuple[Piece, ...]
    part_of: str = ""
    """The file of ours that this one is nothing without."""


def find_targets(request: Request) -> list[Target]:
    """List the files that an installation writes: hooks, server, commands."""
    row = AGENTS[request.agent]
    owner = _owner(row)
    for_all = is_committed(request) or request.scope == "user"
    folder = _find_folder(owner, request)
    path = _place(owner.hooks_file if for_all else owner.personal_file, request, folder)
    if owner.handler:
        hooks = build_hooks(owner.name, request.entries.hook, via=request.via)
        marks = (Piece(form="mark", path=(key,), value=one) for key, one in owner.marks.items())
        pieces = (*marks, Piece(form="hooks", path=(owner.hooks_key,), value=hooks))
        targets = [Target(path=path, pieces=pieces)]
    else:
        text = Piece(form="text", value=build_plugin(request.entries.hook))
        targets = [Target(path=path, syntax="text", pieces=(text,))]
    if request.server:
        server = _find_server(row, request)
        if server.path == path:
            targets = [Target(path=path, pieces=(*targets[0].pieces, *server.pieces))]
        else:
            targets.append(server)
    # None in a project for this user alone: they would lie among its files for git to find.
    has_commands = for_all and owner.command_file
    commands = build_commands(owner.name, request.entries.server) if has_commands else {}
    for name, body in commands.items():
        path, pieces = _place(name, request, folder), (Piece(form="offer", value=body),)
        skill = owner.command_file.format(name.split("/")[1]) if name.endswith("yaml") else ""
        of = _place(skill, request, folder) if skill else ""
        targets.append(Target(path=path, syntax="text", pieces=pieces, part_of=of))
    return targets


def _find_server(row: Agent, request: Request) -> Target:
    """Return the file with our entry in the agent's list of MCP servers."""
    listed = row.server
    if request.scope == "project":
        personal = "" if is_committed(request) else row.personal_server
        listed = personal or row.project_server or row.server
    file, *names = listed.split()
    path = _place(file, request, _find_folder(row, request))
    if not os.path.isfile(path) and os.path.isfile(f"{path}c"):
        path += "c"  # opencode reads JSON with comments under either ending
    program = request.entries.server
    entry = {**row.server_entry, **(row.user_entry if request.scope == "user" else {})}
    if "command" in entry:
        entry["command"] = [program if word == "SERVER" else word for word in entry["command"]]
    else:
        entry |= {"command": program, "args": ["mcp"]}
    keys = tuple(name.replace("{project}", request.project) for name in names)
    piece = Piece(form="entry", path=(*keys, SERVER), value=entry)
    return Target(path=path, syntax="toml" if path.endswith(".toml") else "json", pieces=(piece,))


def _find_folder(row: Agent, request: Request) -> str:
    """Return the agent's folder of this user, or in the project."""
    if request.scope == "user":
        return expand(row.folder)
    return os.path.join(request.project, row.project_folder)


def _place(template: str, request: Request, folder: str) -> str:
    """Return a path from a row: absolute, or below ``folder``."""
    path = expand(template).replace("{project}", request.project)
    return os.path.join(folder, path.replace("/", os.sep))


def expand(template: str) -> str:
    """Fill in the folders of this user that a path from a row begins with."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    code = {
        "darwin": os.path.join(home, "Library/Application Support"),
        "win32": os.environ.get("APPDATA") or home,
    }.get(sys.platform, config)
    known = {"{home}": home, "{config}": config, "{code}": os.path.join(code, "Code", "User")}
    for word, place in known.items():
        template = template.replace(word, place)
    return re.sub(r"\{(\w+):(.*?)\}", lambda m: os.environ.get(m[1]) or m[2], template)


def check_targets(request: Request) -> list[Target]:
    """List the files to write; those of a project lie in it, wherever its links lead.

    Raises InputError for one that is a link out of the project, and for a combination that does
    not exist.
    """
    check_request(request)
    targets = find_targets(request)
    top = os.path.realpath(request.project).rstrip(os.sep) + os.sep
    for path in (target.path for target in targets if request.scope == "project"):
        full = os.path.realpath(path)
        inside = path.startswith(request.project.rstrip(os.sep) + os.sep)
        if inside and not full.startswith(top):
            leads = f"{shown(path)} is a link out of the project, to {shown(full)}"
            raise InputError(f"{leads}; remove it or use --scope user")
    return targets


def is_present(agent: str) -> bool:
    """Tell whether this user has the agent: its folder in the home, or its program."""
    row = AGENTS[agent]
    return os.path.isdir(expand(row.folder)) or shutil.which(row.program) is not None


def check_request(request: Request) -> None:
    """Raise InputError for a combination that does not exist."""
    if request.agent not in AGENTS:
        raise InputError(f"unknown agent {request.agent!r}; use one of {', '.join(AGENTS)}")
    if request.shared and request.scope != "project":
        raise InputError("--shared writes a project's committed file; add --scope project")
    if request.via == "mcp" and request.agent not in MCP_HOOKS:
        raise InputError(f"the hooks of {request.agent} cannot call an MCP tool; use --via command")


def is_committed(request: Request) -> bool:
    """Tell whether the files belong to the project, so that every user of it gets them."""
    personal = AGENTS[request.agent].personal_file
    return request.scope == "project" and (request.shared or not personal)


_SERVER_PROGRAM = re.compile(r"(?:^|[\\/])lessons(?:\.exe|\.cmd)?$")
_BOM = "\ufeff"


def add_pieces(data: bytes | None, target: Target) -> bytes:
    """Return the file with our pieces in it; nothing else of it changes.

    Raises InputError for a file that cannot be read or holds something else in our place.
    """
    if target.syntax == "text":
        (piece,) = target.pieces
        if data is None or not is_foreign(data, target):
            return str(piece.value).encode()
        if piece.form == "offer":
            return data
        raise InputError("not a file written by lessons; rename it and run this again")
    text, bom = _decode(data)
    if target.syntax == "json" and not text.strip():
        text = "{}\n"
    for piece in target.pieces:
        present = get(_read(text, target), piece.path)
        if piece.form == "hooks":
            text = _add_hooks(text, piece)
            continue
        if piece.form == "entry" and present is not None and not _is_our_server(present):
            name = ".".join(piece.path)
            raise InputError(f"{name} is a different server; rename it and run this again")
        if target.syntax == "toml":
            text = put_table(text, piece.path, piece.value)
        elif present is None:
            text = put(text, piece.path, piece.value)
        elif piece.form == "entry":
            for key, value in piece.value.items():
                text = put(text, (*piece.path, key), value)
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
    old, bom = _decode(data)
    if not old.strip():
        return data
    text, model = old, {}
    if target.syntax == "json":
        with contextlib.suppress(InputError):
            model = read_data(_decode(like)[0])
    for piece in target.pieces:
        if piece.form == "hooks":
            text = _take_hooks(text, piece.path, model)
        if piece.form == "entry" and _is_our_server(get(_read(text, target), piece.path)):
            if target.syntax == "toml":
                text = take_table(text, piece.path)
            else:
                text = _take_empty(take(text, piece.path), piece.path[:-1], model)
    if text == old:
        return data
    left = bool(text.strip())
    if target.syntax == "json" and isinstance(data_left := read_data(text), dict):
        marks = {piece.path[0] for piece in target.pieces if piece.form == "mark"}
        left = not marks.issuperset(data_left)
    return (bom + text).encode() if left else None


def _read(text: str, target: Target) -> Any:
    return read_toml(text) if target.syntax == "toml" else read_data(text)


def _add_hooks(text: str, piece: Piece) -> str:
    """Return the text with our entries behind those of others, and none that we left before."""
    text = _take_hooks(text, piece.path, read_data(text), spared=piece.value)
    for event, (group,) in piece.value.items():
        path = (*piece.path, event)
        present = get(read_data(text), path)
        if present is None:
            text = put(text, path, [group])
        elif not isinstance(present, list):
            raise InputError(f"{'.'.join(path)} must be a list; correct it")
        else:  # at most one of ours an event may stay, else each is answered twice
            others = _take_ours(text, path)
            rest = get(read_data(others), path)
            if present.count(group) != 1 or rest != [one for one in present if one != group]:
                text = put(others, (*path, len(rest)), group)
    return text


def _take_hooks(
    text: str, path: tuple[str, ...], model: Any, *, spared: Container[str] = ()
) -> str:
    """Return the text without our entries, but for those of the events that are ``spared``."""
    hooks = get(read_data(text), path)
    for event in hooks if isinstance(hooks, dict) else ():
        shorter = text if event in spared else _take_ours(text, (*path, event))
        text = _take_empty(shorter, (*path, event), model) if shorter != text else text
    return text


def _take_ours(text: str, path: tuple[Any, ...]) -> str:
    """Return the text without our entries in a list, those in groups with others' included."""
    groups = get(read_data(text), path)
    for number, group in reversed([*enumerate(groups)] if isinstance(groups, list) else []):
        if _is_ours(group):
            text = take(text, (*path, number))
        elif isinstance(group, dict) and "hooks" in group:
            text = _take_ours(text, (*path, number, "hooks"))
    return text


def _take_empty(text: str, path: tuple[str, ...], model: Any) -> str:
    while path and get(read_data(text), path) in ({}, []) and get(model, path) is None:
        text = take(text, path)
        path = path[:-1]
    return text


def _is_our_server(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not words or not isinstance(words[0], str):
        return False
    words = [*words, *(entry.get("args") or [])]
    return bool(_SERVER_PROGRAM.search(words[0])) and "mcp" in words[1:]


def _decode(data: bytes | None) -> tuple[str, str]:
    """Return the text of a file and its byte order mark."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start}: not UTF-8; save the file as UTF-8") from None
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")
