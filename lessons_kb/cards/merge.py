"""Three versions of a card made one: the header key by key, the body line by line.

A count that both sides raised is raised by both, a date is the later, lists are united. What two
sides changed differently, and no rule decides, stands in ordinary conflict markers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lessons_kb.cards.header import Entry, canonical, split_header
from lessons_kb.cards.merge_values import (
    Contradiction,
    Side,
    Three,
    is_additive,
    merge_value,
    read_date,
)
from lessons_kb.cards.read_header import read_header

MergeText = Callable[[str, str, str], tuple[str, bool]]
"""Base, ours, theirs → the text merged by lines and whether it holds conflict markers."""


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_LONE_END = re.compile(r"\r(?!\n)|(?<!\r)\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """What three versions of a file became."""

    text: str
    conflict: bool
    """Whether conflict markers stand in it."""


def merge_cards(base: str, ours: str, theirs: str, *, merge_text: MergeText) -> Merged:
    """Merge two versions of a file that began as ``base``; "" when they have no common beginning.

    Lines that one side alone changed are taken as they stand: comments, quotes, line ends and
    byte order mark stay. ``occurrences`` grows by what either side added, and never falls below
    1; ``last-seen`` is the later, ``created`` the earlier; ``examples`` are united and the last
    five kept, other lists united as sets, in order. The rest, the body too, is left to
    ``merge_text``, and so is the whole file where a header cannot be read.
    """
    if ours == base:
        return Merged(text=theirs, conflict=False)
    if theirs == base:
        return Merged(text=ours, conflict=False)
    versions = (base, ours, theirs)
    ends = [_line_ends(text) for text in versions]
    if "mixed" not in ends and len(set(ends)) > 1:
        # Whoever converted every line made a change of its own, beside all others.
        chosen = _pick(ends[0] if base else ends[1], ends[1], ends[2]) or ends[1]
        plain = [text.replace("\r\n", "\n") for text in versions]
        merged = merge_cards(*plain, merge_text=merge_text)
        return replace(merged, text=merged.text.replace("\n", chosen))
    parts = [_take_apart(text) for text in versions]
    b, o, t = parts
    if b is not None and o is not None and t is not None:
        merged_or_none = _Merge(b, o, t, merge_text).run()
        if merged_or_none is not None:
            return merged_or_none
    text, conflict = merge_text(*versions)
    return Merged(text=text, conflict=conflict)


def _line_ends(text: str) -> str:
    r"""Return the line end that a text uses throughout, ``\n`` where it has no line, or "mixed"."""
    if "\r" not in text:
        return "\n"
    return "mixed" if _LONE_END.search(text) else "\r\n"


def _pick(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    """Return what one side alone, or both alike, made of something; Contradiction otherwise."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    raise Contradiction


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """A file in its parts; joined they are the file."""

    head: str
    """Byte order mark and opening fence, if any."""
    keys: dict[str, Side]
    tail: str
    """What stands below the last key: comments and empty lines."""
    fence: str
    """The closing fence."""
    body: str
    reader: str


def _take_apart(text: str) -> _Parts | None:
    """Return the parts of a file; None where its header has no one meaning for each key."""
    split = split_header(text)
    reading = read_header(split)
    head, body = text[: len(text) - len(split.body)], split.body
    if reading.reader == "none":
        return None
    if split.header is None:
        return _Parts(head=head, keys={}, tail="", fence="", body=body, reader=reading.reader)
    fence = head[split.header.end :]
    inside = _LINE.findall(text[split.header.start : split.header.end])
    # What the lenient reader passes over means nothing to it: it goes with the key below it.
    strict = reading.reader != "lenient"
    keys = _keys(inside, reading.entries, strict=strict)
    if keys is None:
        return None
    last = max((side.entry.end for side in keys.values() if side.entry), default=0)
    if strict and _holds_more(inside[last:]):
        return None
    return _Parts(
        head=head[: split.header.start],
        keys=keys,
        tail="".join(inside[last:]),
        fence=fence,
        body=body,
        reader=reading.reader,
    )


def _keys(
    lines: Sequence[str], entries: Sequence[Entry], *, strict: bool
) -> dict[str, Side] | None:
    """Return each key with the lines that are its own; None where two share a line or a name."""
    keys: dict[str, Side] = {}
    above = 0
    for entry in entries:
        name = canonical(entry.key)
        if entry.line < above or name in keys:
            return None
        if strict and _holds_more(lines[above : entry.line]):
            return None
        keys[name] = Side(
            entry=entry,
            lead="".join(lines[above : entry.line]),
            text="".join(lines[entry.line : entry.end]),
        )
        above = entry.end
    return keys


def _holds_more(lines: Sequence[str]) -> bool:
    """Tell whether lines between keys are no blanks or comments: elsewhere they may mean more."""
    return any(line.strip() and line.lstrip()[0] != "#" for line in lines)


def _with_end(parts: _Parts, base: _Parts) -> _Parts:
    """Return a version with what stands below the last key as if it were a key.

    Keys that were added below it are so no reason for it to change or to be there twice.
    """
    last = max((n for n, name in enumerate(parts.keys) if name in base.keys), default=-1)
    keys: dict[str, Side] = {}
    for place, (name, side) in enumerate(parts.keys.items()):
        added = side
        if base.tail and place > last and _END not in keys and side.lead.startswith(base.tail):
            keys[_END] = replace(_ABSENT, text=base.tail)
            added = replace(side, lead=side.lead[len(base.tail) :])
        keys[name] = added
    if _END in keys:
        return replace(parts, keys=keys)
    return replace(parts, keys={**keys, _END: replace(_ABSENT, text=parts.tail)}, tail="")


_ABSENT = Side(entry=None, lead="", text="")
_END = ""
"""In place of a key's name."""


class _Merge:
    """One merge of three files that could be taken apart."""

    def __init__(self, base: _Parts, ours: _Parts, theirs: _Parts, merge_text: MergeText) -> None:
        self._sides = tuple(_with_end(side, base) for side in (base, ours, theirs))
        self._merge_text = merge_text
        self._conflict = False
        self._had_base = bool(base.head or base.body)
        self._later_is_ours = _seen(ours) > _seen(theirs)

    def run(self) -> Merged | None:
        """Return the merged file; None where it would not say what it should."""
        base, ours, theirs = self._sides
        try:
            head = _pick(base.head, ours.head, theirs.head) or ""
            fence = _pick(base.fence, ours.fence, theirs.fence) or ""
        except Contradiction:
            return None
        blocks = {name: self._key(name) for name in self._names()}
        kept = {name: text for name, (_lead, text) in blocks.items() if text and name != _END}
        tail = self._lines(base.tail, ours.tail, theirs.tail)
        header = "".join(lead + text for lead, text in blocks.values()) + tail
        in_header = self._conflict
        text = head + header + fence + self._lines(base.body, ours.body, theirs.body)
        if not in_header and not _says(text, kept, {ours.reader, theirs.reader}):
            return None
        return Merged(text=text, conflict=self._conflict)

    def _names(self) -> Sequence[str]:
        """Return every key in the order of the side that moved some, else in ours."""
        base, ours, theirs = (list(side.keys) for side in self._sides)
        first, second = (theirs, ours) if ours == base else (ours, theirs)
        names = list(first)
        for place, name in enumerate(second):
            if name not in names:
                names.insert(names.index(second[place - 1]) + 1 if place else 0, name)
        return names

    def _key(self, name: str) -> tuple[str, str]:
        """Return the lines above a key and its own; ("", "") when it is gone."""
        base, ours, theirs = (side.keys.get(name, _ABSENT) for side in self._sides)
        text = self._value(name, base, ours, theirs)
        if not text or name == _END:
            return "", text
        here = [side.lead for side in (ours, theirs) if side.entry]
        leads = (base.lead, here[0], here[-1]) if base.entry else ("", here[0], here[-1])
        return self._lines(*leads), text

    def _value(self, name: str, base: Side, ours: Side, theirs: Side) -> str:
        if ours.text == theirs.text and not is_additive(name):
            return ours.text
        if ours.text == base.text:
            return theirs.text
        if theirs.text == base.text:
            return ours.text
        try:
            return merge_value(
                Three(
                    name=name,
                    base=base,
                    ours=ours,
                    theirs=theirs,
                    had_base=self._had_base,
                    later_is_ours=self._later_is_ours,
                )
            )
        except Contradiction:
            return self._lines(base.text, ours.text, theirs.text)

    def _lines(self, base: str, ours: str, theirs: str) -> str:
        try:
            return _pick(base, ours, theirs) or ""
        except Contradiction:
            text, conflict = self._merge_text(base, ours, theirs)
            self._conflict = self._conflict or conflict
            return text


def _seen(parts: _Parts) -> tuple[str, str]:
    """Return when the mistake was last seen, in a form that compares."""
    side = parts.keys.get("last-seen")
    try:
        return read_date(side) if side else ("", "")
    except Contradiction:
        return ("", "")


def _says(text: str, kept: dict[str, str], readers: set[str]) -> bool:
    """Tell whether a file reads back as these keys with these lines."""
    parts = _take_apart(text)
    if parts is None or (kept and parts.reader not in readers):
        return False
    return {name: side.text for name, side in parts.keys.items()} == kept
