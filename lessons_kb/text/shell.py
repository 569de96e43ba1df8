"""A shell's command line as words, as far as they tell without a shell."""

from __future__ import annotations

import re

from lessons_kb.values import field, mutable

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


@mutable
class SimpleCommand:
    """One simple command of a line."""

    words: list[str] = field(default_factory=list)
    """Without quotes; redirections, comments and the text of here-documents are left out."""
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """(sign without its number, file)."""
    operator: str = ""
    """What stands behind it, parentheses and ends of lines included; "" at the end."""


def parse_commands(line: str) -> list[SimpleCommand]:
    """Return the simple commands of a line, those without a word included.

    Empty for a line that cannot be read to its end or is longer than LONGEST.
    """
    if len(line) > LONGEST:
        return []
    rows = "\n".join(row for row, _document in _read_rows(line)) if "<<" in line else line
    commands = [SimpleCommand()]
    sign = ""
    for token in re.finditer(_PIECE, rows, re.DOTALL):
        kind = token.lastgroup
        if kind == "broken":
            return []
        if kind in ("blank", "comment"):
            continue
        if kind == "word":
            word = re.sub(_QUOTED, _unquote, token[0], flags=re.DOTALL)
            if sign:
                commands[-1].redirects.append((sign, word))
            else:
                commands[-1].words.append(word)
        elif kind == "operator":
            commands[-1].operator = token[0]
            commands.append(SimpleCommand())
        sign = token[0].lstrip("0123456789") if kind == "redirect" else ""
    return commands


def split_commands(line: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the simple commands of a line that have words, each with the operator behind it.

    The operator is one of ``&& || | & ;`` (a line's end too is ``;``), or "" at the end.
    """
    return [
        (_OPERATORS.get(text, text.strip()[:1] or ";" * bool(text)), tuple(command.words))
        for command in parse_commands(line)
        if command.words
        for text in (command.operator,)
    ]


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
