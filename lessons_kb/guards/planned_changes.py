"""What a tool call is about to write, as far as its arguments tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lessons_kb.detect.added_code import Change
from lessons_kb.guards.command_files import find_touched
from lessons_kb.guards.file_names import relative_path
from lessons_kb.guards.tool_calls import (
    PATCH_ARGUMENTS,
    PATCH_HEADERS,
    PATH_ARGUMENTS,
    parse_arguments,
)
from lessons_kb.text.shell import find_here_documents

OLD_ARGUMENTS = ("old_string", "oldString", "old_str", "oldText", "old_text")
NEW_ARGUMENTS = (
    *("new_string", "newString", "new_str", "newText", "new_text", "insert_text", "new_source"),
    *("content", "contents", "file_text", "code_edit", "code", "text"),
)
_HUNK, _END = "@@", "*** "
_REMOVED, _ADDED = "-", "+"


def find_changes(
    arguments: Mapping[str, Any] | str, *, scope: str = "", cwd: str = ""
) -> list[Change]:
    """Return the pieces of text that a call to an edit tool writes, with those they replace.

    Paths are relative to ``scope``; the lines are not known.
    """
    data = parse_arguments(arguments)
    if not isinstance(data, dict):
        data = {"input": data}
    texts = (value for key in PATCH_ARGUMENTS if isinstance(value := data.get(key), str))
    patch = next((text for text in texts if any(sign in text for sign in PATCH_HEADERS)), "")
    found = _read_patch(patch) if patch else _read_edits(data)
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


def _read_edits(data: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (path, old, new) of a call and of the lists of smaller edits in it."""
    whole = _first(data, PATH_ARGUMENTS)
    lists = (value for value in data.values() if isinstance(value, list))
    smaller = (item for items in lists for item in items if isinstance(item, dict))
    for holder in (data, *smaller):
        path = _first(holder, PATH_ARGUMENTS) or whole
        yield path, _first(holder, OLD_ARGUMENTS), _first(holder, NEW_ARGUMENTS)


def _first(data: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((value for name in names if isinstance(value := data.get(name), str)), "")


def _read_patch(patch: str) -> Iterator[tuple[str, str, str]]:
    """Yield (path, old, new) of each hunk of a patch in the ``*** Update File:`` form."""
    path = ""
    before: list[str] = []
    after: list[str] = []
    for line in (*patch.splitlines(), _END):
        if not line.startswith((_HUNK, _END)):
            if not line.startswith(_ADDED):
                before.append(f"{line[1:]}\n")
            if not line.startswith(_REMOVED):
                after.append(f"{line[1:]}\n")
            continue
        if path and after:
            yield path, "".join(before), "".join(after)
        before, after = [], []
        header = next((one for one in PATCH_HEADERS if line.startswith(one)), "")
        if line.startswith(_END):
            path = line.removeprefix(header).strip() if header else ""
