"""Which files a shell command read, changed and removed, as far as its words tell.

Agents without a tool for reading read through the shell. A best effort by tables: what is
expanded at run time (``$x``, ``*``) is left out rather than guessed.
"""

from __future__ import annotations

import posixpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

READERS: Mapping[str, str] = {
    **dict.fromkeys(("cat", "bat", "less", "more", "nl", "wc", "ls", "file", "diff", "cmp"), ""),
    **dict.fromkeys(("head", "tail"), "nc"),
    **dict.fromkeys(("md5sum", "sha256sum", "uniq"), ""),
    "cut": "dfbc",
    "find": "",
    "sort": "kto",
    "stat": "c",
    "tree": "LIP",
}
"""Programs that read what they name → their one-letter options that take a value."""

SEARCHERS: Mapping[str, str] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "ag"), "efmABCgtT"),
    "awk": "fFv",
    "sed": "ef",
    "perl": "eE",
}
"""Like READERS, with a pattern or script before the files unless an option gives it."""

IN_PLACE = ("sed", "perl")
"""Searchers that change their files under ``-i``."""

NOT_READERS = ("perl",)
"""Searchers whose operands tell nothing without ``-i``."""

WRITERS: Mapping[str, str] = {"tee": "", "touch": "dtr", "truncate": "s"}
REMOVERS = ("rm", "unlink", "rmdir")
COPIERS: Mapping[str, str] = {"cp": "read", "mv": "remove"}
"""Programs that write their last operand → what becomes of the others."""

LEADERS = (
    *("sudo", "env", "time", "timeout", "nohup", "command", "exec", "builtin", "nice"),
    *("do", "then", "else", "if", "elif", "while", "until", "!", "{"),
)
"""Words that stand before the program."""

SHELLS = ("sh", "bash", "zsh", "dash")

_LONGEST = 20_000
_EXPANDED = "$`*?[]{}~\n"
_PATCH_BEGINS = "*** Begin Patch"
_WORDS = (
    r"(?P<blank>[ \t\r]+|\\\n)"
    r"|(?P<redirect>\d*(?:>>|>\||>&|>|<<<|<<|<&|<>|<)|&>>?)"
    r"|(?P<separator>[;&|()\n]+)"
    r"""|(?P<word>(?:[^\s'"\\;&|<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)"""
    r"|(?P<broken>.)"
)


def is_patch_command(command: str) -> bool:
    """Return whether a command hands a patch in the ``*** Begin Patch`` form to apply_patch."""
    before, begins, _ = command.partition(_PATCH_BEGINS)
    return bool(begins) and "apply_patch" in before


def find_touched(command: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (kind, paths) for each of ``read``, ``edit``, ``remove`` that a command did.

    Paths are as written, below any ``cd`` of the command, each once and in order. Empty for a
    command that cannot be read to its end or is longer than 20,000 characters.
    """
    found: dict[str, dict[str, None]] = {"read": {}, "edit": {}, "remove": {}}
    folder: str | None = ""
    for words, redirects in _parse_commands(command) if len(command) <= _LONGEST else ():
        program, arguments = _program(words)
        if program == "cd":
            known = len(arguments) == 1 and not _is_expanded(arguments[0]) and folder is not None
            folder = posixpath.join(folder or "", arguments[0]) if known else None
            continue
        for kind, path in (*_operands_touched(program, arguments), *redirects):
            if not path or _is_expanded(path) or path.startswith("/dev/"):
                continue
            if folder is not None or path.startswith("/"):
                found[kind][posixpath.join(folder or "", path)] = None
    return [(kind, tuple(paths)) for kind, paths in found.items() if paths]


def _parse_commands(command: str) -> list[tuple[list[str], list[tuple[str, str]]]]:
    """Return each simple command as its words and the (kind, file) of its redirections."""
    import re

    from lessons_kb.text.shell import without_documents, without_quotes

    commands: list[tuple[list[str], list[tuple[str, str]]]] = [([], [])]
    direction = ""
    for token in re.finditer(_WORDS, without_documents(command), re.DOTALL):
        words, redirects = commands[-1]
        if token["broken"]:
            return []
        if token["redirect"]:
            direction = token["redirect"].lstrip("0123456789")
        elif token["separator"]:
            commands.append(([], []))
            direction = ""
        elif token["word"]:
            word = without_quotes(token["word"])
            if not direction:
                words.append(word)
            elif kind := _redirect_kind(direction, word):
                redirects.append((kind, word))
            direction = ""
    return commands


def _redirect_kind(direction: str, word: str) -> str:
    if direction == "<":
        return "read"
    if direction.startswith("<") or (direction == ">&" and (word.isdigit() or word == "-")):
        return ""
    return "edit"


def _program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the program's name and its arguments, past assignments and LEADERS."""
    for index, word in enumerate(words):
        name, equals, _ = word.partition("=")
        passed = word in LEADERS or (equals and name.isidentifier())
        if not passed and not word.startswith("-") and not word[:1].isdigit():
            return posixpath.basename(word), words[index + 1 :]
    return "", ()


def _operands_touched(program: str, arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    if program in READERS:
        paths, _ = _operands(arguments, READERS[program], stop=program == "find")
        yield from (("read", path) for path in paths)
    elif program in SEARCHERS:
        paths, options = _operands(arguments, SEARCHERS[program])
        changes = program in IN_PLACE and "i" in options
        if program in NOT_READERS and not changes:
            return
        paths = paths if options & set("efE") & set(SEARCHERS[program]) else paths[1:]
        yield from (("edit" if changes else "read", path) for path in paths)
    elif program in WRITERS:
        yield from (("edit", path) for path in _operands(arguments, WRITERS[program])[0])
    elif program in REMOVERS:
        yield from (("remove", path) for path in _operands(arguments, "")[0])
    elif program in COPIERS:
        *sources, last = _operands(arguments, "")[0] or [""]
        yield from ((COPIERS[program], path) for path in sources)
        if sources:
            yield "edit", last
    elif program in SHELLS and len(arguments) > 1 and arguments[0] in ("-c", "-lc"):
        for kind, touched in find_touched(arguments[1]):
            yield from ((kind, path) for path in touched)


def _operands(
    arguments: Sequence[str], valued: str, *, stop: bool = False
) -> tuple[list[str], set[str]]:
    """Return what is no option, and the letters of the options; ``stop`` ends at the first one."""
    operands: list[str] = []
    options: set[str] = set()
    value_follows = plain = False
    for word in arguments:
        if value_follows:
            value_follows = False
        elif plain or not word.startswith("-"):
            if stop and word in ("(", "!"):
                break
            if word:
                operands.append(word)
        elif stop:
            break
        elif word == "--":
            plain = True
        elif not word.startswith("--"):
            options |= set(word[1:])
            value_follows = word[-1] in valued
    return operands, options


def _is_expanded(path: str) -> bool:
    return any(char in path for char in _EXPANDED)
