r"""Secrets taken out of what is kept: keys, tokens, passwords, whatever announces itself as one.

Rather one too many than one too few, but hashes, identifiers, lock files and code stay readable.
What secrets look like is data (``data/secrets.toml``). They are looked for in a view of the text
as its last reader has it: escapes and look-alike letters resolved, lines and strings joined.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache, lru_cache, partial
from itertools import accumulate, count, pairwise
from typing import Any

from lessons_kb.data import read_json_lines, read_toml
from lessons_kb.text.patterns import FindPatterns, compile_regex, compile_set
from lessons_kb.text.sanitize import find_hidden, fold_letters

Span = tuple[int, int, str]
Form = tuple[str, float, Callable[[], Any]]
Hint = tuple[str, int]
"""A text that every match of a form holds, and the number of the form. One between slashes is a
pattern; one without capitals stands in a text in any case."""
Row = list[tuple[int, int]]
"""Where each cell of a row of a table begins and ends."""


_SHORTEST = 6
_LONG_TOKEN = 16
_LONG_WORD = 20
_DIGITS_OF_COUNT = 3
_MIN_ENTROPY = 3.6
"""Bits a character of 20 random letters and digits; a few words joined stay below."""
_MIN_CHANGES = 0.36
"""Share of neighbours of another class: .62 in random text, about .3 in CamelCase."""
_MIN_PIECE = 14
"""Paths, slugs and UUIDs have shorter pieces."""
_SAMPLE = 300
"""Characters of a long run that tell whether it is random."""
_BEFORE_STEM = 12
_AFTER_STEM = 8
"""A name begins and ends at most so far from its stem."""
_RANDOM = -1.0
_MEMORY = 8 << 20
"""Bytes for the program and the state of one pattern of RE2."""
_SHORT_TEXT, _FEW_TEXTS = 4_000, 50
"""Up to so many characters, and so many texts, looking for hint after hint costs less than RE2."""
_SHORT_TEXTS = count()
_MARK_ROOM = 60
_PASSES = 5
"""A secret taken out may bare the one before it; a text without any costs one pass."""

_APART = "\n" * 9
"""Between two texts: no rule looks so far back."""
_TAKEN = "\0"
"""What the view shows in the place of a secret already taken out."""
_ESCAPED = 0xE000
"""The view's first escaped quote: one character for each kind of quote and depth."""
_PLAIN = {"line": "\x0b", "tab": "\t", "slash": "/", "triple": '"'}
_BARE = r"[^\s\"'`\\\ue000-\ue00f][^\s]{0,300}"
_MORE = r"[\w+/=~.-]*+"
_UNBROKEN = r"[^\s=()\[\]{}<>]+"
_RULE = re.compile(r"[\s|│┃+:=─━┄┼╪╇├┤┌┐└┘╞╡┬┴-]*")
_SEPARATORS = "│┃|\t,"
_CELL_ENDS = " *_`\"'\t\r\n\x0b"
_COLUMN_RULE = re.compile(r" {0,40}(?:-{2,}|={2,})(?: +(?:-{2,}|={2,}))*\s*")
_DASHES = re.compile(r"[-=]+")
_LINE_END = re.compile(r"[\n\x0b]")
_TABLE_TAG = re.compile(
    r"<(?P<end>/?)(?P<tag>t[rhd]|t(?:able|head|body|foot))(?![\w-])[^<>]{0,300}>"
)
_CELL_TEXT = re.compile(r">\s*(?P<text>[^<>\s][^<>]*)")
_HEAD_ROOM, _ROW_ROOM = 200, 4_000
"""Characters before a name within which its HTML cell begins, and in the row of heads."""


def redact(text: str) -> str:
    """Return ``text`` with ``[redacted KIND]`` in the place of each secret.

    Linear in the length of the text. What was redacted stays as it is when redacted again.
    """
    for _ in range(_PASSES):
        before, text = text, _redact_once(text)
        if text == before:
            break
    return text


@lru_cache(maxsize=2_048)
def redact_short(text: str) -> str:
    """Return ``redact(text)``, remembered: for names and paths that come again and again."""
    return redact(text)


def redact_data(value: Any, limit: int = sys.maxsize) -> Any:
    """Return JSON data, every text of it redacted, keys too, and cut by `excerpt`."""
    texts, left = [], [value]
    for one in left:
        if isinstance(one, str):
            texts.append(one)
        elif isinstance(one, (dict, list, tuple)):
            left += (*one, *one.values()) if isinstance(one, dict) else one
    together = _APART.join(texts)
    if len(together) <= limit and redact(together) == together:
        return value  # as is most data: one look at all of it tells
    if isinstance(value, dict):
        return {redact_short(str(key)): redact_data(item, limit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_data(item, limit) for item in value]
    return excerpt(value, limit)


def excerpt(text: str, limit: int) -> str:
    """Return ``redact(text)`` in at most ``limit`` characters: its begin and, mostly, its end.

    Of a huge text only the two ends are looked at; a line that this splits is left out, for it
    may hold a part of a secret.
    """
    size = len(text)
    if size > 4 * limit:
        head, tail = text[:limit], text[-2 * limit :]
        head, tail = head[: head.rfind("\n") + 1], tail.partition("\n")[2]
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
    if len(lower) != len(view.text):  # a capital whose small letter is two
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in view.text)
    spans = list(_by_form(view.text))
    shown = view.text
    for start, end, _ in spans:  # what a form gave away announces nothing more
        shown = f"{shown[:start]}{_TAKEN * (end - start)}{shown[end:]}"
    spans += _by_name(shown, lower)
    parts: list[str] = []
    done = 0
    for start, end, kind in _merged(spans, view.text):
        place = view.origin(start)
        parts += (text[done:place], f"[redacted {kind}]")
        done = view.origin(end)
    return "".join((*parts, text[done:]))


class _View:
    """A text as its last reader has it, and where each place of it came from."""

    def __init__(self, text: str) -> None:
        self._starts, self._shifts = [0], [0]
        letters = text if text.isascii() else fold_letters(text)
        hidden = re.escape(find_hidden(letters))
        pattern = _syntax("spelled").replace("«hidden»", hidden)
        parts: list[str] = []
        done = size = 0
        for found in _compiled(pattern + (f"|[{hidden}]" if hidden else "")).finditer(letters):
            start, end = found.span()
            plain = _read_spelled(found)
            parts += (letters[done:start], plain)
            size += start - done + len(plain)
            done = end
            self._starts.append(size)
            self._shifts.append(done - size)
        self.text = "".join((*parts, letters[done:]))

    def origin(self, place: int) -> int:
        """Return the place in the text of a place in the view."""
        return place + self._shifts[bisect_right(self._starts, place) - 1]


def _read_spelled(found: re.Match[str]) -> str:
    """Return what its last reader has in the place of an escape."""
    kind = found.lastgroup
    if kind == "taken":
        return _TAKEN
    if kind == "quote":
        return chr(_ESCAPED + 2 * len(found["slashes"]) + (found["quote"] == "'"))
    if kind == "shell":
        return chr(_ESCAPED + 1)
    if kind == "entity":
        return chr(_ESCAPED + (found["entity"] in ("apos", "#39", "#039")))
    if kind in ("letter", "code"):
        plain = chr(int(found[kind], 16))
        is_quote = kind == "code" and plain in "\"'"
        return chr(_ESCAPED + (plain == "'")) if is_quote else plain
    return _PLAIN.get(kind or "", "")


def _merged(spans: list[Span], view: str) -> list[Span]:
    """Return spans in order, those that overlap as one, without what is already taken out."""
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


def _by_form(view: str) -> Iterator[Span]:
    """Find what its form gives away, and what is too random for a name."""
    forms, _hints = _forms()
    for number in _find_forms(view):
        kind, bits, compiled = forms[number]
        pattern = compiled()
        for found in pattern.finditer(view):
            groups = range(1, pattern.groups + 1)
            start, end = found.span(next((g for g in groups if found.start(g) >= 0), 0))
            secret = view[start:end]
            if bits != _RANDOM:
                is_secret = not bits or _bits(secret) >= bits
            else:
                # The last word before it may be ``contentHash``'s or ``REQUEST_ID``'s.
                name = re.search(r"([A-Za-z][A-Za-z0-9]*)[^A-Za-z0-9]{0,6}\Z", view[:start][-60:])
                words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", name[1]) if name else [""]
                is_named = words[-1].lower() in _words("identities")
                is_secret = not is_named and _is_random(secret)
            if is_secret:
                yield start, end, kind


def _is_random(run: str) -> bool:
    """Tell random letters and digits from words, paths, hashes and numbers."""
    piece = max(re.split(r"[/_~+=\s-]", run[:_SAMPLE]), key=len)
    classes = ["digit" if c.isdigit() else "upper" if c.isupper() else "lower" for c in piece]
    if len(piece) < _MIN_PIECE or set(classes) != {"digit", "lower", "upper"}:
        return False
    changes = sum(a != b for a, b in pairwise(classes))
    return changes >= _MIN_CHANGES * (len(piece) - 1) and _bits(run[:_SAMPLE]) >= _MIN_ENTROPY


def _bits(run: str) -> float:
    """Return the entropy of a character."""
    shares = [run.count(char) / len(run) for char in set(run)]
    return -sum(share * math.log2(share) for share in shares)


def _by_name(view: str, lower: str) -> Iterator[Span]:
    """Find the values of names that announce a secret."""
    stems = _compiled("|".join(sorted(_words("stems"))))
    place = line_end = table_end = seen = 0
    while stem := stems.search(lower, seen):
        seen = stem.end()
        near = _names().search(lower, max(place, stem.start() - _BEFORE_STEM), seen + _AFTER_STEM)
        word = near and _names().match(lower, near.start())
        if word is None:
            continue
        name = _Name(view, word)
        if name.start >= table_end:
            rows = _html_rows(lower, name.start)
            table_end = max(table_end, (yield from _by_column(view, rows)))
        if name.start >= max(line_end, table_end):
            start, line_end = _line_around(view, name.start, line_end)
            rows = _text_rows(view, start, line_end)
            line_end = max(line_end, (yield from _by_column(view, rows)))
        span = None
        for pattern in () if name.speaks_about else (_syntax("link"), _syntax("link", near=True)):
            link = _compiled(pattern).match(view, name.end)
            span = link and (_quoted(name, link) or _bare(name, link))
            if span and span[1] > span[0]:
                yield *span, name.kind
        place = span[1] if span else name.end
        seen = max(seen, place)


class _Name:
    """A name that announces a secret: where it stands, all of it, and what it announces."""

    def __init__(self, view: str, word: re.Match[str]) -> None:
        self.start, end = word.span()
        self.word, self.kind = view[self.start : end], word.lastgroup or ""
        rest = _compiled(r"[\w.-]{0,60}").match(view, end)
        self.rest = rest[0] if rest else ""
        self.end = end + len(self.rest)
        before = re.search(r"[\w.-]*\Z", view[max(self.start - 60, 0) : self.start])
        self.whole = f"{before[0] if before else ''}{self.word}{self.rest}"

    @property
    def speaks_about(self) -> bool:
        """Tell ``tokenizer`` and ``token_count`` from ``tokens`` and ``token_2``."""
        rest, last = self.rest, self.word[-1]
        if not rest:
            return False
        joined = rest[0].isalpha() and last.isascii() and not (rest[0].isupper() and last.islower())
        if joined and not re.match(r"[sS](?:[_.-]|\Z)", rest):
            return True
        end = re.search(r"([A-Z]?[a-z]+|[A-Z]+)[^A-Za-z]*\Z", rest)
        return end is not None and end[1].lower() in _words("harmless ends")


def _by_column(view: str, rows: Iterator[Row]) -> Generator[Span, None, int]:
    """Find what stands below the names in a table's row of heads; return where the table ends."""
    heads = next(rows, [])
    end = heads[-1][1] if heads else 0
    widths = [_least(view[slice(*head)]) for head in heads]
    columns = [(number, least) for number, least in enumerate(widths) if least]
    for cells in rows if columns else ():
        end = cells[-1][1]
        for number, least in columns:
            start, stop = cells[number] if number < len(cells) else (end, end)
            cell = view[start:stop].strip(_CELL_ENDS)
            if len(cell) >= least and _is_mixed(cell) and _matches(_UNBROKEN, cell):
                at = view.index(cell, start)
                yield at, at + len(cell), "secret"
    return end


def _least(head: str) -> int:
    """Return how long what a head of a column announces is at least, 0 = it announces nothing."""
    bare = head.strip(_CELL_ENDS)
    word = _names().search(bare.lower()) if _matches(r"[\w .-]{2,30}", bare) else None
    if word is None or _Name(bare, word).speaks_about:
        return 0
    return _LONG_TOKEN if word.lastgroup == "token" else _SHORTEST  # a parser's, else


def _line_around(view: str, place: int, since: int) -> tuple[int, int]:
    """Return where the line of a place begins, at ``since`` or later, and where the next does."""
    end = _next_line(view, place)
    before = '\n\x0b"' if view[end - 1] == "\x0b" else "\n\x0b"  # the text of a JSON string
    start = max(view.rfind(sign, since, place) for sign in before) + 1
    return max(start, since), end


def _next_line(view: str, place: int) -> int:
    found = _LINE_END.search(view, place)
    return found.end() if found else len(view)


def _text_rows(view: str, start: int, end: int) -> Iterator[Row]:
    """Yield the rows of a table in plain text, the line of its heads first.

    Its columns begin where the dashes of a rule below the heads do, up to another rule or a blank
    line; else a sign separates its cells, in each row as many as in the first.
    """
    after = _next_line(view, end)
    if end < after and _COLUMN_RULE.fullmatch(view, end, after):
        begins = [dashes.start() - end for dashes in _DASHES.finditer(view, end, after)]
        yield list(pairwise((*(min(start + begin, end) for begin in begins), end)))
        start, end = after, _next_line(view, after)
        while not _RULE.fullmatch(view, start, end):
            yield list(pairwise((*(min(start + begin, end) for begin in begins), end)))
            start, end = end, _next_line(view, end)
        return
    separator = next((sign for sign in _SEPARATORS if sign in view[start:end]), None)
    size = 0
    while separator is not None and start < len(view):
        if not size or not _RULE.fullmatch(view, start, end):
            cells = view[start:end].split(separator)
            is_list = separator == "," and not all(
                _matches(r"\w[\w .-]*", cell.rstrip("\r\n\x0b")) for cell in cells
            )
            if len(cells) != size if size else is_list:
                return
            size = len(cells)
            places = accumulate((len(cell) + 1 for cell in cells), initial=start)
            yield [(first, after - 1) for first, after in pairwise(places)]
        start, end = end, _next_line(view, end)


def _html_rows(lower: str, place: int) -> Iterator[Row]:
    """Yield the rows of an HTML table from its heads on; none where ``place`` is in no head."""
    cell = lower.rfind("<th", max(place - _HEAD_ROOM, 0), place)
    start = lower.rfind("<tr", max(place - _ROW_ROOM, 0), cell) if cell >= 0 else -1
    end = lower.find("</tr", place, max(start, 0) + _ROW_ROOM)
    if min(start, end) < 0 or "</t" in lower[cell:place] or "<td" in lower[start:end]:
        return
    cells: Row = []
    opened = -1
    for tag in _TABLE_TAG.finditer(lower, start):
        if opened >= 0:
            text = _CELL_TEXT.search(lower, opened, tag.start())
            cells.append(text.span("text") if text else (tag.start(), tag.start()))
        is_cell = tag["tag"] in ("th", "td")
        opened = tag.end() - 1 if is_cell and not tag["end"] else -1
        if cells and not is_cell:
            yield cells
            cells = []
        if tag["tag"] == "table":
            return


def _is_sure(name: _Name, link: re.Match[str], value: str, *, quoted: bool) -> bool:
    """Tell whether what follows the name is its value: it may not be after a blank or a comma."""
    if not (link["blank"] or link["comma"] or link["cell"] or (link["next"] and not quoted)):
        return True
    if not link["cell"] and name.whole.startswith("-") and name.word.lower() != "auth":
        return not value.startswith("-")
    enough = _SHORTEST if name.kind == "password" else _LONG_TOKEN
    return len(value) >= enough and _is_mixed(value) and (quoted or _matches(_UNBROKEN, value))


def _quoted(name: _Name, link: re.Match[str]) -> tuple[int, int] | None:
    view, start, kind = link.string, link.end(), name.kind
    if link["block"]:
        indent = re.escape(re.split(r"[\n\x0b]", link[0])[-1])
        block = re.compile(rf"[^\n\x0b]+(?:[\n\x0b]{indent}[^\n\x0b]+)*+").match(view, start)
        sure = block and indent and _is_quoted_secret(block[0].strip("\"'"), kind)
        return block.span() if block and sure else None
    value = _compiled(_syntax("quoted")).match(view, start)
    spoken = (link["sign"] or "").strip(" ") == ":"  # 'Password: ', the quote closes
    if value is None or (spoken and value["value"][0] in ",;:)]}+ "):
        return None
    text = value["value"]
    is_secret = _is_quoted_secret(text, kind) and _is_sure(name, link, text, quoted=True)
    return value.span("value") if is_secret else (value.end(), value.end())


def _is_quoted_secret(value: str, kind: str) -> bool:
    bare = value.strip().replace("\x0b", "")  # an escape among the signs of a key
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


def _bare(name: _Name, link: re.Match[str]) -> tuple[int, int] | None:
    view, start = link.string, link.end()
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
    if (whole.isupper() and link["sign"] == "=") or link["blank"]:  # a shell's, an option's
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
    """Tell whether letters and digits both stand in a value of some length."""
    both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return both and len(value) >= _SHORTEST


def _matches(pattern: str, value: str) -> bool:
    return _compiled(pattern).fullmatch(value) is not None


_compiled = lru_cache(maxsize=256)(re.compile)


@cache
def _rules() -> Mapping[str, Any]:
    """Return the tables of the rules."""
    return read_toml("secrets.toml")


def _filled(pattern: str) -> str:
    """Return a pattern with the fragments that it names."""
    for name, fragment in _rules()["fragments"].items():
        pattern = pattern.replace(f"«{name}»", fragment)
    return pattern


@cache
def _forms() -> tuple[list[Form], list[Hint]]:
    """Return (kind, bits, what compiles its pattern) of each form, and the hints of all.

    ``bits`` are what a character has at least, _RANDOM where only what looks random is a secret.
    """
    forms: list[Form] = []
    hints: list[Hint] = []

    def add(kind: str, bits: float, words: list[str], compiled: Callable[[], Any]) -> None:
        hints.extend((word, len(forms)) for word in words)
        forms.append((kind, bits, cache(compiled)))

    for form in _rules()["forms"]:
        pattern = form["pattern"]
        bits = _RANDOM if "<random>" in pattern else 0
        add(form["kind"], bits, form["hints"], partial(_compile_form, pattern))
    for rule in read_json_lines("gitleaks_secrets.jsonl"):
        compiled = partial(compile_regex, rule["pattern"], max_memory=_MEMORY)
        add(rule["kind"], rule["entropy"], rule["words"], compiled)
    return forms, hints


def _compile_form(pattern: str) -> re.Pattern[str]:
    # A letter in front lets the search skip to it.
    pattern = re.sub(r"^«new»(\w)(?![?*+{])", r"\1(?<!\\w\1)(?<!\\w-\1)", pattern)
    return re.compile(_filled(pattern))


def _find_forms(view: str) -> list[int]:
    """Return the numbers of the forms of which a hint stands in a text.

    The first short texts are searched hint by hint. For others it pays to compile the hints.
    """
    _all, hints = _forms()
    is_one_of_few = next(_SHORT_TEXTS) < _FEW_TEXTS
    if len(view) > _SHORT_TEXT or not (is_one_of_few and view.isascii()):
        found = _search_hints()(view.encode()) or ()
        return sorted({hints[place][1] for place in found})
    lower = view.lower()
    return sorted({number for hint, number in hints if _holds_hint(view, lower, hint)})


def _holds_hint(view: str, lower: str, hint: str) -> bool:
    if _is_pattern(hint):
        return re.search(hint[1:-1], view) is not None
    return hint in (lower if hint.islower() else view)


def _is_pattern(hint: str) -> bool:
    return hint.startswith("/") and hint.endswith("/")


@cache
def _search_hints() -> FindPatterns:
    """Return what finds the places of the hints that a text holds, in one pass."""
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
    return _filled(body.replace("«far»", "") if near else body)


@cache
def _names() -> re.Pattern[str]:
    kinds = (f"(?P<{kind}>{fold_letters(words)})" for kind, words in _rules()["names"].items())
    return re.compile("|".join(kinds))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(fold_letters(_rules()["words"][name]).split())


@cache
def _no_value(name: str) -> str:
    text: str = _rules()["no values"][name]
    return text
