"""Read a header as YAML or, if that fails, with a lenient reader."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from lessons_kb.cards.keys import (
    KEY_FIRST,
    KEYS,
    HeaderEntry,
    Span,
    Split,
    Value,
    canonical,
    find,
    split_header,
)
from lessons_kb.cards.plain_header import is_plain_header
from lessons_kb.model import INVALID_HEADER, Finding
from lessons_kb.values import frozen, replace

_KEY = re.compile(r"( *)([\"']?)([^\W\d_][\w .-]{0,63}?)\2[ \t]*:(?=[ \t]|$)")
_ITEM = re.compile(r"([ \t]*)-(?=[ \t]|$)[ \t]*")
_BLOCK = re.compile(r"([|>])[+-]?[1-9]?[+-]?[ \t]*(?:#.*)?$")
_QUOTED = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')(?=[ \t]*$|[ \t]+#|[ \t]*[,\]])")
_COMMENT = re.compile(r"(?:^|[ \t]+)#(?:[ \t].*)?$")
_ANY_COMMENT = re.compile(r"(?:^|[ \t]+)#.*$")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
_FLOW_BLANK = re.compile(r"(?:[ \t,]|(?:^|(?<=[ \t]))#.*$)*")
_FLOW_PLAIN = re.compile(r"[^,\[\]{}\"'#&*!|>%@`][^,\[\]{}]*")
_FORMS_WITHOUT_HASH = ("choice", "count", "date")
_NULLS = ("", "~", "null", "Null", "NULL")


def read_lenient(lines: tuple[str, ...]) -> tuple[tuple[HeaderEntry, ...], tuple[int, ...]]:
    """Return the entries of a header, and the numbers, from 0, of the lines without a meaning."""
    keys = [_KEY.match(line) for line in lines]
    indent = next((len(key[1]) for key in keys if key), 0)
    entries: list[HeaderEntry] = []
    lost: list[int] = []
    end = 0
    for place, key in enumerate(keys):
        if place < end:
            continue
        if key and len(key[1]) == indent:
            end = _block_end(lines, place + 1, indent)
            entries.append(_read_entry(lines, place, end, key))
        elif not _is_blank(lines[place]):
            lost.append(place)
    return tuple(entries), tuple(lost)


def read_scalar(line: str, column: int, *, any_hash: bool = False) -> tuple[str | None, str, int]:
    """Return a scalar that begins at ``column``, its style letter and the column after it.

    The scalar is quoted text, plain text or None. A comment begins with a hash and a space, because
    texts contain references such as ``issue #12``. With ``any_hash``, for a value that contains no
    hash, any hash after a space begins a comment, as in YAML.
    """
    if quoted := _QUOTED.match(line, column):
        inside = quoted[0][1:-1]
        if quoted[0][0] == "'":
            return inside.replace("''", "'"), "'", quoted.end()
        return _ESCAPE.sub(_unescape, inside), '"', quoted.end()
    rest = line[column:]
    comment = (_ANY_COMMENT if any_hash else _COMMENT).search(rest)
    # A hash between backticks is code.
    if comment and rest.count("`", 0, comment.start()) % 2 == 0:
        rest = rest[: comment.start()]
    rest = rest.rstrip()
    return (None if rest in _NULLS else rest), "p", column + len(rest)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 1:
        return _ESCAPED.get(code, code)
    number = int(code[1:], 16)
    # Half of a surrogate pair is not a character.
    is_character = number <= sys.maxunicode and number not in range(0xD800, 0xE000)
    return chr(number) if is_character else match[0]


def _is_blank(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _block_end(lines: tuple[str, ...], start: int, indent: int) -> int:
    """Return the line after the last line of the key above ``start``."""
    end = start
    for next_number, line in enumerate(lines[start:], start + 1):
        if _is_blank(line):
            continue
        stripped = line.lstrip()
        item = _ITEM.match(line)
        is_deeper = len(line) - len(stripped) > indent
        if not is_deeper and not (item and len(item[1]) == indent) and stripped[0] not in "]}":
            break
        end = next_number
    return end


def _read_entry(lines: tuple[str, ...], line: int, end: int, key: re.Match[str]) -> HeaderEntry:
    def make(values: Sequence[Value], span: Span, shape: str = "scalar") -> HeaderEntry:
        return HeaderEntry(
            key=key[3],
            shape=shape,
            values=tuple(values),
            line=line,
            end=end,
            column=len(key[1]),
            span=span,
            flow=shape == "list" and lines[span[0]][span[1]] == "[",
        )

    def make_scalar(text: str | None, style: str, span: Span) -> HeaderEntry:
        return make([Value(text, style, span)], span)

    first = lines[line]
    begin = len(first) - len(first[key.end() :].lstrip())
    known = KEYS.get(canonical(key[3]))
    has_no_hash = known is not None and known.form in _FORMS_WITHOUT_HASH
    below = [at for at in range(line + 1, end) if not _is_blank(lines[at])]
    if first.startswith("[", begin) and (found := _read_flow_list(lines, line, begin, end)):
        return make(*found, "list")
    whole = (line, begin, end - 1, len(lines[end - 1].rstrip()))
    if block := _BLOCK.match(first, begin):
        text = ("\n" if block[1] == "|" else " ").join(lines[at].strip() for at in below)
        return make_scalar(text, block[1], whole)
    value, style, stop = read_scalar(first, begin, any_hash=has_no_hash)
    if not below:
        start = key.end() if value is None else begin
        return make_scalar(value, style, (line, start, line, start if value is None else stop))
    rest = [lines[at].strip() for at in below]
    if value is not None:
        return make_scalar(" ".join([first[begin:].strip(), *rest]), "p", whole)
    start = len(lines[below[0]]) - len(lines[below[0]].lstrip())
    if _ITEM.match(lines[below[0]]):
        items = _read_items(lines, below, start)
        return make(items, (below[0], start, *items[-1].span[2:]), "list")
    whole = (below[0], start, below[-1], len(lines[below[-1]].rstrip()))
    if all(_KEY.match(lines[at]) for at in below):  # more keys
        return make([Value(None, "n", whole)], whole, "nested")
    if len(below) == 1:
        value, style, stop = read_scalar(lines[below[0]], start, any_hash=has_no_hash)
        return make_scalar(value, style, (*whole[:3], stop))
    return make_scalar(" ".join(rest), "p", whole)


def _read_items(lines: tuple[str, ...], below: list[int], indent: int) -> list[Value]:
    """Read a list with one item per line. Deeper lines continue the item above them."""
    items: list[Value] = []
    for number in below:
        line = lines[number]
        item = _ITEM.match(line)
        if item and len(item[1]) <= indent:
            text, style, stop = read_scalar(line, item.end())
            items.append(Value(text, style, (number, item.end(), number, stop)))
        else:
            text, _style, span, *_ = items[-1]
            text = f"{text or ''} {line.strip()}".strip()
            items[-1] = Value(text, "p", (*span[:2], number, len(line.rstrip())))
    return items


def _read_flow_list(
    lines: tuple[str, ...], first: int, begin: int, end: int
) -> tuple[list[Value], Span] | None:
    """Read ``[a, "b"]``, on one or several lines. Return None if it is not such a list."""
    items: list[Value] = []
    column = begin + 1
    for number, line in enumerate(lines[first:end], first):
        while blank := _FLOW_BLANK.match(line, column):
            column = blank.end()
            if column >= len(line):
                break
            if line[column] == "]":
                is_end = not line[column + 1 :].split("#")[0].strip() and number + 1 == end
                return (items, (first, begin, number, column + 1)) if is_end else None
            item = _QUOTED.match(line, column) or _FLOW_PLAIN.match(line, column)
            if not item:
                return None
            text, style, _stop = read_scalar(item[0], 0)
            span = (number, column, number, column + len(item[0].rstrip()))
            items.append(Value(text, style, span))
            column = item.end()
        column = 0
    return None


MAX_DEPTH = 16
MAX_ALIASES = 32
_TOO_DEEP = "it is nested too deeply"
# Line breaks in YAML 1.1 that are not line ends here.
_ODD_BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}
_FLOW_BEGINS = re.compile(r"(?:^|[:?-][ \t])[ \t]*(?:[&!]\S*[ \t]+)*(?=[\[{])", re.MULTILINE)
"""Matches up to an opening bracket where a value begins, and ends before the bracket."""
_FLOW_TOKEN = re.compile(
    r"""[\[\]{}] | "(?:[^"\\]|\\.)*" | '(?:[^']|'')*' | \#.* |
    [^\s,\[\]{}"'#](?:(?!:[\s,\[\]{}]|\s\#)[^,\[\]{}])*""",
    re.VERBOSE,
)
"""A bracket, a quoted text, a comment or a plain text within brackets."""
_DASHES = re.compile(rf"^ *(?:- +){{{MAX_DEPTH + 1}}}", re.MULTILINE)
"""A line that opens more than MAX_DEPTH nested lists."""


class NotYamlError(Exception):
    """YAML cannot read the header as keys and values. ``line`` counts from 0."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


class RefusedError(NotYamlError):
    """The header exceeds a limit that protects its reader."""


def read_yaml(lines: tuple[str, ...]) -> tuple[HeaderEntry, ...]:
    """Return the entries of a header in the order of the file, duplicates included.

    Raises NotYamlError, and RefusedError if MAX_DEPTH or MAX_ALIASES is exceeded.
    """
    from frontmatter.default_handlers import YAMLHandler
    from yaml import YAMLError

    text = "\n".join(lines)
    if not text.isascii():
        text = text.translate(_ODD_BREAKS)
    try:
        return _Tree(lines, YAMLHandler().load(text, Loader=_loader())).read()
    except YAMLError as error:
        if (line := _find_too_deep(text)) is not None:
            raise RefusedError(_TOO_DEEP, line) from None
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise NotYamlError(problem, mark.line if mark else 0) from None
    except UnicodeError:
        raise NotYamlError("it contains characters that are not valid Unicode") from None


def _find_too_deep(text: str) -> int | None:
    """Return the number, from 0, of the first line that is nested deeper than MAX_DEPTH.

    Lines with too many dashes are searched first, then those in which the depth of open brackets
    exceeds the limit. The result is None if there is neither. A parser may refuse a line of
    brackets before it returns an event of it: its own limit differs between versions.
    """
    dashes = _DASHES.search(text)
    if dashes:
        return text.count("\n", 0, dashes.start())
    depth = place = 0
    while begin := _FLOW_BEGINS.search(text, place):
        for token in _FLOW_TOKEN.finditer(text, begin.end()):
            place = token.end()
            if token[0] in ("[", "{"):
                depth += 1
            elif token[0] in ("]", "}"):
                depth -= 1
            if depth > MAX_DEPTH:
                return text.count("\n", 0, place)
            if not depth:
                break
        else:  # a bracket stays open; the parser reports it
            break
    return None


@cache
def _loader() -> type[Any]:
    import yaml

    # Every wheel includes the C parser. A build from source may lack it.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Parses a text and constructs no objects."""

        def get_single_data(self) -> list[Any]:
            """Return the events of a text. An error that ends them is the last item."""
            events: list[Any] = []
            try:
                while self.check_event():
                    events.append(self.get_event())
            except yaml.YAMLError as error:
                events.append(error)
            return events

    return Loader


class _Tree:
    """The values of a header, built from the events of a parser."""

    def __init__(self, lines: tuple[str, ...], events: list[Any]) -> None:
        self._lines = lines
        self._events = iter(events)
        self._anchors: dict[str | None, Value | None] = {}
        self._aliases = 0

    def _next(self) -> tuple[Any, str]:
        event = next(self._events)
        if isinstance(event, Exception):
            raise event
        return event, type(event).__name__

    def read(self) -> tuple[HeaderEntry, ...]:
        self._next()  # the start of the stream
        if self._next()[1] == "StreamEndEvent":
            return ()
        root, kind = self._next()
        if kind != "MappingStartEvent":
            self._read(root, kind)  # raises the error of a value that is not YAML
            self._end_document()
            raise NotYamlError("it does not consist of `key: value` lines")
        entries = []
        while (key := self._next())[1] != "MappingEndEvent":
            entries.append(self._entry(*key))
        self._end_document()
        return tuple(entries)

    def _end_document(self) -> None:
        self._next()  # the end of the document
        event, kind = self._next()
        if kind != "StreamEndEvent":
            raise NotYamlError("a second document starts", event.start_mark.line)

    def _entry(self, key: Any, kind: str) -> HeaderEntry:
        """Return a key of the header with its value."""
        line, column = key.start_mark.line, key.start_mark.column
        if kind != "ScalarEvent":
            raise NotYamlError("a key is not plain text", line)
        self._read(key, kind)
        event, kind = self._next()
        value = self._read(event, kind)
        span, items = value.span, value.items
        if span[3] == 0 and span[2] > span[0]:  # a block scalar includes the empty lines below it
            last = span[2] - 1
            while last > span[0] and not self._lines[last].strip():
                last -= 1
            span = (*span[:2], last, len(self._lines[last].rstrip()))
            value = value._replace(span=span)
            if items:
                items = (*items[:-1], items[-1]._replace(span=(*items[-1].span[:2], *span[2:])))
        shape = "list" if items is not None else "nested" if value.style in "mn" else "scalar"
        if shape == "nested":
            value = value._replace(text=None, style="n")
        return HeaderEntry(
            key=key.value,
            shape=shape,
            values=(value,) if items is None else items,
            line=line,
            end=span[2] + 1,
            column=column,
            span=span,
            flow=kind.endswith("StartEvent") and bool(event.flow_style),
            is_alias=kind == "AliasEvent" and items is not None,
        )

    def _read(self, event: Any, kind: str, depth: int = 0) -> Value:
        """Return a value. A nested value includes its content."""
        line, column = event.start_mark.line, event.start_mark.column
        span = (line, column, event.end_mark.line, event.end_mark.column)
        anchor = event.anchor
        if kind == "AliasEvent":
            if anchor not in self._anchors:
                raise NotYamlError(f"nothing is named &{anchor}", line)
            self._aliases += 1
            if self._aliases > MAX_ALIASES:
                raise RefusedError(f"more than {MAX_ALIASES} YAML aliases", line)
            return _name_again(self._anchors[anchor], span)
        if anchor and anchor in self._anchors:
            raise NotYamlError("second occurrence", line)
        if kind == "ScalarEvent":
            style = event.style or "p"  # the pure Python parser returns None for a plain scalar
            text = None if style == "p" and event.value in _NULLS else event.value
            self._anchors[anchor] = value = Value(text, style, span)
            return value
        self._anchors[anchor] = None
        if depth > MAX_DEPTH:
            raise RefusedError(_TOO_DEEP, line)
        items: list[Value] = []
        while not (child := self._next())[1].endswith("EndEvent"):
            items.append(self._read(*child, depth + 1))
        mark = child[0].end_mark
        # A block ends where the next token begins, brackets where they close.
        last = items[-1].span[2:] if items and not event.flow_style else (mark.line, mark.column)
        span = (line, column, *last)
        if kind == "SequenceStartEvent":
            value = Value(None, "n", span, items=tuple(items))
            self._anchors[anchor] = value
            return value
        pairs = zip(items[::2], items[1::2], strict=True)
        holds = tuple([(key.text or "", _held(value)) for key, value in pairs])
        if event.flow_style or (last[0] != line and not _is_wrapped_text(items)):
            return Value(None, "n", span, holds)
        first = read_scalar(self._lines[line], column)[0]
        below = [text.strip() for text in self._lines[line + 1 : last[0] + 1]]
        rest = [read_scalar(text, 0)[0] for text in below]
        return Value(" ".join(filter(None, (first, *rest))), "m", span, holds)


def _is_wrapped_text(items: Sequence[Value]) -> bool:
    """Return whether the keys and values of a mapping are one plain text over several lines."""
    return len(items) == 2 and all(item.style == "p" for item in items)  # noqa: PLR2004


def _name_again(named: Value | None, span: Span) -> Value:
    """Return the value of an alias. None is a value that cannot be named, or not yet."""
    if named is None:
        return Value(None, "n", span)
    if named.items is None:
        return Value(named.text, "a", span)
    items = tuple(
        item._replace(style="n" if item.style == "n" else "a", span=span) for item in named.items
    )
    return Value(None, "n", span, items=items)


def _held(value: Value) -> str | tuple[str, ...] | None:
    """Return the content of a key of a nested mapping: a text, a list of texts, or None."""
    if value.items is not None:
        return tuple(item.text or "" for item in value.items if item.style not in "mn")
    return None if value.style in "mn" else value.text


@frozen
class HeaderReading:
    """The content of a header."""

    entries: tuple[HeaderEntry, ...] = ()
    reader: str = "yaml"
    """``yaml``, ``lenient``, or ``none`` if the header cannot be used at all."""
    problems: tuple[Finding, ...] = ()


def read_header(split: Split) -> HeaderReading:
    """Read the header of a file. A file without a header has an empty header.

    ``reader`` is ``none`` for a header that is unclosed, too large or built to exhaust a reader,
    and for a header without any ``key: value``. The only problem is then the reason.
    """
    if split.problem == "unclosed":
        message = "the header that starts with --- is not closed"
        fix = "close it with a line that contains only ---"
        return _useless(0, "unclosed-header", message, fix)
    if split.problem in _FENCES:
        return _useless(0, f"{split.problem}-header", *_FENCES[split.problem])
    if split.problem:
        message = "the header is longer than 64,000 characters"
        return _useless(0, "header-too-large", message, "move its text below the closing ---")
    if split.header is None:
        return HeaderReading()
    if is_plain_header(split.header.lines):
        return HeaderReading(entries=read_lenient(split.header.lines)[0])
    try:
        return HeaderReading(entries=read_yaml(split.header.lines))
    except RefusedError as refused:
        message = f"the header is not accepted: {refused}"
        fix = "write plain `key: value` lines and lists, without anchors"
        return _useless(refused.line, "header-refused", message, fix)
    except NotYamlError as not_yaml:
        error = not_yaml
    entries, lost = read_leniently(split.header.lines)
    known = any(canonical(entry.key) in KEYS for entry in entries)
    if not entries or (lost and not known) or len(lost) > len(entries):
        inside = "\n".join((*split.header.lines, ""))
        has_keys = not inside.strip() or KEY_FIRST.match(inside)
        what = "the header is not YAML" if has_keys else "the header has no keys"
        fix = "write `key: value` lines between the two --- lines, or remove the header"
        line = lost[0] if lost else error.line
        return _useless(line, "unreadable-header", f"{what}: {error}", fix)
    line = min(error.line, max(len(split.header.lines) - 1, 0))
    message = f"the header is not valid YAML ({error}); its plain keys and lists are used"
    problem = find(line, INVALID_HEADER, message, "put the value in double quotes")
    return HeaderReading(entries=entries, reader="lenient", problems=(problem,))


_FENCES = {
    "toml": (
        "the header is TOML (+++), which is not read",
        "write it as `key: value` lines between two lines that contain only ---",
    ),
    "dashes": (
        "the header stands between more than three dashes, so it is read as text",
        "make its first and its last line ---",
    ),
}
"""Maps a problem of the parts of a file to a message and a fix."""


def _useless(line: int, rule: str, message: str, fix: str) -> HeaderReading:
    return HeaderReading(reader="none", problems=(find(line, rule, message, fix, "error"),))


def read_leniently(lines: tuple[str, ...]) -> tuple[tuple[HeaderEntry, ...], tuple[int, ...]]:
    """Return the result of ``read_lenient``, with patterns read as YAML reads their own lines."""
    entries, lost = read_lenient(lines)
    found = []
    for entry in entries:
        key = KEYS.get(canonical(entry.key))
        own = entry
        if key is not None and key.form == "patterns":
            above = ("",) * entry.line
            with suppress(NotYamlError, ValueError):
                (own,) = read_yaml((*above, *lines[entry.line : entry.end]))
                own = replace(own, end=entry.end)
        found.append(own)
    return tuple(found), lost


ORIGIN_KEY = "imported-from"
"""The key of a header for the origin of a card, or of a count on it."""


def read_origins(text: str) -> tuple[str, ...]:
    """Return the origins in the header of a card, in the form ``system:source#digest``."""
    for entry in read_header(split_header(text)).entries:
        if canonical(entry.key) == ORIGIN_KEY:
            return tuple(item for item in entry.texts if item)
    return ()


def read_sources(text: str) -> frozenset[str]:
    """Return the names of the files from which a card was imported, without their folders."""
    return frozenset(
        origin.partition(":")[2].rpartition("#")[0] for origin in read_origins(text)
    ) - {""}
