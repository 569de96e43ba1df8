"""Split a shell command line into commands and words, as far as possible without a shell."""

from __future__ import annotations

import re

from lessons_kb.values import field, mutable

LONGEST = 20_000
"""The maximum length of a line that is parsed, in characters."""
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
    """A simple command of a command line."""

    words: list[str] = field(default_factory=list)
    """The words without quotes, redirections, comments and the text of here-documents."""
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """The sign, without its number, and the file of each redirection."""
    operator: str = ""
    """The operator after the command, which may be a parenthesis or a line end; "" at the end."""


def parse_commands(line: str) -> list[SimpleCommand]:
    """Return the simple commands of a line, including commands without a word.

    Return [] for a line that cannot be parsed to its end or is longer than LONGEST.
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
    """Return the operator and the words of the simple commands of a line that have words.

    The operator after the command is one of ``&& || | & ;`` (also for a line end), or "" at the
    end of the line.
    """
    commands = [command for command in parse_commands(line) if command.words]
    return [(_normalise_operator(command.operator), tuple(command.words)) for command in commands]


def _normalise_operator(text: str) -> str:
    if text in _OPERATORS:
        return _OPERATORS[text]
    is_line_end = bool(text) and not text.strip()
    return ";" if is_line_end else text.strip()[:1]


def _unquote(quoted: re.Match[str]) -> str:
    single, double, escaped = quoted.groups()
    if double is not None:
        return re.sub(r"""\\(["\\$`])""", r"\1", double)
    return str(single if single is not None else escaped)


def find_here_documents(line: str) -> list[tuple[str, str]]:
    """Return the rows with here-documents: each row without them, and their text."""
    rows = _read_rows(line[:LONGEST]) if "<<" in line else ()
    return [(row, document) for row, document in rows if document is not None]


def _read_rows(line: str) -> list[tuple[str, str | None]]:
    """Return each row and the text of its here-documents, which is None if there are none."""
    rows: list[tuple[str, str | None]] = []
    ends: list[str] = []
    for row in line.split("\n"):
        if not ends:
            ends = [end for _, end in re.findall(_DOCUMENT, row)]
            rows.append((re.sub(_DOCUMENT, " ", row), "" if ends else None))
        elif row.strip() == ends[0]:
            del ends[0]
        else:
            command, document = rows[-1]
            rows[-1] = (command, f"{document}{row}\n")
    return rows
