"""Build our hooks, server entries and commands, add them to an agent's files, and remove them.

The row of the agent in ``agents.table`` names the files that it reads and their format.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Container, Mapping, Sequence
from typing import Any

from lessons_kb.agents.install.edit_json import (
    get,
    list_comments,
    put_block,
    put_json,
    put_table,
    read_data,
    read_toml,
    take_block,
    take_json,
    take_table,
)
from lessons_kb.agents.table import AGENTS, Agent
from lessons_kb.errors import InputError
from lessons_kb.hook_client import STRICT
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import shown
from lessons_kb.store.gate_files import read_gate_files
from lessons_kb.store.repositories import git_top
from lessons_kb.text.patterns import expand_braces
from lessons_kb.values import frozen, replace

WRITTEN = "Written by `lessons install"
"""Every file that belongs only to us contains this text."""

COMMANDS: Mapping[str, str] = {
    "lesson": "Draft a lesson card about a mistake. Use when the user asks to record one.",
    "lessons-review": "Confirm or discard drafts of lessons. Use when the user asks to review.",
}
"""Maps the name of a command to its description in the menu of an agent."""
_POLICY = "skills/{}/agents/openai.yaml"
_EXPLICIT_ONLY = "policy:\n  allow_implicit_invocation: false\n"
"""The policy file next to a skill of the layout ``skill``. Only the user may call the skill."""
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
"""Layouts of the file of a command. The model never calls a command with layout ``silent``."""


def build_commands(agent: str, program: str) -> dict[str, str]:
    """Return a mapping from paths below the agent's folder to the texts of our command files.

    ``program`` is the path or name of ``lessons``.
    """
    row = _owner(AGENTS[agent])
    note = f"{WRITTEN} {row.name}`; `lessons uninstall {row.name}` removes it."
    files = {}
    placeholders = {
        "arguments": f" The user adds: {row.arguments}" if row.arguments else "",
        "agent": row.name,
        "lessons": program if os.name == "nt" else shlex.quote(program),
        "review": row.call.format("lessons-review"),
    }
    for name, about in COMMANDS.items():
        body = read_template(os.path.join("commands", f"{name}.md"))
        for key, value in placeholders.items():
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
"""The name of our server in the settings of every agent."""

_SECONDS = 10
"""In seconds, far above our own deadline, because an agent that kills a hook may show an error."""
_STOP_SECONDS = 20
_CALL = ("tool_name", "tool_use_id", "tool_input")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt", "prompt_id", "source"),
    "PreToolUse": _CALL,
    "PostToolUse": (*_CALL, "tool_response"),
    "PostToolUseFailure": (*_CALL, "error", "is_interrupt"),
    "Stop": ("last_assistant_message",),
}
"""Maps the events that the MCP route serves to the payload fields that it passes on. Servers are
not connected at the start and the end of a session, so a command answers these events."""
_GONE = "Lessons are off: lessons-hook is gone; run `lessons install {}`"
_LINE_OF = "LINE_OF:"
"""The start of a placeholder for the command line of another agent."""
_LINES = ("command", "bash", "powershell", "windows", "linux", "osx")
_PROGRAM = re.compile(r"(?:^|[\\/])lessons-hook(?:\.exe|\.cmd)?$", re.IGNORECASE)
_WORD = r"""(?:'[^'\n]*'|"[^"\n]*"|[^\s'"|&;<>])+"""
_CALL_LINE = rf"(?:env )?(?:\w+={_WORD} )*(?:& )?(?P<program>{_WORD}) (?P<agent>[\w-]+)"
_FALLBACK = r"true|exit 0|echo '(?:\{[^'\n]*\})?'"
_COMMAND_LINES = (
    re.compile(rf"{_CALL_LINE}(?:; exit 0| \|\| (?:{_FALLBACK}))?"),
    re.compile(rf"try \{{ {_CALL_LINE} \}} catch \{{ \}}; exit 0"),
)
"""The command lines that this release and earlier releases wrote, in POSIX shells and PowerShell.
Any other line that names our program was written by the user."""


def build_hooks(
    agent: str, program: str, *, via: str, strict_files: Sequence[str] = ()
) -> dict[str, list[dict[str, Any]]]:
    """Return our hooks as a mapping from the agent's event to a list with our entry.

    ``program`` is the path or name of our hook, and ``via`` is one of ``ROUTES``. ``strict_files``
    contains the patterns of the files whose change is refused if our hook fails.
    """
    row = _owner(AGENTS[agent])
    groups = {}
    for event, kind in row.events.items():
        seconds = _STOP_SECONDS if event.lower() in ("stop", "afteragent") else _SECONDS
        if kind == "end":
            seconds = min(seconds, row.end_seconds)
        if via == "mcp" and event in _FIELDS:
            handler = _build_tool_handler(row, event, seconds)
        else:
            handler = _build_command_handler(row, event, program, seconds)
        matcher = {"matcher": row.matchers[event]} if event in row.matchers else {}
        handlers = [handler]
        if kind == "before" and strict_files:
            handlers += _build_strict_handlers(row, event, program, strict_files)
        groups[event] = [matcher | ({"hooks": handlers} if row.nested else handler)]
    return groups


BLOCK_BEGINS, BLOCK_ENDS = "# >>> lessons-kb", "# <<< lessons-kb"
"""The beginning of the first line of our block in a TOML file, and its last line."""


def build_toml_hooks(agent: str, program: str) -> str:
    """Return our hooks as a block of TOML tables between two comments."""
    row = AGENTS[agent]
    note = f"{WRITTEN} {row.name}`; `lessons uninstall {row.name}` removes this block."
    lines = [f"{BLOCK_BEGINS}: {note}"]
    for event, (handler,) in build_hooks(agent, program, via="command").items():
        fields = {"event": event, **handler}
        lines += [f"[[{row.hooks_key}]]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join([*lines, BLOCK_ENDS, ""])


def _build_command_handler(row: Agent, event: str, program: str, seconds: int) -> dict[str, Any]:
    """Return the handler of an agent with the placeholders of its row filled in."""
    line = _command_line(program, row.name)
    called = f"& {line}" if line.startswith(("'", '"')) else line
    values: dict[str, Any] = {
        "PROGRAM": program,
        "LINE": line,
        "HARMLESS": _harmless_line(row, event, program),
        "POWERSHELL": f"try {{ {called} }} catch {{ }}; exit 0",
        "EVENT_NAME": f"lessons-{event}",
        "NAMES": [row.name],
        "SECONDS": seconds,
        "MILLISECONDS": seconds * 1_000,
    }
    for value in row.handler.values():
        if value.startswith(_LINE_OF):  # it also reads the hooks in the other agent's file
            values[value] = _command_line(program, value.removeprefix(_LINE_OF))
    return {key: values.get(value, value) for key, value in row.handler.items()}


def _build_strict_handlers(
    row: Agent, event: str, program: str, files: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the handlers that refuse a change of these files if our hook fails."""
    if not row.strict or os.name == "nt":
        return []
    handler = _build_command_handler(row, event, program, _SECONDS)
    handler = {**handler, "args": [*handler["args"], STRICT], **row.strict}
    limits: list[dict[str, str]] = row.module.limit_to_files(files)
    return [{**handler, **limit} for limit in limits]


def _build_tool_handler(row: Agent, event: str, seconds: int) -> dict[str, Any]:
    """Return a handler that calls the tool of our MCP server with the fields of the payload."""
    names = (*row.mcp_fields, *_FIELDS[event])
    fields = {name: f"${{{name}}}" for name in names if name not in row.mcp_lacks}
    arguments = {"agent": row.name, "event": {"hook_event_name": event, **fields}}
    return {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": TOOL,
        "input": arguments,
        "timeout": seconds,
    }


def _owner(row: Agent) -> Agent:
    """Return the agent whose file of hooks and commands this agent reads."""
    return AGENTS[row.shares or row.name]


def build_plugin(agent: str, program: str) -> str:
    """Return the text of our plugin for an agent that has plugins and no hooks."""
    row = AGENTS[agent]
    text = read_template(os.path.join(*row.plugin_template.split("/")))
    origin = row.dialect or agent
    for command in ("install", "uninstall"):
        text = text.replace(f"`lessons {command} {origin}`", f"`lessons {command} {agent}`")
    text = text.replace(f'AGENT = "{origin}"', f'AGENT = "{agent}"', 1)
    return text.replace('"lessons-hook"', json.dumps(program), 1)


def _is_ours(entry: Any) -> bool:
    """Return whether a hook entry, or every entry of a group, is ours."""
    if not isinstance(entry, dict):
        return False
    group = entry.get("hooks")
    if isinstance(group, list):
        return bool(group) and all(map(_is_ours, group))
    if entry.get("type") == "mcp_tool":
        return entry.get("server") == SERVER and entry.get("tool") == TOOL
    lines = [line for line in map(entry.get, _LINES) if isinstance(line, str)]
    if "args" in entry:
        return len(lines) == 1 and _calls_our_program(lines[0], entry["args"])
    return bool(lines) and all(map(_is_our_line, lines))


def _is_our_line(line: str) -> bool:
    """Return whether `lessons install` writes command lines of this form."""
    for pattern in _COMMAND_LINES:
        match = pattern.fullmatch(line.strip())
        if match:
            program = re.sub(r"['\"]", "", match["program"])
            return _calls_our_program(program, [match["agent"]])
    return False


def _calls_our_program(program: str, arguments: Any) -> bool:
    """Return whether a program is our hook and its arguments are the name of one agent."""
    names_agent = any(arguments in ([agent], [agent, STRICT]) for agent in AGENTS)
    return names_agent and _PROGRAM.search(program) is not None


def _command_line(program: str, agent: str) -> str:
    """Return the command line of a hook, quoted for the shell of this platform."""
    if os.name == "nt":
        return f'"{program}" {agent}' if " " in program else f"{program} {agent}"
    return f"{shlex.quote(program)} {agent}"


def _harmless_line(row: Agent, event: str, program: str) -> str:
    """Return a command line that succeeds even if the program is missing.

    Some agents treat the failure of a hook as a refusal. Gemini CLI refuses the prompt and every
    call, and Copilot CLI refuses every call. With an absolute path, the line also reports the
    missing program at the start of a session. A committed file has no absolute path, because it
    also runs on the machines of colleagues without the program, in a POSIX shell or in PowerShell.
    """
    line = _command_line(program, row.name)
    is_committed = not os.path.isabs(program)
    if os.name == "nt" or is_committed:
        return f"{line}; exit 0"
    # Agents with progress lines, which precede an answer, need no answer.
    fallback = "" if row.progress else row.silence
    if row.events[event] == "start":
        fallback = row.show_line(_GONE.format(row.name))
    return f"{line} || echo '{fallback}'" if fallback else f"{line} || true"


SCOPES = ("user", "project")
ROUTES = ("command", "mcp")
MCP_HOOKS = tuple(name for name, row in AGENTS.items() if row.mcp_fields)
"""Agents whose hooks can call a tool of a running MCP server."""


@frozen
class Entries:
    """The names of our two programs: absolute paths, or bare names in a committed file."""

    hook: str
    server: str


@frozen
class Request:
    """An installation: its agent, its scope and its parts."""

    agent: str
    project: str
    """The root of the project, even if the scope is "user"."""
    scope: str = "user"
    """The scope, one of ``SCOPES``."""
    shared: bool = False
    """Whether to write the project's committed file instead of the user's personal file."""
    via: str = "command"
    """The route of the hooks, one of ``ROUTES``."""
    server: bool = True
    """Whether to add our server to the agent's list of MCP servers."""
    entries: Entries


@frozen
class Piece:
    """A part of ours in a file."""

    form: str
    """``hooks`` is a list for each event, and ``entry`` is an object of ours. ``mark`` is a key
    that is set if it is missing. ``text`` is a whole file, and another file at its path is an
    error. ``offer`` is a whole file as well, but another file at its path stays."""
    path: tuple[str, ...] = ()
    value: Any


@frozen
class Target:
    """A file, and our parts in it."""

    path: str
    syntax: str = "json"
    """``json`` (with comments and trailing commas allowed), ``toml`` or ``text``."""
    pieces: tuple[Piece, ...]
    executable: bool = False
    part_of: str = ""
    """The file of ours to which this file belongs, or "" if it is independent."""


def find_targets(request: Request) -> list[Target]:
    """List the files that an installation writes: hooks, server and commands."""
    row = AGENTS[request.agent]
    owner = _owner(row)
    for_all = is_committed(request) or request.scope == "user"
    folder = _find_folder(owner, request)
    path = _place(owner.hooks_file if for_all else owner.personal_file, request, folder)
    if owner.hooks_form == "files":
        targets = _find_programs(owner, request, path)
    elif owner.hooks_form == "toml":
        block = build_toml_hooks(owner.name, request.entries.hook)
        targets = [Target(path=path, syntax="toml", pieces=(Piece(form="block", value=block),))]
    elif owner.handler:
        # A committed file is also read by colleagues, who may not have the program.
        files = [] if is_committed(request) else find_strict_files(request)
        program = request.entries.hook
        hooks = build_hooks(owner.name, program, via=request.via, strict_files=files)
        pieces = [Piece(form="mark", path=(key,), value=mark) for key, mark in owner.marks.items()]
        pieces.append(Piece(form="hooks", path=(owner.hooks_key,), value=hooks))
        targets = [Target(path=path, pieces=tuple(pieces))]
    else:
        text = Piece(form="text", value=build_plugin(owner.name, request.entries.hook))
        targets = [Target(path=path, syntax="text", pieces=(text,))]
    if request.server:
        server = _find_server(row, request)
        if server.path == path:
            targets = [Target(path=path, pieces=(*targets[0].pieces, *server.pieces))]
        else:
            targets.append(server)
    # A personal installation in a project has no commands, because git would report their files.
    if for_all and owner.command_file:
        targets += _find_commands(owner, request, folder)
    return targets


def find_strict_files(request: Request) -> list[str]:
    """Return the patterns of the files that cards with ``gate: strict`` protect.

    They come from the gate files, which exist only for brains that the user trusts.
    """
    if not AGENTS[request.agent].strict:
        return []
    brains = [gates for gates in read_gate_files() if gates["readable"]]
    patterns: dict[str, None] = {}
    for brain in brains:
        top = "" if brain["own"] else git_top(brain["root"]) or ""
        if request.scope == "project" and top not in ("", os.path.realpath(request.project)):
            continue
        for card in brain["cards"]:
            for path in card.get("paths", ()):
                patterns |= dict.fromkeys(_anchor(path, top))
    return sorted(patterns)


def _anchor(path: str, top: str) -> list[str]:
    """Return the patterns of a card's glob, which are absolute if the project is known.

    A glob with an exclamation mark only excludes files from other globs, so it gives no pattern.
    """
    if path.startswith("!"):
        return []
    plain = path.removeprefix("./")
    is_anchored = "/" in plain.rstrip("/")
    folder = re.sub(r"[\[*?]", r"[\g<0>]", top)
    before = f"{folder}/" if is_anchored and top else f"{folder}/**/" if top else "**/"
    return [before + glob for glob in expand_braces(plain.lstrip("/"))]


def _find_programs(owner: Agent, request: Request, folder: str) -> list[Target]:
    """List the programs of an agent that runs a file for each event, named after the event."""
    targets = []
    note = f"{WRITTEN} {owner.name}`; `lessons uninstall {owner.name}` removes it."
    for event in owner.events:
        line = _harmless_line(owner, event, request.entries.hook)
        piece = Piece(form="text", value=f"#!/bin/sh\n# {note}\n{line}\n")
        path = os.path.join(folder, event)
        targets.append(Target(path=path, syntax="text", pieces=(piece,), executable=True))
    return targets


def _find_commands(owner: Agent, request: Request, folder: str) -> list[Target]:
    """List the files of our commands."""
    targets = []
    for name, body in build_commands(owner.name, request.entries.server).items():
        part_of = ""
        if name.endswith("yaml"):  # the policy of a skill: skills/NAME/agents/openai.yaml
            skill = name.split("/")[1]
            part_of = _place(owner.command_file.format(skill), request, folder)
        piece = Piece(form="offer", value=body)
        path = _place(name, request, folder)
        targets.append(Target(path=path, syntax="text", pieces=(piece,), part_of=part_of))
    return targets


def _find_server(row: Agent, request: Request) -> Target:
    """Return the file that lists the agent's MCP servers, with our entry."""
    listed = row.server
    if request.scope == "project":
        personal = "" if is_committed(request) else row.personal_server
        listed = personal or row.project_server or row.server
    file, *names = listed.split()
    path = _place(file, request, _find_folder(row, request))
    if not os.path.isfile(path) and os.path.isfile(f"{path}c"):
        path += "c"  # opencode reads JSON with comments from .json and .jsonc
    program = request.entries.server
    entry = dict(row.server_entry)
    if request.scope == "user":
        entry |= row.user_entry
    if "command" in entry:
        entry["command"] = [program if word == "SERVER" else word for word in entry["command"]]
    else:
        entry |= {"command": program, "args": ["mcp"]}
    keys = tuple(name.replace("{project}", request.project) for name in names)
    piece = Piece(form="entry", path=(*keys, SERVER), value=entry)
    return Target(path=path, syntax="toml" if path.endswith(".toml") else "json", pieces=(piece,))


def _find_folder(row: Agent, request: Request) -> str:
    """Return the folder of the agent, for the user or in the project."""
    if request.scope == "user":
        return expand(row.folder)
    return os.path.join(request.project, row.project_folder)


def _place(template: str, request: Request, folder: str) -> str:
    """Return the path for a template from a row, either absolute or below ``folder``."""
    path = expand(template).replace("{project}", request.project)
    return os.path.join(folder, path.replace("/", os.sep))


def expand(template: str) -> str:
    """Replace the placeholders in a path from a row with folders of this user."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    code = {
        "darwin": os.path.join(home, "Library/Application Support"),
        "win32": os.environ.get("APPDATA") or home,
    }.get(sys.platform, config)
    folders = {"{home}": home, "{config}": config, "{code}": os.path.join(code, "Code", "User")}
    for placeholder, folder in folders.items():
        template = template.replace(placeholder, folder)
    return re.sub(r"\{(\w+):(.*?)\}", lambda m: os.environ.get(m[1]) or m[2], template)


def check_targets(request: Request) -> list[Target]:
    """List the files to write. No file of a project may link to a place outside of it.

    Raises InputError for such a link, and for an invalid combination of options.
    """
    check_request(request)
    targets = find_targets(request)
    if request.scope == "project":
        for target in targets:
            _refuse_outside_link(target.path, request.project)
    return targets


def _refuse_outside_link(path: str, project: str) -> None:
    """Raise InputError if a path in the project leads out of the project."""
    if not path.startswith(project.rstrip(os.sep) + os.sep):
        return
    real_path = os.path.realpath(path)
    if not real_path.startswith(os.path.realpath(project).rstrip(os.sep) + os.sep):
        problem = f"{shown(path)} is a link out of the project, to {shown(real_path)}"
        raise InputError(f"{problem}; remove it or use --scope user")


def is_present(agent: str) -> bool:
    """Return whether this user has the agent: its folder exists, or its program is on the PATH."""
    row = AGENTS[agent]
    return os.path.isdir(expand(row.folder)) or shutil.which(row.program) is not None


def check_request(request: Request) -> None:
    """Raise InputError for an invalid combination of options."""
    if request.agent not in AGENTS:
        raise InputError(f"unknown agent {request.agent!r}; use one of {', '.join(AGENTS)}")
    if request.shared and request.scope != "project":
        raise InputError("--shared writes a project's committed file; add --scope project")
    if request.scope == "project" and not AGENTS[request.agent].has_project:
        raise InputError(f"{request.agent} has hooks for all projects only; use --scope user")
    if request.via == "mcp" and request.agent not in MCP_HOOKS:
        raise InputError(f"the hooks of {request.agent} cannot call an MCP tool; use --via command")


def is_committed(request: Request) -> bool:
    """Return whether the files belong to the project, so that all its users get them."""
    personal = AGENTS[request.agent].personal_file
    return request.scope == "project" and (request.shared or not personal)


_SERVER_PROGRAM = re.compile(r"(?:^|[\\/])lessons(?:\.exe|\.cmd)?$")
_BOM = "\ufeff"


def add_pieces(data: bytes | None, target: Target) -> bytes:
    """Return the content of the file with our pieces added. The rest stays unchanged.

    Raises InputError if the file cannot be parsed, or if it has a different value in place of our
    part.
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
        if piece.form == "block":
            text = put_block(text, str(piece.value), BLOCK_BEGINS, BLOCK_ENDS)
            continue
        if piece.form == "entry" and present is not None and not _is_our_server(present):
            name = ".".join(piece.path)
            raise InputError(f"{name} is a different server; rename it and run this again")
        if target.syntax == "toml":
            text = put_table(text, piece.path, piece.value)
        elif present is None:
            text = put_json(text, piece.path, piece.value)
        elif piece.form == "entry":
            for key, value in piece.value.items():
                text = put_json(text, (*piece.path, key), value)
    return (bom + text).encode()


@frozen
class HookState:
    """The events whose hooks in a file differ from those of an installation."""

    changed: tuple[str, ...]
    """The events for which our hook is missing or was edited."""
    unknown: tuple[str, ...]
    """Other events that call our hook, for example under a misspelt name."""


def compare_hooks(data: bytes, target: Target) -> HookState:
    """Compare the hooks in a file with a target's. Raises InputError if the file is not JSON."""
    text, _bom = _decode(data)
    changed: list[str] = []
    unknown: list[str] = []
    for piece in target.pieces:
        if piece.form == "text" and text != piece.value:
            changed.append("all events")
        if piece.form == "block" and piece.value not in text:
            changed.append("all events")
        if piece.form != "hooks":
            continue
        hooks = get(read_data(text), piece.path)
        present = hooks if isinstance(hooks, dict) else {}
        for event, (group,) in piece.value.items():
            groups = present.get(event)
            if not isinstance(groups, list) or group not in groups:
                changed.append(event)
        others = [event for event in present if event not in piece.value]
        unknown += [e for e in others if _take_ours(text, (*piece.path, e)) != text]
    return HookState(changed=tuple(changed), unknown=tuple(unknown))


def has_strict_files(text: str, target: Target) -> bool:
    """Return whether the strict hooks in a file equal those of a target. Raises InputError."""
    for piece in target.pieces:
        if piece.form != "hooks":
            continue
        for event, groups in piece.value.items():
            present = get(read_data(text), (*piece.path, event))
            if _list_strict(present) != _list_strict(groups):
                return False
    return True


def _list_strict(groups: Any) -> list[str]:
    """Return the limits of the strict hooks in the groups of an event."""
    limits = []
    for group in groups if isinstance(groups, list) else ():
        handlers = group.get("hooks") if isinstance(group, dict) else None
        ours = filter(_is_ours, handlers if isinstance(handlers, list) else ())
        limits += [str(one.get("if")) for one in ours if STRICT in one.get("args", ())]
    return sorted(limits)


def is_foreign(data: bytes | None, target: Target) -> bool:
    """Return whether somebody else wrote a file that an installation writes as a whole."""
    return target.syntax == "text" and data is not None and WRITTEN.encode() not in data


def has_hooks_of_ours(data: bytes, target: Target) -> bool:
    """Return whether a file has hooks, or a program, that call us. Raises InputError."""
    hooks = tuple(piece for piece in target.pieces if piece.form in ("hooks", "block", "text"))
    return bool(hooks) and take_pieces(data, replace(target, pieces=hooks)) != data


def take_pieces(data: bytes, target: Target, *, like: bytes | None = None) -> bytes | None:
    """Return the content of the file without our pieces, or None if nothing else is left.

    Containers that become empty are removed as well, unless ``like``, the earlier content of the
    file, has them. A file without our pieces is returned unchanged. Raises InputError if the file
    cannot be parsed.
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
        if piece.form == "block":
            text = take_block(text, BLOCK_BEGINS, BLOCK_ENDS)
        if piece.form == "entry" and _is_our_server(get(_read(text, target), piece.path)):
            if target.syntax == "toml":
                text = take_table(text, piece.path, piece.value)
            else:
                text = _take_empty(take_json(text, piece.path), piece.path[:-1], model)
    if text == old:
        return data
    return None if _is_empty(text, target) else (bom + text).encode()


def _is_empty(text: str, target: Target) -> bool:
    """Return whether a file without our hooks and entries contains only our marks."""
    rest = read_data(text) if target.syntax == "json" else None
    if isinstance(rest, dict):
        if list_comments(text):
            return False
        marks = {piece.path[0] for piece in target.pieces if piece.form == "mark"}
        return marks.issuperset(rest)
    return not text.strip()


def _read(text: str, target: Target) -> Any:
    return read_toml(text) if target.syntax == "toml" else read_data(text)


def _add_hooks(text: str, piece: Piece) -> str:
    """Return the text with our entries after the others, and without our outdated entries."""
    model: dict[str, Any] = {}  # an event without hooks goes, the object of all hooks stays
    for key in reversed(piece.path):
        model = {key: model}
    text = _take_hooks(text, piece.path, model, spared=piece.value)
    for event, (group,) in piece.value.items():
        path = (*piece.path, event)
        present = get(read_data(text), path)
        if present is None:
            text = put_json(text, path, [group])
        elif not isinstance(present, list):
            raise InputError(f"{'.'.join(path)} must be a list; correct it")
        else:  # exactly one entry per event, because a second one would answer it again
            others = _take_ours(text, path)
            rest = get(read_data(others), path)
            if present.count(group) != 1 or rest != [entry for entry in present if entry != group]:
                text = put_json(others, (*path, len(rest)), group)
    return text


def _take_hooks(
    text: str, path: tuple[str, ...], model: Any, *, spared: Container[str] = ()
) -> str:
    """Return the text without our entries, except those for the events in ``spared``."""
    hooks = get(read_data(text), path)
    if not isinstance(hooks, dict):
        return text
    for event in hooks:
        if event in spared:
            continue
        shorter = _take_ours(text, (*path, event))
        if shorter != text:
            text = _take_empty(shorter, (*path, event), model)
    return text


def _take_ours(text: str, path: tuple[Any, ...]) -> str:
    """Return the text without our entries in a list, including those in groups with others."""
    groups = get(read_data(text), path)
    if not isinstance(groups, list):
        return text
    for number, group in reversed(list(enumerate(groups))):
        if _is_ours(group):
            text = take_json(text, (*path, number))
        elif isinstance(group, dict) and "hooks" in group:
            text = _take_ours(text, (*path, number, "hooks"))
    return text


def _take_empty(text: str, path: tuple[str, ...], model: Any) -> str:
    """Return the text without empty containers along ``path`` that ``model`` does not have."""
    while path and get(read_data(text), path) in ({}, []) and get(model, path) is None:
        text = take_json(text, path)
        path = path[:-1]
    return text


def _is_our_server(entry: Any) -> bool:
    """Return whether an entry in a list of MCP servers calls ``lessons mcp``."""
    command = entry.get("command") if isinstance(entry, dict) else None
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not words or not isinstance(words[0], str):
        return False
    arguments = [*words[1:], *(entry.get("args") or [])]
    return bool(_SERVER_PROGRAM.search(words[0])) and "mcp" in arguments


def _decode(data: bytes | None) -> tuple[str, str]:
    """Return the text of a file and its byte order mark."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start}: not UTF-8; save the file as UTF-8") from None
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")
