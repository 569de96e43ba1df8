"""Read YAML files of other programs as plain data, within fixed limits.

PyYAML follows aliases without a limit, so that forty lines can expand to a billion values. Here,
each alias counts as many values as it repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from lessons_kb.errors import InputError

MAX_DEPTH = 50
"""The maximum depth of lists and mappings. Rules with nested operators reach 15 levels."""
MAX_VALUES = 100_000
"""The maximum number of values in a file, including the values that aliases repeat."""
_MERGE = "<<"
_NULLS = ("", "~", "null", "Null", "NULL")

Data = str | None | list["Data"] | dict[str, "Data"]
"""Scalars are always read as text, because rules contain words such as `no` or `007`."""


class _Named(NamedTuple):
    """The value of an anchor."""

    value: Data
    size: int
    """The number of values in it."""


def read_documents(text: str) -> list[Data]:
    """Return the documents in a file. Raises InputError, with one line, for an unaccepted file."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Reader(yaml.parse(text, Loader=loader)).read()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(f"not YAML{position}: {problem.splitlines()[0]}") from None
    except (UnicodeError, ValueError, RecursionError) as error:
        raise InputError(f"not YAML: {type(error).__name__}") from None


class _Reader:
    """Builds values from the events of a YAML parser."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, _Named] = {}
        self._size = 0

    def read(self) -> list[Data]:
        documents: list[Data] = []
        for event in self._events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                self._anchors = {}
            elif not kind.startswith(("Stream", "DocumentEnd")):
                documents.append(self._read_value(event, depth=0))
        return documents

    def _read_value(self, event: Any, *, depth: int) -> Data:
        line = event.start_mark.line + 1
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._follow(event.anchor, line)
        if depth > MAX_DEPTH:
            raise InputError(f"line {line} is nested too deeply, more than {MAX_DEPTH} levels")
        before = self._size
        self._count(1, line, "values")
        value: Data
        if kind == "ScalarEvent":
            is_null = event.style in (None, "") and event.value in _NULLS
            value = None if is_null else str(event.value)
        elif kind == "SequenceStartEvent":
            value = [self._read_value(child, depth=depth + 1) for child in self._children()]
        else:
            value = self._read_mapping(depth)
        if event.anchor:
            self._anchors[event.anchor] = _Named(value, self._size - before)
        return value

    def _read_mapping(self, depth: int) -> dict[str, Data]:
        own: dict[str, Data] = {}
        merged: dict[str, Data] = {}
        for key in self._children():
            line = key.start_mark.line + 1
            name = self._read_key(key)
            value = self._read_value(next(self._events), depth=depth + 1)
            if name == _MERGE and not key.style:
                merged = {**_read_merged(value, line), **merged}
            else:
                own[name] = value
        return {**merged, **own}

    def _read_key(self, event: Any) -> str:
        line = event.start_mark.line + 1
        name = self._read_value(event, depth=0) if _is_plain(event) else []
        if isinstance(name, (list, dict)):
            raise InputError(f"a key is not plain text in line {line}")
        return name or ""

    def _children(self) -> Iterator[Any]:
        """Yield the events that begin a value, up to the end of the list or mapping."""
        for event in self._events:
            if type(event).__name__.endswith("EndEvent"):
                return
            yield event

    def _follow(self, anchor: str, line: int) -> Data:
        if anchor not in self._anchors:
            raise InputError(f"nothing is named &{anchor} in line {line}")
        value, size = self._anchors[anchor]
        self._count(size, line, "values, with those that aliases repeat")
        return value

    def _count(self, size: int, line: int, description: str) -> None:
        self._size += size
        if self._size > MAX_VALUES:
            raise InputError(f"line {line} has more than {MAX_VALUES:,} {description}")


def _is_plain(event: Any) -> bool:
    return type(event).__name__ in ("ScalarEvent", "AliasEvent")


def _read_merged(value: Data, line: int) -> dict[str, Data]:
    """Return the mapping that ``<<`` adds. The first of several mappings has precedence."""
    mappings = value if isinstance(value, list) else [value]
    merged: dict[str, Data] = {}
    for mapping in mappings:
        if not isinstance(mapping, dict):
            raise InputError(f"<< names no mapping in line {line}")
        merged = {**mapping, **merged}
    return merged
