"""Change one table of a TOML text and leave everything else as it is."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from lessons_kb.agents.install.edit_json import get
from lessons_kb.errors import EditRefused, InputError


def read_toml(text: str) -> dict[str, Any]:
    """Return the data of a TOML text; InputError names the line of what is wrong."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(error)) from None


def put_table(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """Return the text with these values in the table at ``path``; its other keys stay.

    A new table is written at the end. Raises InputError, EditRefused.
    """
    data = read_toml(text)
    table = get(data, path)
    if table is None:
        holder = get(data, path[:-1])
        if holder is not None and not isinstance(holder, dict):
            raise InputError(f"{'.'.join(path[:-1])} must be a table; correct it by hand")
        new = _appended(text, path, values)
        if _loads(new) != _with(data, path, values):
            new = _edited(text, path, values)  # an inline table: it takes no header
    else:
        if not isinstance(table, dict):
            raise InputError(f"{'.'.join(path)} must be a table; correct it by hand")
        if all(table.get(key) == value for key, value in values.items()):
            return text
        new = _edited(text, path, values)
    return _verified(new, _with(data, path, {**(table or {}), **values}))


def take_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at ``path``, and without what it leaves empty."""
    import tomlkit

    data = read_toml(text)
    if get(data, path) is None:
        return text
    document = tomlkit.parse(text)
    for end in range(len(path), 0, -1):
        holder: Any = document
        for key in path[: end - 1]:
            holder = holder[key]
        if end < len(path) and len(holder[path[end - 1]]):
            break
        del holder[path[end - 1]]
    new = tomlkit.dumps(document)
    if text.startswith(new.rstrip("\r\n")) and new.endswith(("\n\n", "\n\r\n")):
        # The empty line that parted our table from what stands above it was ours.
        new = new[: -2 if new.endswith("\r\n") else -1]
    expected = read_toml(text)
    holder = get(expected, path[:-1])
    del holder[path[-1]]
    for end in range(len(path) - 1, 0, -1):
        if not get(expected, path[:end]):
            del get(expected, path[: end - 1])[path[end - 1]]
    return _verified(new, expected)


def _appended(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    import tomlkit

    line = _newline(text)
    header = ".".join(tomlkit.key(key).as_string() for key in path)
    rows = [f"{key} = {tomlkit.item(value).as_string()}" for key, value in values.items()]
    before = text if not text or text.endswith(("\n", "\r")) else text + line
    gap = line if before.strip() else ""
    return before + gap + line.join([f"[{header}]", *rows, ""])


def _edited(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    holder: Any = document
    for key in path:
        if key not in holder:
            holder[key] = tomlkit.inline_table()
        holder = holder[key]
    for key, value in values.items():
        if holder.get(key) != value:
            holder[key] = value
    new = tomlkit.dumps(document)
    if _newline(text) == "\r\n":
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return new


def _with(data: dict[str, Any], path: Sequence[str], values: dict[str, Any]) -> dict[str, Any]:
    first, *rest = path
    inner = _with(data.get(first, {}), rest, values) if rest else values
    return {**data, first: inner}


def _loads(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _verified(new: str, expected: dict[str, Any]) -> str:
    if _loads(new) != expected:
        raise EditRefused("the layout of this settings file is not supported; edit it by hand")
    return new


def _newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
