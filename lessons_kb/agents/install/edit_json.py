"""Change single values of a JSON text and leave every other character as it is.

New text takes over the file's indentation, line ends and habit of trailing commas.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from lessons_kb.errors import EditRefused, InputError

MAX_DEPTH = 200

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_COMMENT = re.compile(r'"(?:[^"\\\r\n]|\\.)*"|(?P<comment>//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)')
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|[A-Za-z_]+")
_WORDS = {"true": True, "false": False, "null": None}
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A value and where it stands: ``text[start:end]``."""

    start: int
    end: int
    data: Any
    """The value itself; of a key that stands twice the last counts."""
    parts: tuple[Part, ...] = ()
    """What an object or array holds, in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A member of an object or an element of an array."""

    key: str | int
    start: int
    """Where the key begins, of an element the value."""
    node: Node
    comma: int
    """Where the comma behind it stands, -1 without one."""


def read_data(text: str) -> Any:
    """Return the data of a text without the places; the same as ``parse(text).data``, sooner.

    Settings may have megabytes (agents keep histories in them), and most hold no comment.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return parse(text).data


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


@functools.lru_cache(maxsize=4)
def parse(text: str) -> Node:
    """Return the root of a text that holds one value, comments and trailing commas allowed.

    The data is shared between callers: nobody may change it. Raises InputError naming line and
    column.
    """
    reader = _Reader(text)
    root = reader.value(reader.skip(0), 0)
    end = reader.skip(root.end)
    if end != len(text):
        reader.fail(end, "unexpected text after the value")
    return root


def find_comments(text: str) -> list[str]:
    """List the comments of a text in order."""
    return [match["comment"] for match in _COMMENT.finditer(text) if match["comment"]]


def skip_trivia(text: str, position: int) -> int:
    """Return the next position that is neither space nor comment."""
    match = _TRIVIA.match(text, position)
    return match.end() if match else position


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, position: int, what: str) -> NoReturn:
        before = self.text[:position].splitlines(keepends=True) or [""]
        fresh = before[-1].endswith(("\n", "\r"))
        line = len(before) + fresh
        column = 1 if fresh else len(before[-1]) + 1
        raise InputError(f"line {line}, column {column}: {what}")

    def skip(self, position: int) -> int:
        position = skip_trivia(self.text, position)
        if self.text.startswith("/*", position):
            self.fail(position, "this comment is not closed")
        return position

    def value(self, position: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail(position, "nested too deeply")
        first = self.text[position : position + 1]
        if first in _CLOSING:
            return self.container(position, depth)
        if first == '"':
            end, data = self.string(position)
            return Node(start=position, end=end, data=data)
        match = _ATOM.match(self.text, position)
        if not match:
            what = f"a value is expected, not {first!r}" if first else "the file ends too early"
            self.fail(position, what)
        word = match[0]
        if word[0].isalpha() or word[0] == "_":
            if word not in _WORDS:
                self.fail(position, f"a value is expected, not {word!r}")
            return Node(start=position, end=match.end(), data=_WORDS[word])
        return Node(start=position, end=match.end(), data=json.loads(word))

    def string(self, position: int) -> tuple[int, str]:
        match = _STRING.match(self.text, position)
        if not match:
            self.fail(position, "this string is not closed on its line")
        try:
            return match.end(), json.loads(match[0])
        except ValueError:
            self.fail(position, "this string has an invalid escape")

    def container(self, start: int, depth: int) -> Node:
        closing = _CLOSING[self.text[start]]
        parts: list[Part] = []
        position = self.skip(start + 1)
        while not self.text.startswith(closing, position):
            if parts and parts[-1].comma < 0:
                self.fail(position, f"a comma or {closing!r} is expected")
            part = self.part(position, len(parts) if closing == "]" else None, depth)
            parts.append(part)
            position = self.skip(part.node.end if part.comma < 0 else part.comma + 1)
        data: Any = (
            [part.node.data for part in parts]
            if closing == "]"
            else {part.key: part.node.data for part in parts}
        )
        return Node(start=start, end=position + 1, data=data, parts=tuple(parts))

    def part(self, start: int, number: int | None, depth: int) -> Part:
        position = start
        key: str | int
        if number is None:
            if not self.text.startswith('"', position):
                self.fail(position, 'a key in "…" is expected')
            end, key = self.string(position)
            position = self.skip(end)
            if not self.text.startswith(":", position):
                self.fail(position, "a colon is expected")
            position = self.skip(position + 1)
        else:
            key = number
        node = self.value(position, depth + 1)
        comma = self.skip(node.end)
        if not self.text.startswith(",", comma):
            comma = -1
        return Part(key=key, start=start, node=node, comma=comma)


Path = Sequence[str | int]


_INDENT = re.compile(r"^([ \t]+)(?=[\"\]\[{}])", re.MULTILINE)
_DEFAULT_INDENT = "  "


def put(text: str, path: Path, value: Any) -> str:
    """Return the text with ``value`` at ``path``; what is missing on the way is made.

    Keys lead through objects, numbers through arrays; a number one beyond the last appends.
    A value that is there already stays as it is written. Raises InputError where the way leads
    through something else, EditRefused when the result would not be what was meant.
    """
    node = parse(text)
    deep = list(path)
    while deep:
        part = _part(node, deep[0])
        if part is None:
            break
        node = part.node
        deep.pop(0)
    if not deep:
        if node.data == value and type(node.data) is type(value):
            return text
        new = _written(text, value, _line_indent(text, node.start), flat=_is_flat(text, node))
        before, behind = text[: node.start], text[node.end :]
        return _verified(text, before + new + behind, path, value, kept=(before, behind))
    _check_container(node, deep[0], path)
    for key in reversed(deep[1:]):
        value = [value] if isinstance(key, int) else {key: value}
    end = len(path) - len(deep) + 1
    return _verified(text, _inserted(text, node, deep[0], value), path[:end], value)


def take(text: str, path: Path) -> str:
    """Return the text without what stands at ``path``; unchanged when nothing does."""
    parent, part = parse(text), None
    node = parent
    for key in path:
        part = _part(node, key)
        if part is None:
            return text
        parent, node = node, part.node
    if part is None:
        return text
    expected = _without(read_data(text), path)
    new = _removed(text, parent, part)
    if read_data(new) != expected:
        raise EditRefused("the layout of this settings file is not supported; edit it by hand")
    return new


def get(data: Any, path: Path) -> Any:
    """Return what stands at ``path`` in parsed data, None when nothing does."""
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _part(node: Node, key: str | int) -> Part | None:
    fitting = [part for part in node.parts if part.key == key and type(part.key) is type(key)]
    return fitting[-1] if fitting else None


def _check_container(node: Node, key: str | int, path: Path) -> None:
    expected = list if isinstance(key, int) else dict
    if not isinstance(node.data, expected):
        done = ".".join(str(one) for one in path[: list(path).index(key)]) or "the whole"
        what = "a list" if expected is list else "an object"
        raise InputError(f"{done} must be {what}; correct it by hand")
    if isinstance(key, int) and key != len(node.parts):
        raise InputError(f"index {key} is outside a list of {len(node.parts)}")


def _inserted(text: str, node: Node, key: str | int, value: Any) -> str:
    close = node.end - 1
    name = "" if isinstance(key, int) else json.dumps(key, ensure_ascii=False)
    if not node.parts and not text[node.start + 1 : close].strip():
        base = _line_indent(text, node.start)
        inner = base + _unit(text)
        line = _newline(text)
        new = _member(text, name, value, inner, flat=False)
        return f"{text[: node.start + 1]}{line}{inner}{new}{line}{base}{text[close:]}"
    if node.parts and _is_flat(text, node):
        last = node.parts[-1]
        space = "" if _is_tight(text) else " "
        new = _member(text, name, value, "", flat=True)
        if last.comma >= 0:
            at = last.comma + 1
            return f"{text[:at]}{space}{new},{text[at:]}"
        at = last.node.end
        return f"{text[:at]},{space}{new}{text[at:]}"
    inner = (
        _line_indent(text, node.parts[-1].start)
        if node.parts
        else _line_indent(text, node.start) + _unit(text)
    )
    new = _newline(text) + inner + _member(text, name, value, inner, flat=False)
    stripped = len(text[:close].rstrip(" \t\r\n"))
    if not node.parts:  # nothing but comments
        tail = text[stripped:]
        if "\n" not in tail[: close - stripped] and "\r" not in tail[: close - stripped]:
            tail = _newline(text) + _line_indent(text, node.start) + text[close:]
        return text[:stripped] + new + tail
    last = node.parts[-1]
    if last.comma >= 0:
        return text[:stripped] + new + "," + text[stripped:]
    at = last.node.end
    return text[:at] + "," + text[at:stripped] + new + text[stripped:]


def _removed(text: str, parent: Node, part: Part) -> str:
    number = parent.parts.index(part)
    start = part.start
    end = part.node.end if part.comma < 0 else part.comma + 1
    line_start = len(text[:start].rstrip(" \t"))
    line_end = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    owns_line = text[line_start - 1 : line_start] in ("\n", "\r") and (
        text[line_end : line_end + 1] in ("\n", "\r", "")
    )
    if owns_line:
        start = line_start - (2 if text[line_start - 2 : line_start] == "\r\n" else 1)
        end = line_end
    elif number:
        start = line_start if text[line_start - 1 : line_start] == "," else start
    else:
        end = line_end
    new = text[:start] + text[end:]
    if part.comma < 0 and number and parent.parts[number - 1].comma >= 0:
        comma = parent.parts[number - 1].comma
        new = new[:comma] + new[comma + 1 :]
    if len(parent.parts) == 1:
        close = parent.end - 1 - (len(text) - len(new))
        if not new[parent.start + 1 : close].strip():
            new = new[: parent.start + 1] + new[close:]
    return new


def _without(data: Any, path: Path) -> Any:
    copy = json.loads(json.dumps(data))
    holder = get(copy, path[:-1])
    del holder[path[-1]]
    return copy


def _verified(old: str, new: str, path: Path, value: Any, kept: Sequence[str] = ()) -> str:
    """Parse the result again: it must be the old data with this one value, all comments kept.

    ``kept`` are the parts of the old text around a value that was replaced.
    """
    before, after = read_data(old), read_data(new)
    expected = _with(before, path, value)
    comments = [comment for part in kept or (old,) for comment in find_comments(part)]
    lost = [comment for comment in comments if comment not in new]
    if after != expected or lost:
        raise EditRefused("the layout of this settings file is not supported; edit it by hand")
    return new


def _with(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    copy = json.loads(json.dumps(data))
    holder = get(copy, path[:-1])
    if isinstance(holder, list) and path[-1] == len(holder):
        holder.append(value)
    else:
        holder[path[-1]] = value
    return copy


def _member(text: str, name: str, value: Any, indent: str, *, flat: bool) -> str:
    colon = ":" if flat and _is_tight(text) else ": "
    written = _written(text, value, indent, flat=flat)
    return f"{name}{colon}{written}" if name else written


def _written(text: str, value: Any, indent: str, *, flat: bool) -> str:
    if flat:
        tight = (",", ":") if _is_tight(text) else None
        return json.dumps(value, ensure_ascii=False, separators=tight)
    return (_newline(text) + indent).join(_lines(value, _unit(text)))


def _lines(value: Any, unit: str) -> list[str]:
    """Write a value as an editor would: a list of single values stays on its line."""
    deep = (isinstance(value, dict) and value) or (
        isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value)
    )
    if not deep:
        return [json.dumps(value, ensure_ascii=False)]
    lines = ["{" if isinstance(value, dict) else "["]
    for number, key in enumerate(value):
        one = value[key] if isinstance(value, dict) else key
        name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        first, *rest = _lines(one, unit)
        block = [f"{unit}{name}{first}", *(unit + line for line in rest)]
        block[-1] += "," if number < len(value) - 1 else ""
        lines += block
    return [*lines, "}" if isinstance(value, dict) else "]"]


def _is_flat(text: str, node: Node) -> bool:
    """Tell whether a container stands on one line (a single value is flat as well)."""
    if not node.parts:
        return not isinstance(node.data, (dict, list))
    return "\n" not in text[node.start : node.parts[-1].start]


def _is_tight(text: str) -> bool:
    """Tell whether the file is written without spaces behind colons."""
    return re.search(r'":[^ \t\r\n]', text) is not None


def _newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _unit(text: str) -> str:
    """Return one step of the file's own indentation."""
    indents = [match[1] for match in _INDENT.finditer(text)]
    if not indents:
        return _DEFAULT_INDENT
    return "\t" if indents[0].startswith("\t") else min(indents, key=len)


def _line_indent(text: str, position: int) -> str:
    start = max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1
    line = text[start:position]
    return line[: len(line) - len(line.lstrip(" \t"))]


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
        if _loads(new) != _with_table(data, path, values):
            new = _edited(text, path, values)  # an inline table: it takes no header
    else:
        if not isinstance(table, dict):
            raise InputError(f"{'.'.join(path)} must be a table; correct it by hand")
        if all(table.get(key) == value for key, value in values.items()):
            return text
        new = _edited(text, path, values)
    return _verified_toml(new, _with_table(data, path, {**(table or {}), **values}))


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
    return _verified_toml(new, expected)


def _appended(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    import tomlkit

    line = _toml_newline(text)
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
    if _toml_newline(text) == "\r\n":
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return new


def _with_table(
    data: dict[str, Any], path: Sequence[str], values: dict[str, Any]
) -> dict[str, Any]:
    first, *rest = path
    inner = _with_table(data.get(first, {}), rest, values) if rest else values
    return {**data, first: inner}


def _loads(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _verified_toml(new: str, expected: dict[str, Any]) -> str:
    if _loads(new) != expected:
        raise EditRefused("the layout of this settings file is not supported; edit it by hand")
    return new


def _toml_newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
