"""A header read by whichever reader can: YAML, else the lenient one, else none."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from lessons_kb.cards.keys import (
    KEYS,
    HeaderEntry,
    NestedMapping,
    Problem,
    Span,
    Split,
    canonical,
    looks_like_keys,
    split_header,
)

Text = tuple[str | None, str, int]
"""What a scalar says, its style letter, the column after it."""


_KEY = re.compile(r"( *)([\"']?)([^\W\d_][\w .-]{0,63}?)\2[ \t]*:(?=[ \t]|$)")
_ITEM = re.compile(r"([ \t]*)-(?=[ \t]|$)[ \t]*")
_BLOCK = re.compile(r"([|>])[+-]?[1-9]?[+-]?[ \t]*(?:#.*)?$")
_QUOTED = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')(?=[ \t]*$|[ \t]+#|[ \t]*[,\]])")
_COMMENT = re.compile(r"(?:^|[ \t]+)#(?:[ \t].*)?$")
_ANY_COMMENT = re.compile(r"(?:^|[ \t]+)#.*$")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_FLOW_BLANK = re.compile(r"(?:[ \t,]|(?:^|(?<=[ \t]))#.*$)+")
_FLOW_PLAIN = re.compile(r"[^,\[\]{}\"'#&*!|>%@`][^,\[\]{}]*")
_BARE_FORMS = ("choice", "count", "date")
_NULLS = ("", "~", "null", "Null", "NULL")


def read_lenient(lines: tuple[str, ...]) -> tuple[tuple[HeaderEntry, ...], tuple[int, ...]]:
    """Return the entries of a header and the numbers, from 0, of the lines that say nothing."""
    first = next((found for line in lines if (found := _KEY.match(line))), None)
    indent = len(first[1]) if first else 0
    entries: list[HeaderEntry] = []
    lost: list[int] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        key = _KEY.match(line)
        if key and len(key[1]) == indent:
            end = _block_end(lines, place + 1, indent)
            entries.append(_entry(lines, place, end, key))
            place = end
            continue
        if line.strip() and not line.lstrip().startswith("#"):
            lost.append(place)
        place += 1
    return tuple(entries), tuple(lost)


def read_scalar(line: str, column: int, *, bare: bool = False) -> Text:
    """Return what stands in a line from ``column`` on: quoted text, plain text or nothing.

    A comment begins with a hash and a space, for texts tell of ``issue #12``; behind a ``bare``
    value, which holds no hash, with any hash that a space precedes, as in YAML.
    """
    if quoted := _QUOTED.match(line, column):
        inside = quoted[0][1:-1]
        if quoted[0][0] == "'":
            return inside.replace("''", "'"), "'", quoted.end()
        return _ESCAPE.sub(_unescaped, inside), '"', quoted.end()
    rest = line[column:]
    comment = (_ANY_COMMENT if bare else _COMMENT).search(rest)
    # A hash between backticks is code.
    if comment and rest.count("`", 0, comment.start()) % 2 == 0:
        rest = rest[: comment.start()]
    rest = rest.rstrip()
    return (None if rest in _NULLS else rest), "p", column + len(rest)


def _block_end(lines: tuple[str, ...], start: int, indent: int) -> int:
    """Return the line after the last one that belongs to the key above ``start``."""
    end = start
    for place in range(start, len(lines)):
        line = lines[place]
        stripped = line.lstrip()
        if not stripped or stripped.startswith("#"):
            continue
        item = _ITEM.match(line)
        is_deeper = len(line) - len(stripped) > indent
        if not is_deeper and not (item and len(item[1]) == indent) and stripped[0] not in "]}":
            break
        end = place + 1
    return end


def _entry(lines: tuple[str, ...], line: int, end: int, key: re.Match[str]) -> HeaderEntry:
    first = lines[line]
    begin = len(first) - len(first[key.end() :].lstrip())
    empty = (line, key.end(), line, key.end())
    entry = HeaderEntry(
        key=key[3],
        shape="scalar",
        texts=(None,),
        spans=(empty,),
        styles="p",
        line=line,
        end=end,
        column=len(key[1]),
        span=empty,
    )
    known = KEYS.get(canonical(key[3]))
    is_bare = known is not None and known.form in _BARE_FORMS
    below = [at for at in range(line + 1, end) if lines[at].strip()]
    below = [at for at in below if not lines[at].lstrip().startswith("#")]
    if first.startswith("[", begin) and (made := _flow_list(lines, begin, entry)):
        return made
    whole = (line, begin, end - 1, len(lines[end - 1].rstrip()))
    if block := _BLOCK.match(first, begin):
        text = ("\n" if block[1] == "|" else " ").join(lines[at].strip() for at in below)
        return _with(entry, [(text, block[1], whole)], whole)
    value, style, stop = read_scalar(first, begin, bare=is_bare)
    if not below:
        own = (line, begin, line, stop)
        return entry if value is None else _with(entry, [(value, style, own)], own)
    if value is not None:
        text = " ".join([first[begin:].strip(), *(lines[at].strip() for at in below)])
        return _with(entry, [(text, "p", whole)], whole)
    if _ITEM.match(lines[below[0]]):
        return _list(lines, below, entry)
    start = len(lines[below[0]]) - len(lines[below[0]].lstrip())
    whole = (below[0], start, below[-1], len(lines[below[-1]].rstrip()))
    if all(_KEY.match(lines[at]) for at in below):  # more keys
        return _with(entry, [(None, "n", whole)], whole, shape="nested")
    if len(below) == 1:
        value, style, stop = read_scalar(lines[below[0]], start, bare=is_bare)
        whole = (*whole[:3], stop)
        return _with(entry, [(value, style, whole)], whole)
    text = " ".join(lines[at].strip() for at in below)
    return _with(entry, [(text, "p", whole)], whole)


_Item = tuple[str | None, str, Span]
"""Text, style letter and place."""


def _with(
    entry: HeaderEntry,
    items: Sequence[_Item],
    span: Span,
    *,
    shape: str = "scalar",
    flow: bool = False,
) -> HeaderEntry:
    """Return an entry with these texts as its value."""
    return replace(
        entry,
        shape=shape,
        texts=tuple(text for text, _style, _span in items),
        styles="".join(style for _text, style, _span in items),
        spans=tuple(span for _text, _style, span in items),
        span=span,
        flow=flow,
    )


def _list(lines: tuple[str, ...], below: list[int], entry: HeaderEntry) -> HeaderEntry:
    """Read a list of one item a line; deeper lines continue the item above them."""
    indent = len(lines[below[0]]) - len(lines[below[0]].lstrip(" \t"))
    items: list[_Item] = []
    for at in below:
        item = _ITEM.match(lines[at])
        if item and len(item[1]) <= indent:
            text, style, stop = read_scalar(lines[at], item.end())
            items.append((text, style, (at, item.end(), at, stop)))
        else:
            text, _style, span = items[-1]
            text = f"{text or ''} {lines[at].strip()}".strip()
            items[-1] = (text, "p", (*span[:2], at, len(lines[at].rstrip())))
    return _with(entry, items, (below[0], indent, *items[-1][2][2:]), shape="list")


def _flow_list(lines: tuple[str, ...], begin: int, entry: HeaderEntry) -> HeaderEntry | None:
    """Read ``[a, "b"]``, also over several lines; None if it is not such a list after all."""
    items: list[_Item] = []
    line, column = entry.line, begin + 1
    while line < entry.end:
        blank = _FLOW_BLANK.match(lines[line], column)
        column = blank.end() if blank else column
        if column >= len(lines[line]):
            line, column = line + 1, 0
            continue
        if lines[line][column] == "]":
            if lines[line][column + 1 :].split("#")[0].strip() or line + 1 != entry.end:
                return None
            span = (entry.line, begin, line, column + 1)
            return _with(entry, items, span, shape="list", flow=True)
        item = _QUOTED.match(lines[line], column) or _FLOW_PLAIN.match(lines[line], column)
        if not item:
            return None
        text, style, _stop = read_scalar(item[0], 0)
        items.append((text, style, (line, column, line, column + len(item[0].rstrip()))))
        column = item.end()
    return None


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        number = int(code[1:], 16)
        # Half of a surrogate pair is no character.
        usable = number <= sys.maxunicode and number not in range(0xD800, 0xE000)
        return chr(number) if usable else match[0]
    return _ESCAPED.get(code, code)


MAX_DEPTH = 16
MAX_ALIASES = 32
_TOO_DEEP = "it is nested too deeply"
# YAML 1.1 ends a line at these, we do not.
_ODD_BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}
_FLOW_BEGINS = re.compile(r"(?:^|[:?-][ \t])[ \t]*(?:[&!]\S*[ \t]+)*(?=[\[{])", re.MULTILINE)
_FLOW_TOKEN = re.compile(
    r"""[\[\]{}] | "(?:[^"\\]|\\.)*" | '(?:[^']|'')*' | \#.* |
    [^\s,\[\]{}"'#](?:(?!:[\s,\[\]{}]|\s\#)[^,\[\]{}])*""",
    re.VERBOSE,
)
_DASHES = re.compile(rf"^ *(?:- +){{{MAX_DEPTH + 1}}}", re.MULTILINE)
_ALIAS = re.compile(r"(?<![^\s,\[{:])\*[^\s,\[\]{}]+")


class NotYamlError(Exception):
    """YAML cannot read the header as keys and values; ``line`` counts from 0."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


class RefusedError(NotYamlError):
    """The header is built to exhaust its reader."""


def read_yaml(lines: tuple[str, ...]) -> tuple[HeaderEntry, ...]:
    """Return the entries of a header in the order of the file, duplicates included.

    Raises NotYamlError, and RefusedError where MAX_DEPTH or MAX_ALIASES is passed.
    """
    from frontmatter.default_handlers import YAMLHandler
    from yaml import YAMLError

    text = "\n".join(lines)
    if not text.isascii():
        text = text.translate(_ODD_BREAKS)
    try:
        root = YAMLHandler().load(text, Loader=_loader())
    except (YAMLError, RecursionError) as error:
        if (line := _find_too_deep(text)) is not None:
            raise RefusedError(_TOO_DEEP, line) from None
        mark = getattr(error, "problem_mark", None)
        line = mark.line if mark else 0
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        if problem == "found undefined alias":
            name = _ALIAS.match(lines[line], mark.column) if mark else None
            problem = f"nothing is named &{name[0][1:] if name else ''}"
        elif problem == "but found another document":
            problem = "a second document starts"
        raise NotYamlError(problem, line) from None
    except UnicodeError:
        raise NotYamlError("it contains characters that are not valid Unicode") from None
    if root is None:
        return ()
    if root.id != "mapping":
        raise NotYamlError("it does not consist of `key: value` lines")
    tree = _Tree(lines)
    return tuple(tree.entry(key, value) for key, value in root.value)


def _find_too_deep(text: str) -> int | None:
    """Return the line in which brackets, or dashes, pass MAX_DEPTH, None if none do.

    A parser may refuse a line of brackets before it hands over the first: its own limit differs
    from version to version.
    """
    if dashes := _DASHES.search(text):
        return text.count("\n", 0, dashes.start())
    depth = place = 0
    while begin := _FLOW_BEGINS.search(text, place):
        for token in _FLOW_TOKEN.finditer(text, begin.end()):
            place = token.end()
            depth += (token[0] in "[{") - (token[0] in "]}")
            if depth > MAX_DEPTH:
                return text.count("\n", 0, place)
            if not depth:
                break
        else:
            break
    return None


@cache
def _loader() -> type[Any]:
    import yaml

    # The C parser comes with every wheel, not with every build from source.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Composes nodes; neither resolves their tags nor constructs objects."""

        def get_single_data(self) -> Any:
            return self.get_single_node()

        def descend_resolver(self, *_: object) -> None: ...
        def ascend_resolver(self) -> None: ...
        def resolve(self, *_: object) -> str:
            return ""

    return Loader


class _Value(NamedTuple):
    text: str | None
    style: str
    span: Span
    holds: NestedMapping | None = None
    items: Sequence[_Value] | None = None


class _Tree:
    """The nodes of a header, with the place of each and the aliases among them."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._seen: dict[int, _Value | None] = {}
        self._aliases = 0

    def entry(self, key: Any, node: Any) -> HeaderEntry:
        """Return a key of the header with its value."""
        line, column = key.start_mark.line, key.start_mark.column
        if key.id != "scalar" or id(key) in self._seen:
            raise NotYamlError("a key is not plain text", line)
        value = self._read(node, self._read(key, (line, column))[2][2:])
        text, style, span, held, items = value
        if span[3] == 0 and span[2] > span[0]:  # a block scalar claims the empty lines below it
            last = span[2] - 1
            while last > span[0] and not self._lines[last].strip():
                last -= 1
            span = (*span[:2], last, len(self._lines[last].rstrip()))
            if items:
                place = (*items[-1].span[:2], *span[2:])
                items = [*items[:-1], items[-1]._replace(span=place)]
        shape, styles = "scalar", style
        texts: tuple[str | None, ...] = (text,)
        spans: tuple[Span, ...] = (span,)
        mappings: tuple[NestedMapping | None, ...] = ()
        if items is not None:
            shape = "list"
            texts, spans = tuple([one[0] for one in items]), tuple([one[2] for one in items])
            styles, mappings = "".join([one[1] for one in items]), tuple([one[3] for one in items])
            mappings = mappings if any(mappings) else ()
        elif style in "mn":
            shape, texts, styles = "nested", (None,), "n"
            mappings = () if held is None else (held,)
        return HeaderEntry(
            key=key.value,
            shape=shape,
            texts=texts,
            spans=spans,
            styles=styles,
            line=line,
            end=span[2] + 1,
            column=column,
            span=span,
            flow=(items is not None or held is not None) and bool(node.flow_style),
            mappings=mappings,
        )

    def _read(self, node: Any, after: tuple[int, int], depth: int = 0) -> _Value:
        """Return what a node behind a place says; of a nested one what it holds."""
        if id(node) in self._seen:
            return self._read_alias(node, after)
        start, stop = node.start_mark, node.end_mark
        line, column, end = start.line, start.column, (stop.line, stop.column)
        children = node.value
        if node.id == "scalar":
            # The pure Python parser says None for a plain scalar.
            style = node.style or "p"
            text = None if style == "p" and children in _NULLS else children
            value = self._seen[id(node)] = _Value(text, style, (line, column, *end))
            return value
        if depth > MAX_DEPTH:
            raise RefusedError(_TOO_DEEP, line)
        self._seen[id(node)] = None
        is_mapping = node.id == "mapping"
        items: list[_Value] = []
        last = (line, column)
        for child in [one for pair in children for one in pair] if is_mapping else children:
            items.append(item := self._read(child, last, depth + 1))
            last = item.span[2:]
        if node.flow_style or not items:
            last = end  # a block ends where the next token begins, brackets where they close
        span = (line, column, *last)
        if not is_mapping:
            return _Value(None, "n", span, None, items)
        holds = tuple(
            [(k.text or "", _held(v)) for k, v in zip(items[::2], items[1::2], strict=True)]
        )
        if node.flow_style or last[0] != line:
            return _Value(None, "n", span, holds)
        return _Value(read_scalar(self._lines[line], column)[0], "m", span, holds)

    def _read_alias(self, node: Any, after: tuple[int, int]) -> _Value:
        """Return an alias, which stands behind a place: a node does not tell where."""
        line, column = after
        found = _ALIAS.search(self._lines[line], column)
        while not found and line + 1 < len(self._lines):
            line += 1
            found = _ALIAS.search(self._lines[line])
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise RefusedError(f"more than {MAX_ALIASES} YAML aliases", line)
        span = (line, found.start(), line, found.end()) if found else (*after, *after)
        known = self._seen[id(node)]
        return _Value(known.text if known else None, "a" if known else "n", span)


def _held(value: _Value) -> str | tuple[str, ...] | None:
    """Return what a key of a nested mapping holds: a text, the texts of a list, or None."""
    if value.items is not None:
        return tuple(item.text or "" for item in value.items if item.style not in "mn")
    return None if value.style in "mn" else value.text


@dataclass(frozen=True, kw_only=True, slots=True)
class HeaderReading:
    """What a header says."""

    entries: tuple[HeaderEntry, ...] = ()
    reader: str = "yaml"
    """``yaml``, ``lenient``, or ``none`` when the header cannot be used at all."""
    problems: tuple[Problem, ...] = ()


def read_header(split: Split) -> HeaderReading:
    """Read the header of a file; a file without one reads as an empty header.

    ``reader`` is ``none`` for a header that is unclosed, too large, built to exhaust a reader, or
    that holds nothing of ``key: value`` shape; the only problem says which.
    """
    if split.problem == "unclosed":
        message = "the header that starts with --- is not closed"
        fix = "close it with a line that contains only ---"
        return _useless(0, "unclosed-header", message, fix)
    if split.problem:
        message = "the header is longer than 64,000 characters"
        return _useless(0, "header-too-large", message, "move its text below the closing ---")
    if split.header is None:
        return HeaderReading()
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
        is_yaml = not looks_like_keys(split.header)
        what = "the header has no keys" if is_yaml else "the header is not YAML"
        fix = "write `key: value` lines between the two --- lines, or remove the header"
        line = lost[0] if lost else error.line
        return _useless(line, "unreadable-header", f"{what}: {error}", fix)
    problem = Problem(
        line=min(error.line, max(len(split.header.lines) - 1, 0)),
        rule="header-not-yaml",
        message=f"the header is not valid YAML ({error}); its plain keys and lists are used",
        fix="put the value in double quotes",
    )
    return HeaderReading(entries=entries, reader="lenient", problems=(problem,))


def _useless(line: int, rule: str, message: str, fix: str) -> HeaderReading:
    problem = Problem(line=line, rule=rule, message=message, fix=fix, level="error")
    return HeaderReading(reader="none", problems=(problem,))


def read_leniently(lines: tuple[str, ...]) -> tuple[tuple[HeaderEntry, ...], tuple[int, ...]]:
    """Return what ``read_lenient`` does, the patterns in it as YAML reads their own lines."""
    entries, lost = read_lenient(lines)
    found = []
    for entry in entries:
        key = KEYS.get(canonical(entry.key))
        own = entry
        if key is not None and key.form == "patterns":
            with suppress(NotYamlError, ValueError):
                (own,) = read_yaml(lines[entry.line : entry.end])
                below = [(a + entry.line, b, c + entry.line, d) for a, b, c, d in own.spans]
                a, b, c, d = own.span
                span = (a + entry.line, b, c + entry.line, d)
                own = replace(own, line=entry.line, end=entry.end, span=span, spans=tuple(below))
        found.append(own)
    return tuple(found), lost


ORIGIN_KEY = "imported-from"
"""Key of a header that says where a card, or a count on it, came from."""


def read_origins(text: str) -> tuple[str, ...]:
    """Return what the header of a card says about where it came from: ``system:source#digest``."""
    for entry in read_header(split_header(text)).entries:
        if canonical(entry.key) == ORIGIN_KEY:
            return tuple(item for item in entry.texts if item)
    return ()


def read_sources(text: str) -> frozenset[str]:
    """Return the names of the files that a card was imported from, without their folders."""
    return frozenset(
        origin.partition(":")[2].rpartition("#")[0] for origin in read_origins(text)
    ) - {""}
