"""Where each agent keeps its settings, and what of ours stands there, by the agent's row."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lessons_kb.agents.capabilities import AGENTS, Agent
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
_POLICY = "skills/{}/agents/openai.yaml"
_EXPLICIT_ONLY = "policy:\n  allow_implicit_invocation: false\n"
"""Beside a skill of the layout ``skill``: only the user may call it."""


def build_commands(agent: str, program: str) -> dict[str, str]:
    """Return the text of each file, by its path below the agent's folder.

    ``program`` is the path or name of ``lessons``.
    """
    row = _owner(AGENTS[agent])
    note = f"{WRITTEN} {row.name}`; `lessons uninstall {row.name}` removes it."
    files = {}
    for name, about in COMMANDS.items():
        text = read_template(os.path.join("commands", f"{name}.md"))
        for key, value in {
            "arguments": f" The user adds: {row.arguments}" if row.arguments else "",
            "agent": row.name,
            "lessons": program if os.name == "nt" else shlex.quote(program),
            "review": row.call.format("lessons-review"),
        }.items():
            text = text.replace("{{" + key + "}}", value)
        files[row.command_file.format(name)] = _lay_out(row.layout, name, about, note, text)
        if row.layout == "skill":
            files[_POLICY.format(name)] = f"# {note}\n{_EXPLICIT_ONLY}"
    return files


def _lay_out(layout: str, name: str, about: str, note: str, body: str) -> str:
    """Return a command's file: ``plain``, ``toml``, or with a header in Markdown.

    ``skill`` and ``silent`` are named, the latter is never called by the model itself.
    """
    if layout == "toml":
        prompt = f'"""\n{body}"""' if '"""' not in body and "\\" not in body else json.dumps(body)
        return f"# {note}\ndescription = {json.dumps(about)}\nprompt = {prompt}\n"
    if layout == "plain":
        return f"<!-- {note} -->\n\n{body}"
    keys = [f"# {note}"]
    if layout in ("skill", "silent"):
        keys.append(f"name: {name}")
    keys.append(f"description: {about}")
    if layout == "silent":
        keys.append("disable-model-invocation: true")
    return "\n".join(["---", *keys, "---", "", body])


HOOK = "lessons-hook"
TOOL = "lessons_hook"
SERVER = "lessons"

_SECONDS = 10
"""Far above our own deadline: an agent that kills a hook may show an error."""
_STOP_SECONDS = 20
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt", "prompt_id", "source"),
    "PreToolUse": ("tool_name", "tool_use_id", "tool_input"),
    "PostToolUse": ("tool_name", "tool_use_id", "tool_input", "tool_response"),
    "PostToolUseFailure": ("tool_name", "tool_use_id", "tool_input", "error", "is_interrupt"),
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
    groups = {}
    for event, what in row.events.items():
        seconds = _STOP_SECONDS if event.lower() in ("stop", "afteragent") else _SECONDS
        if what == "end":
            seconds = min(seconds, row.end_seconds)
        if via == "mcp" and event in _FIELDS:
            handler = _call_tool(row, event, seconds)
        else:
            handler = _fill_in(row, event, program, seconds)
        matcher = {"matcher": row.matchers[event]} if event in row.matchers else {}
        groups[event] = [{**matcher, **({"hooks": [handler]} if row.nested else handler)}]
    return groups


def _owner(row: Agent) -> Agent:
    """Return the agent whose file of hooks and commands an agent reads."""
    return AGENTS[row.shares or row.name]


def _fill_in(row: Agent, event: str, program: str, seconds: int) -> dict[str, Any]:
    """Return an entry that runs ``program``."""
    line = _line(program, row.name)
    called = f"& {line}" if line.startswith(("'", '"')) else line
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
    return {key: words.get(value, value) for key, value in row.handler.items()}


def _call_tool(row: Agent, event: str, seconds: int) -> dict[str, Any]:
    """Return an entry that calls the tool of a server that is running."""
    names = (*row.mcp_fields, *_FIELDS[event])
    fields = {name: f"${{{name}}}" for name in names if name not in row.mcp_lacks}
    return {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": TOOL,
        "input": {"agent": row.name, "event": {"hook_event_name": event, **fields}},
        "timeout": seconds,
    }


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
    """List the files that an installation writes: hooks, server, commands."""
    row = AGENTS[request.agent]
    owner = _owner(row)
    folder = _folder(owner, request)
    committed = is_committed(request)
    hooks_file = owner.hooks_file if committed or request.scope == "user" else owner.personal_file
    hooks_path = _place(hooks_file, request, folder)
    if owner.handler:
        hooks = build_hooks(owner.name, request.entries.hook, via=request.via)
        marks = (Piece(form="mark", path=(key,), value=one) for key, one in owner.marks.items())
        pieces = (*marks, Piece(form="hooks", path=("hooks",), value=hooks))
        targets = [Target(path=hooks_path, pieces=pieces)]
    else:
        text = Piece(form="text", value=build_plugin(request.entries.hook))
        targets = [Target(path=hooks_path, syntax="text", pieces=(text,))]
    if request.server:
        server = _server(row, request)
        if server.path == hooks_path:
            targets = [Target(path=hooks_path, pieces=(*targets[0].pieces, *server.pieces))]
        else:
            targets.append(server)
    # None in a project for this user alone: they would lie among its files for git to find.
    commands = {}
    if committed or request.scope == "user":
        commands = build_commands(owner.name, request.entries.server)
    for path, text_of_it in commands.items():
        policy_of = owner.command_file.format(path.split("/")[1]) if path.endswith("yaml") else ""
        targets.append(
            Target(
                path=_place(path, request, folder),
                syntax="text",
                pieces=(Piece(form="offer", value=text_of_it),),
                part_of=_place(policy_of, request, folder) if policy_of else "",
            )
        )
    return targets


def _server(row: Agent, request: Request) -> Target:
    """Return the file with our entry in the agent's list of MCP servers."""
    listed = row.server
    if request.scope == "project":
        personal = "" if is_committed(request) else row.personal_server
        listed = personal or row.project_server or row.server
    file, *names = listed.split()
    path = _place(file, request, _folder(row, request))
    if not os.path.isfile(path) and os.path.isfile(f"{path}c"):
        path += "c"  # opencode reads JSON with comments under either ending
    entry = {**row.server_entry, **(row.user_entry if request.scope == "user" else {})}
    words = {"SERVER": request.entries.server}
    if isinstance(command := entry.get("command"), list):
        entry["command"] = [words.get(word, word) for word in command]
    else:
        entry |= {"command": request.entries.server, "args": ["mcp"]}
    keys = tuple(name.replace("{project}", request.project) for name in names)
    piece = Piece(form="entry", path=(*keys, SERVER_ENTRY), value=entry)
    return Target(path=path, syntax="toml" if path.endswith(".toml") else "json", pieces=(piece,))


def _folder(row: Agent, request: Request) -> str:
    """Return the agent's folder of this user, or in the project."""
    if request.scope == "user":
        return find_folder(row)
    return os.path.join(request.project, row.project_folder)


def find_folder(row: Agent) -> str:
    """Return the agent's own folder of this user."""
    return _expand(row.folder)


def _place(template: str, request: Request, folder: str) -> str:
    """Return a path from a row: absolute, or below ``folder``."""
    path = _expand(template).replace("{project}", request.project)
    return os.path.join(folder, path.replace("/", os.sep))


def _expand(template: str) -> str:
    """Fill in the folders of this user that a path from a row begins with."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    code = config
    if sys.platform == "darwin":
        code = os.path.join(home, "Library/Application Support")
    elif sys.platform == "win32":
        code = os.environ.get("APPDATA") or home
    known = {"{home}": home, "{config}": config, "{code}": os.path.join(code, "Code", "User")}
    for word, place in known.items():
        template = template.replace(word, place)
    return re.sub(r"\{(\w+):(.*?)\}", lambda m: os.environ.get(m[1]) or m[2], template)


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
    row = AGENTS[agent]
    return os.path.isdir(find_folder(row)) or shutil.which(row.program) is not None


def check_request(request: Request) -> None:
    """Raise InputError for a combination that does not exist."""
    if request.agent not in AGENTS:
        raise InputError(f"unknown agent {request.agent!r}; use one of {', '.join(AGENTS)}")
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
    if target.syntax == "toml":
        for piece in target.pieces:
            _check_foreign(get(read_toml(text), piece.path), piece)
            text = put_table(text, piece.path, piece.value)
    else:
        text = text if text.strip() else "{}\n"
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
    old, bom = _decode(data)
    if not old.strip():
        return data
    text, left = old, True
    if target.syntax == "toml":
        for piece in target.pieces:
            if _is_our_server(get(read_toml(text), piece.path)):
                text = take_table(text, piece.path)
        left = bool(text.strip())
    else:
        try:
            model = read_data(_decode(like)[0])
        except InputError:
            model = {}
        for piece in target.pieces:
            if piece.form == "hooks":
                text = _take_hooks(text, piece.path, {}, model)
            if piece.form == "entry" and _is_our_server(get(read_data(text), piece.path)):
                text = _take_empty(take(text, piece.path), piece.path[:-1], model)
        marks = {piece.path[0] for piece in target.pieces if piece.form == "mark"}
        data_left = read_data(text)
        left = not isinstance(data_left, dict) or bool(set(data_left) - marks)
    if text == old:
        return data
    return (bom + text).encode() if left else None


def _add(text: str, piece: Piece) -> str:
    present = get(read_data(text), piece.path)
    if piece.form == "mark":
        return text if present is not None else put(text, piece.path, piece.value)
    if piece.form == "entry":
        _check_foreign(present, piece)
        if present is None:
            return put(text, piece.path, piece.value)
        for key, value in piece.value.items():
            text = put(text, (*piece.path, key), value)
        return text
    # What an earlier installation left goes: at most one of ours an event may stay.
    text = _take_hooks(text, piece.path, piece.value, read_data(text))
    for event, (group,) in piece.value.items():
        path = (*piece.path, event)
        present = get(read_data(text), path)
        if present is None:
            text = put(text, path, [group])
        elif not isinstance(present, list):
            raise InputError(f"{'.'.join(path)} must be a list; correct it")
        elif group not in present:
            old = (number for number, one in enumerate(present) if is_ours(one))
            text = put(text, (*path, next(old, len(present))), group)
    return text


def _take_hooks(text: str, path: tuple[str, ...], keep: dict[str, Any], model: Any) -> str:
    """Return the text without our entries but as many as ``keep`` has for their event."""
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
            place = (*path, event, number)
            inner = groups[number].get("hooks") if isinstance(groups[number], dict) else None
            if number in ours and number not in spared:
                text = take(text, place)
            elif number not in ours and isinstance(inner, list):  # a group with others' as well
                for one in reversed(range(len(inner))):
                    text = take(text, (*place, "hooks", one)) if is_ours(inner[one]) else text
        text = _take_empty(text, (*path, event), model) if ours else text
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
    command = entry.get("command") if isinstance(entry, dict) else None
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not words or not isinstance(words[0], str):
        return False
    return bool(_SERVER_PROGRAM.search(words[0])) and "mcp" in [
        *words[1:],
        *(entry.get("args") or []),
    ]


def _decode(data: bytes | None) -> tuple[str, str]:
    """Return the text of a file and its byte order mark."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start}: not UTF-8; save the file as UTF-8") from None
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")
