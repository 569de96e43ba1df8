"""Which files a shell command read, changed and removed, as far as its words tell.

Agents without a tool for reading read through the shell. A best effort by tables: what is
expanded at run time (``$x``, ``*``) is left out rather than guessed.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lessons_kb.data import read_mapping
from lessons_kb.text.shell import LONGEST, find_here_documents, parse_commands

_PROGRAMS = read_mapping("shell_programs.toml")
READERS, SEARCHERS = _PROGRAMS["readers"], _PROGRAMS["searchers"]
"""Programs that read what they name, SEARCHERS after a pattern or script unless an option gives
it → their one-letter options that take a value."""
IN_PLACE = ("sed", "perl")
"""Searchers that change their files under ``-i``."""
NOT_READERS = ("perl",)
"""Searchers whose operands tell nothing without ``-i``."""
WRITERS, COPIERS, REMOVERS = _PROGRAMS["writers"], _PROGRAMS["copiers"], ("rm", "unlink", "rmdir")
"""Programs that write their last operand (COPIERS) → what becomes of the others."""
TALKERS = (*READERS, *SEARCHERS, *_PROGRAMS["talkers"])
"""Programs that run nothing: what they name is a text or a file."""
TALKING_OPTIONS = {name: words.split() for name, words in _PROGRAMS["talking options"].items()}
"""Program → its options whose value is prose, such as a commit's message."""
LEADERS = _PROGRAMS["leaders"]
"""Words that stand before the program."""
SHELLS = ("sh", "bash", "zsh", "dash")
INTERPRETERS, INPUT_RUNNERS = _PROGRAMS["interpreters"], _PROGRAMS["input runners"]
"""Programs that run code given by an option, and those that carry out what is piped into them."""
LOOKERS = {
    **dict.fromkeys((*READERS, *SEARCHERS), ()),
    **{program: words.split() for program, words in _PROGRAMS["lookers"].items()},
}
"""Programs that change and run nothing they name → the words with which they do."""

_EXPANDED = "$`*?[]{}~\n"
_HERE = r"(?:\A|(?<==))\$(?:PWD|\{PWD\})(?=/|\Z)"
_HOME = r"\A(?:~|\$HOME|\$\{HOME\})/"
_UNKNOWN = "\0"
"""Stands for a folder whose name nobody told."""
_CODE_OPTIONS = ("-c", "-e", "-E", "-pe", "-ne", "--eval")
_WRITES = (
    r""",\s*(?:mode=)?['"](?:[wax][bt]?\+?|r[bt]?\+)['"]|write_(?:text|bytes)|(?:write|append)File"""
    r"|file_put_contents|File\.write|unlink|os\.(?:remove|rename|replace)|truncate|rmtree|shutil\."
)
"""How code in any of INTERPRETERS looks that changes files."""
_TEXTS = r"""'([^'\n]+)'|"([^"\n]+)\""""
_PATCH_BEGINS = "*** Begin Patch"


def is_patch_command(command: str) -> bool:
    """Return whether a command hands a patch in the ``*** Begin Patch`` form to apply_patch."""
    before, begins, _ = command.partition(_PATCH_BEGINS)
    return bool(begins) and "apply_patch" in before


def find_touched(command: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (kind, paths) for each of ``read``, ``edit``, ``remove`` that a command did.

    Paths are as written, below any ``cd`` of the command, each once and in order. Empty for a
    command that cannot be read to its end or is longer than 20,000 characters.
    """
    found = (
        (kind, step.folder, path)
        for step in _parse_steps(command)
        for kind, path in _touched_by(step)
        if path and not _is_expanded(path) and not path.startswith("/dev/")
    )
    return _group(found, "read", "edit", "remove")


def find_changed(command: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (kind, paths) for each of ``change``, ``run`` that a command may do to files.

    Paths are as `find_touched` writes them; among them are patterns such as ``*.sql``, and paths
    from the user's home, which begin with ``~/``. Those of
    ``run`` are a guess: every word of a program that is not known only to look, what is fed to
    a shell or a database client, and the texts in code that writes. Many are no files.
    """
    return _group(_find_changed(command), "change", "run")


def _find_changed(command: str) -> Iterator[tuple[str, str | None, str]]:
    values: dict[str, Sequence[str]] = {}
    fed: list[str] = []
    for step in _parse_steps(command):
        if step.words[:1] == ["for"] and step.words[2:3] == ["in"]:
            values[step.words[1]] = step.words[3:]
        fed = fed if step.piped else []
        for kind, path in _changed_by(step, fed):
            for one in values.get(path.strip("${}"), (path,)) if "$" in path else (path,):
                yield kind, step.folder, one
        if step.program in INTERPRETERS:
            pairs = itertools.pairwise(step.arguments)
            code = "\n".join(word for option, word in pairs if option in _CODE_OPTIONS)
            code = code or (command if "<<" in command else "")
            if re.search(_WRITES, code):
                for one, two in re.findall(_TEXTS, code):
                    yield "run", step.folder, one or two
        fed = [*fed, *(path for kind, path in _touched_by(step) if kind == "read")]


def _group(
    found: Iterable[tuple[str, str | None, str]], *kinds: str
) -> list[tuple[str, tuple[str, ...]]]:
    """Return (kind, paths) for (kind, folder, path): each once, none below an unknown folder."""
    grouped: dict[str, dict[str, None]] = {kind: {} for kind in kinds}
    for kind, folder, path in found:
        placed = _below(folder, re.sub(_HOME, "~/", path))
        if placed is not None:
            grouped[kind][placed] = None
    return [(kind, tuple(paths)) for kind, paths in grouped.items() if paths]


def find_run(command: str) -> list[str]:
    """Return the simple commands that a line runs, each with its words as one line.

    Left out are programs that only print or search what they name, and prose such as a commit's
    message; what is fed to a shell or a database client is among them. A command that cannot be
    read to its end is returned as it stands.
    """
    steps = _parse_steps(command)
    if not steps:
        return [command[:LONGEST]]
    found: list[str] = []
    for step in steps:
        if step.inner:
            found += find_run(step.inner)
        elif step.words and (step.program in NOT_READERS or step.program not in TALKERS):
            prose = TALKING_OPTIONS.get(step.program, ())
            words = (
                word
                for before, word in itertools.pairwise(["", *step.words])
                if before not in prose and not ("=" in word and word.partition("=")[0] in prose)
            )
            found.append(" ".join(words))
    for row, text in find_here_documents(command):
        if any(step.program in INPUT_RUNNERS for step in _parse_steps(row)):
            found += [line for line in text.splitlines() if line.strip()]
    return found


def find_start(command: str, end: str) -> str:
    """Return the directory in which a command began that ended in ``end``.

    What nothing tells, such as the name of the folder that ``cd ..`` left, stands as a folder
    for which `is_known` is False.
    """
    steps = _parse_steps(command)
    folder = steps[-1].then if steps else ""
    if folder is None or folder.startswith("/"):
        return _UNKNOWN
    end = end.replace("\\", "/") if end[1:3] == ":\\" else end
    parts = posixpath.normpath(folder).split("/")
    below = "".join(f"/{part}" for part in parts if part not in ("..", "."))
    if not end.endswith(below):
        return end  # that cd did not last
    return posixpath.join(end.removesuffix(below) or "/", *[_UNKNOWN] * parts.count(".."))


def is_known(path: str) -> bool:
    """Return whether a path holds no folder whose name `find_start` could not tell."""
    return _UNKNOWN not in path


def find_patched(command: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of a patch below the folder in which the command applies it."""
    steps = _parse_steps(command)
    folder = next((step.folder for step in steps if step.program == "apply_patch"), "")
    return tuple(
        path for _, found in _group((("", folder, p) for p in paths), "") for path in found
    )


@dataclass(kw_only=True, slots=True)
class _RunCommand:
    """One simple command of a line, and where it runs."""

    folder: str | None
    """From where the line begins; None when that is not told."""
    piped: bool
    """It reads what the one before prints."""
    words: list[str]
    redirects: list[tuple[str, str]]
    """(kind, file)."""
    then: str | None = ""
    """Where the line goes on after it."""
    program: str = ""
    arguments: Sequence[str] = ()

    @property
    def inner(self) -> str:
        """The command line that it gives to a shell."""
        is_shell = self.program in SHELLS and self.arguments[:1] in (["-c"], ["-lc"])
        return self.arguments[1] if is_shell and len(self.arguments) > 1 else ""


def _parse_steps(command: str) -> list[_RunCommand]:
    """Return each simple command of a line, none of one that cannot be read to its end."""
    steps: list[_RunCommand] = []
    outer: list[str | None] = []
    left: list[str | None] = []
    folder: str | None = ""
    piped = False
    for simple in parse_commands(command):
        redirects = [
            ("read" if sign == "<" else "edit", re.sub(_HERE, ".", file))
            for sign, file in simple.redirects
            if sign == "<" or sign[0] != "<"
            if not (sign == ">&" and (file.isdigit() or file == "-"))
        ]
        words = [re.sub(_HERE, ".", word) for word in simple.words]
        step = _RunCommand(folder=folder, piped=piped, words=words, redirects=redirects)
        step.program, step.arguments = _program(words)
        folder = _moved(step, left)
        for char in simple.operator:
            if char == "(":
                outer.append(folder)
            elif char == ")" and outer:
                folder = outer.pop()
        step.then, piped = folder, simple.operator.strip() in ("|", "|&")
        steps.append(step)
    return steps


def _program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the program's name and its arguments, past assignments and LEADERS."""
    for index, word in enumerate(words):
        name, equals, _ = word.partition("=")
        passed = word in LEADERS or (equals and name.isidentifier())
        if not passed and not word.startswith("-") and not word[:1].isdigit():
            return posixpath.basename(word), words[index + 1 :]
    return "", ()


def _moved(step: _RunCommand, left: list[str | None]) -> str | None:
    """Return where a line goes on after a step; ``left`` is what ``pushd`` came from."""
    if step.program == "popd":
        return left.pop() if left else None
    if step.program not in ("cd", "pushd"):
        return step.folder
    if step.program == "pushd":
        left.append(step.folder)
    to = step.arguments[0] if len(step.arguments) == 1 else "-"
    return None if to.startswith("-") or _is_expanded(to) else _below(step.folder, to)


def _below(folder: str | None, path: str) -> str | None:
    """Return a path below a folder; None where that is not told and the path does not say."""
    if path.startswith(("/", "~/")):
        return path
    return None if folder is None else posixpath.join(folder, path)


def _is_expanded(path: str) -> bool:
    return any(char in path for char in _EXPANDED)


def _changed_by(step: _RunCommand, fed: Sequence[str]) -> Iterator[tuple[str, str]]:
    program, arguments = step.program, step.arguments
    if step.inner:
        for kind, paths in find_changed(step.inner):
            yield from ((kind, path) for path in paths)
        return
    yield from (("change", path) for kind, path in _touched_by(step) if kind != "read")
    if any(posixpath.basename(word) in INPUT_RUNNERS for word in step.words):
        yield from (("run", path) for path in fed)
    sure = program in WRITERS or program in REMOVERS or program in COPIERS
    if not program or sure or _only_looks(program, arguments):
        return
    itself = step.words[len(step.words) - len(arguments) - 1]
    words = [itself, *arguments] if "/" in itself else arguments
    folder = ""
    if program == "git" and "-C" in arguments[:-1]:
        place = arguments.index("-C")
        folder = arguments[place + 1]
        words = [*arguments[:place], *arguments[place + 2 :]]  # the folder itself is not changed
    kind = "change" if program in LOOKERS else "run"
    for word in words:  # what may be a file: x, --file=x, of=x, -fx, '.read x'
        parts = [value] if (value := word.partition("=")[2]) else []
        if word and not word.startswith("-"):
            parts += [word, *word.split()[1:]]
        elif not word.startswith("--") and word[2:]:
            parts.append(word[2:])
        yield from ((kind, posixpath.join(folder, part)) for part in parts)
    yield from (("run", path) for kind, path in step.redirects if kind == "read")


def _only_looks(program: str, arguments: Sequence[str]) -> bool:
    if program in INTERPRETERS:
        return any(word in _CODE_OPTIONS for word in arguments)
    if program not in LOOKERS:
        return False
    words = _operands(arguments, "Cc")[0][:1] if program == "git" else arguments
    return not any(word.partition("=")[0] in LOOKERS[program] for word in words)


def _touched_by(step: _RunCommand) -> Iterator[tuple[str, str]]:
    """Yield (kind, file) of what a command reads, edits and removes."""
    program, arguments = step.program, step.arguments
    if program in READERS:
        paths, _ = _operands(arguments, READERS[program], stop=program == "find")
        yield from (("read", path) for path in paths)
    elif program in SEARCHERS:
        paths, options = _operands(arguments, SEARCHERS[program])
        changes = program in IN_PLACE and "i" in options
        if program not in NOT_READERS or changes:
            paths = paths if options & set("efE") & set(SEARCHERS[program]) else paths[1:]
            yield from (("edit" if changes else "read", path) for path in paths)
    elif program in WRITERS or program in REMOVERS:
        kind = "edit" if program in WRITERS else "remove"
        yield from ((kind, path) for path in _operands(arguments, WRITERS.get(program, ""))[0])
    elif program in COPIERS:
        *sources, last = _operands(arguments, "")[0] or [""]
        yield from ((COPIERS[program], path) for path in sources)
        into = map(posixpath.basename, sources) if last.endswith("/") else sources and [""]
        yield from (("edit", last + name) for name in into)
    elif step.inner:
        for kind, touched in find_touched(step.inner):
            yield from ((kind, path) for path in touched)
    yield from step.redirects


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
            operands += [word] if word else []
        elif stop:
            break
        elif word == "--":
            plain = True
        elif not word.startswith("--"):
            options |= set(word[1:])
            value_follows = word[-1] in valued
    return operands, options
