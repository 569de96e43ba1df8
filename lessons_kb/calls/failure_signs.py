"""What shows that something went wrong: a complaint, an error, a rollback, a test that fails."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import dropwhile, pairwise

from lessons_kb.data import read_mapping, read_patterns
from lessons_kb.text.error_signature import shows
from lessons_kb.text.patterns import search_any
from lessons_kb.text.sanitize import clean, clean_line, shorten
from lessons_kb.text.sentences import split_sentences
from lessons_kb.text.shell import LONGEST, split_commands

FEEDBACK, REQUEST = "feedback", "request"
SPOKEN = ("prompt", "feedback")
CHANGES = ("edit", "create", "remove")
RUNS = ("test", "command")
"""Kinds of triggers, then of events: what users say, what changes a file, what runs."""


def one_line(text: str, limit: int) -> str:
    """Return a text as one line of at most ``limit`` characters."""
    return shorten(clean_line(text[: 4 * limit]), limit)


@cache
def is_test(path: str) -> bool:
    """Tell whether a file holds tests."""
    return shows("tests", path.lower())


PHRASES = read_patterns("feedback_phrases.toml")
"""Kind of trigger → patterns, searched in each sentence in lower case."""

MAX_SENTENCE = 400
"""Characters of a sentence that are looked at."""
MAX_SENTENCES = 40

_OUTPUT = read_patterns("test_output.toml")
_ERROR_LINE, _PASTED = ("|".join(_OUTPUT[section]) for section in ("error line", "pasted"))
_FENCE = re.compile(r"^\s*(?:```|~~~).*?(?:^\s*(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]{1,200}`")


_ASKS_WHETHER = r"\W*(?:is|are|was|were|does|do|has|have)\b.*\?\W*$"
"""Who asks whether something is still broken does not say so."""


def find_phrase(text: str, extra: Sequence[str] = ()) -> tuple[str, str] | None:
    """Return (``feedback`` or ``request``, the sentence) of what a user wrote, None if neither.

    ``extra`` are further patterns for feedback, checked by ``text.patterns.check_pattern``. A
    request decides over a complaint. Takes time linear in the first and last sentences of the text.
    """
    said = _INLINE.sub(" ", _FENCE.sub("\n", text[:20_000])).replace("\u2019", "'")
    lines = [line for line in said.splitlines() if line.strip() and not re.match(_PASTED, line)]
    sentences = [sentence[:MAX_SENTENCE] for line in lines for sentence in split_sentences(line)]
    if len(sentences) > MAX_SENTENCES:
        sentences = sentences[: MAX_SENTENCES // 2] + sentences[-MAX_SENTENCES // 2 :]
    for kind in (REQUEST, FEEDBACK):
        further = tuple(extra) if kind == FEEDBACK else ()
        for sentence in sentences:
            low = sentence.lower()
            if kind == FEEDBACK and re.match(_ASKS_WHETHER, low):
                continue
            ours = any(re.search(pattern, low, re.IGNORECASE) for pattern in PHRASES[kind])
            if ours or search_any(further, low):
                return kind, sentence
    return None


MAX_FAILING = 20
_LONGEST_LINE = 1_000
"""No reporter writes a longer one."""
_AROUND = 2


def find_failing(output: str) -> tuple[str, ...]:
    """Return the names of the tests that an output reports as failed: each once, in order."""
    lines = (line for line in clean(output).splitlines() if len(line) <= _LONGEST_LINE)
    matches = (
        next(filter(None, (re.search(one, line) for one in _OUTPUT["failing test"])), None)
        for line in lines
    )
    return tuple(dict.fromkeys(match[1].strip() for match in matches if match))[:MAX_FAILING]


def read_result(output: str) -> str:
    """Return how tests ended by what they print, ``exec_error`` or ``ok``; "" if it is not told."""
    lines = [line for line in clean(output).splitlines() if len(line) <= _LONGEST_LINE]

    def tells(section: str) -> bool:
        return any(re.search(one, line) for line in lines for one in _OUTPUT[section])

    if find_failing(output) or tells("tests failed"):
        return "exec_error"
    return "ok" if tells("tests passed") else ""


def error_excerpt(output: str, *, limit: int = 2_000) -> str:
    """Return the lines of an output that tell the error, at most ``limit`` characters.

    What stands near a line that names an error is kept, the last such lines first; an output
    without any gives its end. Control characters are gone, ``…`` stands for what was left out.
    """
    lines = [line.rstrip()[:400] for line in clean(output).strip("\n").splitlines()]
    if sum(len(line) + 1 for line in lines) <= limit:
        return "\n".join(lines)
    naming = [number for number, line in enumerate(lines) if re.search(_ERROR_LINE, line)]
    order = [n for line in reversed(naming) for n in range(line - _AROUND, line + _AROUND + 1)]
    kept: set[int] = set()
    for number in order or range(len(lines) - 1, -1, -1):
        if 0 <= number < len(lines) and number not in kept:
            limit -= len(lines[number]) + 3  # and a mark for a gap before it
            if limit < 0:
                break
            kept.add(number)
    return "\n".join(
        lines[number] if number - 1 in kept or not number else f"…\n{lines[number]}"
        for number in sorted(kept)
    )


_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "-s", "--source", "-m", "--mainline")
_EVERYTHING = (".", "./", ":/", "*", "-A", "--all")
_LEADERS = ("sudo", "env", "time", "command", "then", "do", "!", "(")
_STOPS = {"--abort", "--quit", "--skip", "--continue"}
_BRANCH = {"-b", "-B", "--orphan", "-t", "--track", "--detach"}
_REMOTE = r"^(?:origin|upstream)/|^@\{u(?:pstream)?\}$|^FETCH_HEAD$"


def rolls_back(command: str, edited: Collection[str]) -> bool:
    """Return whether a command line takes back commits, or edited files (POSIX paths), with git.

    A reset to what the remote has, and a checkout of a branch, take files back only where some
    were changed.
    """

    def is_leader(word: str) -> bool:
        return word in _LEADERS or re.match(r"[^\W\d]\w*=", word) is not None

    for _operator, words in split_commands(command[:LONGEST]):
        program, *arguments = [*dropwhile(is_leader, words)] or [""]
        if program == "git" and _git_rolls_back(arguments, edited):
            return True
    return False


def _git_rolls_back(words: Sequence[str], edited: Collection[str]) -> bool:
    options: set[str] = set()
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands += ("--", *rest)
        elif word.startswith("-"):
            options.add(word)
            if word in _WITH_VALUE:
                next(rest, "")
        else:
            operands.append(word)
    name, operands = (operands[0], operands[1:]) if operands else ("", [])
    if name == "revert":
        return bool(operands) and options.isdisjoint(_STOPS)
    if name == "reset" and not options.isdisjoint({"--hard", "--merge", "--keep"}):
        return bool(edited) or not any(re.search(_REMOTE, operand) for operand in operands)
    staged = not options.isdisjoint({"--staged", "-S"})
    in_place = not staged or not options.isdisjoint({"--worktree", "-W", "-SW"})
    if (name == "restore" and in_place) or (name == "checkout" and options.isdisjoint(_BRANCH)):
        # Without a mark, a branch or commit among the operands touches no changed file.
        files = operands[operands.index("--") + 1 :] if "--" in operands else operands
        return any(
            file in (*_EVERYTHING, path)
            or path.endswith(f"/{file}")
            or file.endswith(f"/{path}")
            or path.startswith(f"{file.rstrip('/')}/")
            for file in files
            for path in edited
        )
    return False


_TABLES = read_mapping("test_runners.toml")
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

_HINT = (
    r"test|jest|spec|tox|nox|check|karma|cypress|mocha|\bava\b|\btap\b|behave|ward|trial|robot"
    r"|unit|prove|bats|busted|cucumber|kaocha|eunit|verify|e2e|ginkgo|pest|build|\b[cm]?\w* t\b"
)
_TEST_SCRIPT = r"(?:run[_-]?)?(?:\w+[_-])?tests?(?:[_-]\w+)?(?:\.(?:sh|py|bash|ps1|rb|js))?"
_INTERPRETERS = r"python[\d.]*w?|py|pypy3?|php|ruby|node|tsx|ts-node|perl|uv"
_SUFFIX = r"\.(?:exe|bat|cmd|phar)$"
_ALIASES = {"py.test": "pytest", "pytest-3": "pytest"}
_INTERPRETER_VALUED = "-X -W -d -c -r --require --import --loader"
_DEEPEST = 3
"""Shells in shells that are looked into."""


def find_test_command(command: str) -> str | None:
    """Return what identifies the tests that a command line runs; None when it runs none.

    Equal for command lines that run the same tests: wrappers, variables and options that only
    change how a run looks are left out. Tests of another folder (``cd x && …``) begin with it.
    The first test command of the line counts.
    """
    found = _find(command, depth=0)
    return found[0] if found else None


def shows_outcome(command: str) -> bool:
    """Return whether the exit code of a command line is that of its tests.

    It is not behind a pipe (without ``pipefail``), before ``;`` or ``||``, or in the background.
    True for a command line without tests.
    """
    found = _find(command, depth=0)
    return found is None or found[1]


def _find(command: str, *, depth: int) -> tuple[str, bool] | None:
    if depth > _DEEPEST or not re.search(_HINT, command):
        return None
    folder = "."
    commands = split_commands(command)
    for number, (_, words) in enumerate(commands):
        if words[0] in ("cd", "pushd") and len(words) > 1:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
            continue
        for layer in _layers(words):
            inner: Iterator[str] = iter(())  # the command line that a shell is given
            if posixpath.basename(layer[0]) in SHELLS:
                inner = (b for a, b in pairwise(layer[1:]) if re.fullmatch(r"-\w*c|-Command", a))
            found = _find(next(inner, ""), depth=depth + 1)
            identity, shows = found or (_identity(layer), True)
            if identity:
                hiding = (";", "||", "&") if "pipefail" in command else (";", "||", "&", "|")
                *between, last = [operator for operator, _ in commands[number:]]
                shows = shows and last != "&" and not {*between}.intersection(hiding)
                return identity if folder == "." else f"cd {folder} && {identity}", shows
    return None


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
    rest = tuple(words)
    while rest and rest[0] != "--" and (operands or rest[0].startswith("-")):
        operands -= not rest[0].startswith("-")
        rest = rest[2 if rest[0] in valued.split() else 1 :]
    return rest[1:] if rest[:1] == ("--",) else rest


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
        if "-m" in arguments:
            script = arguments[arguments.index("-m") + 1 :]
        else:
            script = _after_options(arguments, 0, _INTERPRETER_VALUED)
        return next((found for layer in _layers(script) if (found := _identity(layer))), "")
    is_script = "/" in words[0] and re.fullmatch(_TEST_SCRIPT, program)
    rule = RUNNERS.get(program, "" if is_script else None)
    if rule is None or not NOT_A_RUN.isdisjoint(arguments):
        return ""
    chooses = f"{SELECTORS['all']} {SELECTORS.get(program, '')}".split()
    operands: list[str] = []
    chosen: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            operands.append(word)
            chosen.append(word)
        elif name in chooses or name in VALUED:
            value = [] if equals else [one for one in (next(rest, None),) if one is not None]
            chosen += (word, *value) if name in chooses else ()
    return " ".join((program, *chosen)) if re.match(rule, " ".join(operands)) else ""
