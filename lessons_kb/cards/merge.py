"""Three versions of a card made one: the header key by key, the body line by line.

A count that both sides raised is raised by both, a date is the later, lists are united. What two
sides changed differently, and no rule decides, stands in ordinary conflict markers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lessons_kb.cards.edit import edit_header, read_comments
from lessons_kb.cards.keys import (
    KEYS,
    MAX_EXAMPLES,
    MAX_OCCURRENCES,
    Entry,
    Read,
    canonical,
    read_value,
    split_header,
)
from lessons_kb.cards.read_header import read_header
from lessons_kb.errors import LessonsError

Rule = Callable[["Three"], str]


class Contradiction(Exception):
    """Two sides say different things and no rule decides between them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A key as one version of the file has it."""

    entry: Entry | None
    """None where that version lacks the key."""
    lead: str
    """Comments and empty lines above it."""
    text: str
    """Its own lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Three:
    """A key in the three versions."""

    name: str
    base: Side
    ours: Side
    theirs: Side
    had_base: bool
    """Whether the file has a common beginning at all."""
    later_is_ours: bool
    """Whether our side saw the mistake last, so that its examples come last."""


def merge_value(three: Three) -> str:
    """Return the lines of a key that both sides changed, "" when it is gone.

    Raises Contradiction where no rule decides, and where one side's comment would be lost.
    """
    text = _merged(three)
    base, *sides = (read_comments(side.text) for side in (three.base, three.ours, three.theirs))
    kept = read_comments(text)
    for comment in dict.fromkeys(comment for side in sides for comment in side):
        stays = comment not in base or all(comment in side for side in sides)
        if stays and not any(comment in one for one in kept):
            text = _with_comment(text, comment)
    return text


def _with_comment(text: str, comment: str) -> str:
    """Return the lines of a key with one more comment at their end."""
    line = text.rstrip("\r\n")
    end = text[len(line) :]
    entries = read_header(split_header(f"---{end}{text}---{end}")).entries
    beside = entries and (entries[0].flow or entries[0].shape == "scalar")
    if not beside or entries[0].styles in ("|", ">"):
        raise Contradiction
    return f"{line.rstrip()} {comment}{end}"


def _merged(three: Three) -> str:
    rule = _RULES.get(three.name)
    ours, theirs = three.ours.entry, three.theirs.entry
    if rule is None and ours and theirs:
        if _alike(ours, theirs):
            return three.ours.text
        if three.base.entry and _alike(three.base.entry, ours):
            return three.theirs.text
        if three.base.entry and _alike(three.base.entry, theirs):
            return three.ours.text
    if rule is None and _is_set(three):
        rule = _unite_set
    if rule is None:
        raise Contradiction
    return rule(three)


def is_additive(name: str) -> bool:
    """Tell whether two equal changes of a key are two changes."""
    return name == "occurrences"


def read_date(side: Side) -> tuple[str, str]:
    """Return a date in a form that compares: by its moment where it has a time.

    A day without a time is its beginning; times without a zone are taken as UTC. Raises
    Contradiction for what is no date.
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
    """Return the value of a known key; Contradiction where it is wrong or deeper than a list."""
    if side.entry is None:
        return None
    try:
        return read_value(side.entry)
    except ValueError:
        raise Contradiction from None


def _sum(three: Three) -> str:
    """Add what either side added; a side without the key says 1, a file that was not there 0."""
    before = _count(three.base) if three.had_base else 0
    total = _count(three.ours) + _count(three.theirs) - before
    return _write(three, min(max(total, 1), MAX_OCCURRENCES))


def _count(side: Side) -> int:
    value = _read(side)
    return value if isinstance(value, int) else 1


def _later(three: Three) -> str:
    return _chosen(three, max)


def _earlier(three: Three) -> str:
    return _chosen(three, min)


def _chosen(three: Three, choose: Callable[..., tuple[tuple[str, str], Side]]) -> str:
    given = [(read_date(side), side) for side in (three.ours, three.theirs) if side.entry]
    return choose(given, key=lambda pair: pair[0])[1].text


def _unite_examples(three: Three) -> str:
    sides = [_texts(three.theirs), _texts(three.ours)]
    earlier, later = sides if three.later_is_ours else sides[::-1]
    united = _united(_texts(three.base), earlier, later)
    return _write(three, tuple(united[-MAX_EXAMPLES:]))


def _unite_set(three: Three) -> str:
    sides = (three.base, three.ours, three.theirs)
    return _write(three, tuple(_united(*map(_texts, sides))))


def _united(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return what both kept and what either added, the second side's additions last."""
    kept = [item for item in first if item in second or item not in base]
    return kept + [item for item in second if item not in first and item not in base]


def _texts(side: Side) -> tuple[str, ...]:
    value = _read(side)
    items = value if isinstance(value, tuple) else ()
    return tuple(item for item in items if isinstance(item, str))


def _write(three: Three, value: int | tuple[str, ...]) -> str:
    """Return the lines of the key with this value, in the manner of the side that has it."""
    same = [s for s in (three.ours, three.theirs) if s.entry is not None and _read(s) == value]
    if same:
        return max(same, key=lambda side: len(read_comments(side.text))).text
    # The lines of the side that says more beside its value.
    sides = [side for side in (three.ours, three.theirs) if side.entry]
    model = max(sides, key=lambda side: len(read_comments(side.text)))
    end = model.text[len(model.text.rstrip("\r\n")) :]
    fence = f"---{end}"
    try:
        edited = edit_header(f"{fence}{model.text}{fence}", {three.name: value})
    except LessonsError:
        raise Contradiction from None
    return edited[len(fence) : -len(fence)]


def _alike(ours: Entry, theirs: Entry) -> bool:
    """Tell whether two entries say the same, whatever their quotes and line breaks."""
    if "nested" in (ours.shape, theirs.shape) or "n" in ours.styles + theirs.styles:
        return False
    if ours.shape != theirs.shape:
        return False
    texts = ([text and " ".join(text.split()) for text in e.texts] for e in (ours, theirs))
    return next(texts) == next(texts)


def _is_set(three: Three) -> bool:
    """Tell whether a key is a list to unite: by its name, or because it is written as one."""
    key = KEYS.get(three.name)
    if key is None or key.form not in ("tags", "texts", "globs"):
        return False
    entries = [side.entry for side in (three.ours, three.theirs) if side.entry]
    if any("n" in entry.styles for entry in entries):
        return False
    return three.name in _SETS or all(entry.shape == "list" for entry in entries)


_SETS = ("applies-to", "tags", "symptoms", "not-for", "paths", "supported-by", "applies-when")
_RULES: Mapping[str, Rule] = {
    "occurrences": _sum,
    "last-seen": _later,
    "created": _earlier,
    "date": _earlier,
    "examples": _unite_examples,
}


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
