"""Change single values of a JSON or TOML text, and leave every other character unchanged.

JSON may contain comments and trailing commas. New text adopts the file's indentation, its line
ends, and its use of trailing commas.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

from lessons_kb.errors import EditRefused, InputError
from lessons_kb.values import frozen

_SKIPPED = r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_TRIVIA = re.compile(_SKIPPED)
_TOKEN = re.compile(
    r'("(?:[^"\\]|\\.)*+"?|(?!//|/\*)(?:[\w.+-]++|[^\s"])|\A)'
    rf"({_SKIPPED})(,(?={_SKIPPED}[\]}}]))?({_SKIPPED})"
)
"""Matches a token with spaces and comments, a trailing comma, and spaces and comments."""
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*(?:[^*]|\*(?!/))*+\*/)')
"""Matches a string, or a comment as group 1."""
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
"""Constants that Python's parser accepts but JSON does not allow."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CLOSING = {"{": "}", "[": "]"}
_INDENT = re.compile(r"^([ \t]+)(?=[\"\]\[{}])", re.MULTILINE)

Path = Sequence[Any]
"""The keys of objects and the positions in arrays, from the outside in."""


@frozen
class _JsonPlace:
    """A member of an object or an element of an array. Its value is ``text[value:end]``."""

    key: str | int = ""
    start: int
    """The position of the key, or the position of the value for an element."""
    value: int
    end: int
    comma: int = -1
    """The position of the comma after it, or -1 if there is none."""


def read_data(text: str) -> Any:
    """Parse a text with one JSON value. Comments and trailing commas are allowed.

    The last value of a repeated key counts. Raises InputError, which names the line and the column.
    """
    try:
        return json.loads(_blank(text))
    except json.JSONDecodeError as error:
        message = error.msg[0].lower() + error.msg[1:]
        raise InputError(f"line {error.lineno}, column {error.colno}: {message}") from None
    except (ValueError, RecursionError):
        raise InputError("it is nested too deeply, or has too long a number") from None


@functools.lru_cache(maxsize=4)
def _blank(text: str) -> str:
    """Return plain JSON of the same length, with spaces for comments and trailing commas."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    def blank(match: re.Match[str]) -> str:
        word, skipped, comma, more = match.groups("")
        if word in _CONSTANTS:
            word = "?" * len(word)
        if comma and word not in ("", *"[{:,"):
            comma = " "
        return word + re.sub(r"[^\r\n]", " ", skipped) + comma + re.sub(r"[^\r\n]", " ", more)

    # Most files have no comments. Parsing is then faster than the regular expression, which matters
    # because agents store histories in their settings, so that these can have megabytes.
    try:
        json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return _TOKEN.sub(blank, text)
    return text


def _skip(text: str, at: int) -> int:
    """Return the next position outside of spaces and comments."""
    match = _TRIVIA.match(text, at)
    return match.end() if match else at


def _read_end(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at position ``at``, and its end."""
    return json.JSONDecoder().raw_decode(_blank(text), at)


def _list_parts(text: str, start: int) -> list[_JsonPlace]:
    """List the members or elements of the container at ``start``, or [] for any other value."""
    closing = _CLOSING.get(text[start])
    at = _skip(text, start + 1)
    parts: list[_JsonPlace] = []
    while closing and text[at] != closing:
        key = len(parts)
        value = at
        if closing == "}":
            key, end = _read_end(text, at)
            value = _skip(text, _skip(text, end) + 1)
        _, end = _read_end(text, value)
        behind = _skip(text, end)
        comma = behind if text[behind] == "," else -1
        parts.append(_JsonPlace(key=key, start=at, value=value, end=end, comma=comma))
        at = behind if comma < 0 else _skip(text, comma + 1)
    return parts


def _walk(text: str, path: Path) -> list[_JsonPlace]:
    """List the places along a path up to the first missing part, with the document first.

    If nothing is missing, the list therefore has one place more than the path has keys.
    """
    start = _skip(text, 0)
    trail = [_JsonPlace(start=start, value=start, end=_read_end(text, start)[1])]
    for key in path:
        matches = [part for part in _list_parts(text, trail[-1].value) if part.key == key]
        if not matches:
            break
        trail.append(matches[-1])
    return trail


def put_json(text: str, path: Path, value: Any) -> str:
    """Return the JSON text with ``value`` at ``path``. For a TOML text, see ``put_table``.

    ``path`` has at least one key. A string selects a member of an object, and a number selects an
    element of an array. The number after the last element appends an element. Missing objects and
    arrays are created. If an equal value of the same type is already there, the text is returned
    unchanged.

    Raises InputError if the text is not JSON, which may have comments and trailing commas, or if
    the path leads through another kind of value. Raises EditRefused if the edited text would not
    parse to the expected data.
    """
    data = read_data(text)
    places = _walk(text, path)
    # The key is the last of the path, or the first that is missing.
    *container_path, key = path[: len(places)]
    container: Any = get(data, container_path)
    if not isinstance(container, list if isinstance(key, int) else dict):
        expected = "a list" if isinstance(key, int) else "an object"
        name = ".".join(map(str, container_path)) or "the whole"
        raise InputError(f"{name} must be {expected}; correct it by hand")
    has_value = len(places) > len(path)
    if has_value:
        if container[key] == value and type(container[key]) is type(value):
            return text
        place = places[-1]
        indent = None if _is_flat(text, place) else _read_indent(text, place.value)
        written = _write(text, value, indent)
        new = text[: place.value] + written + text[place.end :]
    else:
        missing_containers = path[len(places) :]
        for inner_key in reversed(missing_containers):
            value = [value] if isinstance(inner_key, int) else {inner_key: value}
        new = _insert(text, places[-1], key, value)
    if isinstance(container, list) and key == len(container):
        container.append(value)
    else:
        container[key] = value
    return _verify(new, read_data(new) == data)


def take_json(text: str, path: Path) -> str:
    """Return the JSON text without the value at ``path``, or the same text if there is no value.

    Raises InputError and EditRefused in the same cases as ``put_json``.
    """
    data = read_data(text)
    places = _walk(text, path)
    if len(places) <= len(path):
        return text
    del get(data, path[:-1])[path[-1]]
    container, part = places[-2:]
    new = _remove(text, container, part)
    return _verify(new, read_data(new) == data)


def get(data: Any, path: Path) -> Any:
    """Return the value at ``path`` in parsed data, or None if there is none."""
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _verify(new: str, is_expected: bool) -> str:
    """Return the edited text. Raises EditRefused if it does not parse to the expected data."""
    if not is_expected:
        raise EditRefused("the layout of this settings file is not supported; edit it by hand")
    return new


def _insert(text: str, holder: _JsonPlace, key: str | int, value: Any) -> str:
    """Return the text with a new last member or element in a container."""
    parts = _list_parts(text, holder.value)
    close = holder.end - 1
    base = _read_indent(text, holder.value)
    line = _find_newline(text)
    end = len(text[:close].rstrip())  # after the last comment
    last = parts[-1] if parts else None
    name = "" if isinstance(key, int) else f"{json.dumps(key, ensure_ascii=False)}: "
    if last and _is_flat(text, holder):
        end = max(last.end, last.comma + 1)  # before comments at the end of the line
        new = f" {name}{_write(text, value, None)}"
    else:
        indent = _read_indent(text, last.start) if last else base + _find_unit(text)
        new = f"{line}{indent}{name}{_write(text, value, indent)}"
    if last is None:
        closes_on_own_line = text[end:close].strip(" \t") != ""  # it contains a line break
        rest = text[end:] if closes_on_own_line else line + base + text[close:]
        return text[:end] + new + rest
    if last.comma >= 0:
        return f"{text[:end]}{new},{text[end:]}"
    # The comma precedes comments after the last member.
    return f"{text[: last.end]},{text[last.end : end]}{new}{text[end:]}"


def _remove(text: str, holder: _JsonPlace, part: _JsonPlace) -> str:
    """Return the text without a part and its comma, and without its line if nothing else is there.

    Comments in the part stay, because somebody else wrote them.
    """
    parts = _list_parts(text, holder.value)
    number = parts.index(part)
    start = part.start
    end = max(part.end, part.comma + 1)
    line_start = len(text[:start].rstrip(" \t"))
    line_end = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
    before = text[line_start - 1]
    if before in "\r\n" and text[line_end : line_end + 1] in ("\n", "\r", ""):
        start = line_start - (2 if text[line_start - 2 : line_start] == "\r\n" else 1)
        end = line_end
    elif not number:
        end = line_end
    elif before == ",":
        start = line_start
    comments = list_comments(text[start:end])
    new = text[:start] + _write_comments(text, part.start, end, comments) + text[end:]
    comma = parts[number - 1].comma if number else -1
    if part.comma < 0 <= comma:
        new = new[:comma] + new[comma + 1 :]
    close = holder.end - 1 - (len(text) - len(new))
    if len(parts) == 1 and not new[holder.value + 1 : close].strip():
        new = new[: holder.value + 1] + new[close:]
    return new


def list_comments(text: str) -> list[str]:
    """Return the comments of a JSON text."""
    return [match[1] for match in _COMMENT.finditer(text) if match[1]]


def _write_comments(text: str, start: int, end: int, comments: Sequence[str]) -> str:
    """Return the text with comments, on lines of their own, in place of ``text[start:end]``."""
    if not comments:
        return ""
    line = _find_newline(text)
    indent = line + _read_indent(text, start)
    written = "".join(indent + comment for comment in comments)
    ends_line = text[end : end + 1] in ("\n", "\r", "")
    return written if ends_line else written + indent


def _write(text: str, value: Any, indent: str | None) -> str:
    """Return a value as JSON in the style of agents, on one line if ``indent`` is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    written = json.dumps(value, ensure_ascii=False, indent=_find_unit(text))
    return written.replace("\n", _find_newline(text) + indent)


def _is_flat(text: str, place: _JsonPlace) -> bool:
    """Return whether a container is on one line, or whether the value is not a container."""
    parts = _list_parts(text, place.value)
    if not parts:
        return text[place.value] not in _CLOSING
    return "\n" not in text[place.value : parts[-1].start]


def _find_newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _find_unit(text: str) -> str:
    """Return one level of the file's own indentation."""
    indents = [match[1] for match in _INDENT.finditer(text)] or ["  "]
    return "\t" if indents[0].startswith("\t") else min(indents, key=len)


def _read_indent(text: str, position: int) -> str:
    """Return the indentation of the line that contains a position."""
    line = re.split(r"[\r\n]", text[:position])[-1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def read_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text. Raises InputError, which names the line of the error."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(error)) from None


def put_table(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """Return the text with these values in the table at ``path``. Its other keys stay.

    A new table is written at the end. Raises InputError if ``path`` leads through another kind of
    value, and EditRefused if the edited text would not parse to the expected data.
    """
    import tomlkit

    expected = table = read_toml(text)
    for end, key in enumerate(path, 1):
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise InputError(f"{'.'.join(path[:end])} must be a table; correct it by hand")
    if all(table.get(key) == value for key, value in values.items()):
        return text
    is_new = not table
    line = _find_newline(text)
    table.update(values)
    if is_new:
        header = ".".join(tomlkit.key(key).as_string() for key in path)
        rows = [f"{key} = {tomlkit.item(value).as_string()}" for key, value in values.items()]
        before = text if not text or text.endswith(("\n", "\r")) else text + line
        gap = line if before.strip() else ""
        new = before + gap + line.join([f"[{header}]", *rows, ""])
        if _parses_to(new, expected):
            return new
    document = tomlkit.parse(text)  # the table's parent is an inline table, which has no header
    holder: Any = document
    for key in path:
        holder = holder.setdefault(key, tomlkit.inline_table())
    for key, value in values.items():
        if holder.get(key) != value:
            holder[key] = value
    new = tomlkit.dumps(document)
    if line == "\r\n":
        new = new.replace(line, "\n").replace("\n", line)
    return _verify(new, _parses_to(new, expected))


def put_block(text: str, block: str, begins: str, ends: str) -> str:
    """Return a TOML text with a block of lines at its end, which replaces an earlier block.

    Raises InputError if the text, or the text with the block, cannot be parsed.
    """
    if block in text:
        return text
    rest = take_block(text, begins, ends)
    read_toml(rest)  # raises InputError
    before = rest if not rest or rest.endswith("\n") else f"{rest}\n"
    gap = "\n" if before.strip() else ""
    new = f"{before}{gap}{block}"
    read_toml(new)  # raises InputError
    return new


def take_block(text: str, begins: str, ends: str) -> str:
    """Return a text without the lines from the first that begins with ``begins`` to ``ends``.

    The empty line above them is ours as well. Comments between them stay, because somebody else
    wrote them.
    """

    def list_comments_inside(match: re.Match[str]) -> str:
        inside = match[0].split(begins, 1)[1].splitlines(keepends=True)[1:-1]
        return "".join(line for line in inside if line.lstrip().startswith("#"))

    first = rf"{re.escape(begins)}[^\n]*\n"
    last = rf"{re.escape(ends)}(?:\r?\n|\Z)"
    pattern = rf"(?:^\r?\n)?^{first}(?:.*\n)*?{last}"
    return re.sub(pattern, list_comments_inside, text, count=1, flags=re.MULTILINE)


def take_table(text: str, path: Sequence[str], keys: Collection[str]) -> str:
    """Return the text without the table at ``path`` and its ``keys``. Every other byte stays.

    Other keys of the table become comments, because the entry would be broken without our keys.
    """
    expected = read_toml(text)
    if get(expected, path) is None:
        return text
    new = _take_statements(text, path, keys)
    del get(expected, path[:-1])[path[-1]]
    for end in range(len(path) - 1, -1, -1):
        if _parses_to(new, expected):
            return new
        if end and not get(expected, path[:end]):  # a parent without a header of its own
            del get(expected, path[: end - 1])[path[end - 1]]
    return _take_inline_table(text, path)


@frozen
class _Statement:
    """A header, a key with its value, a comment, or an empty line of a TOML text."""

    text: str
    path: tuple[str, ...] = ()
    """The table of a header, the table and the key of a value, or () for other statements."""
    is_header: bool = False


def _take_statements(text: str, path: Sequence[str], keys: Collection[str]) -> str:
    """Return the text without the statements of a table that has a header or dotted keys."""
    table = tuple(path)
    rest = list[str]()
    ours = {(*table, key) for key in keys} | {table}
    is_after_gap = False
    for statement in _split_statements(text):
        if statement.path in ours:
            if statement.is_header and is_after_gap:
                rest.pop()  # we also wrote the empty line above our table
            rest.append(_find_toml_comment(statement.text))
        elif statement.path[: len(table)] == table:
            rest.append(re.sub(r"^(?=[^\r\n])", "# ", statement.text, flags=re.MULTILINE))
        else:
            rest.append(statement.text)
        is_after_gap = not statement.text.strip()
    return "".join(rest)


def _split_statements(text: str) -> Iterator[_Statement]:
    """Yield the statements of a TOML text; a statement ends where its lines can be parsed.

    A blank line and a comment have the path (). Lines at the end that cannot be parsed are the last
    statement; it has the path (), too.
    """
    table: tuple[str, ...] = ()
    lines = ""
    for line in _LINE.findall(text):
        lines += line
        try:
            data = tomllib.loads(lines)
        except tomllib.TOMLDecodeError:
            continue
        is_header = lines.lstrip().startswith("[")
        keys = _find_keys(data)
        path: tuple[str, ...] = ()
        if is_header:
            table = path = keys
        elif keys:
            path = (*table, *keys)
        yield _Statement(text=lines, path=path, is_header=is_header)
        lines = ""
    if lines:
        yield _Statement(text=lines)


def _find_keys(data: Any) -> tuple[str, ...]:
    """Return the keys of a statement, from the outside in, given its data."""
    keys: list[str] = []
    while isinstance(data, dict) and len(data) == 1:
        ((key, data),) = data.items()
        keys.append(key)
        if data == [{}]:  # the header of an array of tables
            break
    return tuple(keys)


def _find_toml_comment(statement: str) -> str:
    """Return the comment at the end of a statement with its line end, or "" if there is none."""
    data = tomllib.loads(statement)
    for match in re.finditer("#", statement):
        if _parses_to(statement[: match.start()], data):
            return statement[match.start() :]
    return ""


def _take_inline_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at ``path``, which is a part of an inline table."""
    import tomlkit

    expected = read_toml(text)
    document = tomlkit.parse(text)
    for end in range(len(path), 0, -1):
        if end < len(path) and get(expected, path[:end]):
            break
        for tree in (document, expected):
            del get(tree, path[: end - 1])[path[end - 1]]
    new = tomlkit.dumps(document)
    return _verify(new, _parses_to(new, expected))


def _parses_to(text: str, expected: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        return False
