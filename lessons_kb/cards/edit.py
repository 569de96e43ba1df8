"""Changing a header as its author would: only the lines of the keys that change.

The edit is made on the text itself, at the places the reader reported. Then the result is read
again and compared with what was intended, by values and by lines; what does not fit is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lessons_kb.cards.keys import (
    KEYS,
    Header,
    HeaderEntry,
    Split,
    canonical,
    describe_form,
    line_starts,
    read_value,
    split_header,
)
from lessons_kb.cards.read_header import HeaderReading, read_header, read_leniently
from lessons_kb.cards.sections import one_line
from lessons_kb.errors import EditRefused, InputError
from lessons_kb.values import frozen

# Letters first, and nothing that YAML, or a hasty reader, gives a meaning to.
_PLAIN = re.compile(r"[^\W\d_](?:[^\W_]|[_ .,;/()+=@%^$&*!?<>'\"~|-])*(?<![ \t])")
_TYPED = re.compile(
    r"[0-9]{1,9}|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]{5,15}(?:Z|[+-][0-9]{2}:[0-9]{2}))?", re.ASCII
)
_WORDS_WITH_MEANING = ("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf")
# The question mark is PyYAML's own addition.
_IN_FLOW = re.compile(r"[,?\[\]{}]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# What YAML 1.1 does not count as printable, and its line breaks.
_UNPRINTABLE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


def format_scalar(
    value: str | int, *, style: str = "p", typed: bool = False, flow: bool = False
) -> str:
    r"""Return a value as YAML on one line.

    ``style`` is the letter of the scalar it replaces (see ``HeaderEntry.styles``): quotes are kept,
    a plain text stays plain where that is safe. ``typed`` marks a number or a date, which stands
    without quotes unless its predecessor had some; ``flow`` a place inside brackets.
    """
    text = str(value)
    is_plain = _PLAIN.fullmatch(text) and text.casefold() not in _WORDS_WITH_MEANING
    is_plain = is_plain and not (flow and _IN_FLOW.search(text))
    if style == "'" and not _UNPRINTABLE.search(text.replace('"', "").replace("\\", "")):
        return "'" + text.replace("'", "''") + "'"
    if style != '"' and (is_plain or (typed and _TYPED.fullmatch(text))):
        return text
    escaped = _UNPRINTABLE.sub(lambda c: _ESCAPES.get(c[0]) or f"\\u{ord(c[0]):04x}", text)
    return f'"{escaped}"'


def format_flow(values: Iterable[str]) -> str:
    """Return a list on one line: ``[telegram, "a, b"]``."""
    return "[" + ", ".join(format_scalar(value, flow=True) for value in values) + "]"


Change = str | int | tuple[str, ...] | None
Meaning = dict[str, str | tuple[str, ...] | None]

_TYPED_FORMS = ("count", "date")
_ALONE = {
    "date": re.compile(r"[\w.-]+|\d{4}-\d{1,2}-\d{1,2}[T ][\d:.,+Z -]*"),
    "choice": re.compile(r"[\w.-]+"),
}
"""Form of a key → its value, right or wrong, with nothing else said beside it."""
_UNSEEN = re.compile(r"[\ufeff\s]*^---[ \t]*$(?P<inside>.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@frozen
class Splice:
    """A piece of the text and what stands there instead."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """Return the text with the piece replaced."""
        return text[: self.start] + self.text + text[self.end :]


def edit_header(text: str, changes: Mapping[str, Change]) -> str:
    r"""Return the text of a file with some keys of its header changed.

    Keys are named as in the card (``last-seen``); a tuple is a list, None removes the key. Of a key
    that stands twice the last one, which counts, is changed. Only lines of changed keys differ:
    comments, order, quotes, line ends, byte order mark and trailing spaces stay. A missing key is
    added at the header's end, a missing header on top of the file. Raises EditRefused where a line
    that a human wrote would be lost, a count would begin anew, or the result would not read back
    as intended; InputError for an impossible name.
    """
    split = split_header(text)
    reading = read_header(split)
    if reading.reader == "none":
        problem = reading.problems[0]
        raise EditRefused(f"{problem.message}; {problem.fix}, then try again")
    meaning = _meaning(reading.entries)
    needed: dict[str, Change] = {}
    for name, value in changes.items():
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot be a key; use letters, digits and hyphens")
        key = canonical(name)
        is_set = key not in meaning if value is None else meaning.get(key, ...) == _intended(value)
        if not is_set:
            needed[key if key in KEYS else name] = value
    if not needed:
        return text
    if split.header is None:
        _check_unseen(text, needed)
        found = re.search(r"\r\n|\r|\n", text)
        lines = [line for name, value in needed.items() for line in _new_lines(name, value, "")]
        header = (found[0] if found else "\n").join(["---", *lines, "---", ""])
        at = int(text.startswith("\ufeff"))
        result = text[:at] + header + text[at:]
    else:
        for name, value in needed.items():
            if value is not None:
                _check_kept(split.header, reading, canonical(name), value)
        splices = _Editor(text, split.header, reading.entries).splices(needed)
        result = text
        splices.sort(key=lambda splice: (splice.start, splice.end))
        for splice in reversed(splices):  # of two at one place the first given stands first
            result = splice.apply(result)
    for name, value in needed.items():
        meaning.pop(canonical(name), None)
        if value is not None:
            meaning[canonical(name)] = _intended(value)
    _verify((text, split, reading), result, needed, meaning)
    return result


def replace_paths(text: str, moves: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a file with entries of its ``paths`` replaced; all else stays.

    ``moves`` gives each old entry its new ones. Raises EditRefused if the header would not read
    back as intended.
    """
    split = split_header(text)
    reading = read_header(split)
    if split.header is None:
        return text
    editor = _Editor(text, split.header, reading.entries)
    splices: list[Splice] = []
    intended = _meaning(reading.entries)
    for entry in reading.entries:
        if _is_paths(entry):
            splices += editor.replace_items(entry, moves)
            new = tuple(glob for item in _globs_of(entry) for glob in moves.get(item, (item,)))
            intended[canonical(entry.key)] = _intended(new)
    result = text
    for splice in sorted(splices, key=lambda splice: -splice.start):
        result = splice.apply(result)
    after = read_header(split_header(result)).entries
    lists = {canonical(entry.key): _globs_of(entry) for entry in after if _is_paths(entry)}
    if any(intended[name] != _intended(globs) for name, globs in lists.items()):
        raise EditRefused("the header cannot be changed safely; edit the file by hand")
    return result


def _is_paths(entry: HeaderEntry) -> bool:
    key = KEYS.get(canonical(entry.key))
    return key is not None and key.field == "paths"


def _globs_of(entry: HeaderEntry) -> tuple[str, ...]:
    value = read_value(entry)
    return tuple(map(str, value)) if isinstance(value, tuple) else ()


_Version = tuple[str, Split, HeaderReading]
"""A file's text, its parts and what its header says."""


def _named(entries: Iterable[HeaderEntry], name: str) -> list[HeaderEntry]:
    key = canonical(name)
    return [entry for entry in entries if canonical(entry.key) == key]


def _check_kept(header: Header, reading: HeaderReading, key: str, value: Change) -> None:
    """Refuse a change of a value that is not what its key holds, or that goes on below its key.

    What stands there was written by somebody who meant something by it.
    """
    name = re.escape(key).replace("\\-", "[-_ ]")
    opening = r"[ \t]*(?:[?{][ \t]*|\{.*,[ \t]*)?"
    like = re.compile(rf"(?i){opening}[\"']?{name}[\"']?[ \t]*(?:[:\uff1a=]|$)")
    own = _named(reading.entries, key)
    for number, line in enumerate(header.lines):
        if line.startswith("<<:") and not own:
            where = f"write `{key}: …` on a line of its own"
            raise EditRefused(f"line {header.line + number}: '<<' may hold {key}; {where}")
        # The key's own line, or one of a value that may hold what looks like a key.
        is_read = any(number == entry.line for entry in own) or any(
            entry.line < number < entry.end and (entry.shape, entry.styles) != ("scalar", "p")
            for entry in reading.entries
        )
        if like.match(line) and not is_read:
            raise EditRefused(
                f"line {header.line + number}: {line.strip()[:40]!r} is not recognised as a key; "
                f"write `{key}: …` at the beginning of the line"
            )
    if own and (what := _unlike(own[-1], value)):
        raise EditRefused(f"line {header.line + own[-1].line}: {key} {what}")


def _unlike(entry: HeaderEntry, value: Change) -> str:
    """Say why a value cannot take the place of what stands there, "" if it can."""
    known = KEYS.get(canonical(entry.key))
    form = known.form if known else "text"
    valid = describe_form(known) if known else "one text"
    is_list, is_one_line = isinstance(value, tuple), entry.span[0] == entry.span[2]
    if form == "count":
        try:
            read_value(entry)
        except ValueError as error:
            return f"is {error}; write {valid}"
    if entry.shape == "scalar" and form in _ALONE and is_one_line:
        said = " ".join((entry.texts[0] or "").split())
        if said and not _ALONE[form].fullmatch(said):
            return f"is {said[:40]!r}; write {valid}"
    if entry.shape == "nested":
        return f"is nested; write {valid}"
    if entry.is_alias:
        return "names a list that stands elsewhere; write its items here"
    if entry.shape == "list" and isinstance(value, tuple):
        nested = "n" in entry.styles[: _dropped(entry, value)]
        return "begins with a nested item; write each item as one line of text" if nested else ""
    if entry.shape == "list":
        return f"is a list; write {valid}" if entry.texts else ""
    if is_one_line or (form == "text" and not is_list):
        return ""
    where = "one item a line, each behind a hyphen" if is_list else "it on one line"
    return f"continues on the next line; write {where}"


def _check_unseen(text: str, changes: Mapping[str, Change]) -> None:
    """Refuse to put a header above one that is not read as such and holds a key to be changed."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    found = _UNSEEN.match(plain)
    lines = found["inside"].splitlines() if found else ()
    names = {canonical(line.partition(":")[0].strip("\"' ")) for line in lines if ":" in line}
    if found and not names.isdisjoint(map(canonical, changes)):
        line = 1 + found[0][: found.start("inside")].count("\n")
        raise EditRefused(f"line {line}: this header is ignored; move it to the first line")


def read_comments(inside: str) -> list[str]:
    """Return the comments of a header's lines, without those above a key."""
    end = inside[len(inside.rstrip("\r\n")) :] or "\n"
    split = split_header(f"---{end}{inside}---{end}")
    if split.header is None:
        return []
    return _comments_of(split.header.lines, read_header(split).entries)


def _comments_of(lines: Sequence[str], entries: Iterable[HeaderEntry]) -> list[str]:
    return [c for one in entries for c in _find_comments(lines, one, one.line, one.end)]


def _find_comments(lines: Sequence[str], entry: HeaderEntry, first: int, end: int) -> list[str]:
    """Return the comments on some lines of an entry, and what only looks like one."""
    spans = entry.spans if entry.shape != "nested" else ()
    found = []
    for number in range(first, end):
        line = lines[number]
        for begin, column, last, stop in reversed(spans):
            if begin == last == number:
                line = line[:column] + line[stop:]
            elif begin < number <= last and not line.lstrip().startswith("#"):
                line = line[stop:] if number == last else ""
        if comment := _COMMENT.search(line):
            found.append(comment[0].strip())
    return found


def _new_lines(name: str, value: Change, indent: str) -> list[str]:
    """Return the lines of a key that was not there before."""
    if value is None:
        return []
    if not isinstance(value, tuple):
        return [f"{indent}{name}: {format_scalar(value, typed=_is_typed(name, value))}"]
    items = [f"{indent}  - {format_scalar(item)}" for item in value]
    return [f"{indent}{name}:", *items] if items else [f"{indent}{name}: []"]


def _is_typed(name: str, value: Change) -> bool:
    return isinstance(value, int) or (name in KEYS and KEYS[name].form in _TYPED_FORMS)


class _Editor:
    """Finds what to splice in one text; all places are offsets in it."""

    def __init__(self, text: str, header: Header, entries: Sequence[HeaderEntry]) -> None:
        self._header = header
        self._entries = entries
        inside = text[header.start : header.end]
        self._starts = [header.start + offset for offset in line_starts(inside)]

    def splices(self, changes: Mapping[str, Change]) -> list[Splice]:
        """Return the splices that make all changes."""
        found: list[Splice] = []
        added: list[str] = []
        indent = " " * (self._entries[0].column if self._entries else 0)
        for name, value in changes.items():
            same = _named(self._entries, name)
            if any("?" in self._header.lines[one.line][: one.column] for one in same):
                raise EditRefused(f"{name} is written as `? {name}`; edit the file by hand")
            if value is None:
                found += [self._lines(entry.line, entry.end) for entry in same]
            elif not same:
                added += _new_lines(name, value, indent)
            elif isinstance(value, tuple):
                found += self._list(same[-1], value)
            else:
                style = same[-1].styles if same[-1].shape == "scalar" else "p"
                written = format_scalar(value, style=style, typed=_is_typed(name, value))
                found += self._in_place(same[-1], written)
        if added:
            text = "".join(line + self._header.eol for line in added)
            found.append(Splice(start=self._header.end, end=self._header.end, text=text))
        return found

    def replace_items(self, entry: HeaderEntry, moves: Mapping[str, Sequence[str]]) -> list[Splice]:
        """Return the splices that replace items of a list, or parts of one text with commas."""
        found = []
        for value in entry.values:
            begin, end = value.span[:2], value.span[2:]
            new = moves.get(one_line(value.text or ""))
            if new is None and entry.shape == "scalar" and value.text:
                parts = [moves.get(part.strip(), (part.strip(),)) for part in value.text.split(",")]
                joined = ", ".join(glob for globs in parts for glob in globs)
                if joined != ", ".join(part.strip() for part in value.text.split(",")):
                    written = format_scalar(joined, style=value.style)
                    found.append(self._span(begin, end, written))
            elif new is not None:
                between = ", "
                if entry.shape == "list" and not entry.flow:
                    between = self._header.eol + "".join(self._item_style(entry))
                items = [format_scalar(g, style=value.style, flow=entry.flow) for g in new]
                found.append(self._span(begin, end, between.join(items)))
        return found

    def _span(self, begin: tuple[int, int], end: tuple[int, int], text: str) -> Splice:
        start, stop = (self._starts[line] + column for line, column in (begin, end))
        return Splice(start=start, end=stop, text=text)

    def _lines(self, first: int, end: int, text: str = "") -> Splice:
        """Replace whole lines."""
        return self._span((first, 0), (end, 0), text)

    def _in_place(self, entry: HeaderEntry, written: str) -> list[Splice]:
        """Write a value where the old one stands, for a list of lines behind its key."""
        begin, end = entry.span[:2], entry.span[2:]
        if entry.shape == "scalar" or begin[0] == entry.line:
            return [self._span(begin, end, written if begin < end else f" {written}")]
        key_line = self._header.lines[entry.line]
        colon = (entry.line, key_line.index(":", entry.column + len(entry.key)) + 1)
        below = self._lines(entry.line + 1, entry.end)
        return [self._span(colon, colon, f" {written}"), below]

    def _list(self, entry: HeaderEntry, values: tuple[str, ...]) -> list[Splice]:
        values = tuple(value for value in values if one_line(value))
        if not values:
            return self._in_place(entry, "[]")
        if entry.shape == "list" and entry.values:
            dropped = _dropped(entry, values)
            added = values[len(_items_of(entry.texts[dropped:])) :]
            change = self._flow_items if entry.flow else self._block_items
            return change(entry, dropped, added)
        if entry.span[:2] == entry.span[2:]:
            return [self._lines(entry.end, entry.end, self._items(entry, values))]
        return self._in_place(entry, format_flow(values))

    def _items(self, entry: HeaderEntry, values: Iterable[str]) -> str:
        """Return list items, one a line, in the style of those the list has."""
        indent, dash = self._item_style(entry)
        eol = self._header.eol
        return "".join(f"{indent}{dash}{format_scalar(value)}{eol}" for value in values)

    def _item_style(self, entry: HeaderEntry) -> tuple[str, str]:
        """Return the indentation and the dash, with its spaces, that a block list uses."""
        line, column = entry.values[-1].span[:2] if entry.values else (0, 0)
        found = re.fullmatch(r"([ \t]*)(-[ \t]+)", self._header.lines[line][:column])
        return (found[1], found[2]) if found else (" " * (entry.column + 2), "- ")

    def _block_items(
        self, entry: HeaderEntry, dropped: int, added: tuple[str, ...]
    ) -> list[Splice]:
        """Remove the first items of a list of lines, add some below the last."""
        found = []
        if dropped:
            begin, end = entry.spans[0][0], entry.end
            if dropped < len(entry.spans):  # comments above the next item are about that one
                first, _, last, column = entry.spans[dropped - 1]
                end = max(first + 1, min(last + (column > 0), entry.spans[dropped][0]))
            indent, eol = self._item_style(entry)[0], self._header.eol
            kept = _find_comments(self._header.lines, entry, begin, end)
            found.append(self._lines(begin, end, "".join(f"{indent}{c}{eol}" for c in kept)))
        if added:
            found.append(self._lines(entry.end, entry.end, self._items(entry, added)))
        return found

    def _flow_items(self, entry: HeaderEntry, dropped: int, added: tuple[str, ...]) -> list[Splice]:
        """Remove the first items of a list in brackets, add some behind the last."""
        if dropped == len(entry.spans):
            return [self._span(entry.span[:2], entry.span[2:], format_flow(added))]
        found = []
        if dropped:
            found.append(self._span(entry.spans[0][:2], entry.spans[dropped][:2], ""))
        if added:
            end = entry.spans[-1][2:]
            text = "".join(f", {format_scalar(value, flow=True)}" for value in added)
            found.append(self._span(end, end, text))
        return found


def _dropped(entry: HeaderEntry, values: tuple[str, ...]) -> int:
    """Return how many first items go so that the others stay as the beginning of ``values``."""
    new = _items_of(values)
    counts = range(len(entry.texts) + 1)
    stay = (_items_of(entry.texts[count:]) for count in counts)
    return next(count for count, old in enumerate(stay) if new[: len(old)] == old)


def _items_of(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the items of a list as a card reads them: without those that say nothing."""
    return tuple(item for text in texts if text and (item := one_line(text)))


def _meaning(entries: Iterable[HeaderEntry]) -> Meaning:
    """Return what a header says: of a key that stands twice the last one."""
    return {
        canonical(one.key): _intended(one.texts if one.shape == "list" else one.texts[0])
        for one in entries
    }


def _intended(value: Change | tuple[str | None, ...]) -> str | tuple[str, ...] | None:
    if isinstance(value, tuple):
        return _items_of(value)
    # Where lines break in a header has no meaning.
    return None if value is None else " ".join(str(value).split())


def _verify(old: _Version, text: str, changes: Mapping[str, Change], intended: Meaning) -> None:
    """Refuse a result that says anything but what was intended, or touched another line."""
    split, reader = split_header(text), old[2].reader
    reading = read_header(split)
    usable = reading.reader != "none" and not re.search("[\ud800-\udfff]", text)
    if usable and reading.reader != reader == "lenient" and split.header is not None:
        reading = HeaderReading(entries=read_leniently(split.header.lines)[0], reader=reader)
    if not usable or reading.reader != reader or _meaning(reading.entries) != intended:
        raise EditRefused("the header cannot be changed safely; edit the file by hand")
    new = (text, split, reading)
    for name in changes:
        if lost := Counter(_comments_at(name, old)) - Counter(_comments_at(name, new)):
            raise EditRefused(
                f"the comment {next(iter(lost))[:40]!r} at {name} would be lost; "
                "move it above the key, then try again"
            )
    if old[1].header and _other_lines(old, changes) != _other_lines(new, changes):
        raise EditRefused("this change would alter other lines of the header; edit it by hand")


def _comments_at(name: str, version: _Version) -> list[str]:
    _text, split, reading = version
    lines = split.header.lines if split.header else ()
    return _comments_of(lines, _named(reading.entries, name))


def _other_lines(version: _Version, changes: Mapping[str, Change]) -> list[str]:
    """Return every line, with its end, that belongs to no changed key."""
    text, split, reading = version
    if split.header is None:
        return []
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)", text[split.header.start : split.header.end])
    for name, value in changes.items():
        for entry in _named(reading.entries, name)[0 if value is None else -1 :]:
            lines[entry.line : entry.end] = [""] * (entry.end - entry.line)
    return [text[: split.header.start], *filter(None, lines), text[split.header.end :]]
