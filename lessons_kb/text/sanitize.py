"""Make the text of cards safe: it must not control a terminal, a reader or an agent.

``clean`` removes what a human reader would not see. ``defang`` changes what an agent would take for
the frame around the text: the markers of our block, chat roles, and an agent's tags.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from lessons_kb.data import read_toml, read_words
from lessons_kb.on_demand import ENTITIES, SHELL_WORDS, URLS, load

_ESCAPES = (
    r"\x1b[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS …: title, link, clipboard
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI: colour, cursor
    r"|\x1b[ -/]*+[0-~]?"
)

_COMMENT = r"<!--(?:-?>|.*?(?:--!?>|\Z))"
_LINK_COMMENT = r"^ {0,3}\[[^\]\n]{1,99}+\]:[ \t]*+\n?[ \t]*+(?:#|<>)[ \t]*+(?:[\"'(].*)?$"
"""A Markdown comment, ``[//]: # (like this)``, which no rendered page shows."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\ufffe\uffff")
"""Invisible characters whose category does not show it."""
_HIDDEN_RANGES = (
    ("\ufdd0", "\ufdef"),  # not characters
    ("\ufe00", "\ufe0f"),  # variation selectors, each of which can hide a byte of a text
    ("\U000e0000", "\U000e0fff"),  # tags, more variation selectors
)
_VISIBLE_FORMAT = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Visible format characters: signs that enclose a number."""

_LONGEST_MARKER = 200
_GAP = r"(?:[^\w\[\]<>]|_)*+"
_BRACKET = (
    rf"\[(?={_GAP}(?P<block>active{_GAP}lessons)|[\s/]*+(?P<bracketed>[a-z_]++)\s*+\])"
    r"|<\s*+(?:/\s*+)?+(?P<tag>\|[\w\s:-]{1,40}+\||[a-z][\w:-]*+)"
)
"""An opening bracket, with the text after it: the title of our block, a name in square brackets, or
a tag. Exactly one of the groups takes part in a match."""
_SPEAKER = (
    r"^(?:[^\w\n]|_)*+(?:[0-9]{1,9}+[.)](?:[^\w\n]|_)*+)?+"
    r"([^\W\d_]++(?:[^\S\n]{1,9}+[^\W\d_]++)?+)(?:[^\w\s:]|_)*+[^\S\n]*+:"
)

_CODED_OR_MARK = (
    r"&(?:amp;)*+(?:\#x[0-9a-f]{1,8}|\#[0-9]{1,9}|[a-z][a-z0-9]{1,31});?+"
    r"|(?:%[0-9a-f]{2})++|\\(?:u[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}|U[0-9a-f]{8}|x[0-9a-f]{2})|[\\*`~]"
)
"""Texts that a reader sees differently: entities, escapes and the marks of Markdown."""

_AGENTS = read_words("agent_tags.txt")


def clean(text: str) -> str:
    r"""Remove everything from a text that a reader would not see.

    Terminal sequences and control, zero-width, bidirectional, tag and variation characters are
    removed. A comment, closed or not, becomes a blank; every line end becomes ``\n``. Tabs stay.
    """
    if not (text.isascii() and text.isprintable()):
        text = "\n".join(f"{text}.".splitlines())[:-1]
        if "\x1b" in text or "\x9b" in text:
            text = re.sub(_ESCAPES, "", text)
        hidden = {ord(char): "" for char in set(text) if _is_hidden(char)}
        if hidden:
            text = text.translate(hidden)
    if "<!--" in text:
        text = re.sub(_COMMENT, " ", text, flags=re.DOTALL)
    if "]:" in text:
        text = re.sub(_LINK_COMMENT, "", text, flags=re.MULTILINE)
    return text


def clean_line(text: str) -> str:
    """Return a cleaned text as one line, with single blanks between its words."""
    line = " ".join(clean(text).split())
    return re.sub(_LINK_COMMENT, "", line) if "]:" in line else line


def defang_line(text: str) -> str:
    """Return a text as one line, cleaned and then defanged."""
    return defang(clean_line(text))


def defang(text: str) -> str:
    """Change a text so that it cannot end our block or speak in a chat role.

    ``[/ACTIVE LESSONS]`` becomes ``(/ACTIVE LESSONS)``, ``<system-reminder>`` becomes
    ``(system-reminder)``, and ``Human:`` at the start of a line becomes ``Human -``. Such texts are
    found even with look-alike letters and brackets, other spacing or case, entities, escapes and
    marks of Markdown. The text must have passed through ``clean``.
    """
    folded, origin = _fold_as_read(text)
    edits: dict[int, str] = {}
    if "[" in folded or "<" in folded:
        for bracket in re.finditer(_BRACKET, folded):
            if _is_frame(bracket):
                edits |= _round_brackets(folded, bracket.start())
    if ":" in folded:
        for speaker in re.finditer(_SPEAKER, folded, re.MULTILINE):
            if " ".join(speaker[1].split()) in _speakers():
                edits[speaker.end() - 1] = " -"
    for position, replacement in sorted(edits.items(), reverse=True):
        start, end = origin[position] if origin else (position, position + 1)
        text = f"{text[:start]}{replacement}{text[end:]}"
    return text


def fold_letters(text: str) -> str:
    """Replace characters that look like ASCII by the ASCII ones; the length stays the same."""
    replacements: dict[int, str] = {}
    for char in set(text):
        folded = char if char.isascii() else _fold_char(char)
        if folded != char and len(folded) == 1 and folded.isascii():
            replacements[ord(char)] = folded
    return text.translate(replacements)


def find_hidden(text: str) -> str:
    """Return the invisible non-ASCII characters of a text, sorted, each once."""
    if text.isascii():
        return ""
    others = {char for char in set(text) if not char.isascii()}
    return "".join(sorted(filter(_is_hidden, others)))


def _is_frame(bracket: re.Match[str]) -> bool:
    """Return whether a match of _BRACKET opens our own block, or a tag that an agent would obey.

    Such a tag is ``<|any text|>``, a chat role, a name in the table, or a tag of several words that
    include one of the "tag words". A name in square brackets must be in the table or a chat role;
    the role does not count directly after a letter or digit, since ``rows[user]`` is code.
    """
    if bracket["block"] is not None:
        return True
    if bracket["bracketed"] is not None:
        return _is_bracketed_frame(bracket["bracketed"], bracket)
    tag = bracket["tag"]
    if tag.startswith("|"):
        return True
    words = re.split(r"[\W_]+", tag)  # digits belong to words
    if words[0] in _AGENTS["roles"] or "-".join(words) in _AGENTS["tags"]:
        return True
    has_tag_word = any(word in _AGENTS["tag words"] for word in words)
    return len(words) > 1 and has_tag_word


def _is_bracketed_frame(name: str, bracket: re.Match[str]) -> bool:
    """Return whether a name in square brackets is a chat role or known; see `_is_frame`."""
    if name in _AGENTS["bracketed"]:
        return True
    start = bracket.start()
    is_in_code = start > 0 and bracket.string[start - 1].isalnum()
    return name in _AGENTS["roles"] and not is_in_code


def _round_brackets(folded: str, start: int) -> dict[int, str]:
    """Return position → round bracket for a marker's brackets; the closing one may be missing."""
    closing = ">" if folded[start] == "<" else "]"
    signs = re.compile(rf"[\[<{re.escape(closing)}]")
    sign = signs.search(folded, start + 1, start + _LONGEST_MARKER)
    if sign and sign[0] == closing:
        return {start: "(", sign.start(): ")"}
    return {start: "("}


def _fold_as_read(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text as its reader sees it, folded, and where its characters come from.

    Entities and escapes are decoded. Marks of Markdown and invisible characters are left out. Each
    remaining character is folded to the lower-case ASCII that it looks like, if there is such.

    The list has the (start, end) in ``text`` of each character of the result. It is empty if
    ``text`` is ASCII without entities, escapes and marks: then all positions are the same.
    """
    spans = [match.span() for match in re.finditer(_CODED_OR_MARK, text, re.IGNORECASE)]
    if text.isascii() and not spans:
        return text.lower(), []
    parts: list[str] = []
    origin: list[tuple[int, int]] = []

    def add(characters: str, start: int, end: int) -> None:
        folded = "".join(map(_fold_char, characters))
        parts.append(folded)
        origin.extend([(start, end)] * len(folded))

    end_of_text = (len(text), len(text))
    done = 0
    for start, end in (*spans, end_of_text):
        for position in range(done, start):
            add(text[position], position, position + 1)
        add(_decode(text[start:end]), start, end)
        done = end
    return "".join(parts), origin


def _decode(written: str) -> str:
    """Return the characters that a reader sees for an entity or an escape. Return "" for a mark of
    Markdown and for "".
    """
    if written[:1] == "&":
        name = re.sub("^(?:amp;)+(?=.)", "", written[1:], flags=re.IGNORECASE)
        plain: str = load(ENTITIES).unescape(f"&{name}")
        return plain
    if written[:1] == "%":
        decoded: str = load(URLS).unquote(written, errors="ignore")
        return decoded
    code = int(written[2:].strip("{}") or "0", 16) if written[:1] == "\\" else 0
    return chr(code) if 0 < code <= sys.maxunicode else ""


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    """Return the lower-case ASCII that a character looks like, or its folded form."""
    if char in "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        return "\n"
    if _is_hidden(char):
        return ""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", char).casefold())
    plain = "".join(piece for piece in decomposed if unicodedata.category(piece)[0] != "M")
    return plain.translate(_look_alikes())


@lru_cache(maxsize=1)
def _look_alikes() -> dict[int, str]:
    """Return code point → ASCII text that the character looks like."""
    table = {}
    for plain, signs in read_toml("homoglyphs.toml")["look-alikes"].items():
        for sign in signs.replace(" ", ""):
            table[ord(sign)] = plain.lstrip("\\")
    return table


@lru_cache(maxsize=1)
def _speakers() -> frozenset[str]:
    """Return the folded names of chat roles in all languages of the table."""
    roles = set()
    for names in read_toml("chat_roles.toml")["roles"].values():
        for name in names.split():
            roles.add("".join(map(_fold_char, name)).replace("_", " "))
    return frozenset(roles)


def _is_hidden(char: str) -> bool:
    if char in "\n\t" or (char.isascii() and char.isprintable()):
        return False
    category = unicodedata.category(char)
    return (
        category in ("Cc", "Cs")
        or (category == "Cf" and char not in _VISIBLE_FORMAT)
        or char in _BLANK
        or any(first <= char <= last for first, last in _HIDDEN_RANGES)
    )


def without(text: str, opening: str, closing: str) -> str:
    """Remove the parts between two marks from a text, with the marks, in linear time."""
    parts, done = [], 0
    while (start := text.find(opening, done)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        parts.append(text[done:start])
        done = end + len(closing)
    return "".join([*parts, text[done:]])


_LINES_AND_BLANKS = "\n\t\u00a0\u202f\u3000"


def visible(text: str) -> str:
    r"""Replace each invisible character of a text by ``\xNN`` or ``\uNNNN``."""
    return _escape_unseen(text, lambda char: char.encode("unicode_escape").decode("ascii"))


def visible_json(text: str) -> str:
    r"""Replace each invisible character of a JSON text by ``\uNNNN``; the data stays the same."""
    return _escape_unseen(text, lambda char: json.dumps(char)[1:-1])


def _escape_unseen(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _LINES_AND_BLANKS else escape(c) for c in text)


def shell_word(text: str) -> str:
    r"""Return a text as one word of a shell, on one line; bash and zsh read ``$'\n'``."""
    if text.isprintable():
        quoted: str = load(SHELL_WORDS).quote(text)
        return quoted

    def escape(char: str) -> str:
        octets = b"" if char.isprintable() else char.encode("utf-8", "surrogateescape")
        return "".join(f"\\x{octet:02x}" for octet in octets) or char

    return "$'" + "".join(f"\\{c}" if c in "'\\" else escape(c) for c in text) + "'"


def shorten(text: str, limit: int) -> str:
    """Cut a text to at most ``limit`` characters; "…" replaces the rest."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


_LONGEST_WORD = 24
"""The number of characters of a word, such as an identifier, that is usually not cut."""


def shorten_at_word(text: str, limit: int) -> str:
    """Cut a text to at most ``limit`` characters at the end of a word; "…" replaces the rest.

    A word is cut at the limit if less than a quarter would remain without it, or if it is longer
    than usual and than half of the limit.
    """
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    words = kept if text[limit - 1].isspace() else kept.rsplit(" ", 1)[0]
    is_word_long = len(kept) - len(words) > max(limit // 2, _LONGEST_WORD)
    is_cut = is_word_long or len(words) <= limit // 4
    return (kept if is_cut else words).rstrip(" ,;:—-") + "…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 card``, ``0 cards`` or ``12,000 cards``.

    ``plural`` is the form for all numbers except 1; by default, the noun with an ``s``.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def ago(seconds: float) -> str:
    """Return a time difference in its largest unit, such as ``3 min ago``, or ``now``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"


_UNSEEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"


def plain(text: str) -> str:
    r"""Remove terminal sequences and control characters from an output.

    If a line was overwritten with ``\r``, as progress bars do, its last text is kept. Tabs stay.
    """
    if text.isprintable():
        return text
    text = re.sub(_ESCAPES, "", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(map(_last_shown, text.split("\n")))
    return re.sub(_UNSEEN, "", text)


def _last_shown(line: str) -> str:
    """Return the last text that is not blank of an overwritten line."""
    texts = [text for text in line.split("\r") if text.strip()]
    return texts[-1] if texts else ""
