"""Which commands run tests, and which two of them run the same tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from lessons_kb.data import read_mapping
from lessons_kb.text.shell import split_commands

_TABLES = read_mapping("test_runners.txt")
RUNNERS = _TABLES["runners"]
"""Program → what its arguments (options left out) begin with when it runs tests; "" = anything."""

ALSO_BY_OPTION = _TABLES["by option"]
"""Program → the option with which it runs tests."""

WRAPPERS = {words: (int(value[0]), value[2:]) for words, value in _TABLES["wrappers"].items()}
"""Words before a command → (operands of their own, their options with a value)."""

SHELLS = ("sh", "bash", "zsh", "dash", "fish", "pwsh", "powershell")
NOT_A_RUN = _TABLES["not a run"].keys()

SELECTORS = _TABLES["selectors"]
"""Program → its options that choose tests, with ``all`` for every program. Other options only
change how a run looks, and are no part of its identity."""

VALUED = _TABLES["valued"].keys()
"""Options that take a value and choose no tests."""

_HINT = r"test|jest|spec|tox|nox|check|karma|cypress|mocha|\bava\b|\btap\b|behave|ward|trial|robot"
_HINT += (
    r"|unit|prove|bats|busted|cucumber|kaocha|eunit|verify|e2e|ginkgo|pest|build|\b[cm]?\w* t\b"
)
_TEST_SCRIPT = r"(?:run[_-]?)?(?:\w+[_-])?tests?(?:[_-]\w+)?(?:\.(?:sh|py|bash|ps1|rb|js))?"
_INTERPRETERS = r"python[\d.]*w?|py|pypy3?|php|ruby|node|tsx|ts-node|perl|uv"
_SUFFIX = r"\.(?:exe|bat|cmd|phar)$"
_ALIASES = {"py.test": "pytest", "pytest-3": "pytest"}
_INTERPRETER_VALUED = ("-X", "-W", "-d", "-c", "-r", "--require", "--import", "--loader")


def find_test_command(command: str, *, cwd: str = "") -> str | None:
    """Return what identifies the tests that a command line runs; None when it runs none.

    Equal for command lines that run the same tests: wrappers, variables and options that only
    change how a run looks are left out. Tests of another folder (``cd x && …``) begin with it,
    unless that folder is ``cwd``. The first test command of the line counts.
    """
    found = _find(command, cwd, depth=0)
    return found[0] if found else None


def shows_outcome(command: str) -> bool:
    """Return whether the exit code of a command line is that of its tests.

    It is not behind a pipe (without ``pipefail``), before ``;`` or ``||``, or in the background.
    True for a command line without tests.
    """
    found = _find(command, "", depth=0)
    return found is None or found[1]


def _find(command: str, cwd: str, *, depth: int) -> tuple[str, bool] | None:
    if depth > _DEEPEST or not re.search(_HINT, command):
        return None
    folder = ""
    commands = split_commands(command)
    for number, (_, words) in enumerate(commands):
        if words[0] in ("cd", "pushd") and len(words) > 1:
            folder = posixpath.join(folder, words[1])
            continue
        for layer in _layers(words):
            inner = _inner(layer)
            found = _find(inner, cwd, depth=depth + 1) if inner else None
            identity, shows = found or (_identity(layer), True)
            if identity:
                behind = [operator for operator, _ in commands[number:]]
                shows = shows and not _is_hidden(behind, pipefail="pipefail" in command)
                return _placed(identity, folder, cwd), shows
    return None


def _is_hidden(operators: Sequence[str], *, pipefail: bool) -> bool:
    """Tell whether what follows a command decides the exit code of the line in its stead."""
    *between, last = operators
    hiding = (";", "||", "&") if pipefail else (";", "||", "&", "|")
    return last == "&" or any(operator in hiding for operator in between)


def _placed(identity: str, folder: str, cwd: str) -> str:
    place = posixpath.normpath(folder) if folder else "."
    here = place in (".", cwd and posixpath.normpath(cwd))
    return identity if here else f"cd {place} && {identity}"


_DEEPEST = 3


def _inner(words: Sequence[str]) -> str:
    """Return the command line that a shell is given with ``-c``, "" when there is none."""
    if words and posixpath.basename(words[0]) in SHELLS:
        for number, word in enumerate(words[1:-1], 1):
            if re.fullmatch(r"-\w*c", word) or word == "-Command":
                return words[number + 1]
    return ""


def _layers(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a command, then what is left of it without each of its wrappers."""
    rest = tuple(words)
    while rest:
        yield rest
        if re.match(r"[A-Za-z_]\w*=", rest[0]):
            rest = rest[1:]
            continue
        for size in (3, 2, 1):
            wrapper = WRAPPERS.get(" ".join((_program(rest[0]), *rest[1:size])))
            if wrapper and len(rest) > size:
                rest = _after_options(rest[size:], *wrapper)
                break
        else:
            return


def _after_options(words: Sequence[str], operands: int, valued: str) -> tuple[str, ...]:
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return tuple(words[place + 1 :])
        if word.startswith("-"):
            place += 2 if word in valued.split() else 1
        elif operands:
            operands -= 1
            place += 1
        else:
            break
    return tuple(words[place:])


def _program(word: str) -> str:
    name = re.sub(_SUFFIX, "", posixpath.basename(word.replace("\\", "/")))
    return _ALIASES.get(name, name)


def _identity(words: Sequence[str]) -> str:
    """Return the program, what it was told to run and what chooses tests; "" for no tests."""
    if not words:
        return ""
    program, arguments = _program(words[0]), tuple(words[1:])
    if re.fullmatch(_INTERPRETERS, program):
        if ALSO_BY_OPTION.get(program) in arguments:
            return " ".join((program, *arguments))
        layers = _layers(_script_of(arguments))
        return next((found for layer in layers if (found := _identity(layer))), "")
    is_script = "/" in words[0] and re.fullmatch(_TEST_SCRIPT, program)
    rule = RUNNERS.get(program, "" if is_script else None)
    if rule is None or not NOT_A_RUN.isdisjoint(arguments):
        return ""
    operands, chosen = _parse(program, arguments)
    return " ".join((program, *chosen)) if re.match(rule, operands) else ""


def _script_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return what an interpreter runs: a module after ``-m``, else the first operand."""
    if "-m" in arguments:
        return tuple(arguments[arguments.index("-m") + 1 :])
    return _after_options(arguments, 0, " ".join(_INTERPRETER_VALUED))


def _parse(program: str, arguments: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the operands as one text, and with them the options that choose tests, in order."""
    chooses = f"{SELECTORS['all']} {SELECTORS.get(program, '')}".split()
    operands: list[str] = []
    chosen: list[str] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            operands.append(word)
            chosen.append(word)
            continue
        name, equals, _ = word.partition("=")
        value = () if equals else arguments[place : place + 1]
        if name in chooses:
            chosen += (word, *value)
            place += len(value)
        elif name in VALUED:
            place += len(value)
    return " ".join(operands), tuple(chosen)
