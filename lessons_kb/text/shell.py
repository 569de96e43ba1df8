"""A shell's command line as words, as far as they tell without a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 20_000
"""Characters of a line that is read."""
_PIECE = (
    r"(?P<blank>[ \t\r]+|\\\n)"
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<redirect>\d*(?:>>|>\||>&|>|<<<|<<-?|<&|<>|<)|&>>?)"
    r"|(?P<operator>&&|\|\||\|&|[;&|()\n]+)"
    r"""|(?P<word>(?:[^\s'"\\;&|<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)"""
    r"|(?P<broken>.)"
)
_QUOTED = r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)"""
_DOCUMENT = r"""(?<!<)<<-?[ \t]*(['"]?)([A-Za-z_]\w*)\1"""
_OPERATORS = {"&&": "&&", "||": "||", "|&": "|"}


def split_commands(line: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the simple commands of a line, each with the operator behind it.

    Words come without quotes; redirections, comments and the text of here-documents are left
    out. The operator is one of ``&& || | & ;`` (a line's end too is ``;``), or "" at the end.
    Empty for a line that cannot be read to its end or is longer than LONGEST.
    """
    commands: list[tuple[str, tuple[str, ...]]] = []
    words: list[str] = []
    redirected = False
    for kind, text in (*tokenize(line), ("operator", "")):
        if kind == "broken":
            return []
        if kind == "word" and not redirected:
            words.append(text)
        elif kind == "operator" and words:
            operator = _OPERATORS.get(text, text.strip()[:1] or ";" * bool(text))
            commands.append((operator, tuple(words)))
            words = []
        redirected = kind == "redirect"
    return commands


def tokenize(line: str) -> Iterator[tuple[str, str]]:
    """Yield (``word``, text without quotes), (``redirect``, text), (``operator``, text).

    Comments and the text of here-documents are left out. (``broken``, "") stands for a sign that
    cannot be read, and for all of a line that is longer than LONGEST.
    """
    if len(line) > LONGEST:
        yield "broken", ""
        return
    rows = "\n".join(row for row, _document in _read_rows(line)) if "<<" in line else line
    for token in re.finditer(_PIECE, rows, re.DOTALL):
        kind = token.lastgroup or ""
        if kind == "word":
            yield kind, re.sub(_QUOTED, _unquote, token[0], flags=re.DOTALL)
        elif kind not in ("blank", "comment"):
            yield kind, token[0]


def _unquote(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    if double is not None:
        return re.sub(r"""\\(["\\$`])""", r"\1", double)
    return str(single if single is not None else escaped)


def find_here_documents(line: str) -> list[tuple[str, str]]:
    """Return each row of a command line that has here-documents, without them, and their text."""
    rows = _read_rows(line[:LONGEST]) if "<<" in line else ()
    return [(row, document) for row, document in rows if document is not None]


def _read_rows(line: str) -> list[tuple[str, str | None]]:
    """Return the rows of a command line with the text of their here-documents."""
    found: list[tuple[str, str | None]] = []
    ends: list[str] = []
    for row in line.split("\n"):
        if not ends:
            ends = [end for _, end in re.findall(_DOCUMENT, row)]
            found.append((re.sub(_DOCUMENT, " ", row), "" if ends else None))
        elif row.strip() == ends[0]:
            del ends[0]
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{row}\n")
    return found
