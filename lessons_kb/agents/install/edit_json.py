"""Change single values of a JSON text and leave every other character as it is.

New text takes over the file's indentation, line ends and habit of trailing commas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lessons_kb.agents.install.parse_jsonc import Node, Part, find_comments, parse, read_data
from lessons_kb.errors import EditRefused, InputError

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
