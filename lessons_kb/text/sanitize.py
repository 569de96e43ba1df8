"""Card text is data: nothing in it may steer a terminal, a reader or an agent.

``clean`` takes away what a human reader would not see; ``defang`` bends what an agent would take
for the frame around the text: our own block's markers, chat roles, an agent's tags.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

from lessons_kb.data import read_toml, read_words
from lessons_kb.on_demand import ENTITIES, load

_ESCAPES = (
    r"\x1b[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS …: title, link, clipboard
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI: colour, cursor
    r"|\x1b[ -/]*+[0-~]?"
)

_COMMENT = r"<!--(?:-?>|.*?(?:--!?>|\Z))"
_LINK_COMMENT = r"^ {0,3}\[[^\]\n]{1,99}+\]:[ \t]*+\n?[ \t]*+(?:#|<>)[ \t]*+(?:[\"'(].*)?$"
"""``[//]: # (like this)``: no rendered page shows it."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\ufffe\uffff")
"""Invisible, though their category does not say so."""
_HIDDEN_RANGES = (
    ("\ufdd0", "\ufdef"),  # no characters
    ("\ufe00", "\ufe0f"),  # variation selectors: a byte each for whoever hides a text in them
    ("\U000e0000", "\U000e0fff"),  # tags, more variation selectors
)
_VISIBLE_FORMAT = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Signs that enclose a number: format characters one can see."""

_LONGEST_MARKER = 200
_GAP = r"(?:[^\w\[\]<>]|_)*+"
_BRACKET = (
    rf"\[(?={_GAP}(active{_GAP}lessons)|[\s/]*+([a-z_]++\s*+\]))"
    r"|<\s*+(?:/\s*+)?+(\|[\w\s:-]{1,40}+\||[a-z][\w:-]*+)"
)
_SPEAKER = (
    r"^(?:[^\w\n]|_)*+(?:[0-9]{1,9}+[.)](?:[^\w\n]|_)*+)?+"
    r"([^\W\d_]++(?:[^\S\n]{1,9}+[^\W\d_]++)?+)(?:[^\w\s:]|_)*+[^\S\n]*+:"
)

_WRITTEN = re.compile(
    r"&(?:amp;)*+(?:\#x[0-9a-f]{1,8}|\#[0-9]{1,9}|[a-z][a-z0-9]{1,31});?+"
    r"|(?:%[0-9a-f]{2})++|\\(?:u[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}|U[0-9a-f]{8}|x[0-9a-f]{2})|[\\*`~]",
    re.IGNORECASE,
)
"""What is read as something else than is written: entities, escapes, the marks of Markdown."""

_AGENTS = read_words("agent_tags.txt")


def clean(text: str) -> str:
    r"""Return a text without anything a reader would not see.

    Terminal sequences, control, zero-width, bidirectional, tag and variation characters are
    removed, comments (closed or not) leave a space, every line end becomes ``\n``. Tabs stay.
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
    """Return a text cleaned and folded to one line, single spaces between its words."""
    line = " ".join(clean(text).split())
    return re.sub(_LINK_COMMENT, "", line) if "]:" in line else line


def defang_line(text: str) -> str:
    """Return a text as one line that is harmless to an agent: cleaned, then defanged."""
    return defang(clean_line(text))


def defang(text: str) -> str:
    """Return a text that neither ends our block nor speaks as anyone, yet reads the same.

    ``[/ACTIVE LESSONS]`` becomes ``(/ACTIVE LESSONS)``, ``<system-reminder>`` becomes
    ``(system-reminder)``, ``Human:`` at the start of a line ``Human -``. Look-alike letters and
    brackets, spacing and case, entities, escapes and marks of Markdown make no difference. Expects
    a text that ``clean`` has seen.
    """
    folded, origin = _read(text)
    edits: dict[int, str] = {}
    if "[" in folded or "<" in folded:
        for found in re.finditer(_BRACKET, folded):
            if _is_frame(found):
                edits |= _bend(folded, found.start())
    if ":" in folded:
        for found in re.finditer(_SPEAKER, folded, re.MULTILINE):
            if " ".join(found[1].split()) in _speakers():
                edits[found.end() - 1] = " -"
    for place, replacement in sorted(edits.items(), reverse=True):
        start, end = origin[place] if origin else (place, place + 1)
        text = f"{text[:start]}{replacement}{text[end:]}"
    return text


def fold_letters(text: str) -> str:
    """Return a text of the same length, in ASCII each character that looks like one of ASCII."""
    table = {ord(char): _fold_char(char) for char in set(text) if not char.isascii()}
    return text.translate({c: f for c, f in table.items() if len(f) == 1 and f.isascii()})


def find_hidden(text: str) -> str:
    """Return the characters beyond ASCII in a text that its reader does not see."""
    if text.isascii():
        return ""
    return "".join(sorted(char for char in set(text) if not char.isascii() and _is_hidden(char)))


def _is_frame(found: re.Match[str]) -> bool:
    """Tell whether a bracket opens our own block, or what an agent would take for a frame."""
    block, bracketed, tag = found.groups()
    if bracketed:
        name = bracketed.rstrip("] \t\n")
        before = found.string[max(found.start() - 1, 0) : found.start()]
        is_role = name in _AGENTS["roles"] and not before.isalnum()  # rows[user] is code
        return is_role or name in _AGENTS["bracketed"]
    words = re.split(r"[\W_]+", tag or "")
    return block is not None or (
        tag.startswith("|")
        or words[0] in _AGENTS["roles"]
        or "-".join(words) in _AGENTS["tags"]
        or (len(words) > 1 and not _AGENTS["tag words"].isdisjoint(words))
    )


def _bend(folded: str, start: int) -> dict[int, str]:
    """Turn the brackets of a marker into round ones, the closing one if its line has it."""
    closing = ">" if folded[start] == "<" else "]"
    sign = re.compile(rf"[\[<{re.escape(closing)}]")
    found = sign.search(folded, start + 1, start + _LONGEST_MARKER)
    if found and found[0] == closing:
        return {start: "(", found.start(): ")"}
    return {start: "("}


def _read(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return what a text reads like, folded, and the part of it that each character comes from.

    No parts are returned where each character comes from the one at its own place.
    """
    written = [found.span() for found in _WRITTEN.finditer(text)]
    if text.isascii() and not written:
        return text.lower(), []
    read: list[str] = []
    origin: list[tuple[int, int]] = []

    def add(characters: str, start: int, end: int) -> None:
        read.append("".join(map(_fold_char, characters)))
        origin.extend([(start, end)] * len(read[-1]))

    at = 0
    for start, end in (*written, (len(text), len(text))):
        for place in range(at, start):
            add(text[place], place, place + 1)
        add(_decode(text[start:end]), start, end)
        at = end
    return "".join(read), origin


def _decode(written: str) -> str:
    """Return what an entity, an escape or a mark of Markdown is read as."""
    if written[:1] == "&":
        name = re.sub("^(?:amp;)+(?=.)", "", written[1:], flags=re.IGNORECASE)
        plain: str = load(ENTITIES).unescape(f"&{name}")
        return plain
    if written[:1] == "%":
        return unquote(written, errors="ignore")
    code = int(written[2:].strip("{}") or "0", 16) if written[:1] == "\\" else 0
    return chr(code) if 0 < code <= sys.maxunicode else ""


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    """Return what a character looks like in lower-case ASCII, if it looks like any."""
    if char in "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        return "\n"
    if _is_hidden(char):
        return ""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", char).casefold())
    plain = "".join(piece for piece in apart if unicodedata.category(piece)[0] != "M")
    return plain.translate(_look_alikes())


@lru_cache(maxsize=1)
def _look_alikes() -> dict[int, str]:
    """Return what each letter or sign that resembles one of ASCII resembles."""
    look_alikes = read_toml("homoglyphs.toml")["look-alikes"]
    signs = ((sign, plain.lstrip("\\")) for plain, signs in look_alikes.items() for sign in signs)
    return {ord(sign): plain for sign, plain in signs if sign != " "}


@lru_cache(maxsize=1)
def _speakers() -> frozenset[str]:
    """Return the roles of a chat in all languages known, folded."""
    words = (
        word for names in read_toml("chat_roles.toml")["roles"].values() for word in names.split()
    )
    return frozenset("".join(map(_fold_char, word)).replace("_", " ") for word in words)


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
    """Return a text without what stands between these marks, and the marks; in linear time."""
    kept, place = [], 0
    while (start := text.find(opening, place)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[place:start])
        place = end + len(closing)
    return "".join([*kept, text[place:]])


_LINES_AND_BLANKS = "\n\t\u00a0\u202f\u3000"


def visible(text: str) -> str:
    r"""Return a text, each character that cannot be seen as ``\xNN``, ``\uNNNN``."""
    return _escape_unseen(text, lambda char: char.encode("unicode_escape").decode("ascii"))


def visible_json(text: str) -> str:
    r"""Return a JSON text that says the same, every invisible character in it as ``\uNNNN``."""
    return _escape_unseen(text, lambda char: json.dumps(char)[1:-1])


def _escape_unseen(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _LINES_AND_BLANKS else escape(c) for c in text)


def shell_word(text: str) -> str:
    r"""Return a text as one word of a shell, in one line; ``$'\n'`` is what bash and zsh read."""
    if text.isprintable():
        return shlex.quote(text)

    def escape(char: str) -> str:
        octets = b"" if char.isprintable() else char.encode("utf-8", "surrogateescape")
        return "".join(f"\\x{octet:02x}" for octet in octets) or char

    return "$'" + "".join(f"\\{c}" if c in "'\\" else escape(c) for c in text) + "'"


def shorten(text: str, limit: int) -> str:
    """Return a text in at most ``limit`` characters, "…" in the place of what was cut off."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return such as ``1 card``, ``0 cards``, ``12,000 cards``.

    ``plural`` is the form for all numbers but one; by default the noun with an ``s``.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def ago(seconds: float) -> str:
    """Return such as ``3 min ago``: the largest unit that is at least one, or ``now``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"


_UNSEEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"


def plain(text: str) -> str:
    r"""Return an output without terminal sequences and control characters.

    Of what a line showed one after another (``\r`` begins it anew, as progress bars do) the last
    is kept. Tabs stay.
    """
    if text.isprintable():
        return text
    text = re.sub(_ESCAPES, "", text).replace("\r\n", "\n")
    if "\r" in text:
        shown = (
            [piece for piece in line.split("\r") if piece.strip()] for line in text.split("\n")
        )
        text = "\n".join(pieces[-1] if pieces else "" for pieces in shown)
    return re.sub(_UNSEEN, "", text)
