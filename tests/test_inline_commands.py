"""Every command that prose, settings or a message names can be typed: it and its options exist."""

import ast
import functools
import re
import shlex
import tomllib

import pytest
import typer
from markdown_it import MarkdownIt

from lessons_kb.cli.main import app
from tests.kit import ROOT

STARTS_PROGRAM = re.compile(r"(?:lessons|pip|pipx|uv|uvx|brew) ")
TEXTS = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "pyproject.toml", "mkdocs.yml")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(path for path in (ROOT / "templates").rglob("*") if path.is_file()),
]
CODE = sorted((ROOT / "lessons_kb").rglob("*.py")) + sorted((ROOT / "tools").glob("*.py"))

OTHERS = {
    "pip": {
        "install": ("-q", "--quiet", "-e", "--upgrade", "--no-deps", "--disable-pip-version-check"),
        "download": ("--no-deps",),
        "uninstall": ("-y",),
    },
    "pipx": {"install": ("--force", "--editable"), "uninstall": (), "upgrade": ()},
    "uv": {
        "pip install": ("-q", "-e", "--python", "--upgrade", "--resolution"),
        "tool install": ("--force", "--editable", "--reinstall"),
        "tool uninstall": (),
        "tool update-shell": (),
        "tool upgrade": (),
    },
    "uvx": {"": ("-q", "--from", "--offline", "--compile-bytecode")},
    "brew": {"install": (), "uninstall": (), "upgrade": (), "tap": ()},
}
"""Program of others → what is said of it here, with its options, by its own documentation."""

PUBLISHED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["lessons-kb"][
    "published"
]
FROM_INDEX = re.compile(r"""^lessons-kb(?:\[[\w,]+\])?$""")


def spans(path):
    """Yield the line and the text of each inline code span and each line of a block of code."""
    text = path.read_text("utf-8")
    if path.suffix != ".md":
        for number, line in enumerate(text.splitlines(), 1):
            for code in re.findall(r"`([^`\n]+)`", line):
                yield number, code
            if command := re.match(r"\s*(?:- run: |- python -m )(\w.*)", line):
                yield number, command[1]
        return
    for token in MarkdownIt().enable("table").parse(text):
        first = token.map[0] + 1 if token.map else 0
        for child in token.children or ():
            if child.type == "code_inline":
                yield first, child.content.replace("\n", " ")
        if token.type == "fence":
            for number, line in enumerate(token.content.replace("\\\n", " ").splitlines()):
                yield first + 1 + number, re.sub(r"^\s*(?:\$ |- run: |run: )?", "", line)


def strings(path):
    """Yield the line and the text of each string of a module, with X for what is put in."""
    tree = ast.parse(path.read_text("utf-8"))
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in ast.walk(node)} - {id(node)}
            text = ""
            for part in node.values:
                if isinstance(part, ast.Constant):
                    text += str(part.value)
                else:  # words that begin with a space, such as the path of a brain
                    text += " X" if text[-1:].isalpha() else "X"
            yield node.lineno, text
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
        ):
            yield node.lineno, node.value


@functools.cache
def named_commands():
    """Return each command that is named, with its place; several joined by a shell are several."""
    named = [(path, line, code) for path in TEXTS for line, code in spans(path)]
    for path in CODE:
        for line, text in strings(path):
            codes = re.findall(r"(?<!`)`([^`]+)`(?!`)|``([^`]+)``", text)
            named += [(path, line, " ".join("".join(code).split())) for code in codes]
            if example := re.search(r"Example: (lessons .+)", text):
                named.append((path, line, example[1].strip()))
    single = [
        (f"{path.relative_to(ROOT)}:{line}", command)
        for path, line, code in named
        for command in re.split(r" && | \|\| | \| |; ", code)
    ]
    return [(place, command) for place, command in single if STARTS_PROGRAM.match(command)]


@pytest.fixture(scope="module")
def group():
    return typer.main.get_command(app)


def find_fault(group, command):
    """Return what would fail if somebody typed a command, "" if nothing would."""
    try:
        program, *words = shlex.split(command.replace("…", "X"), comments=True)
    except ValueError as error:
        return str(error)
    return (
        find_fault_of_ours(group, words) if program == "lessons" else find_foreign(program, words)
    )


def find_fault_of_ours(group, words):
    shared = {name: option for option in group.params for name in (*option.opts,)}
    words = list(words)
    if words == ["--help"]:
        return ""
    while words and words[0].startswith("-"):
        option = shared.get(words.pop(0).partition("=")[0])
        if option is None:
            return "no such option before a command"
        if not option.is_flag:
            words[:1] = []
    if not words or re.fullmatch(r"[A-Z]+", words[0]):  # such as COMMAND
        return ""
    if group.get_command(None, words[0]) is None:
        return f"no command {words[0]}"
    command = group.get_command(None, words[0])
    options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    for word in words[1:]:
        name = word.partition("=")[0]
        if word == "--" or (words[0] == "run" and not word.startswith("-")):
            break
        if re.fullmatch(r"--?[A-Za-z][\w-]*", name) and name not in {*options, *shared, "--help"}:
            return f"{words[0]} has no option {name}"
    return ""


def find_foreign(program, words):
    known = OTHERS[program]
    verb = next((verb for verb in known if words[: len(verb.split())] == verb.split()), None)
    if verb is None:
        return f"{program} is not known to do this"
    from_index = program in ("pip", "pipx", "uv") and verb.rpartition(" ")[2] == "install"
    for word in words[len(verb.split()) :]:
        if program == "uvx" and word == "lessons":  # its options are its own
            break
        if word.startswith("-") and word not in known[verb]:
            return f"{program} {verb} has no option {word}"
        if from_index and FROM_INDEX.match(word) and not PUBLISHED:
            return "lessons-kb is not on an index"
    return ""


def test_commands_are_found_in_prose_and_in_messages():
    places = {place.partition("/")[0].partition(":")[0] for place, _command in named_commands()}
    assert {"README.md", "docs", "lessons_kb", "templates"} <= places


def test_every_command_that_is_named_can_be_typed(group):
    faults = [
        f"{place}: `{command}`: {fault}"
        for place, command in named_commands()
        if (fault := find_fault(group, command))
    ]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize("command", [
    "lessons install AGENT --user", "lessons instal AGENT", "lessons --jsn list",
    "pip install --usr .", "brew instal x", "uv tools install .",
])  # fmt: skip
def test_a_command_that_cannot_be_typed_is_found(group, command):
    assert find_fault(group, command)
