"""What the tools of each coding agent do, as tables, and one call read by them.

Names as the agents give them to their hooks (late 2026). ``create`` writes a file whole, as
against ``edit``; looking into folders counts as ``read``.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lessons_kb.calls.command_lines import find_patched, find_touched, is_known, is_patch_command
from lessons_kb.data import read_mapping, read_patterns
from lessons_kb.detect.matcher import Change
from lessons_kb.model import CALLS, DONE, Event
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.text.paths import join_path, relative_path
from lessons_kb.text.redact import redact
from lessons_kb.text.shell import find_here_documents

TOOLS = {
    agent.removeprefix("any"): kinds for agent, kinds in read_mapping("agent_tools.toml").items()
}
"""Agent → name → kind of event. Under "" stand names common in other tools and MCP servers.
A tool in no table is a ``tool``."""

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
"""What they hold → names of arguments, the likeliest first."""

FAILURE_TEXTS = tuple(
    (words, kind) for kind, texts in read_patterns("failure_texts.toml").items() for words in texts
)
"""Words that agents use for a failed call, lower case → its kind; the first that fits decides."""

_EXPLAINED = ("command", "edit")
_FAILURE_CHARS = 400
_SHORTEST = 3
_BETWEEN = r"[/\\'\"\s]+"
"""What the pieces of a path are parted by, as it is written in a command and as it is read."""


def kind_of_tool(tool: str, *, agent: str = "") -> str:
    """Return what a tool does: one of CALLS, ``tool`` when no table knows it.

    The agent's own table decides. A tool it lacks is looked up in the others (one agent may run
    another's hooks), a tool of an MCP server by its own name in the common table.
    """
    kind = TOOLS.get(agent, {}).get(tool) or _ANY_AGENT.get(tool)
    return kind or TOOLS[""].get(re.split("__|:", tool)[-1], "tool")


def kind_of_failure(text: str) -> str:
    """Return which of FAILURES an agent's error text tells of; ``exec_error`` if none else."""
    head = text[:_FAILURE_CHARS].lower()
    return next((kind for words, kind in FAILURE_TEXTS if words in head), "exec_error")


def digest_arguments(arguments: object, *, ignore: Collection[str] = ()) -> str:
    """Return a short digest, equal for arguments that mean the same call.

    JSON text and the object it stands for are equal, so are dicts in another order; top-level
    keys in ``ignore`` do not matter; "" for what is no JSON data. It tells the calls of one
    session apart and is no cryptographic hash.
    """
    data = parse_arguments(arguments)
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key not in ignore}
    try:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return ""
    raw = text.encode()
    return f"{len(raw):x}-{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}"


def parse_call(
    call: Event,
    arguments: Mapping[str, Any] | str,
    *,
    cwd: str = "",
    kinds: Mapping[str, str] | None = None,
    secrets: bool = False,
) -> tuple[Event, ...]:
    """Return a tool call as events: the call itself, then what else it touched.

    ``call`` has what the arguments do not tell: tool, agent, scope, outcome and so on. A kind
    other than ``tool`` is kept; ``kinds`` maps names of tools that no table knows. Relative
    paths start at ``cwd``, the directory before the call, else at the scope. A call that did not
    end well touched nothing else. A word of a command that something before it announces as a
    secret is no path, unless ``secrets`` asks for those, too: alone it could not be told any more.
    """
    data = _as_object(arguments)
    known = (kinds or {}).get(call.tool)
    does = known or kind_of_tool(call.tool, agent=call.agent)
    if call.tool in TEXT_EDITORS and not known:
        does = SUBCOMMANDS.get(str(data.get("command")), "tool")
    command = find_command(data) if does == "command" else ""
    if command:
        cwd = find_folder(data, cwd)
    if is_patch_command(command):
        does, data = "edit", {"input": command}
    touched = _patch(_first(data, "patches")) if does == "edit" else []
    if command:
        touched = [(kind, find_patched(command, paths)) for kind, paths in touched]
    if touched:
        does, targets = touched.pop(0)
    else:
        targets = () if command else tuple(_find_paths(data))
        touched = find_touched(command)
        if touched and not secrets and (left := redact(command)) != command:
            # A path is left out if any of its pieces is redacted in the command.
            def is_left(path: str) -> bool:
                pieces = re.split(_BETWEEN, path)
                return all(piece in left for piece in pieces if len(piece) >= _SHORTEST)

            touched = [(kind, tuple(filter(is_left, paths))) for kind, paths in touched]
    ignored = _ARGUMENTS["commentary"] if does in _EXPLAINED else ()
    first = replace(
        call,
        kind=does if call.kind == "tool" else call.kind,
        targets=_place(targets, call.scope, cwd),
        arguments=digest_arguments(arguments, ignore=ignored),
        text=call.text or command,
    )
    if call.outcome not in DONE or first.kind not in CALLS:
        return (first,)
    blank = replace(call, tool="", text="", output="", record={})
    rest = (replace(blank, kind=k, targets=_place(paths, call.scope, cwd)) for k, paths in touched)
    return (first, *(event for event in rest if event.targets))


def find_folder(arguments: Mapping[str, Any], cwd: str) -> str:
    """Return where a command runs that an agent calls from ``cwd``."""
    folder = _first(arguments, "folders")
    return join_path(cwd, folder) if folder else cwd


def parse_arguments(arguments: object) -> object:
    """Return what a call's arguments stand for: of JSON text its value, else what was given."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def _as_object(arguments: object) -> Mapping[str, Any]:
    data = parse_arguments(arguments)
    return data if isinstance(data, dict) else {"input": data}


def find_command(data: Mapping[str, Any]) -> str:
    """Return the command line among a call's arguments, "" if there is none."""
    for key in _ARGUMENTS["commands"]:
        value = data.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            words = [str(word) for word in value]
            return " ".join(words[2:] if words[1:2] in (["-c"], ["-lc"]) else words)
    return ""


def _patch(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (kind, paths) of a patch in the ``*** Update File:`` form, edits first."""
    found: dict[str, list[str]] = {kind: [] for kind in PATCH_HEADERS.values()}
    for line in text.splitlines():
        for header, kind in PATCH_HEADERS.items():
            if line.startswith(header):
                if header == MOVE_HEADER and found["edit"]:
                    found["remove"].append(found["edit"].pop())
                found[kind].append(line[len(header) :].strip())
    return [(kind, tuple(paths)) for kind, paths in found.items() if paths]


def _holders(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a call's arguments, and those of the smaller edits in its lists."""
    lists = (value for value in data.values() if isinstance(value, list))
    return [data, *(item for value in lists for item in value if isinstance(item, dict))]


def _find_paths(data: Mapping[str, Any]) -> Iterator[str]:
    for holder in _holders(data):
        for value in map(holder.get, _ARGUMENTS["paths"]):
            paths = value if isinstance(value, list) else [value]
            yield from (path for path in paths if isinstance(path, str) and path)


def _place(paths: Iterable[str], scope: str, cwd: str) -> tuple[str, ...]:
    placed = (relative_path(path, scope, cwd=cwd) for path in paths)
    return tuple(dict.fromkeys(path for path in placed if path and is_known(path)))


def find_changes(
    arguments: Mapping[str, Any] | str, *, scope: str = "", cwd: str = ""
) -> list[Change]:
    """Return the pieces of text that a call to an edit tool writes, with those they replace.

    Paths are relative to ``scope``; the lines are not known.
    """
    data = _as_object(arguments)
    texts = (value for key in _ARGUMENTS["patches"] if isinstance(value := data.get(key), str))
    patch = next((text for text in texts if any(sign in text for sign in PATCH_HEADERS)), "")
    found = [(hunk.path, hunk.before, hunk.after) for hunk in parse_hunks(patch)]
    if not patch:
        whole = _first(data, "paths")
        for holder in _holders(data):
            path, before, after = (_first(holder, w) for w in ("paths", "old text", "new text"))
            found.append((path or whole, before, after))
    return [
        Change(path=placed, before=before, after=after, line=0)
        for path, before, after in found
        if after and (placed := relative_path(path, scope, cwd=cwd))
    ]


def find_documents(command: str, *, scope: str = "", cwd: str = "") -> list[Change]:
    """Return what the here-documents of a command write to files, such as ``cat > x <<EOF``."""
    return [
        Change(path=placed, after=text, line=0)
        for row, text in find_here_documents(command)
        for kind, paths in find_touched(row)
        if kind == "edit"
        for path in paths
        if (placed := relative_path(path, scope, cwd=cwd))
    ]


def _first(data: Mapping[str, Any], what: str) -> str:
    """Return the first text among the arguments that hold something."""
    texts = (data.get(name) for name in _ARGUMENTS[what])
    return next((text for text in texts if isinstance(text, str)), "")
