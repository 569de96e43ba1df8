"""A shell's command line as words, as far as they tell without a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST = 20_000
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


def split_commands(line: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the simple commands of a line, each with the operator behind it.

    Words come without quotes; redirections, comments and the text of here-documents are left
    out. The operator is one of ``&& || | & ;`` (a line's end too is ``;``), or "" at the end.
    Empty for a line that cannot be read to its end or is longer than 20,000 characters.
    """
    commands: list[tuple[str, tuple[str, ...]]] = []
    words: list[str] = []
    for kind, text in _tokens(line):
        if kind == "broken":
            return []
        if kind == "word":
            words.append(text)
        elif words:
            commands.append((text, tuple(words)))
            words = []
    if words:
        commands.append(("", tuple(words)))
    return commands


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    """Yield (``word``, text), (``operator``, one of && || | & ;) or (``broken``, "")."""
    if len(line) > _LONGEST:
        yield "broken", ""
        return
    redirected = False
    for token in re.finditer(_PIECE, without_documents(line), re.DOTALL):
        kind, text = token.lastgroup or "", token[0]
        if kind == "word":
            if not redirected:
                yield "word", without_quotes(text)
            redirected = False
        elif kind == "redirect":
            redirected = True
        elif kind == "operator":
            redirected = False
            yield "operator", _OPERATORS.get(text, text.strip()[:1] or ";")
        elif kind == "broken":
            yield "broken", ""


_OPERATORS = {"&&": "&&", "||": "||", "|&": "|"}


def without_quotes(word: str) -> str:
    """Return what a shell makes of the quotes and backslashes of one word."""
    return re.sub(_QUOTED, _unquote, word, flags=re.DOTALL)


def _unquote(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    if double is not None:
        return re.sub(r"""\\(["\\$`])""", r"\1", double)
    return str(single if single is not None else escaped)


def find_here_documents(line: str) -> list[tuple[str, str]]:
    """Return each row of a command line that has here-documents, without them, and their text."""
    if "<<" not in line:
        return []
    found: list[tuple[str, str]] = []
    ends: list[str] = []
    for row in line[:_LONGEST].split("\n"):
        if not ends:
            ends = [end for _, end in re.findall(_DOCUMENT, row)]
            found += [(re.sub(_DOCUMENT, " ", row), "")] if ends else []
        elif row.strip() == ends[0]:
            del ends[0]
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{row}\n")
    return found


def without_documents(line: str) -> str:
    """Return a command line without the text of its here-documents."""
    if "<<" not in line:
        return line
    kept: list[str] = []
    ends: list[str] = []
    for row in line.split("\n"):
        if ends:
            if row.strip() == ends[0]:
                del ends[0]
            continue
        ends = [end for _, end in re.findall(_DOCUMENT, row)]
        kept.append(re.sub(_DOCUMENT, " ", row))
    return "\n".join(kept)
