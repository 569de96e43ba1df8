"""Signs that something went wrong: complaints, errors, rollbacks and failing tests."""

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
from lessons_kb.values import NamedTuple

FEEDBACK, REQUEST = "feedback", "request"
SPOKEN = ("prompt", "feedback")
RUNS = ("test", "command")
"""Two kinds of triggers, followed by kinds of events: user messages and runs."""


def one_line(text: str, limit: int) -> str:
    """Return a text as a single line of at most ``limit`` characters."""
    return shorten(clean_line(text[: 4 * limit]), limit)


@cache
def is_test(path: str) -> bool:
    """Return whether the path is the path of a test file."""
    return shows("tests", path.lower())


PHRASES = read_patterns("feedback_phrases.toml")
"""Maps a kind of trigger to patterns that are searched in each sentence, in lower case."""

MAX_SENTENCE = 400
"""The maximum number of characters of a sentence that are searched."""
MAX_SENTENCES = 40

_OUTPUT = read_patterns("test_output.toml")
_ERROR_LINE, _PASTED = ("|".join(_OUTPUT[section]) for section in ("error line", "pasted"))
_FENCE = re.compile(r"^\s*(?:```|~~~).*?(?:^\s*(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]{1,200}`")


_ASKS_WHETHER = r"\W*(?:is|are|was|were|does|do|has|have)\b.*\?\W*$"
"""Matches a question about whether something is still broken, which is not a complaint."""


def find_phrase(text: str, extra: Sequence[str] = ()) -> tuple[str, str] | None:
    """Return the kind and the sentence of a user's ``feedback`` or ``request``, or None.

    ``extra`` contains additional patterns for feedback that ``text.patterns.check_pattern``
    accepted. A request takes precedence over feedback. Only the first and the last sentences of a
    long text are searched, in linear time.
    """
    sentences = _sentences_of_user(text)
    for sentence in sentences:
        if _matches_phrase(REQUEST, sentence.lower()):
            return REQUEST, sentence
    patterns = tuple(extra)
    for sentence in sentences:
        lower = sentence.lower()
        if re.match(_ASKS_WHETHER, lower):
            continue
        if _matches_phrase(FEEDBACK, lower) or search_any(patterns, lower):
            return FEEDBACK, sentence
    return None


def _sentences_of_user(text: str) -> list[str]:
    """Return the first and last sentences of a prompt, without code and pasted output."""
    prose = _INLINE.sub(" ", _FENCE.sub("\n", text[:20_000])).replace("\u2019", "'")
    lines = [line for line in prose.splitlines() if line.strip() and not re.match(_PASTED, line)]
    sentences = [sentence[:MAX_SENTENCE] for line in lines for sentence in split_sentences(line)]
    if len(sentences) > MAX_SENTENCES:
        sentences = sentences[: MAX_SENTENCES // 2] + sentences[-MAX_SENTENCES // 2 :]
    return sentences


def _matches_phrase(kind: str, sentence: str) -> bool:
    return any(re.search(pattern, sentence, re.IGNORECASE) for pattern in PHRASES[kind])


MAX_FAILING = 20
_LONGEST_LINE = 1_000
"""In characters. No test reporter writes a longer line."""
_AROUND = 2


def _output_lines(output: str) -> list[str]:
    return [line for line in clean(output).splitlines() if len(line) <= _LONGEST_LINE]


def find_failing(output: str) -> tuple[str, ...]:
    """Return the names of the tests that an output reports as failed, each once and in order."""
    names: dict[str, None] = {}
    for line in _output_lines(output):
        for pattern in _OUTPUT["failing test"]:
            match = re.search(pattern, line)
            if match:
                names[match[1].strip()] = None
                break
    return tuple(names)[:MAX_FAILING]


def is_test_report(text: str) -> bool:
    """Return whether a line, or a text joined to one line, contains what a test reporter prints in
    any project.
    """
    line = text.strip()[:_LONGEST_LINE]
    return any(re.search(pattern, line) for pattern in _OUTPUT["test report"])


def read_result(output: str) -> str:
    """Return the outcome of tests from their output: ``exec_error``, ``ok``, or "" if unknown."""
    lines = _output_lines(output)

    def matches(section: str) -> bool:
        return any(re.search(pattern, line) for line in lines for pattern in _OUTPUT[section])

    if find_failing(output) or matches("tests failed"):
        return "exec_error"
    return "ok" if matches("tests passed") else ""


def error_excerpt(output: str, *, limit: int = 2_000) -> str:
    """Return the lines of an output that describe the error, at most ``limit`` characters.

    The excerpt contains the lines that name an error and the lines around them. The last of them
    take precedence. If no line names an error, the excerpt is the end of the output. Control
    characters are removed, and ``…`` marks each gap.
    """
    lines = [line.rstrip()[:400] for line in clean(output).strip("\n").splitlines()]
    if sum(len(line) + 1 for line in lines) <= limit:
        return "\n".join(lines)
    order: list[int] = []
    for number in range(len(lines) - 1, -1, -1):
        if re.search(_ERROR_LINE, lines[number]):
            order += range(number - _AROUND, number + _AROUND + 1)
    if not order:
        order = list(range(len(lines) - 1, -1, -1))
    shown: set[int] = set()
    for number in order:
        if 0 <= number < len(lines) and number not in shown:
            limit -= len(lines[number]) + 3  # with room for the mark of a gap before it
            if limit < 0:
                break
            shown.add(number)
    excerpt = []
    for number in sorted(shown):
        if number and number - 1 not in shown:
            excerpt.append("…")
        excerpt.append(lines[number])
    return "\n".join(excerpt)


_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "-s", "--source", "-m", "--mainline")
_EVERYTHING = (".", "./", ":/", "*", "-A", "--all")
_LEADERS = ("sudo", "env", "time", "command", "then", "do", "!", "(")
_STOPS = {"--abort", "--quit", "--skip", "--continue"}
_BRANCH = {"-b", "-B", "--orphan", "-t", "--track", "--detach"}
_REMOTE = r"^(?:origin|upstream)/|^@\{u(?:pstream)?\}$|^FETCH_HEAD$"


def rolls_back(command: str, edited: Collection[str]) -> bool:
    """Return whether a command line undoes commits, or changes of ``edited`` files, with git.

    ``edited`` contains POSIX paths. A reset to the state of the remote counts only if there are
    edited files. A checkout or a restore counts only if it names such a file.
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
"""Maps a program to a pattern for its operands when it runs tests, or to "" for any operands."""

ALSO_BY_OPTION = _TABLES["by option"]
"""Maps a program to the option that makes it run tests."""

WRAPPERS = {words: (int(value[0]), value[2:]) for words, value in _TABLES["wrappers"].items()}
"""Maps a wrapper of a command to the number of its own operands, and its options with a value."""

SHELLS = ("sh", "bash", "zsh", "dash", "fish", "pwsh", "powershell")
NOT_A_RUN = _TABLES["not a run"].keys()

SELECTORS = _TABLES["selectors"]
"""Maps a program to its options that select tests. The options of ``all`` apply to every program.
Other options only change the output of a run, and are not part of its identity."""

VALUED = _TABLES["valued"].keys()
"""Options that take a value but do not select tests."""

_HINT = (
    r"test|jest|spec|tox|nox|check|karma|cypress|mocha|\bava\b|\btap\b|behave|ward|trial|robot"
    r"|unit|prove|bats|busted|cucumber|kaocha|eunit|verify|e2e|ginkgo|pest|build|\b[cm]?\w* t\b"
)
_TEST_SCRIPT = r"(?:run[_-]?)?(?:\w+[_-])?tests?(?:[_-]\w+)?(?:\.(?:sh|py|bash|ps1|rb|js))?"
_INTERPRETERS = r"python[\d.]*w?|py|pypy3?|php|ruby|node|tsx|ts-node|perl|uv"
_SUFFIX = r"\.(?:exe|bat|cmd|phar)$"
_ALIASES = {"py.test": "pytest", "pytest-3": "pytest"}
_INTERPRETER_VALUED = "-X -W -d -c -r --require --import --loader"
_MAX_DEPTH = 3
"""The maximum number of nested shells that are parsed."""


class _TestRun(NamedTuple):
    identity: str
    """The program, its operands and its options that select tests."""
    shows_outcome: bool
    """Whether the exit code of the command line is the exit code of the tests."""


def find_test_command(command: str) -> str | None:
    """Return an identity of the tests that a command line runs, or None if it runs none.

    Command lines that run the same tests have the same identity. Wrappers, variables and options
    that only change the output are not part of it. A folder that the line enters (``cd x && …``) is
    part of it. Only the first test command of the line counts.
    """
    run = _find_test_run(command, depth=0)
    return run.identity if run else None


def shows_outcome(command: str) -> bool:
    """Return whether the exit code of a command line is the exit code of its tests.

    It is not if the tests come before a pipe (without ``pipefail``), ``;`` or ``||``, or if they
    run in the background. The result is True for a command line without tests.
    """
    run = _find_test_run(command, depth=0)
    return run is None or run.shows_outcome


def _find_test_run(command: str, *, depth: int) -> _TestRun | None:
    if depth > _MAX_DEPTH or not re.search(_HINT, command):
        return None
    folder = "."
    commands = split_commands(command)
    for number, (_, words) in enumerate(commands):
        if words[0] in ("cd", "pushd") and len(words) > 1:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
            continue
        for layer in _layers(words):
            run = _find_test_run(_shell_command(layer), depth=depth + 1)
            run = run or _TestRun(_identity(layer), shows_outcome=True)
            if not run.identity:
                continue
            hiding = {";", "||", "&"} if "pipefail" in command else {";", "||", "&", "|"}
            *between, last = [operator for operator, _ in commands[number:]]
            is_hidden = last == "&" or not hiding.isdisjoint(between)
            identity = run.identity if folder == "." else f"cd {folder} && {run.identity}"
            return _TestRun(identity, run.shows_outcome and not is_hidden)
    return None


def _shell_command(words: Sequence[str]) -> str:
    """Return the command line that a shell gets with ``-c``, or "" for any other command."""
    if posixpath.basename(words[0]) not in SHELLS:
        return ""
    for option, value in pairwise(words[1:]):
        if re.fullmatch(r"-\w*c|-Command", option):
            return value
    return ""


def _layers(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a command, and then the rest of it after each wrapper is removed."""
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
    """Return the words after the options and a number of operands of a wrapper.

    ``valued`` contains the options that take a value, separated by spaces.
    """
    rest = tuple(words)
    while rest and rest[0] != "--" and (operands or rest[0].startswith("-")):
        operands -= not rest[0].startswith("-")
        rest = rest[2 if rest[0] in valued.split() else 1 :]
    return rest[1:] if rest[:1] == ("--",) else rest


def _program(word: str) -> str:
    name = re.sub(_SUFFIX, "", posixpath.basename(word.replace("\\", "/")))
    return _ALIASES.get(name, name)


def _identity(words: Sequence[str]) -> str:
    """Return the program, its operands and its options that select tests, or "" without tests."""
    if not words:
        return ""
    program = _program(words[0])
    arguments = tuple(words[1:])
    if re.fullmatch(_INTERPRETERS, program):
        if ALSO_BY_OPTION.get(program) in arguments:
            return " ".join((program, *arguments))
        if "-m" in arguments:
            script = arguments[arguments.index("-m") + 1 :]
        else:
            script = _after_options(arguments, 0, _INTERPRETER_VALUED)
        return next(filter(None, map(_identity, _layers(script))), "")
    is_script = "/" in words[0] and re.fullmatch(_TEST_SCRIPT, program)
    rule = RUNNERS.get(program, "" if is_script else None)
    if rule is None or not NOT_A_RUN.isdisjoint(arguments):
        return ""
    selectors = f"{SELECTORS['all']} {SELECTORS.get(program, '')}".split()
    operands: list[str] = []
    selection: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            operands.append(word)
            selection.append(word)
        elif name in selectors or name in VALUED:
            value = None if equals else next(rest, None)
            if name in selectors:
                selection += [word] if value is None else [word, value]
    return " ".join((program, *selection)) if re.match(rule, " ".join(operands)) else ""
