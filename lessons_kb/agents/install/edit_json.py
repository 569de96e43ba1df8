"""Change single values of a JSON or TOML text and leave every other character as it is.

JSON may hold comments and trailing commas. New text takes over the file's indentation, line ends
and habit of trailing commas.
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
_INDENT = re.compile(r"^([ \t]+)(?=[\"\]\[{}])", re.MULTILINE)
_SPACE = " \t\r\n"

Path = Sequence[str | int]


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

    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return parse(text).data


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


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, position: int, what: str) -> NoReturn:
        *lines, last = re.split(r"\r\n|\r|\n", self.text[:position])
        raise InputError(f"line {len(lines) + 1}, column {len(last) + 1}: {what}")

    def skip(self, position: int) -> int:
        """Return the next position that is neither space nor comment."""
        match = _TRIVIA.match(self.text, position)
        position = match.end() if match else position
        if self.text.startswith("/*", position):
            self.fail(position, "this comment is not closed")
        return position

    def value(self, start: int, depth: int) -> Node:
        opening = self.text[start : start + 1]
        if depth > MAX_DEPTH:
            self.fail(start, "nested too deeply")
        if opening not in _CLOSING:
            return self.single(start)
        closing, parts, at = _CLOSING[opening], list[Part](), self.skip(start + 1)
        while not self.text.startswith(closing, at):
            if parts and parts[-1].comma < 0:
                self.fail(at, f"a comma or {closing!r} is expected")
            begin, key = at, len(parts)
            if opening == "{":
                if not self.text.startswith('"', at):
                    self.fail(at, 'a key in "…" is expected')
                name = self.single(at)
                key, at = name.data, self.skip(name.end)
                if not self.text.startswith(":", at):
                    self.fail(at, "a colon is expected")
                at = self.skip(at + 1)
            node = self.value(at, depth + 1)
            at = self.skip(node.end)
            comma = at if self.text.startswith(",", at) else -1
            parts.append(Part(key=key, start=begin, node=node, comma=comma))
            at = at if comma < 0 else self.skip(comma + 1)
        keyed = {part.key: part.node.data for part in parts}
        data = keyed if opening == "{" else [part.node.data for part in parts]
        return Node(start=start, end=at + 1, data=data, parts=tuple(parts))

    def single(self, start: int) -> Node:
        first = self.text[start : start + 1]
        if not first:
            self.fail(start, "the file ends too early")
        match = (_STRING if first == '"' else _ATOM).match(self.text, start)
        if not match:
            not_closed = "this string is not closed on its line"
            self.fail(start, not_closed if first == '"' else f"a value is expected, not {first!r}")
        word = match[0]
        if word in _WORDS:
            data = _WORDS[word]
        elif word[0].isalpha() or word[0] == "_":
            self.fail(start, f"a value is expected, not {word!r}")
        else:
            try:
                data = json.loads(word)
            except ValueError:
                self.fail(start, "this string has an invalid escape")
        return Node(start=start, end=match.end(), data=data)


def put(text: str, path: Path, value: Any) -> str:
    """Return the text with ``value`` at ``path``; what is missing on the way is made.

    Keys lead through objects, numbers through arrays; a number one beyond the last appends.
    A value that is there already stays as it is written. Raises InputError where the way leads
    through something else, EditRefused when the result would not be what was meant.
    """
    node, deep = parse(text), list(path)
    while deep and (part := _part(node, deep[0])) is not None:
        node = part.node
        deep.pop(0)
    if deep:
        _check_container(node, deep[0], path)
        for key in reversed(deep[1:]):
            value = [value] if isinstance(key, int) else {key: value}
        path = path[: len(path) - len(deep) + 1]
        kept = [text]
        new = _inserted(text, node, deep[0], value)
    elif node.data == value and type(node.data) is type(value):
        return text
    else:
        kept = [text[: node.start], text[node.end :]]
        new = _written(text, value, _line_indent(text, node.start), flat=_is_flat(text, node))
        new = kept[0] + new + kept[1]
    expected = value
    if path:
        expected = json.loads(json.dumps(read_data(text)))
        holder = get(expected, path[:-1])
        if isinstance(holder, list) and path[-1] == len(holder):
            holder.append(value)
        else:
            holder[path[-1]] = value
    comments = [comment for part in kept for comment in find_comments(part)]
    return _verified(new, read_data(new) == expected and all(one in new for one in comments))


def take(text: str, path: Path) -> str:
    """Return the text without what stands at ``path``; unchanged when nothing does."""
    node = parent = parse(text)
    part = None
    for key in path:
        if (part := _part(node, key)) is None:
            return text
        parent, node = node, part.node
    if part is None:
        return text
    expected = json.loads(json.dumps(read_data(text)))
    del get(expected, path[:-1])[path[-1]]
    new = _removed(text, parent, part)
    return _verified(new, read_data(new) == expected)


def get(data: Any, path: Path) -> Any:
    """Return what stands at ``path`` in parsed data, None when nothing does."""
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _verified(new: str, is_meant: bool) -> str:
    if not is_meant:
        raise EditRefused("the layout of this settings file is not supported; edit it by hand")
    return new


def _part(node: Node, key: str | int) -> Part | None:
    fitting = [part for part in node.parts if part.key == key and type(part.key) is type(key)]
    return fitting[-1] if fitting else None


def _check_container(node: Node, key: str | int, path: Path) -> None:
    if not isinstance(node.data, list if isinstance(key, int) else dict):
        done = ".".join(str(one) for one in path[: list(path).index(key)]) or "the whole"
        what = "a list" if isinstance(key, int) else "an object"
        raise InputError(f"{done} must be {what}; correct it by hand")
    if isinstance(key, int) and key != len(node.parts):
        raise InputError(f"index {key} is outside a list of {len(node.parts)}")


def _inserted(text: str, node: Node, key: str | int, value: Any) -> str:
    """Return the text with a new last part of a container."""
    last = node.parts[-1] if node.parts else None
    base, line, tight = _line_indent(text, node.start), _newline(text), _is_tight(text)
    name = "" if isinstance(key, int) else json.dumps(key, ensure_ascii=False)
    if last is not None and _is_flat(text, node):
        space, colon = ("", ":") if tight else (" ", ": ")
        new = f"{name}{colon if name else ''}{_written(text, value, '', flat=True)}"
        if last.comma >= 0:
            at = last.comma + 1
            return f"{text[:at]}{space}{new},{text[at:]}"
        return f"{text[: last.node.end]},{space}{new}{text[last.node.end :]}"
    inner = base + _unit(text) if last is None else _line_indent(text, last.start)
    new = f"{line}{inner}{name}{': ' if name else ''}{_written(text, value, inner, flat=False)}"
    close = node.end - 1
    end = len(text[:close].rstrip(_SPACE))
    if last is None:  # nothing but comments
        is_open = "\n" in text[end:close] or "\r" in text[end:close]
        return text[:end] + new + (text[end:] if is_open else line + base + text[close:])
    if last.comma >= 0:
        return f"{text[:end]}{new},{text[end:]}"
    return f"{text[: last.node.end]},{text[last.node.end : end]}{new}{text[end:]}"


def _removed(text: str, parent: Node, part: Part) -> str:
    """Return the text without a part, its line if it has one of its own, and its comma."""
    number = parent.parts.index(part)
    start = part.start
    end = part.node.end if part.comma < 0 else part.comma + 1
    line_start = len(text[:start].rstrip(" \t"))
    line_end = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    before = text[line_start - 1 : line_start]
    if before in ("\n", "\r") and text[line_end : line_end + 1] in ("\n", "\r", ""):
        start = line_start - (2 if text[line_start - 2 : line_start] == "\r\n" else 1)
        end = line_end
    elif number:
        start = line_start if before == "," else start
    else:
        end = line_end
    new = text[:start] + text[end:]
    comma = parent.parts[number - 1].comma if number else -1
    if part.comma < 0 <= comma:
        new = new[:comma] + new[comma + 1 :]
    close = parent.end - 1 - (len(text) - len(new))
    if len(parent.parts) == 1 and not new[parent.start + 1 : close].strip():
        new = new[: parent.start + 1] + new[close:]
    return new


def _written(text: str, value: Any, indent: str, *, flat: bool) -> str:
    if flat:
        tight = (",", ":") if _is_tight(text) else None
        return json.dumps(value, ensure_ascii=False, separators=tight)
    return (_newline(text) + indent).join(_lines(value, _unit(text)))


def _lines(value: Any, unit: str) -> list[str]:
    """Write a value as an editor would: a list of single values stays on its line."""
    if isinstance(value, dict) and value:
        opening, closing = "{}"
        parts = [(f"{json.dumps(key, ensure_ascii=False)}: ", one) for key, one in value.items()]
    elif isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value):
        opening, closing = "[]"
        parts = [("", one) for one in value]
    else:
        return [json.dumps(value, ensure_ascii=False)]
    lines = [opening]
    for name, one in parts:
        first, *rest = _lines(one, unit)
        lines += [f"{unit}{name}{first}", *(unit + line for line in rest)]
        lines[-1] += ","
    lines[-1] = lines[-1].removesuffix(",")
    return [*lines, closing]


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
    indents = [match[1] for match in _INDENT.finditer(text)] or ["  "]
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
    import tomlkit

    data = read_toml(text)
    for end in (len(path) - 1, len(path)):
        if not isinstance(get(data, path[:end]) or {}, dict):
            raise InputError(f"{'.'.join(path[:end])} must be a table; correct it by hand")
    table = get(data, path)
    if table is not None and all(table.get(key) == value for key, value in values.items()):
        return text
    expected = _with_table(data, path, {**(table or {}), **values})
    line = _newline(text)
    if table is None:
        header = ".".join(tomlkit.key(key).as_string() for key in path)
        rows = [f"{key} = {tomlkit.item(value).as_string()}" for key, value in values.items()]
        before = text if not text or text.endswith(("\n", "\r")) else text + line
        gap = line if before.strip() else ""
        new = before + gap + line.join([f"[{header}]", *rows, ""])
        if _loads(new) == expected:
            return new
    document = tomlkit.parse(text)  # an inline table takes no header
    holder: Any = document
    for key in path:
        if key not in holder:
            holder[key] = tomlkit.inline_table()
        holder = holder[key]
    for key, value in values.items():
        if holder.get(key) != value:
            holder[key] = value
    new = tomlkit.dumps(document)
    if line == "\r\n":
        new = new.replace(line, "\n").replace("\n", line)
    return _verified(new, _loads(new) == expected)


def take_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at ``path``, and without what it leaves empty."""
    import tomlkit

    expected = read_toml(text)
    if get(expected, path) is None:
        return text
    document = tomlkit.parse(text)
    for end in range(len(path), 0, -1):
        if end < len(path) and get(expected, path[:end]):
            break
        for tree in (document, expected):
            del get(tree, path[: end - 1])[path[end - 1]]
    new = tomlkit.dumps(document)
    if text.startswith(new.rstrip("\r\n")) and new.endswith(("\n\n", "\n\r\n")):
        # The empty line that parted our table from what stands above it was ours.
        new = new[: -2 if new.endswith("\r\n") else -1]
    return _verified(new, _loads(new) == expected)


def _with_table(
    data: dict[str, Any], path: Sequence[str], values: dict[str, Any]
) -> dict[str, Any]:
    first, *rest = path
    return {**data, first: _with_table(data.get(first, {}), rest, values) if rest else values}


def _loads(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
