"""A header as YAML reads it, from parser events: nothing is ever built from them.

Events come one by one, so that deep nesting is refused where it begins and an alias is never
expanded. Values stay the text that was written; what they mean is the business of ``keys``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from lessons_kb.cards.header import Entry, Mapping, Span
from lessons_kb.cards.lenient_reader import read_scalar

MAX_DEPTH = 16
MAX_ALIASES = 32
_TOO_DEEP = "it is nested too deeply"
NULLS = ("", "~", "null", "Null", "NULL")
# YAML 1.1 ends a line at these, we do not.
_ODD_BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}
_FLOW_BEGINS = re.compile(r"(?:^|[:?-][ \t])[ \t]*(?:[&!]\S*[ \t]+)*(?=[\[{])", re.MULTILINE)
_FLOW_TOKEN = re.compile(
    r"""[\[\]{}] | "(?:[^"\\]|\\.)*" | '(?:[^']|'')*' | \#.* |
    [^\s,\[\]{}"'#](?:(?!:[\s,\[\]{}]|\s\#)[^,\[\]{}])*""",
    re.VERBOSE,
)


_IN_VALUE = 2
"""Depth of what a nested mapping's own values hold."""
_Items = tuple[tuple[str | None, ...], tuple[Span, ...], str, Span, tuple[Mapping | None, ...]]


class NotYamlError(Exception):
    """YAML cannot read the header as keys and values; ``line`` counts from 0."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


class RefusedError(NotYamlError):
    """The header is built to exhaust its reader."""


def read_yaml(lines: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return the entries of a header in the order of the file, duplicates included.

    Raises NotYamlError, and RefusedError where MAX_DEPTH or MAX_ALIASES is passed.
    """
    from frontmatter.default_handlers import YAMLHandler
    from yaml import YAMLError

    text = "\n".join(lines)
    if not text.isascii():
        text = text.translate(_ODD_BREAKS)
    try:
        entries = YAMLHandler().load(text, Loader=_loader())
    except YAMLError as error:
        if (line := _find_too_deep(text)) is not None:
            raise RefusedError(_TOO_DEEP, line) from None
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise NotYamlError(problem, mark.line if mark else 0) from None
    except UnicodeError:
        raise NotYamlError("it contains characters that are not valid Unicode") from None
    return tuple(_placed(entry, lines) for entry in entries)


def _find_too_deep(text: str) -> int | None:
    """Return the line in which brackets pass MAX_DEPTH, None if none do.

    A parser may refuse a line of brackets before it hands over the first: its own limit differs
    from version to version.
    """
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
        """Hands the events over instead of composing and constructing objects."""

        def get_single_data(self) -> list[Entry]:
            return _Reader(self.get_event).entries()

    return Loader


class _Reader:
    def __init__(self, get: Callable[[], Any]) -> None:
        from yaml import events

        self._get = get
        self._aliases = 0
        self._anchors: dict[str, str | None] = {}
        self._nested: set[str] = set()
        self._scalar: type[Any] = events.ScalarEvent
        self._alias: type[Any] = events.AliasEvent
        self._list: type[Any] = events.SequenceStartEvent
        self._mapping: type[Any] = events.MappingStartEvent
        self._list_end: type[Any] = events.SequenceEndEvent
        self._mapping_end: type[Any] = events.MappingEndEvent
        self._stream_end: type[Any] = events.StreamEndEvent

    def entries(self) -> list[Entry]:
        """Return the entries of the one document, which has to be a mapping."""
        self._get()
        if type(self._get()) is self._stream_end:
            return []
        root = self._get()
        if type(root) is not self._mapping:
            raise NotYamlError("it does not consist of `key: value` lines")
        found: list[Entry] = []
        while type(key := self._get()) is not self._mapping_end:
            if type(key) is not self._scalar:
                raise NotYamlError("a key is not plain text", key.start_mark.line)
            found.append(self._entry(key, self._get()))
        self._get()
        if type(extra := self._get()) is not self._stream_end:
            raise NotYamlError("a second document starts", extra.start_mark.line)
        return found

    def _entry(self, key: Any, value: Any) -> Entry:
        kind = type(value)
        mappings: tuple[Mapping | None, ...] = ()
        texts: tuple[str | None, ...]
        spans: tuple[Span, ...]
        if kind is self._scalar or kind is self._alias:
            text, style = self._text(value)
            span = _span(value)
            shape = "nested" if style == "n" else "scalar"
            texts, spans, styles, flow = (text,), (span,), style, False
        elif kind is self._list:
            flow = bool(value.flow_style)
            texts, spans, styles, span, mappings = self._items(value)
            shape = "list"
        else:
            flow = bool(value.flow_style)
            span, _style, mapping = self._skip(value)
            mappings = () if mapping is None else (mapping,)
            shape, texts, spans, styles = "nested", (None,), (span,), "n"
        mark = key.start_mark
        return Entry(
            key=key.value,
            shape=shape,
            texts=texts,
            spans=spans,
            styles=styles,
            line=mark.line,
            end=span[2] + 1,
            column=mark.column,
            span=span,
            flow=flow,
            mappings=mappings,
        )

    def _text(self, event: Any) -> tuple[str | None, str]:
        if type(event) is self._alias:
            self._count_alias(event)
            if event.anchor in self._nested:
                return None, "n"
            if event.anchor not in self._anchors:
                raise NotYamlError(f"nothing is named &{event.anchor}", event.start_mark.line)
            return self._anchors[event.anchor], "a"
        # The pure Python parser says "" or None for a plain scalar.
        style = event.style or "p"
        text = None if style == "p" and event.value in NULLS else event.value
        if event.anchor:
            self._anchors[event.anchor] = text
        return text, style

    def _items(self, opening: Any) -> _Items:
        texts: list[str | None] = []
        spans: list[Span] = []
        styles = ""
        mappings: list[Mapping | None] = []
        if opening.anchor:
            self._nested.add(opening.anchor)
        while type(item := self._get()) is not self._list_end:
            if type(item) is self._scalar or type(item) is self._alias:
                text, style = self._text(item)
                span, mapping = _span(item), None
            else:
                span, style, mapping = self._skip(item)
                text = None
            mappings.append(mapping)
            texts.append(text)
            spans.append(span)
            styles += style
        if opening.flow_style:
            end = (item.end_mark.line, item.end_mark.column)
        else:
            end = spans[-1][2:] if spans else (opening.end_mark.line, opening.end_mark.column)
        begin = (opening.start_mark.line, opening.start_mark.column)
        nested = tuple(mappings) if any(one is not None for one in mappings) else ()
        return tuple(texts), tuple(spans), styles, (*begin, *end), nested

    def _skip(self, opening: Any) -> tuple[Span, str, Mapping | None]:
        """Pass over a nested value; return its place, its style letter and what a mapping holds."""
        depth, last = 1, opening
        pairs: list[tuple[str, str | tuple[str, ...] | None]] = []
        key: str | None = None
        items: list[str] | None = None
        begin = opening.start_mark
        if opening.anchor:
            self._nested.add(opening.anchor)
        mapping = type(opening) is self._mapping and not opening.flow_style
        while depth:
            event = self._get()
            kind = type(event)
            if kind is self._list or kind is self._mapping:
                depth += 1
                if depth > MAX_DEPTH:
                    raise RefusedError(_TOO_DEEP, event.start_mark.line)
                if event.anchor:
                    self._nested.add(event.anchor)
                key = "" if key is None else key
                items = [] if kind is self._list and depth == _IN_VALUE else None
            elif kind is self._list_end or kind is self._mapping_end:
                depth -= 1
                # A block ends where the next token begins, brackets where they close.
                if event.end_mark.column > event.start_mark.column:
                    last = event
                if depth == 1:
                    pairs.append((key or "", None if items is None else tuple(items)))
                    key = items = None
            else:
                last = event
                text = self._text(event)[0]
                if items is not None and depth == _IN_VALUE:
                    items.append(text or "")
                elif depth == 1 and key is None:
                    key = text or ""
                elif depth == 1:
                    pairs.append((key or "", text))
                    key = None
        end = _span(last)
        one_line = end[2] == begin.line
        held = tuple(pairs) if type(opening) is self._mapping else None
        return (begin.line, begin.column, *end[2:]), "m" if mapping and one_line else "n", held

    def _count_alias(self, event: Any) -> None:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise RefusedError(f"more than {MAX_ALIASES} YAML aliases", event.start_mark.line)


def _span(event: Any) -> Span:
    begin, end = event.start_mark, event.end_mark
    return begin.line, begin.column, end.line, end.column


def _placed(entry: Entry, lines: tuple[str, ...]) -> Entry:
    if entry.span[3] == 0 and entry.span[2] > entry.span[0]:
        entry = _trimmed(entry, lines)
    return _with_source(entry, lines) if "m" in entry.styles else entry


def _with_source(entry: Entry, lines: tuple[str, ...]) -> Entry:
    """Give items that only look like a mapping the text that their author wrote."""
    texts = list(entry.texts)
    for place, style in enumerate(entry.styles):
        if style == "m":
            line, column = entry.spans[place][:2]
            texts[place] = read_scalar(lines[line], column)[0]
    return replace(entry, texts=tuple(texts))


def _trimmed(entry: Entry, lines: tuple[str, ...]) -> Entry:
    """Take back the empty lines that a block scalar claims at its end."""
    last = entry.span[2] - 1
    while last > entry.span[0] and not lines[last].strip():
        last -= 1
    end = (last, len(lines[last].rstrip()))
    spans = (*entry.spans[:-1], (*entry.spans[-1][:2], *end))
    return replace(entry, spans=spans, span=(*entry.span[:2], *end), end=last + 1)
