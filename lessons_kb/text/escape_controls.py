"""What a terminal would obey or hide, written out: for answers whose data must stay as it is."""

from __future__ import annotations

import string

_LINES_AND_BLANKS = "\n\t\u00a0\u202f\u3000"
_BARE = frozenset(string.ascii_letters + string.digits + "@%+=:,./-_")
"""Characters that mean nothing to a shell."""


def visible(text: str) -> str:
    r"""Return a text, each character that cannot be seen as ``\xNN``, ``\uNNNN``."""
    if text.isprintable():
        return text
    return "".join(char if _is_seen(char) else _escaped(char) for char in text)


def visible_json(text: str) -> str:
    r"""Return a JSON text that says the same, every invisible character in it as ``\uNNNN``."""
    if text.isprintable():
        return text
    return "".join(char if _is_seen(char) else _json_escaped(char) for char in text)


def shell_word(text: str) -> str:
    r"""Return a text as one word of a shell, in one line; ``$'\n'`` is what bash and zsh read."""
    if text and _BARE.issuperset(text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return "$'" + "".join(map(_shell_escaped, text)) + "'"


def _is_seen(char: str) -> bool:
    return char.isprintable() or char in _LINES_AND_BLANKS


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _shell_escaped(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    octets = b"" if char.isprintable() else char.encode("utf-8", "surrogateescape")
    return "".join(f"\\x{octet:02x}" for octet in octets) or char


def _json_escaped(char: str) -> str:
    pairs = char.encode("utf-16-be", "surrogatepass")
    units = (int.from_bytes(pairs[n : n + 2], "big") for n in range(0, len(pairs), 2))
    return "".join(f"\\u{unit:04x}" for unit in units)
