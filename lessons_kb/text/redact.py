r"""Redact secrets in texts before they are stored: keys, tokens, passwords, values of such names.

A false positive is better than a missed secret, but hashes, identifiers, lock files and code stay
readable. The patterns of secrets are data (``data/secrets.toml``). They are searched in a view of
the text as its final reader sees it. In this view, escapes and look-alike letters are resolved, and
lines and strings are joined.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping
from functools import cache, lru_cache
from itertools import accumulate, count, pairwise
from typing import Any

from lessons_kb.data import read_json_lines, read_toml
from lessons_kb.text.patterns import FindPatterns, compile_regex, compile_set
from lessons_kb.text.sanitize import find_hidden, fold_letters
from lessons_kb.values import frozen

Span = tuple[int, int, str]
Hint = tuple[str, int]
"""A text that every match of a form contains, and the number of the form. A text between slashes is
a pattern. A text without capitals matches in upper and lower case."""
Row = list[tuple[int, int]]
"""The start and the end of each cell in a row of a table."""


_SHORTEST = 6
_LONG_TOKEN = 16
_LONG_WORD = 20
_DIGITS_OF_COUNT = 3
_MIN_ENTROPY = 3.6
"""The minimum entropy of random text in bits per character. A run of 20 random letters and digits
has more, and a few joined words have less."""
_MIN_CHANGES = 0.36
"""The minimum share of neighbours of different classes, which is 0.62 in random text and about 0.3
in CamelCase."""
_MIN_PIECE = 14
"""The minimum length of a random piece. Paths, slugs and UUIDs have shorter pieces."""
_SAMPLE = 300
"""The number of characters of a long run that are tested for randomness."""
_BEFORE_STEM = 12
_AFTER_STEM = 8
"""The maximum number of characters in a name before and after its stem."""
_RANDOM = -1.0
_MEMORY = 8 << 20
"""The number of bytes for the program and the state of one RE2 pattern."""
_SHORT_TEXT, _FEW_TEXTS = 4_000, 50
"""The numbers of characters and of texts up to which a search for each hint costs less than RE2."""
_SHORT_TEXTS = count()
_LONG_S = "\N{LATIN SMALL LETTER LONG S}"
"""RE2 matches it as "s" in any case, but its lower-case form is itself."""
_MARK_ROOM = 60
_PASSES = 5
"""The maximum number of passes. The redaction of one secret may reveal another secret before it. A
text without secrets needs one pass."""

_APART = "\n" * 9
"""The separator of two texts, which is longer than the text before a match that any rule reads."""
_TAKEN = "\0"
"""The character that replaces a redacted secret in the view."""
_ESCAPED = 0xE000
"""The first of the characters for escaped quotes in the view. There is one for each kind of quote
and each depth."""
_PLAIN = {"line": "\x0b", "tab": "\t", "slash": "/", "triple": '"'}
_BARE = r"[^\s\"'`\\\ue000-\ue00f][^\s]{0,300}"
_MORE = r"[\w+/=~.-]*+"
_UNBROKEN = r"[^\s=()\[\]{}<>]+"
_RULE = r"[\s|│┃+:=─━┄┼╪╇├┤┌┐└┘╞╡┬┴-]*"
_SEPARATORS = "│┃|\t,"
_CELL_ENDS = " *_`\"'\t\r\n\x0b"
_COLUMN_RULE = r" {0,40}(?:-{2,}|={2,})(?: +(?:-{2,}|={2,}))*\s*"
_DASHES = r"[-=]+"
_LINE_END = r"[\n\x0b]"
_TABLE_TAG = r"<(?P<end>/?)(?P<tag>t[rhd]|t(?:able|head|body|foot))(?![\w-])[^<>]{0,300}>"
_CELL_TEXT = r">\s*(?P<text>[^<>\s][^<>]*)"
_HEAD_ROOM, _ROW_ROOM = 200, 4_000
"""The maximum number of characters between an HTML cell and a name in it, and in the header row of
a table."""


def redact(text: str) -> str:
    """Replace each secret in a text by ``[redacted KIND]``.

    The time is linear in the length of the text. A second call does not change the result.
    """
    for _ in range(_PASSES):
        before = text
        text = _redact_once(text)
        if text == before:
            break
    return text


def compile_hints() -> None:
    """Compile the hints of secrets at once. This pays in a process that redacts many texts."""
    _search_hints()


@lru_cache(maxsize=2_048)
def redact_short(text: str) -> str:
    """Return ``redact(text)`` from a cache, for names and paths that are repeated often."""
    return redact(text)


def redact_data(value: Any, limit: int = sys.maxsize) -> Any:
    """Return JSON data in which every text, including keys, is redacted and cut by ``excerpt``."""
    texts, pending = [], [value]
    for item in pending:  # the loop appends to the list
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            pending += (*item, *item.values())
        elif isinstance(item, (list, tuple)):
            pending += item
    joined = _APART.join(texts)
    if len(joined) <= limit and redact(joined) == joined:
        return value  # most data has no secret, so one call is enough
    if isinstance(value, dict):
        return {redact_short(str(key)): redact_data(item, limit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_data(item, limit) for item in value]
    return excerpt(value, limit)


def excerpt(text: str, limit: int) -> str:
    """Return ``redact(text)``, cut to ``limit`` characters.

    The result contains a small part of the start and a larger part of the end. Only the two ends of
    a huge text are read. A line that is cut there is left out, because it may contain a part of a
    secret.
    """
    size = len(text)
    if size > 4 * limit:
        head, tail = text[:limit], text[-2 * limit :]
        head = head[: head.rfind("\n") + 1]
        tail = tail.partition("\n")[2]
        head, tail = redact(head), redact(tail)
    else:
        head = tail = redact(text)
        if len(head) <= limit:
            return head
        size = len(head)
    room = max(limit - _MARK_ROOM, 0)
    first = head[: room // 4]
    last = tail[max(len(tail) - (room - room // 4), 0) :]
    left_out = f"\n[… {size - len(first) - len(last):,} characters left out …]\n"
    return (first + left_out + last)[:limit]


def _redact_once(text: str) -> str:
    if len(text) < _SHORTEST:
        return text
    view = _View(text)
    lower = view.text.lower()
    if len(lower) != len(view.text):  # some capitals become two characters
        lower = "".join(map(_lower_character, view.text))
    spans = list(_find_by_form(view.text))
    masked = view.text
    for start, end, _ in spans:  # the name of another secret must not be found inside
        masked = f"{masked[:start]}{_TAKEN * (end - start)}{masked[end:]}"
    spans += _find_by_name(masked, lower)
    parts: list[str] = []
    done = 0
    for start, end, kind in _merge(spans, view.text):
        position = view.origin(start)
        parts += (text[done:position], f"[redacted {kind}]")
        done = view.origin(end)
    return "".join((*parts, text[done:]))


def _lower_character(char: str) -> str:
    """Return a character in lower case, or unchanged if that form has more than one character."""
    lower = char.lower()
    return lower if len(lower) == 1 else char


class _View:
    """A text as its final reader sees it, with the origin of each position in it."""

    def __init__(self, text: str) -> None:
        self._starts, self._shifts = [0], [0]
        letters = text if text.isascii() else fold_letters(text)
        hidden = re.escape(find_hidden(letters))
        if not (hidden or _compiled(f"[{_rules()['fragments']['begins']}]").search(letters)):
            self.text = letters
            return
        pattern = _syntax("spelled").replace("«hidden»", hidden)
        parts: list[str] = []
        done = size = 0
        for match in _compiled(pattern + (f"|[{hidden}]" if hidden else "")).finditer(letters):
            start, end = match.span()
            plain = _read_spelled(match)
            parts += (letters[done:start], plain)
            size += start - done + len(plain)
            done = end
            self._starts.append(size)
            self._shifts.append(done - size)
        self.text = "".join((*parts, letters[done:]))

    def origin(self, position: int) -> int:
        """Return the position in the text for a position in the view."""
        return position + self._shifts[bisect_right(self._starts, position) - 1]


def _read_spelled(match: re.Match[str]) -> str:
    """Return the character in the view for an escape."""
    kind = match.lastgroup
    if kind == "taken":
        return _TAKEN
    if kind == "quote":
        return chr(_ESCAPED + 2 * len(match["slashes"]) + (match["quote"] == "'"))
    if kind == "shell":
        return chr(_ESCAPED + 1)
    if kind == "entity":
        return chr(_ESCAPED + (match["entity"] in ("apos", "#39", "#039")))
    if kind in ("letter", "code"):
        plain = chr(int(match[kind], 16))
        is_quote = kind == "code" and plain in "\"'"
        return chr(_ESCAPED + (plain == "'")) if is_quote else plain
    return _PLAIN.get(kind or "", "")


def _merge(spans: list[Span], view: str) -> list[Span]:
    """Sort spans, merge spans that overlap, and drop spans that are redacted already."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span[:2]):
        start, end, _ = span
        if not view[start:end].strip(_TAKEN):
            continue
        if merged and start < merged[-1][1]:
            first, last, kind = merged.pop()
            merged.append((first, max(last, end), kind))
        else:
            merged.append(span)
    return merged


def _find_by_form(view: str) -> Iterator[Span]:
    """Find the secrets that have a known form, and texts that are too random for a name."""
    forms, _hints = _forms()
    for number in _find_forms(view):
        form = forms[number]
        kind, bits = form.kind, form.bits
        pattern = _compile_form(number)
        for match in pattern.finditer(view):
            matching = [group for group in range(1, pattern.groups + 1) if match.start(group) >= 0]
            start, end = match.span(matching[0] if matching else 0)
            secret = view[start:end]
            if bits != _RANDOM:
                is_secret = not bits or _bits(secret) >= bits
            else:
                # It is not a secret after a name such as ``contentHash`` or ``REQUEST_ID``.
                name = re.search(r"([A-Za-z][A-Za-z0-9]*)[^A-Za-z0-9]{0,6}\Z", view[:start][-60:])
                words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", name[1]) if name else [""]
                is_named = words[-1].lower() in _words("identities")
                is_secret = not is_named and _is_random(secret)
            if is_secret:
                yield start, end, kind


def _is_random(run: str) -> bool:
    """Return whether a run is random letters and digits, not words, paths, hashes or numbers."""
    piece = max(re.split(r"[/_~+=\s-]", run[:_SAMPLE]), key=len)
    classes = list(map(_class_of, piece))
    if len(piece) < _MIN_PIECE or set(classes) != {"digit", "lower", "upper"}:
        return False
    changes = sum(first != second for first, second in pairwise(classes))
    return changes >= _MIN_CHANGES * (len(piece) - 1) and _bits(run[:_SAMPLE]) >= _MIN_ENTROPY


def _class_of(char: str) -> str:
    if char.isdigit():
        return "digit"
    return "upper" if char.isupper() else "lower"


def _bits(run: str) -> float:
    """Return the entropy of a run, in bits per character."""
    shares = [run.count(char) / len(run) for char in set(run)]
    return -sum(share * math.log2(share) for share in shares)


def _find_by_name(view: str, lower: str) -> Iterator[Span]:
    """Find the values of names that announce a secret, such as ``password``."""
    words = _ascii_stems() if lower.isascii() else sorted(_words("stems"))
    if not any(word in lower for word in words):  # true for most texts
        return
    stems = _compiled("|".join(words))
    done = line_end = table_end = seen = 0
    while stem := stems.search(lower, seen):
        seen = stem.end()
        begin = max(done, stem.start() - _BEFORE_STEM)
        around_stem = _names().search(lower, begin, seen + _AFTER_STEM)
        if around_stem is None:
            continue
        # Without the limit at the end, the name may be longer.
        word = _names().match(lower, around_stem.start())
        if word is None:
            continue
        name = _Name(view, word)
        if name.start >= table_end:
            rows = _html_rows(lower, name.start)
            table_end = max(table_end, (yield from _find_in_columns(view, rows)))
        if name.start >= max(line_end, table_end):
            start, line_end = _line_around(view, name.start, line_end)
            rows = _text_rows(view, start, line_end)
            line_end = max(line_end, (yield from _find_in_columns(view, rows)))
        span = None
        patterns = () if name.speaks_about else (_syntax("link"), _syntax("link", near=True))
        for pattern in patterns:
            link = _compiled(pattern).match(view, name.end)
            span = link and (_find_quoted(name, link) or _find_unquoted(name, link))
            if span and span[1] > span[0]:
                yield *span, name.kind
        done = span[1] if span else name.end
        seen = max(seen, done)


class _Name:
    """A name that announces a secret: its position, its whole text, and the kind of secret."""

    def __init__(self, view: str, word: re.Match[str]) -> None:
        self.start, end = word.span()
        self.word = view[self.start : end]
        self.kind = word.lastgroup or ""
        rest = _compiled(r"[\w.-]{0,60}").match(view, end)
        self.rest = rest[0] if rest else ""
        self.end = end + len(self.rest)
        before = re.search(r"[\w.-]*\Z", view[max(self.start - 60, 0) : self.start])
        self.whole = f"{before[0] if before else ''}{self.word}{self.rest}"

    @property
    def speaks_about(self) -> bool:
        """Whether the name is only about secrets, such as ``tokenizer`` and ``token_count``.

        The names ``tokens`` and ``token_2`` can announce a secret.
        """
        rest, last = self.rest, self.word[-1]
        if not rest:
            return False
        joined = rest[0].isalpha() and last.isascii() and not (rest[0].isupper() and last.islower())
        if joined and not re.match(r"[sS](?:[_.-]|\Z)", rest):
            return True
        end = re.search(r"([A-Z]?[a-z]+|[A-Z]+)[^A-Za-z]*\Z", rest)
        return end is not None and end[1].lower() in _words("harmless ends")


def _find_in_columns(view: str, rows: Iterator[Row]) -> Generator[Span, None, int]:
    """Find secrets in the columns whose heading announces them; return the end of the table."""
    heads = next(rows, [])
    end = heads[-1][1] if heads else 0
    least_lengths = [_least_length(view[slice(*head)]) for head in heads]
    columns = [(number, least) for number, least in enumerate(least_lengths) if least]
    if not columns:
        return end
    for cells in rows:
        end = cells[-1][1]
        for number, least in columns:
            start, stop = cells[number] if number < len(cells) else (end, end)
            cell = view[start:stop].strip(_CELL_ENDS)
            if len(cell) >= least and _is_mixed(cell) and _matches(_UNBROKEN, cell):
                position = view.index(cell, start)
                yield position, position + len(cell), "secret"
    return end


def _least_length(head: str) -> int:
    """Return the minimum length of the secrets that a heading announces, or 0 for no secrets."""
    bare = head.strip(_CELL_ENDS)
    word = _names().search(bare.lower()) if _matches(r"[\w .-]{2,30}", bare) else None
    if word is None or _Name(bare, word).speaks_about:
        return 0
    # A shorter "token" may be one of a parser's tokens.
    return _LONG_TOKEN if word.lastgroup == "token" else _SHORTEST


def _line_around(view: str, position: int, since: int) -> tuple[int, int]:
    """Return the start of the line at a position, and the start of the next line.

    The first start is not before ``since``.
    """
    end = _next_line(view, position)
    # An escaped line end is inside a JSON string, whose quote also begins a line.
    line_starts = '\n\x0b"' if view[end - 1] == "\x0b" else "\n\x0b"
    start = max(view.rfind(sign, since, position) for sign in line_starts) + 1
    return max(start, since), end


def _next_line(view: str, position: int) -> int:
    line_end = _compiled(_LINE_END).search(view, position)
    return line_end.end() if line_end else len(view)


def _text_rows(view: str, start: int, next_line: int) -> Iterator[Row]:
    """Yield the rows of a table in plain text, beginning with the line of its headings.

    That line begins at ``start``, and the next one at ``next_line``. If a rule of dashes is below
    the headings, its dashes determine the columns, and another rule or a blank line ends the table.
    Otherwise a separator divides the cells, and each row has as many cells as the first. In this
    second form, rules and blank lines are skipped.
    """
    after = _next_line(view, next_line)
    if next_line < after and _compiled(_COLUMN_RULE).fullmatch(view, next_line, after):
        dashes_below = _compiled(_DASHES).finditer(view, next_line, after)
        offsets = [dashes.start() - next_line for dashes in dashes_below]
        yield _split_at(offsets, start, next_line)
        start = after
        next_line = _next_line(view, after)
        # _RULE also matches a blank line and the empty end of the text.
        while not _compiled(_RULE).fullmatch(view, start, next_line):
            yield _split_at(offsets, start, next_line)
            start = next_line
            next_line = _next_line(view, next_line)
        return
    heading_line = view[start:next_line]
    separator = next((sign for sign in _SEPARATORS if sign in heading_line), None)
    size = 0
    while separator is not None and start < len(view):
        is_first = size == 0
        if is_first or not _compiled(_RULE).fullmatch(view, start, next_line):
            cells = view[start:next_line].split(separator)
            if is_first and separator == "," and not all(map(_is_heading, cells)):
                return
            if not is_first and len(cells) != size:
                return
            size = len(cells)
            starts = accumulate((len(cell) + 1 for cell in cells), initial=start)
            yield [(first, following - 1) for first, following in pairwise(starts)]
        start = next_line
        next_line = _next_line(view, next_line)


def _split_at(offsets: list[int], start: int, end: int) -> Row:
    """Return the cells of a line whose columns begin at these offsets."""
    starts = [min(start + offset, end) for offset in offsets]
    return list(pairwise([*starts, end]))


def _is_heading(cell: str) -> bool:
    return _matches(r"\w[\w .-]*", cell.rstrip("\r\n\x0b"))


def _html_rows(lower: str, position: int) -> Iterator[Row]:
    """Yield the rows of an HTML table, headings first.

    Yield nothing if the position is not in a heading.
    """
    cell = lower.rfind("<th", max(position - _HEAD_ROOM, 0), position)
    start = lower.rfind("<tr", max(position - _ROW_ROOM, 0), cell) if cell >= 0 else -1
    end = lower.find("</tr", position, max(start, 0) + _ROW_ROOM)
    if min(start, end) < 0 or "</t" in lower[cell:position] or "<td" in lower[start:end]:
        return
    cells: Row = []
    opened = -1
    for tag in _compiled(_TABLE_TAG).finditer(lower, start):
        if opened >= 0:
            text = _compiled(_CELL_TEXT).search(lower, opened, tag.start())
            cells.append(text.span("text") if text else (tag.start(), tag.start()))
        is_cell = tag["tag"] in ("th", "td")
        opened = tag.end() - 1 if is_cell and not tag["end"] else -1
        if cells and not is_cell:
            yield cells
            cells = []
        if tag["tag"] == "table":
            return


def _is_sure(name: _Name, link: re.Match[str], value: str, *, quoted: bool) -> bool:
    """Return whether the text after a name is its value.

    After a blank or a comma, or in another cell, the text must also look like a secret.
    """
    if not (link["blank"] or link["comma"] or link["cell"] or (link["next"] and not quoted)):
        return True
    if not link["cell"] and name.whole.startswith("-") and name.word.lower() != "auth":
        return not value.startswith("-")
    enough = _SHORTEST if name.kind == "password" else _LONG_TOKEN
    return len(value) >= enough and _is_mixed(value) and (quoted or _matches(_UNBROKEN, value))


def _find_quoted(name: _Name, link: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a quoted value, or None if there is no quote.

    The span is empty if the value is not a secret.
    """
    view = link.string
    start = link.end()
    kind = name.kind
    if link["block"]:
        indent = re.escape(re.split(r"[\n\x0b]", link[0])[-1])
        block = re.compile(rf"[^\n\x0b]+(?:[\n\x0b]{indent}[^\n\x0b]+)*+").match(view, start)
        if block and indent and _is_quoted_secret(block[0].strip("\"'"), kind):
            return block.span()
        return None
    value = _compiled(_syntax("quoted")).match(view, start)
    is_after_colon = (link["sign"] or "").strip(" ") == ":"
    # In 'Password: ', the quote after the colon closes a string.
    if value is None or (is_after_colon and value["value"][0] in ",;:)]}+ "):
        return None
    text = value["value"]
    is_secret = _is_quoted_secret(text, kind) and _is_sure(name, link, text, quoted=True)
    return value.span("value") if is_secret else (value.end(), value.end())


def _is_quoted_secret(value: str, kind: str) -> bool:
    bare = value.strip().replace("\x0b", "")  # a key may contain escaped line ends
    if _is_placeholder(bare):
        return False
    words = bare.lower().replace(",", " ").replace(".", " ").split()
    if len(words) > 1 and (kind != "password" or not _words("sentences").isdisjoint(words)):
        return any(len(word) >= _LONG_WORD and _is_mixed(word) for word in words)
    if kind == "password":
        return True
    if _matches(_no_value("place"), bare) or len(bare) < _SHORTEST:
        return False
    return kind == "secret" or _is_mixed(bare) or not _matches(r"[A-Za-z_. -]+", bare)


def _find_unquoted(name: _Name, link: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a value without quotes, or None if it is not a secret."""
    view = link.string
    start = link.end()
    value = _compiled(_BARE).match(view, start)
    if value is None or link["comma"]:
        return None
    chunk = value[0]
    if link["tag"]:
        chunk = chunk.partition("<")[0]
    elif cut := _compiled(_syntax("ends")).search(chunk):
        chunk = chunk[: cut.start()]
    end = start + len(chunk)
    follows = re.compile(r"[ \t]{1,4}[A-Za-z]").match(view, end) is not None
    if not chunk or not _is_bare_secret(name, link, chunk, follows=follows):
        return None
    more = _compiled(_MORE).match(view, end) if chunk == value[0] else None
    return start, more.end() if more else end


def _is_bare_secret(name: _Name, link: re.Match[str], value: str, *, follows: bool) -> bool:
    whole, symbol, kind = name.whole, link["symbol"], name.kind
    if _is_placeholder(value) or symbol in ("==", "===", "!=", "!==", "=>"):
        return False
    if (follows and link["next"]) or not _is_sure(name, link, value, quoted=False):
        return False
    if (whole.isupper() and link["sign"] == "=") or link["blank"]:  # a shell variable, an option
        is_other = _matches(_no_value("place"), value) or _is_count(whole, value)
        return not is_other and not value.startswith("-")
    if _matches(_no_value("bare code"), value):
        return False
    if follows and symbol == ":" and _matches(r"[A-Za-z'’-]+[.,;:!?]*", value):
        return False  # prose: "password: must be longer"
    if kind == "password":
        return not _is_count(whole, value)
    if value.isdecimal() or _matches(_no_value("place"), value) or len(value) < _SHORTEST:
        return False
    return _is_mixed(value) or (kind == "secret" and symbol == "=" and value.isalpha())


def _is_placeholder(value: str) -> bool:
    is_name = _matches(r"[A-Za-z_ -]+", value) and _names().search(value.lower()) is not None
    return (
        is_name  # such as ACCESS_TOKEN
        or value.lower().strip(".,:;!?") in _words("placeholders")
        or _matches(_no_value("reference"), value)
        or _matches(_no_value("placeholder"), value)
    )


def _is_count(name: str, value: str) -> bool:
    return value.isdecimal() and (len(value) <= _DIGITS_OF_COUNT or "token" in name.lower())


def _is_mixed(value: str) -> bool:
    """Return whether a value contains letters and digits and is long enough for a secret."""
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return has_both and len(value) >= _SHORTEST


def _matches(pattern: str, value: str) -> bool:
    return _compiled(pattern).fullmatch(value) is not None


_compiled = lru_cache(maxsize=256)(re.compile)


@cache
def _rules() -> Mapping[str, Any]:
    """Return the tables of rules in ``secrets.toml``."""
    return read_toml("secrets.toml")


def _fill(pattern: str) -> str:
    """Replace the names of fragments in a pattern by the fragments."""
    for name, fragment in _rules()["fragments"].items():
        pattern = pattern.replace(f"«{name}»", fragment)
    return pattern


@frozen
class Form:
    """A form of secrets."""

    kind: str
    bits: float
    """The minimum entropy per character. With _RANDOM, only random text is a secret."""
    pattern: str
    is_ours: bool
    """Whether the pattern is one of ``secrets.toml``. Other patterns are for RE2."""


@cache
def _forms() -> tuple[list[Form], list[Hint]]:
    """Return the forms of secrets, and the hints of all of them."""
    forms: list[Form] = []
    hints: list[Hint] = []
    for row in _rules()["forms"]:
        pattern = row["pattern"]
        bits = _RANDOM if "<random>" in pattern else 0
        hints += [(hint, len(forms)) for hint in row["hints"]]
        forms.append(Form(kind=row["kind"], bits=bits, pattern=pattern, is_ours=True))
    for row in read_json_lines("gitleaks_secrets.jsonl"):
        hints += [(word, len(forms)) for word in row["words"]]
        forms.append(
            Form(kind=row["kind"], bits=row["entropy"], pattern=row["pattern"], is_ours=False)
        )
    return forms, hints


@cache
def _compile_form(number: int) -> Any:
    """Return the compiled pattern of a form. Most texts need the patterns of few forms."""
    form = _forms()[0][number]
    if not form.is_ours:
        return compile_regex(form.pattern, max_memory=_MEMORY)
    # A pattern that begins with a letter lets the search skip to that letter.
    pattern = re.sub(r"^«new»(\w)(?![?*+{])", r"\1(?<!\\w\1)(?<!\\w-\1)", form.pattern)
    return re.compile(_fill(pattern))


def _find_forms(view: str) -> list[int]:
    """Return the numbers of the forms with a hint that occurs in a text.

    The first short texts are searched for each hint in turn. For other texts, compiled hints are
    faster.
    """
    is_compiled = _search_hints.cache_info().currsize > 0
    is_one_of_few = not is_compiled and next(_SHORT_TEXTS) < _FEW_TEXTS
    if len(view) > _SHORT_TEXT or not is_one_of_few:
        found = _search_hints()(view.encode()) or ()
        hints = _forms()[1]
        return sorted({hints[place][1] for place in found})
    by_kind = _sort_hints()
    lower = view.lower().replace(_LONG_S, "s")
    numbers = {number for hint, number in by_kind.any_case if hint in lower}
    numbers |= {number for hint, number in by_kind.exact if hint in view}
    searches = (
        (re.search(pattern, view, re.ASCII), number) for pattern, number in by_kind.patterns
    )
    numbers |= {number for match, number in searches if match}
    return sorted(numbers)


@frozen
class _Hints:
    """The hints of all forms, by the way in which they are searched."""

    any_case: list[Hint]
    exact: list[Hint]
    patterns: list[Hint]
    """Without their slashes."""


@cache
def _sort_hints() -> _Hints:
    sorted_hints = _Hints(any_case=[], exact=[], patterns=[])
    for hint, number in _forms()[1]:
        if _is_pattern(hint):
            sorted_hints.patterns.append((hint[1:-1], number))
        elif hint.islower():
            sorted_hints.any_case.append((hint, number))
        else:
            sorted_hints.exact.append((hint, number))
    return sorted_hints


def _is_pattern(hint: str) -> bool:
    return hint.startswith("/") and hint.endswith("/")


@cache
def _search_hints() -> FindPatterns:
    """Return a function that finds the indexes of the hints in a text, in one pass."""
    patterns = []
    for hint, _form in _forms()[1]:
        if _is_pattern(hint):
            patterns.append(hint[1:-1])
        elif hint.islower():
            patterns.append(f"(?i:{re.escape(hint)})")
        else:
            patterns.append(re.escape(hint))
    return compile_set(patterns, max_memory=_MEMORY)


@cache
def _syntax(name: str, *, near: bool = False) -> str:
    body = _rules()["syntax"][name]
    return _fill(body.replace("«far»", "") if near else body)


@cache
def _names() -> re.Pattern[str]:
    kinds = (f"(?P<{kind}>{fold_letters(words)})" for kind, words in _rules()["names"].items())
    return re.compile("|".join(kinds))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(fold_letters(_rules()["words"][name]).split())


@cache
def _ascii_stems() -> list[str]:
    """Return the stems that may occur in an ASCII text. Most texts need no table of look-alikes."""
    return sorted(word for word in _rules()["words"]["stems"].split() if word.isascii())


@cache
def _no_value(name: str) -> str:
    text: str = _rules()["no values"][name]
    return text
