"""Edit a header as its author would: only the lines of the changed keys differ.

The edit replaces spans of the text, whose positions the reader reported. The result is then read
again, and its values and lines are compared with the intended ones. An edit that does not match is
refused.
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

# Begins with a letter and has no sign with a meaning in YAML.
_PLAIN = re.compile(r"[^\W\d_](?:[^\W_]|[_ .,;/()+=@%^$&*!?<>'\"~|-])*(?<![ \t])")
_TYPED = re.compile(
    r"[0-9]{1,9}|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]{5,15}(?:Z|[+-][0-9]{2}:[0-9]{2}))?", re.ASCII
)
_WORDS_WITH_MEANING = ("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf")
# The question mark is PyYAML's own addition.
_IN_FLOW = re.compile(r"[,?\[\]{}]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Characters that are not printable in YAML 1.1, and its line breaks.
_UNPRINTABLE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


def format_scalar(
    value: str | int, *, style: str = "p", typed: bool = False, flow: bool = False
) -> str:
    r"""Return a value as YAML on one line.

    ``style`` is the letter of the replaced scalar (see ``HeaderEntry.styles``). Quotes are
    preserved, and a plain text stays plain if that is safe. ``typed`` marks a number or a date,
    which gets quotes only if its predecessor had quotes. ``flow`` marks a value inside brackets.
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
    """Return a list in one line: ``[telegram, "a, b"]``."""
    return "[" + ", ".join(format_scalar(value, flow=True) for value in values) + "]"


Change = str | int | tuple[str, ...] | None
Meaning = dict[str, str | tuple[str, ...] | None]

_TYPED_FORMS = ("count", "date")
_ALONE = {
    "date": re.compile(r"[\w.-]+|\d{4}-\d{1,2}-\d{1,2}[T ][\d:.,+Z -]*"),
    "choice": re.compile(r"[\w.-]+"),
}
"""Maps the form of a key to the pattern of a value, valid or not, without additional text."""
_UNSEEN = re.compile(r"[\ufeff\s]*^---[ \t]*$(?P<inside>.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@frozen
class Splice:
    """A range of a text, and its replacement."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """Return the text with the range replaced."""
        return text[: self.start] + self.text + text[self.end :]


def edit_header(text: str, changes: Mapping[str, Change]) -> str:
    r"""Return the text of a file with some keys of its header changed.

    Keys have the same names as in the card (``last-seen``). A tuple is a list, and None removes the
    key. If a key is repeated, its last entry is changed, because that entry counts. Only lines of
    changed keys differ. Comments, order, quotes, line ends, the byte order mark and trailing spaces
    stay. A missing key is added at the end of the header, and a missing header at the top of the
    file.

    Raises EditRefused if a line of the author would be lost, if a count would start again, or if
    the result would not be read as intended. Raises InputError for an impossible name.
    """
    split = split_header(text)
    reading = read_header(split)
    if reading.reader == "none":
        problem = reading.problems[0]
        raise EditRefused(f"{problem.message}; {problem.fix}, then try again")
    meaning = _values_of(reading.entries)
    needed: dict[str, Change] = {}
    for name, value in changes.items():
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} cannot be a key; use letters, digits and hyphens")
        key = canonical(name)
        is_set = key not in meaning if value is None else meaning.get(key, ...) == _normalise(value)
        if not is_set:
            needed[key if key in KEYS else name] = value
    if not needed:
        return text
    if split.header is None:
        _check_unseen(text, needed)
        eol_match = re.search(r"\r\n|\r|\n", text)
        eol = eol_match[0] if eol_match else "\n"
        lines = [line for name, value in needed.items() for line in _new_lines(name, value, "")]
        header = eol.join(["---", *lines, "---", ""])
        start = int(text.startswith("\ufeff"))
        result = text[:start] + header + text[start:]
    else:
        for name, value in needed.items():
            if value is not None:
                _check_kept(split.header, reading, canonical(name), value)
        splices = _Editor(text, split.header, reading.entries).splices(needed)
        result = text
        splices.sort(key=lambda splice: (splice.start, splice.end))
        for splice in reversed(splices):  # splices at the same offset stay in this order
            result = splice.apply(result)
    for name, value in needed.items():
        meaning.pop(canonical(name), None)
        if value is not None:
            meaning[canonical(name)] = _normalise(value)
    _verify((text, split, reading), result, needed, meaning)
    return result


def replace_paths(text: str, moves: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a file with entries of its ``paths`` replaced. The rest stays.

    ``moves`` maps each old entry to its new ones. Raises EditRefused if the header would not be
    read as intended.
    """
    split = split_header(text)
    reading = read_header(split)
    if split.header is None:
        return text
    editor = _Editor(text, split.header, reading.entries)
    splices: list[Splice] = []
    intended = _values_of(reading.entries)
    for entry in reading.entries:
        if _is_paths(entry):
            splices += editor.replace_items(entry, moves)
            new = tuple(glob for item in _globs_of(entry) for glob in moves.get(item, (item,)))
            intended[canonical(entry.key)] = _normalise(new)
    result = text
    for splice in sorted(splices, key=lambda splice: -splice.start):
        result = splice.apply(result)
    after = read_header(split_header(result)).entries
    lists = {canonical(entry.key): _globs_of(entry) for entry in after if _is_paths(entry)}
    if any(intended[name] != _normalise(globs) for name, globs in lists.items()):
        raise EditRefused("the header cannot be changed safely; edit the file by hand")
    return result


def _is_paths(entry: HeaderEntry) -> bool:
    key = KEYS.get(canonical(entry.key))
    return key is not None and key.field == "paths"


def _globs_of(entry: HeaderEntry) -> tuple[str, ...]:
    value = read_value(entry)
    return tuple(map(str, value)) if isinstance(value, tuple) else ()


_Version = tuple[str, Split, HeaderReading]
"""The text of a file, its parts and the reading of its header."""


def _named(entries: Iterable[HeaderEntry], name: str) -> list[HeaderEntry]:
    key = canonical(name)
    return [entry for entry in entries if canonical(entry.key) == key]


def _check_kept(header: Header, reading: HeaderReading, key: str, value: Change) -> None:
    """Refuse a change that would lose text of the author.

    Such a change replaces a value of the wrong form, or a value that continues in lines that were
    not read as part of it.
    """
    name = re.escape(key).replace("\\-", "[-_ ]")
    opening = r"[ \t]*(?:[?{][ \t]*|\{.*,[ \t]*)?"
    like = re.compile(rf"(?i){opening}[\"']?{name}[\"']?[ \t]*(?:[:\uff1a=]|$)")
    own = _named(reading.entries, key)
    for number, line in enumerate(header.lines):
        if line.startswith("<<:") and not own:
            where = f"write `{key}: …` on a line of its own"
            raise EditRefused(f"line {header.line + number}: '<<' may hold {key}; {where}")
        # The key's own line, or a line of a value that may contain text like a key.
        is_read = any(number == entry.line for entry in own) or any(
            entry.line < number < entry.end and (entry.shape, entry.styles) != ("scalar", "p")
            for entry in reading.entries
        )
        if like.match(line) and not is_read:
            raise EditRefused(
                f"line {header.line + number}: {line.strip()[:40]!r} is not recognised as a key; "
                f"write `{key}: …` at the beginning of the line"
            )
    if own and (problem := _find_replace_problem(own[-1], value)):
        raise EditRefused(f"line {header.line + own[-1].line}: {key} {problem}")


def _find_replace_problem(entry: HeaderEntry, value: Change) -> str:
    """Return why a value cannot replace the value of an entry, or "" if it can."""
    known = KEYS.get(canonical(entry.key))
    form = known.form if known else "text"
    valid = describe_form(known) if known else "one text"
    is_list = isinstance(value, tuple)
    is_one_line = entry.span[0] == entry.span[2]
    if form == "count":
        try:
            read_value(entry)  # raises ValueError if the value is not a count
        except ValueError as error:
            return f"is {error}; write {valid}"
    if entry.shape == "scalar" and form in _ALONE and is_one_line:
        old = " ".join((entry.texts[0] or "").split())
        if old and not _ALONE[form].fullmatch(old):
            return f"is {old[:40]!r}; write {valid}"
    if entry.shape == "nested":
        return f"is nested; write {valid}"
    if entry.is_alias:
        return "names a list that stands elsewhere; write its items here"
    if entry.shape == "list" and isinstance(value, tuple):
        nested = "n" in entry.styles[: _count_dropped(entry, value)]
        return "begins with a nested item; write each item as one line of text" if nested else ""
    if entry.shape == "list":
        return f"is a list; write {valid}" if entry.texts else ""
    if is_one_line or (form == "text" and not is_list):
        return ""
    where = "one item a line, each behind a hyphen" if is_list else "it on one line"
    return f"continues on the next line; write {where}"


def _check_unseen(text: str, changes: Mapping[str, Change]) -> None:
    """Refuse to add a header above an ignored header that has one of the keys to change."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    match = _UNSEEN.match(plain)
    if not match:
        return
    lines = match["inside"].splitlines()
    names = {canonical(line.partition(":")[0].strip("\"' ")) for line in lines if ":" in line}
    if not names.isdisjoint(map(canonical, changes)):
        number = 1 + match[0][: match.start("inside")].count("\n")
        raise EditRefused(f"line {number}: this header is ignored; move it to the first line")


def read_comments(inside: str) -> list[str]:
    """Return the comments of a header's lines, without those above a key."""
    end = inside[len(inside.rstrip("\r\n")) :] or "\n"
    split = split_header(f"---{end}{inside}---{end}")
    if split.header is None:
        return []
    return _comments_of(split.header.lines, read_header(split).entries)


def _comments_of(lines: Sequence[str], entries: Iterable[HeaderEntry]) -> list[str]:
    return [
        comment
        for entry in entries
        for comment in _find_comments(lines, entry, entry.line, entry.end)
    ]


def _find_comments(lines: Sequence[str], entry: HeaderEntry, first: int, end: int) -> list[str]:
    """Return the comments on some lines of an entry, and texts that only look like comments."""
    spans = entry.spans if entry.shape != "nested" else ()
    comments = []
    for number in range(first, end):
        line = lines[number]
        for begin, column, last, stop in reversed(spans):
            if begin == number and last == number:
                line = line[:column] + line[stop:]
            elif begin < number <= last and not line.lstrip().startswith("#"):
                line = line[stop:] if number == last else ""
        if comment := _COMMENT.search(line):
            comments.append(comment[0].strip())
    return comments


def _new_lines(name: str, value: Change, indent: str) -> list[str]:
    """Return the lines of a new key."""
    if value is None:
        return []
    if not isinstance(value, tuple):
        return [f"{indent}{name}: {format_scalar(value, typed=_is_typed(name, value))}"]
    items = [f"{indent}  - {format_scalar(item)}" for item in value]
    return [f"{indent}{name}:", *items] if items else [f"{indent}{name}: []"]


def _is_typed(name: str, value: Change) -> bool:
    return isinstance(value, int) or (name in KEYS and KEYS[name].form in _TYPED_FORMS)


class _Editor:
    """Finds the splices for one text. All positions are offsets in this text."""

    def __init__(self, text: str, header: Header, entries: Sequence[HeaderEntry]) -> None:
        self._header = header
        self._entries = entries
        inside = text[header.start : header.end]
        self._starts = [header.start + offset for offset in line_starts(inside)]

    def splices(self, changes: Mapping[str, Change]) -> list[Splice]:
        """Return the splices that make all changes."""
        splices: list[Splice] = []
        added: list[str] = []
        indent = " " * (self._entries[0].column if self._entries else 0)
        for name, value in changes.items():
            same = _named(self._entries, name)
            if any("?" in self._header.lines[entry.line][: entry.column] for entry in same):
                raise EditRefused(f"{name} is written as `? {name}`; edit the file by hand")
            if value is None:
                splices += [self._lines(entry.line, entry.end) for entry in same]
            elif not same:
                added += _new_lines(name, value, indent)
            elif isinstance(value, tuple):
                splices += self._list(same[-1], value)
            else:
                style = same[-1].styles if same[-1].shape == "scalar" else "p"
                written = format_scalar(value, style=style, typed=_is_typed(name, value))
                splices += self._in_place(same[-1], written)
        if added:
            text = "".join(line + self._header.eol for line in added)
            splices.append(Splice(start=self._header.end, end=self._header.end, text=text))
        return splices

    def replace_items(self, entry: HeaderEntry, moves: Mapping[str, Sequence[str]]) -> list[Splice]:
        """Return the splices that replace items of a list, or parts of a comma-separated text."""
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
        """Replace a value. If it begins below its key, move it to the line of the key."""
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
            dropped = _count_dropped(entry, values)
            added = values[len(_items_of(entry.texts[dropped:])) :]
            change = self._flow_items if entry.flow else self._block_items
            return change(entry, dropped, added)
        if entry.span[:2] == entry.span[2:]:
            return [self._lines(entry.end, entry.end, self._items(entry, values))]
        return self._in_place(entry, format_flow(values))

    def _items(self, entry: HeaderEntry, values: Iterable[str]) -> str:
        """Return list items, one on each line, in the style of the existing items."""
        indent, dash = self._item_style(entry)
        eol = self._header.eol
        return "".join(f"{indent}{dash}{format_scalar(value)}{eol}" for value in values)

    def _item_style(self, entry: HeaderEntry) -> tuple[str, str]:
        """Return the indentation of a block list, and its dash with the spaces after it."""
        line, column = entry.values[-1].span[:2] if entry.values else (0, 0)
        match = re.fullmatch(r"([ \t]*)(-[ \t]+)", self._header.lines[line][:column])
        return (match[1], match[2]) if match else (" " * (entry.column + 2), "- ")

    def _block_items(
        self, entry: HeaderEntry, dropped: int, added: tuple[str, ...]
    ) -> list[Splice]:
        """Remove the first items of a block list and add items below the last."""
        splices = []
        if dropped:
            begin, end = entry.spans[0][0], entry.end
            if dropped < len(entry.spans):  # comments above the next item belong to it
                first, _, last, column = entry.spans[dropped - 1]
                end = max(first + 1, min(last + (column > 0), entry.spans[dropped][0]))
            indent = self._item_style(entry)[0]
            eol = self._header.eol
            kept = _find_comments(self._header.lines, entry, begin, end)
            comment_lines = "".join(f"{indent}{comment}{eol}" for comment in kept)
            splices.append(self._lines(begin, end, comment_lines))
        if added:
            splices.append(self._lines(entry.end, entry.end, self._items(entry, added)))
        return splices

    def _flow_items(self, entry: HeaderEntry, dropped: int, added: tuple[str, ...]) -> list[Splice]:
        """Remove the first items of a list in brackets and add items after the last."""
        if dropped == len(entry.spans):
            return [self._span(entry.span[:2], entry.span[2:], format_flow(added))]
        splices = []
        if dropped:
            splices.append(self._span(entry.spans[0][:2], entry.spans[dropped][:2], ""))
        if added:
            end = entry.spans[-1][2:]
            text = "".join(f", {format_scalar(value, flow=True)}" for value in added)
            splices.append(self._span(end, end, text))
        return splices


def _count_dropped(entry: HeaderEntry, values: tuple[str, ...]) -> int:
    """Return the number of first items to remove so that ``values`` begin with the others."""
    new = _items_of(values)
    for count in range(len(entry.texts)):
        rest = _items_of(entry.texts[count:])
        if new[: len(rest)] == rest:
            return count
    return len(entry.texts)


def _items_of(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the items of a list as a card reads them, without empty items."""
    return tuple(item for text in texts if text and (item := one_line(text)))


def _values_of(entries: Iterable[HeaderEntry]) -> Meaning:
    """Return the value of each key. The last entry of a repeated key counts."""
    return {
        canonical(entry.key): _normalise(entry.texts if entry.shape == "list" else entry.texts[0])
        for entry in entries
    }


def _normalise(value: Change | tuple[str | None, ...]) -> str | tuple[str, ...] | None:
    if isinstance(value, tuple):
        return _items_of(value)
    # Line breaks in a header have no meaning.
    return None if value is None else " ".join(str(value).split())


def _verify(old: _Version, text: str, changes: Mapping[str, Change], intended: Meaning) -> None:
    """Refuse a result with unintended values or with a change in another line."""
    split = split_header(text)
    reader = old[2].reader
    reading = read_header(split)
    usable = reading.reader != "none" and not re.search("[\ud800-\udfff]", text)
    is_stricter = reader == "lenient" and reading.reader != "lenient"
    if usable and is_stricter and split.header is not None:
        reading = HeaderReading(entries=read_leniently(split.header.lines)[0], reader=reader)
    if not usable or reading.reader != reader or _values_of(reading.entries) != intended:
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
    """Return the lines that do not belong to a changed key, with their line ends."""
    text, split, reading = version
    if split.header is None:
        return []
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)", text[split.header.start : split.header.end])
    for name, value in changes.items():
        for entry in _named(reading.entries, name)[0 if value is None else -1 :]:
            lines[entry.line : entry.end] = [""] * (entry.end - entry.line)
    return [text[: split.header.start], *filter(None, lines), text[split.header.end :]]
