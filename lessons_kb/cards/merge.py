"""Merge three versions of a card: the header key by key, the body line by line.

The increases of a count on both sides are added. Of two dates, the rule of the key selects one.
Lists are united. If both sides changed another value differently, it gets ordinary conflict
markers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from lessons_kb.cards.edit import edit_header, read_comments
from lessons_kb.cards.edit_sources import add_sources
from lessons_kb.cards.keys import (
    KEYS,
    MAX_EXAMPLES,
    MAX_OCCURRENCES,
    HeaderEntry,
    Read,
    canonical,
    read_value,
    split_header,
)
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sources import read_sources
from lessons_kb.errors import LessonsError
from lessons_kb.model import Source
from lessons_kb.values import frozen, replace


class Contradiction(Exception):
    """Two sides differ, and no rule decides between them."""


@frozen
class Side:
    """A key in one version of the file."""

    entry: HeaderEntry | None = None
    """The entry, or None if that version lacks the key."""
    lead: str = ""
    """The comments and empty lines above the key."""
    text: str = ""
    """The lines of the key."""


class Three(NamedTuple):
    """A key in the three versions."""

    name: str
    base: Side
    ours: Side
    theirs: Side
    had_base: bool
    """Whether the two sides have a common earlier version."""
    later_is_ours: bool
    """Whether our side has the later ``last-seen``, so that its examples come last."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have the key."""
        return tuple(side for side in (self.ours, self.theirs) if side.entry)


_SETS = ("applies-to", "tags", "symptoms", "not-for", "paths", "supported-by", "applies-when")
"""Keys whose values are united in any form in which they are written."""


def merge_value(three: Three) -> str:
    """Return the merged lines of a key that both sides changed, or "" if both removed it.

    Raises Contradiction if no rule decides or if the comment of a side would be lost.
    """
    rule = _RULES.get(three.name, _unite_or_pick)
    text = rule(three)
    base, *sides = (read_comments(side.text) for side in (three.base, three.ours, three.theirs))
    comments = read_comments(text)
    for comment in dict.fromkeys(comment for side in sides for comment in side):
        stays = comment not in base or all(comment in side for side in sides)
        if not stays or any(comment in other for other in comments):
            continue
        line = text.rstrip("\r\n")
        end = text[len(line) :]
        entries = read_header(split_header(f"---{end}{text}---{end}")).entries
        beside = entries and (entries[0].flow or entries[0].shape == "scalar")
        if not beside or entries[0].styles in ("|", ">"):
            raise Contradiction
        text = f"{line.rstrip()} {comment}{end}"
    return text


def _unite_or_pick(three: Three) -> str:
    """Return the change of one side, or the equal change of both, or else the united lists."""
    base, ours, theirs = three.base.entry, three.ours.entry, three.theirs.entry
    if ours and theirs:
        is_only_ours = base and _is_equal(base, theirs) and not _is_equal(base, ours)
        if _is_equal(ours, theirs) or is_only_ours:
            return three.ours.text
        if base and _is_equal(base, ours):
            return three.theirs.text
    key = KEYS.get(three.name)
    is_set = key is not None and key.form in ("tags", "texts", "globs")
    entries = [side.entry for side in three.sides if side.entry]
    is_written_as_one = three.name in _SETS or all(entry.shape == "list" for entry in entries)
    if not is_set or not is_written_as_one or any("n" in entry.styles for entry in entries):
        raise Contradiction
    united = _unite(_texts(three.base), _texts(three.ours), _texts(three.theirs))
    return _write(three, tuple(united))


def _is_equal(entry: HeaderEntry, other: HeaderEntry) -> bool:
    """Return whether two entries have equal values. Quotes and line breaks do not count."""
    if entry.shape != other.shape or "n" in entry.styles + other.styles:
        return False
    return _one_line_texts(entry) == _one_line_texts(other)


def _one_line_texts(entry: HeaderEntry) -> list[str | None]:
    return [text and " ".join(text.split()) for text in entry.texts]


def read_date(side: Side) -> tuple[str, str]:
    """Return a sort key for a date, which uses the time if the date has one.

    A day without a time counts as its beginning, and times without a zone count as UTC. Raises
    Contradiction for a value that is not a date.
    """
    day = _read(side)
    if not isinstance(day, str) or side.entry is None:
        raise Contradiction
    try:
        moment = datetime.fromisoformat((side.entry.texts[0] or "").strip())
    except ValueError:
        return f"{day}T00:00:00", ""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(), day


def _read(side: Side) -> Read:
    """Return the value of a valid key. Raises Contradiction if it is wrong or too deeply nested."""
    try:
        return read_value(side.entry) if side.entry else None
    except ValueError:
        raise Contradiction from None


def _texts(side: Side) -> tuple[str, ...]:
    value = _read(side)
    items = value if isinstance(value, tuple) else ()
    return tuple(item for item in items if isinstance(item, str))


def _sum(three: Three) -> str:
    """Add the increases of both sides. A side without the key counts 1, a missing base file 0."""
    values = (_read(side) for side in (three.base, three.ours, three.theirs))
    base, ours, theirs = (value if isinstance(value, int) else 1 for value in values)
    total = ours + theirs - (base if three.had_base else 0)
    return _write(three, min(max(total, 1), MAX_OCCURRENCES))


def _unite_examples(three: Three) -> str:
    sides = [_texts(three.theirs), _texts(three.ours)]
    earlier, later = sides if three.later_is_ours else sides[::-1]
    united = _unite(_texts(three.base), earlier, later)
    return _write(three, tuple(united[-MAX_EXAMPLES:]))


def _unite_sources(three: Three) -> str:
    """Return the sources of our side, followed by those that only the other side added."""
    base, ours, theirs = map(_read_all_sources, (three.base, three.ours, three.theirs))
    if any(source not in ours or source not in theirs for source in base):
        raise Contradiction
    end = three.ours.text[len(three.ours.text.rstrip("\r\n")) :]
    fence = f"---{end}"
    try:
        united = add_sources(f"{fence}{three.ours.text}{fence}", theirs)
    except LessonsError:
        raise Contradiction from None
    return united[len(fence) : -len(fence)]


def _read_all_sources(side: Side) -> tuple[Source, ...]:
    return read_sources([side.entry]) if side.entry else ()


_RULES: Mapping[str, Callable[[Three], str]] = {
    "occurrences": _sum,
    "last-seen": lambda three: max(three.sides, key=read_date).text,
    "created": lambda three: min(three.sides, key=read_date).text,
    "date": lambda three: min(three.sides, key=read_date).text,
    "examples": _unite_examples,
    "sources": _unite_sources,
}


def _unite(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the items that no side removed or that a side added, those of the second side last."""
    stay = [item for item in first if item in second or item not in base]
    return stay + [item for item in second if item not in first and item not in base]


def _write(three: Three, value: int | tuple[str, ...]) -> str:
    """Return the lines of a key with this value, in the style of the side with more comments."""
    same = [side for side in three.sides if _read(side) == value]
    model = max(same or three.sides, key=lambda side: len(read_comments(side.text)))
    if same:
        return model.text
    end = model.text[len(model.text.rstrip("\r\n")) :]
    fence = f"---{end}"
    try:
        edited = edit_header(f"{fence}{model.text}{fence}", {three.name: value})
    except LessonsError:
        raise Contradiction from None
    return edited[len(fence) : -len(fence)]


MergeText = Callable[[str, str, str], tuple[str, bool]]
"""Maps base, ours and theirs to the text merged by lines, and whether it has conflict markers."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_LONE_END = re.compile(r"\r(?!\n)|(?<!\r)\n")


@frozen
class Merged:
    """The result of a merge."""

    text: str
    conflict: bool
    """Whether the text has conflict markers."""


def merge_cards(base: str, ours: str, theirs: str, *, merge_text: MergeText) -> Merged:
    """Merge two versions of a file that began as ``base``, which is "" without a common version.

    Lines that only one side changed are taken unchanged. Comments, quotes, line ends and the byte
    order mark stay. ``occurrences`` grows by the increases of both sides and is at least 1.
    ``last-seen`` is the later date, and ``created`` the earlier one. ``examples`` are united, and
    the last five stay. Other lists are united as ordered sets. ``merge_text`` merges everything
    else, such as the body, and the whole file if a header cannot be read.
    """
    if base in (ours, theirs):
        return Merged(text=theirs if ours == base else ours, conflict=False)
    versions = (base, ours, theirs)
    ends = [_line_end(text) for text in versions]
    if "mixed" not in ends and len(set(ends)) > 1:
        # A conversion of all line ends is merged as a separate change.
        chosen = _pick(ends[0] if base else ends[1], ends[1], ends[2])
        plain = [text.replace("\r\n", "\n") for text in versions]
        merged = merge_cards(*plain, merge_text=merge_text)
        return replace(merged, text=merged.text.replace("\n", chosen))
    b, o, t = map(_take_apart, versions)
    if b and o and t:
        with suppress(Contradiction):
            return _Merge(b, o, t, merge_text).run()
    text, conflict = merge_text(*versions)
    return Merged(text=text, conflict=conflict)


def _line_end(text: str) -> str:
    r"""Return the line end of a text: ``\n``, ``\r\n`` or "mixed"."""
    if "\r" not in text:
        return "\n"
    return "mixed" if _LONE_END.search(text) else "\r\n"


def _pick(base: str, ours: str, theirs: str) -> str:
    """Return the change of one side, or the equal change of both.

    Raises Contradiction if both sides changed the text differently.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    raise Contradiction


@frozen
class _Parts:
    """The parts of a file. Their concatenation is the file."""

    head: str
    """The byte order mark and the opening fence, if there are any."""
    keys: dict[str, Side]
    tail: str
    """The comments and empty lines below the last key."""
    fence: str
    """The closing fence."""
    body: str
    reader: str


def _take_apart(text: str) -> _Parts | None:
    """Return the parts of a file, or None if a key of its header is ambiguous."""
    split = split_header(text)
    reading = read_header(split)
    if reading.reader == "none":
        return None
    start = end = len(text) - len(split.body)
    if split.header:
        start, end = split.header.start, split.header.end
    lines = _LINE.findall(text[start:end])
    keys: dict[str, Side] = {}
    above, between = 0, []
    for entry in reading.entries:
        name = canonical(entry.key)
        if entry.line < above or name in keys:  # two entries share a line or a name
            return None
        lead = lines[above : entry.line]
        keys[name] = Side(
            entry=entry, lead="".join(lead), text="".join(lines[entry.line : entry.end])
        )
        above = entry.end
        between += lead
    # A line between keys that is neither empty nor a comment may have a meaning. The lenient reader
    # ignores such lines, and there they stay with the key below them.
    is_odd = any(line.strip() and line.lstrip()[0] != "#" for line in (*between, *lines[above:]))
    if is_odd and reading.reader != "lenient":
        return None
    return _Parts(
        head=text[:start],
        keys=keys,
        tail="".join(lines[above:]),
        fence=text[end : len(text) - len(split.body)],
        body=split.body,
        reader=reading.reader,
    )


_END = ""
"""Replaces the name of a key."""


def _with_end(parts: _Parts, base: _Parts) -> _Parts:
    """Return a version in which the lines below the last key are treated as a key.

    Then keys that a side added below these lines neither change nor repeat them.
    """
    last = max((index for index, name in enumerate(parts.keys) if name in base.keys), default=-1)
    keys: dict[str, Side] = {}
    for index, (name, side) in enumerate(parts.keys.items()):
        keys[name] = side
        if base.tail and index > last and _END not in keys and side.lead.startswith(base.tail):
            del keys[name]
            keys[_END] = Side(text=base.tail)
            keys[name] = replace(side, lead=side.lead[len(base.tail) :])
    if _END in keys:
        return replace(parts, keys=keys)
    return replace(parts, keys={**keys, _END: Side(text=parts.tail)}, tail="")


class _Merge:
    """A merge of three files whose headers could be read."""

    def __init__(self, base: _Parts, ours: _Parts, theirs: _Parts, merge_text: MergeText) -> None:
        self._sides = tuple(_with_end(side, base) for side in (base, ours, theirs))
        self._merge_text = merge_text
        self._conflict = False
        self._had_base = bool(base.head or base.body)
        seen = [("", ""), ("", "")]
        for index, parts in enumerate((ours, theirs)):
            with suppress(Contradiction):
                seen[index] = read_date(parts.keys.get("last-seen", Side()))
        self._later_is_ours = seen[0] > seen[1]

    def run(self) -> Merged:
        """Return the merged file. Raises Contradiction if it would not be read back as merged."""
        base, ours, theirs = self._sides
        head = _pick(base.head, ours.head, theirs.head)
        fence = _pick(base.fence, ours.fence, theirs.fence)
        blocks = {name: self._key(name) for name in self._names()}
        expected = {name: text for name, (_lead, text) in blocks.items() if text and name != _END}
        tail = self._lines(base.tail, ours.tail, theirs.tail)
        header = "".join(lead + text for lead, text in blocks.values()) + tail
        in_header = self._conflict
        text = head + header + fence + self._lines(base.body, ours.body, theirs.body)
        if not in_header:
            parts = _take_apart(text)
            if parts is None or (expected and parts.reader not in (ours.reader, theirs.reader)):
                raise Contradiction
            if {name: side.text for name, side in parts.keys.items()} != expected:
                raise Contradiction
        return Merged(text=text, conflict=self._conflict)

    def _names(self) -> Sequence[str]:
        """Return every key, in the order of the side that changed it, or else in our order."""
        base, ours, theirs = (list(side.keys) for side in self._sides)
        first, second = (theirs, ours) if ours == base else (ours, theirs)
        names = list(first)
        for index, name in enumerate(second):
            if name not in names:
                names.insert(names.index(second[index - 1]) + 1 if index else 0, name)
        return names

    def _key(self, name: str) -> tuple[str, str]:
        """Return the lines above a key and the key's own lines, or ("", "") if it was removed."""
        base, ours, theirs = (side.keys.get(name, Side()) for side in self._sides)
        # Two equal increases of a count are two separate increases.
        is_one_change = ours.text == theirs.text and name != "occurrences"
        if base.text in (ours.text, theirs.text) or is_one_change:
            text = _pick(base.text, ours.text, theirs.text)
        else:
            try:
                text = merge_value(
                    Three(name, base, ours, theirs, self._had_base, self._later_is_ours)
                )
            except Contradiction:
                text = self._lines(base.text, ours.text, theirs.text)
        if not text or name == _END:
            return "", text
        here = [side.lead for side in (ours, theirs) if side.entry]
        return self._lines(base.lead if base.entry else "", here[0], here[-1]), text

    def _lines(self, base: str, ours: str, theirs: str) -> str:
        try:
            return _pick(base, ours, theirs)
        except Contradiction:
            text, conflict = self._merge_text(base, ours, theirs)
            self._conflict = self._conflict or conflict
            return text
