"""Find the files that a shell command read, changed or removed, from its words.

Agents without a tool for reading files read them through the shell. Tables of programs give an
approximate answer. Words that the shell expands (``$x``, ``*``) are left out and not guessed.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from lessons_kb.data import read_mapping
from lessons_kb.text.shell import LONGEST, find_here_documents, parse_commands
from lessons_kb.values import mutable

_PROGRAMS = read_mapping("shell_programs.toml")
READERS, SEARCHERS = _PROGRAMS["readers"], _PROGRAMS["searchers"]
"""Maps a program to its one-letter options that take a value. READERS read the files that they
name. The first operand of SEARCHERS is a pattern or a script, unless an option contains it. They
read the other operands."""
IN_PLACE = ("sed", "perl")
"""Searchers that edit their files if they have the option ``-i``."""
NOT_READERS = ("perl",)
"""Searchers whose operands are ignored without ``-i``."""
WRITERS, COPIERS, REMOVERS = _PROGRAMS["writers"], _PROGRAMS["copiers"], ("rm", "unlink", "rmdir")
"""Programs that write or remove their operands. COPIERS write the last operand, and the mapping
contains the effect on the other operands."""
TALKERS = (*READERS, *SEARCHERS, *_PROGRAMS["talkers"])
"""Programs that run nothing. Their operands are texts or files."""
TALKING_OPTIONS = {name: words.split() for name, words in _PROGRAMS["talking options"].items()}
"""Maps a program to its options whose value is prose, such as the message of a commit."""
LEADERS = _PROGRAMS["leaders"]
"""Words that may precede the program, such as ``sudo``."""
SHELLS = ("sh", "bash", "zsh", "dash")
INTERPRETERS, INPUT_RUNNERS = _PROGRAMS["interpreters"], _PROGRAMS["input runners"]
"""Programs that run code from an option, and programs that run their standard input."""
LOOKERS = {
    **dict.fromkeys((*READERS, *SEARCHERS), ()),
    **{program: words.split() for program, words in _PROGRAMS["lookers"].items()},
}
"""Maps a program that neither changes nor runs its operands to the words with which it does."""

_EXPANDED = "$`*?[]{}~\n"
_HERE = r"(?:\A|(?<==))\$(?:PWD|\{PWD\})(?=/|\Z)"
_HOME = r"\A(?:~|\$HOME|\$\{HOME\})/"
_UNKNOWN = "\0"
"""A placeholder for a folder whose name is unknown."""
_XARGS_WITH_VALUE = ("-n", "-P", "-I", "-d", "-L", "-s", "-E", "-a")
_CODE_OPTIONS = ("-c", "-e", "-E", "-pe", "-ne", "--eval")
_WRITES = (
    r""",\s*(?:mode=)?['"](?:[wax][bt]?\+?|r[bt]?\+)['"]|write_(?:text|bytes)|(?:write|append)File"""
    r"|file_put_contents|File\.write|unlink|os\.(?:remove|rename|replace)|truncate|rmtree|shutil\."
)
"""Matches code that changes files, in the language of any of INTERPRETERS."""
_TEXTS = r"""'([^'\n]+)'|"([^"\n]+)\""""
_PATCH_BEGINS = "*** Begin Patch"


def is_patch_command(command: str) -> bool:
    """Return whether a command passes a patch in the ``*** Begin Patch`` form to apply_patch."""
    before, begins, _ = command.partition(_PATCH_BEGINS)
    return bool(begins) and "apply_patch" in before


def find_touched(command: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the pairs (kind, paths) for each of ``read``, ``edit`` and ``remove`` in a command.

    Paths are as written, joined to the folder of any ``cd`` in the command, each once and in order.
    The result is empty for a command that cannot be parsed to its end or that is longer than 20,000
    characters.
    """
    touched = []
    for step in _parse_steps(command):
        for kind, path in _touched_by(step):
            if path and not _is_expanded(path) and not path.startswith("/dev/"):
                touched.append((kind, step.folder, path))
    return _group(touched, "read", "edit", "remove")


def find_changed(command: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the pairs (kind, paths) for each of ``change`` and ``run`` that a command may do.

    Paths have the form of the result of `find_touched`. They include patterns such as ``*.sql``,
    and paths in the user's home, which begin with ``~/``. Paths of ``run`` are guesses, and many of
    them are not files. They are every word of a program that may do more than read, the files piped
    into a shell or a database client, and the string literals in code that writes files.
    """
    return _group(_find_changed(command), "change", "run")


def _find_changed(command: str) -> Iterator[tuple[str, str | None, str]]:
    loops: dict[str, Sequence[str]] = {}
    """Maps the variable of a ``for`` loop to its values."""
    piped: list[str] = []
    """The files whose content is piped into the step."""
    listed: list[str] = []
    """The files and folders in which the files are whose names are piped into the step."""
    for step in _parse_steps(command):
        if step.words[:1] == ["for"] and step.words[2:3] == ["in"]:
            loops[step.words[1]] = step.words[3:]
        if not step.piped:
            piped, listed = [], []
        changed = list(_changed_by(step, piped))
        if _changes_piped_names(step):
            changed += [("change", path) for path in listed]
        for kind, path in changed:
            values = loops.get(path.strip("${}"), (path,)) if "$" in path else (path,)
            for value in values:
                yield kind, step.folder, value
        if step.program in INTERPRETERS:
            for text in _texts_of_writing_code(step, command):
                yield "run", step.folder, text
        read = [path for kind, path in _touched_by(step) if kind == "read"]
        piped = [*piped, *read]
        listed += read if _lists_names(step) else []


def _texts_of_writing_code(step: _RunCommand, command: str) -> list[str]:
    """Return the string literals of an interpreter's code, if the code changes files."""
    pairs = itertools.pairwise(step.arguments)
    code = "\n".join(word for option, word in pairs if option in _CODE_OPTIONS)
    if not code and "<<" in command:
        code = command
    if not re.search(_WRITES, code):
        return []
    return [single or double for single, double in re.findall(_TEXTS, code)]


def _group(
    touched: Iterable[tuple[str, str | None, str]], *kinds: str
) -> list[tuple[str, tuple[str, ...]]]:
    """Group (kind, folder, path) as (kind, paths). Paths below an unknown folder are left out."""
    grouped: dict[str, dict[str, None]] = {kind: {} for kind in kinds}
    for kind, folder, path in touched:
        placed = _below(folder, re.sub(_HOME, "~/", path))
        if placed is not None:
            grouped[kind][placed] = None
    return [(kind, tuple(paths)) for kind, paths in grouped.items() if paths]


def find_run(command: str) -> list[str]:
    """Return the simple commands that a command line runs, each as one line of its words.

    Programs that only print or search are left out, as well as prose such as a commit message. The
    lines of a here-document for a shell or a database client are included. A command that cannot be
    parsed to its end is returned unchanged.
    """
    steps = _parse_steps(command)
    if not steps:
        return [command[:LONGEST]]
    commands: list[str] = []
    for step in steps:
        if step.inner:
            commands += find_run(step.inner)
        elif step.words and (step.program in NOT_READERS or step.program not in TALKERS):
            commands.append(" ".join(_without_prose(step)))
    for row, text in find_here_documents(command):
        if any(step.program in INPUT_RUNNERS for step in _parse_steps(row)):
            commands += [line for line in text.splitlines() if line.strip()]
    return commands


def _without_prose(step: _RunCommand) -> list[str]:
    """Return the words of a simple command without the prose in the values of its options."""
    options = TALKING_OPTIONS.get(step.program, ())
    words = []
    for before, word in itertools.pairwise(["", *step.words]):
        name, equals, _ = word.partition("=")
        is_prose = before in options or (equals and name in options)
        if not is_prose:
            words.append(word)
    return words


def find_start(command: str, end: str) -> str:
    """Return the directory in which a command began, if it ended in the directory ``end``.

    A folder whose name cannot be derived, such as the folder that ``cd ..`` left, is replaced by a
    placeholder. `is_known` is False for such a path.
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
    """Return whether a path contains no placeholder of `find_start` for an unknown folder."""
    return _UNKNOWN not in path


def find_patched(command: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of a patch, joined to the folder in which the command applies it."""
    steps = _parse_steps(command)
    folder = next((step.folder for step in steps if step.program == "apply_patch"), "")
    groups = _group([("edit", folder, path) for path in paths], "edit")
    return groups[0][1] if groups else ()


@mutable
class _RunCommand:
    """A simple command of a line, and the folder in which it runs."""

    folder: str | None
    """The folder in which it runs, relative to the start of the line, or None if unknown."""
    piped: bool
    """Whether it reads the output of the command before it."""
    words: list[str]
    redirects: list[tuple[str, str]]
    """Pairs of a kind, which is ``read`` or ``edit``, and a file."""
    then: str | None = ""
    """The folder in which the line continues after it, or None if unknown."""
    program: str = ""
    arguments: Sequence[str] = ()

    @property
    def inner(self) -> str:
        """The command line that it passes to a shell, or "" if there is none."""
        is_shell = self.program in SHELLS and self.arguments[:1] in (["-c"], ["-lc"])
        return self.arguments[1] if is_shell and len(self.arguments) > 1 else ""


def _parse_steps(command: str) -> list[_RunCommand]:
    """Return the simple commands of a line, or [] if the line cannot be parsed to its end."""
    steps: list[_RunCommand] = []
    outer: list[str | None] = []
    left: list[str | None] = []
    folder: str | None = ""
    piped = False
    for simple in parse_commands(command):
        redirects = []
        for sign, file in simple.redirects:
            is_here_document = sign[0] == "<" and sign != "<"
            is_descriptor = sign == ">&" and (file.isdigit() or file == "-")
            if not is_here_document and not is_descriptor:
                redirects.append(("read" if sign == "<" else "edit", re.sub(_HERE, ".", file)))
        words = [re.sub(_HERE, ".", word) for word in simple.words]
        step = _RunCommand(folder=folder, piped=piped, words=words, redirects=redirects)
        step.program, step.arguments = _split_program(words)
        folder = _moved(step, left)
        for char in simple.operator:
            if char == "(":
                outer.append(folder)
            elif char == ")" and outer:
                folder = outer.pop()
        step.then = folder
        piped = simple.operator.strip() in ("|", "|&")
        steps.append(step)
    return steps


def _split_program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the program's name and its arguments, without assignments and LEADERS before them."""
    for index, word in enumerate(words):
        name, equals, _ = word.partition("=")
        is_before = word in LEADERS or (equals and name.isidentifier())
        if not is_before and not word.startswith("-") and not word[:1].isdigit():
            return posixpath.basename(word), words[index + 1 :]
    return "", ()


def _moved(step: _RunCommand, left: list[str | None]) -> str | None:
    """Return the folder in which a line continues after a step, or None if it is unknown.

    ``left`` is the stack of folders that ``pushd`` left.
    """
    if step.program == "popd":
        return left.pop() if left else None
    if step.program not in ("cd", "pushd"):
        return step.folder
    if step.program == "pushd":
        left.append(step.folder)
    to = step.arguments[0] if len(step.arguments) == 1 else "-"
    return None if to.startswith("-") or _is_expanded(to) else _below(step.folder, to)


def _below(folder: str | None, path: str) -> str | None:
    """Return a path joined to a folder, or None for a relative path in an unknown folder."""
    if path.startswith(("/", "~/")):
        return path
    return None if folder is None else posixpath.join(folder, path)


def _is_expanded(path: str) -> bool:
    return any(char in path for char in _EXPANDED)


def _changed_by(step: _RunCommand, piped: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (kind, file) for files that a step may ``change`` or ``run``."""
    program, arguments = step.program, step.arguments
    if step.inner:
        for kind, paths in find_changed(step.inner):
            yield from ((kind, path) for path in paths)
        return
    yield from (("change", path) for kind, path in _touched_by(step) if kind != "read")
    if any(posixpath.basename(word) in INPUT_RUNNERS for word in step.words):
        yield from (("run", path) for path in piped)
    is_covered = program in WRITERS or program in REMOVERS or program in COPIERS
    if not program or is_covered or _only_looks(program, arguments):
        return
    itself = step.words[len(step.words) - len(arguments) - 1]
    words = [itself, *arguments] if "/" in itself else arguments
    folder = ""
    if program == "git" and "-C" in arguments[:-1]:
        place = arguments.index("-C")
        folder = arguments[place + 1]
        words = [*arguments[:place], *arguments[place + 2 :]]  # the folder itself is not changed
    kind = "change" if program in LOOKERS else "run"
    for word in words:  # a file may be part of a word: x, --file=x, of=x, -fx, '.read x'
        value = word.partition("=")[2]
        parts = [value] if value else []
        if word and not word.startswith("-"):
            parts += [word, *word.split()[1:]]
        elif not word.startswith("--") and word[2:]:
            parts.append(word[2:])
        yield from ((kind, posixpath.join(folder, part)) for part in parts)
    yield from (("run", path) for kind, path in step.redirects if kind == "read")


def _lists_names(step: _RunCommand) -> bool:
    """Return whether a step prints the names of files among its operands."""
    if step.program in ("find", "ls"):
        return True
    valued = SEARCHERS.get(step.program)
    return valued is not None and "l" in _operands(step.arguments, valued)[1]


def _changes_piped_names(step: _RunCommand) -> bool:
    """Return whether a step passes the names that it reads to a program that changes the files."""
    if step.program != "xargs":
        return False
    words = list(step.arguments)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in _XARGS_WITH_VALUE:
            words = words[1:]
    program = posixpath.basename(words[0]) if words else ""
    if program in IN_PLACE:
        return "i" in _operands(words[1:], SEARCHERS[program])[1]
    return program in WRITERS or program in REMOVERS or program in COPIERS


def _only_looks(program: str, arguments: Sequence[str]) -> bool:
    """Return whether a command neither changes nor runs the words that it names.

    Code in the option of an interpreter is judged by `_texts_of_writing_code` instead.
    """
    if program in INTERPRETERS:
        return any(word in _CODE_OPTIONS for word in arguments)
    if program not in LOOKERS:
        return False
    words = _operands(arguments, "Cc")[0][:1] if program == "git" else arguments
    return not any(word.partition("=")[0] in LOOKERS[program] for word in words)


def _touched_by(step: _RunCommand) -> Iterator[tuple[str, str]]:
    """Yield (kind, file) for each file that a step reads, edits or removes."""
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
    """Return the operands, and the letters of all short options.

    ``valued`` lists the letters of options that take a value. With ``stop``, parsing ends at the
    first option.
    """
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
