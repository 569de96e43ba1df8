"""Parse a tool call into events, using tables of each coding agent's tools.

Tools have the names that agents pass to their hooks (late 2026). ``create`` writes a whole file,
``edit`` a part of it. Listing a folder counts as ``read``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lessons_kb.calls.arguments import digest_arguments, parse_arguments
from lessons_kb.calls.command_lines import find_patched, find_touched, is_known, is_patch_command
from lessons_kb.data import read_mapping, read_patterns
from lessons_kb.detect.change import Change
from lessons_kb.model import CALLS, DONE, Event
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.text.paths import join_path, relative_path
from lessons_kb.text.redact import redact
from lessons_kb.text.shell import find_here_documents
from lessons_kb.values import replace

TOOLS = {
    agent.removeprefix("any"): kinds for agent, kinds in read_mapping("agent_tools.toml").items()
}
"""Maps an agent to its tool names and their kinds of events. The key "" has names that are common
in MCP servers and other tools. A tool that is in no table has the kind ``tool``."""

SUBCOMMANDS: Mapping[str, str] = {
    "view": "read",
    "str_replace": "edit",
    "insert": "edit",
    "create": "create",
    "undo_edit": "rollback",
}
TEXT_EDITORS = ("str_replace_based_edit_tool", "str_replace_editor", "text_editor")
"""Tools whose ``command`` argument is one of SUBCOMMANDS."""

_ANY_AGENT = {name: kind for kinds in reversed(TOOLS.values()) for name, kind in kinds.items()}

MOVE_HEADER = "*** Move to: "
PATCH_HEADERS: Mapping[str, str] = {
    "*** Update File: ": "edit",
    "*** Add File: ": "create",
    "*** Delete File: ": "remove",
    MOVE_HEADER: "create",
}

_ARGUMENTS = read_patterns("tool_arguments.toml")
"""Maps content to the names of arguments that may contain it, the most likely first."""

_Access = tuple[str, tuple[str, ...]]
"""A kind of event, and the paths that it concerns."""
_EXPLAINED = ("command", "edit")
"""Kinds of calls that have a comment among their arguments. It is not part of the digest."""
_SHORTEST = 3
_BETWEEN = r"[/\\'\"\s]+"
"""Separators of the parts of a path, in a command and in the parsed path."""


def kind_of_tool(tool: str, *, agent: str = "") -> str:
    """Return the kind of a tool: one of CALLS, or ``tool`` if it is in no table.

    The agent's own table takes precedence. The tables of other agents follow, because an agent may
    run the hooks of another agent. In the common table, which is last, a tool of an MCP server is
    looked up without the name of the server.
    """
    kind = TOOLS.get(agent, {}).get(tool) or _ANY_AGENT.get(tool)
    return kind or TOOLS[""].get(re.split("__|:", tool)[-1], "tool")


def parse_call(
    call: Event,
    arguments: Mapping[str, Any] | str,
    *,
    cwd: str = "",
    kinds: Mapping[str, str] | None = None,
    secrets: bool = False,
) -> tuple[Event, ...]:
    """Return a tool call as events: the call itself, then one for each other kind of file access.

    ``call`` provides the data that is not in the arguments, such as tool, agent, scope and outcome.
    Its kind is replaced only if it is ``tool``. ``kinds`` maps names of tools that are in no table
    to kinds. Relative paths start at ``cwd``, the directory before the call, or at the scope
    without a directory. A failed call has no further events. Unless ``secrets`` is set, a path of a
    command is left out if a part of it is redacted as a secret in the command, because the path
    alone could no longer be recognised as a secret.
    """
    data = _as_object(arguments)
    own_kind = (kinds or {}).get(call.tool)
    kind = own_kind or kind_of_tool(call.tool, agent=call.agent)
    if call.tool in TEXT_EDITORS and not own_kind:
        kind = SUBCOMMANDS.get(str(data.get("command")), "tool")
    command = find_command(data) if kind == "command" else ""
    if command:
        cwd = find_folder(data, cwd)
    if is_patch_command(command):
        kind, data = "edit", {"input": command}
    touched = _parse_patch(_first(data, "patches")) if kind == "edit" else []
    if command:
        touched = [(change, find_patched(command, paths)) for change, paths in touched]
    if touched:
        kind, targets = touched.pop(0)
    else:
        targets = () if command else tuple(_find_paths(data))
        touched = find_touched(command)
        if not secrets:
            touched = _without_secrets(touched, command)
    ignored = _ARGUMENTS["commentary"] if kind in _EXPLAINED else ()
    first = replace(
        call,
        kind=kind if call.kind == "tool" else call.kind,
        targets=_place(targets, call.scope, cwd),
        arguments=digest_arguments(arguments, ignore=ignored),
        text=call.text or command,
    )
    if call.outcome not in DONE or first.kind not in CALLS:
        return (first,)
    events = [first]
    blank = replace(call, tool="", text="", output="", record={})
    for access, paths in touched:
        placed = _place(paths, call.scope, cwd)
        if placed:
            events.append(replace(blank, kind=access, targets=placed))
    return tuple(events)


def _without_secrets(touched: list[_Access], command: str) -> list[_Access]:
    """Leave out each path of which a part is redacted in the command."""
    redacted = redact(command) if touched else command
    if redacted == command:
        return touched

    def is_public(path: str) -> bool:
        parts = re.split(_BETWEEN, path)
        return all(part in redacted for part in parts if len(part) >= _SHORTEST)

    return [(kind, tuple(filter(is_public, paths))) for kind, paths in touched]


def find_folder(arguments: Mapping[str, Any], cwd: str) -> str:
    """Return the folder in which a command runs if its agent calls it from ``cwd``."""
    folder = _first(arguments, "folders")
    return join_path(cwd, folder) if folder else cwd


def _as_object(arguments: object) -> Mapping[str, Any]:
    data = parse_arguments(arguments)
    return data if isinstance(data, dict) else {"input": data}


def find_command(data: Mapping[str, Any]) -> str:
    """Return the command line in the arguments of a call, or "" if there is none."""
    for key in _ARGUMENTS["commands"]:
        value = data.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            words = [str(word) for word in value]
            return " ".join(words[2:] if words[1:2] in (["-c"], ["-lc"]) else words)
    return ""


def _parse_patch(text: str) -> list[_Access]:
    """Return (kind, paths) for a patch in the ``*** Update File:`` form, with edits first."""
    grouped: dict[str, list[str]] = {kind: [] for kind in PATCH_HEADERS.values()}
    for line in text.splitlines():
        for header, kind in PATCH_HEADERS.items():
            if line.startswith(header):
                if header == MOVE_HEADER and grouped["edit"]:
                    grouped["remove"].append(grouped["edit"].pop())
                grouped[kind].append(line[len(header) :].strip())
    return [(kind, tuple(paths)) for kind, paths in grouped.items() if paths]


def _find_edits(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the arguments of a call, followed by the single edits in its lists."""
    edits = [data]
    for value in data.values():
        if isinstance(value, list):
            edits += [item for item in value if isinstance(item, dict)]
    return edits


def _find_paths(data: Mapping[str, Any]) -> Iterator[str]:
    for edit in _find_edits(data):
        for value in map(edit.get, _ARGUMENTS["paths"]):
            paths = value if isinstance(value, list) else [value]
            yield from (path for path in paths if isinstance(path, str) and path)


def _place(paths: Iterable[str], scope: str, cwd: str) -> tuple[str, ...]:
    """Return paths relative to the scope, each once. Paths with an unknown folder are left out."""
    placed = [relative_path(path, scope, cwd=cwd) for path in paths]
    return tuple(dict.fromkeys(path for path in placed if path and is_known(path)))


def find_changes(
    arguments: Mapping[str, Any] | str, *, scope: str = "", cwd: str = ""
) -> list[Change]:
    """Return the texts that a call of an edit tool writes, each with the text that it replaces.

    Paths are relative to ``scope``. The line numbers are unknown (0).
    """
    data = _as_object(arguments)
    patch = _find_patch(data)
    edits = [(hunk.path, hunk.before, hunk.after) for hunk in parse_hunks(patch)]
    if not patch:
        default = _first(data, "paths")
        for edit in _find_edits(data):
            path = _first(edit, "paths") or default
            edits.append((path, _first(edit, "old text"), _first(edit, "new text")))
    changes = []
    for path, before, after in edits:
        placed = relative_path(path, scope, cwd=cwd)
        if after and placed:
            changes.append(Change(path=placed, before=before, after=after, line=0))
    return changes


def _find_patch(data: Mapping[str, Any]) -> str:
    """Return the patch in the arguments of a call, or "" if there is none."""
    for key in _ARGUMENTS["patches"]:
        text = data.get(key)
        if isinstance(text, str) and any(header in text for header in PATCH_HEADERS):
            return text
    return ""


def find_documents(command: str, *, scope: str = "", cwd: str = "") -> list[Change]:
    """Return the texts that here-documents of a command write to files: ``cat > x <<EOF``.

    Paths are relative to ``scope``. The line numbers are unknown (0).
    """
    changes = []
    for row, text in find_here_documents(command):
        for kind, paths in find_touched(row):
            if kind != "edit":
                continue
            for path in paths:
                placed = relative_path(path, scope, cwd=cwd)
                if placed:
                    changes.append(Change(path=placed, after=text, line=0))
    return changes


def _first(data: Mapping[str, Any], content: str) -> str:
    """Return the first text in the arguments that may have a content, or "" if there is none.

    ``content`` is a section of ``tool_arguments.toml``.
    """
    texts = (data.get(name) for name in _ARGUMENTS[content])
    return next((text for text in texts if isinstance(text, str)), "")
