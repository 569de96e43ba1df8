"""The reader of headers that YAML refuses: top-level ``key: value`` pairs and lists, nothing else.

Real headers hold list items that begin with a backtick and titles with ``: `` in them. Their
meaning is plain to a human, and it is read here as a human would: a value that does not parse as
quoted text or as a list is the text that stands there.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from lessons_kb.cards.header import Entry, Span, canonical
from lessons_kb.cards.keys import KEYS

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


def read_lenient(lines: tuple[str, ...]) -> tuple[tuple[Entry, ...], tuple[int, ...]]:
    """Return the entries of a header and the numbers, from 0, of the lines that say nothing."""
    first = next((found for line in lines if (found := _KEY.match(line))), None)
    indent = len(first[1]) if first else 0
    entries: list[Entry] = []
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
        deeper = len(line) - len(stripped) > indent
        item = _ITEM.match(line)
        closing = stripped[0] in "]}"
        if not deeper and not (item and len(item[1]) == indent) and not closing:
            break
        end = place + 1
    return end


def _entry(lines: tuple[str, ...], line: int, end: int, key: re.Match[str]) -> Entry:
    rest = lines[line][key.end() :]
    begin = key.end() + len(rest) - len(rest.lstrip())
    entry = Entry(
        key=key[3],
        shape="scalar",
        texts=(None,),
        spans=((line, key.end(), line, key.end()),),
        styles="p",
        line=line,
        end=end,
        column=len(key[1]),
        span=(line, key.end(), line, key.end()),
    )
    said = [at for at in range(line + 1, end) if not lines[at].lstrip().startswith("#")]
    said = [at for at in said if lines[at].strip()]
    if lines[line].startswith("[", begin) and (made := _flow_list(lines, begin, entry)):
        return made
    text, style, stop = read_scalar(lines[line], begin, bare=_is_bare(key[3]))
    if block := _BLOCK.match(lines[line], begin):
        whole = ("\n" if block[1] == "|" else " ").join(lines[at].strip() for at in said)
        return _scalar(entry, whole, block[1], (line, begin, end - 1, len(lines[end - 1].rstrip())))
    if text is None and said:
        return _list(lines, said, entry) or _below(lines, said, entry)
    if said:
        whole = " ".join([lines[line][begin:].strip(), *(lines[at].strip() for at in said)])
        return _scalar(entry, whole, "p", (line, begin, end - 1, len(lines[end - 1].rstrip())))
    return entry if text is None else _scalar(entry, text, style, (line, begin, line, stop))


def _is_bare(name: str) -> bool:
    key = KEYS.get(canonical(name))
    return key is not None and key.form in _BARE_FORMS


def _scalar(entry: Entry, text: str | None, style: str, span: Span) -> Entry:
    return replace(entry, texts=(text,), styles=style, spans=(span,), span=span)


def _below(lines: tuple[str, ...], said: list[int], entry: Entry) -> Entry:
    """Read what is indented under a key without a value: more keys, or text."""
    first, last = lines[said[0]], lines[said[-1]]
    span = (said[0], len(first) - len(first.lstrip()), said[-1], len(last.rstrip()))
    if all(_KEY.match(lines[at]) for at in said):
        return replace(entry, shape="nested", styles="n", spans=(span,), span=span)
    if len(said) == 1:
        text, style, stop = read_scalar(first, span[1], bare=_is_bare(entry.key))
        return _scalar(entry, text, style, (*span[:3], stop))
    return _scalar(entry, " ".join(lines[at].strip() for at in said), "p", span)


def _list(lines: tuple[str, ...], said: list[int], entry: Entry) -> Entry | None:
    """Read a list of one item a line; deeper lines continue the item above them."""
    first = _ITEM.match(lines[said[0]])
    if not first:
        return None
    texts: list[str | None] = []
    spans: list[Span] = []
    styles = ""
    for at in said:
        item = _ITEM.match(lines[at])
        if item and len(item[1]) <= len(first[1]):
            text, style, stop = read_scalar(lines[at], item.end())
            texts.append(text)
            spans.append((at, item.end(), at, stop))
            styles += style
        else:
            texts[-1] = f"{texts[-1] or ''} {lines[at].strip()}".strip()
            spans[-1] = (*spans[-1][:2], at, len(lines[at].rstrip()))
            styles = styles[:-1] + "p"
    span = (said[0], len(first[1]), *spans[-1][2:])
    return replace(
        entry, shape="list", texts=tuple(texts), spans=tuple(spans), styles=styles, span=span
    )


def _flow_list(lines: tuple[str, ...], begin: int, entry: Entry) -> Entry | None:
    """Read ``[a, "b"]``, also over several lines; None if it is not such a list after all."""
    texts: list[str | None] = []
    spans: list[Span] = []
    styles = ""
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
            return replace(
                entry,
                shape="list",
                texts=tuple(texts),
                spans=tuple(spans),
                styles=styles,
                span=span,
                flow=True,
            )
        item = _QUOTED.match(lines[line], column) or _FLOW_PLAIN.match(lines[line], column)
        if not item:
            return None
        text, style, _stop = read_scalar(item[0], 0)
        texts.append(text)
        spans.append((line, column, line, column + len(item[0].rstrip())))
        styles += style
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
