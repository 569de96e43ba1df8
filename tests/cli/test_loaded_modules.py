"""A command imports what it uses: each runs on three cards in a fresh process.

The modules that it may load stand in `tests/golden/modules/COMMAND.txt`: ours by name, other
packages by theirs. `pytest tests/cli/test_loaded_modules.py --update` writes them anew; read the
diff, for a new line is a new edge of the import graph.
"""

import json
import pathlib
import sys

import pytest

from lessons_kb.cli.command_table import HIDDEN, SUMMARIES
from tests.kit import copy_example, run_python, trust_brain, write

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "modules"
HEAVY_STANDARD = (
    *("asyncio", "concurrent.futures", "email", "http.client", "importlib.metadata"),
    *("multiprocessing", "ssl", "unittest", "xml"),
)
"""Modules of the standard library that take as long as a package."""
OF_TYPER = ("annotated_doc", "rich", "shellingham", "typer", "typing_extensions")
"""What the command line itself brings, by the version of typer."""
CARD = "telegram-allowlist"
PROMPT = "Add a Telegram command that runs a shell script"
COMMANDS = {
    "add": ("A retried charge bills twice",),
    "archive": ("--stale", "--dry-run"),
    "bump": (CARD,),
    "check": ("--card", CARD, "The allowlist is checked"),
    "completion": ("show", "bash"),
    "config": (),
    "confirm": (CARD,),
    "create": ("A retried charge bills twice", "--no-edit"),
    "daemon": ("status",),
    "delete": (CARD, "--yes"),
    "detect": ("lessons",),
    "diet": ("--help",),
    "doctor": (),
    "edit": (CARD,),
    "escalate": (),
    "eval": ("labelled.jsonl",),
    "events": (),
    "export": ("json",),
    "ignore": (CARD,),
    "import": ("more.md",),
    "index": (),
    "init": ("other",),
    "install": ("claude-code", "--dry-run"),
    "lint": (),
    "list": (),
    "lsp": ("--help",),
    "manage": ("--help",),
    "mark": (CARD, "helpful"),
    "mcp": ("--help",),
    "mine": ("--help",),
    "preflight": (PROMPT,),
    "rename": (CARD, "Anyone could run commands"),
    "report": ("-o", "report.html"),
    "restore": (),
    "review": ("--list",),
    "run": ("true",),
    "search": ("telegram",),
    "serve": ("--help",),
    "setup": ("--help",),
    "show": (CARD,),
    "stats": (),
    "sync": ("--help",),
    "trial": ("--help",),
    "trust": (".",),
    "uninstall": ("claude-code", "--dry-run"),
    "upgrade": ("--help",),
    "why": (),
}
"""Command → its arguments. Those that stay, ask, or need a past show their help."""
RUN = """\
import json, sys
before = set(sys.modules)
from lessons_kb.cli.main import main
sys.argv = ["lessons", *sys.argv[1:]]
try:
    main()
except SystemExit as stop:
    code = stop.code
print()
print(json.dumps([code, sorted(set(sys.modules) - before)]))
"""
STANDARD = sys.stdlib_module_names


EVENT = """\
import json, os, sys
before = set(sys.modules)
from lessons_kb.service.hook_event import answer_event
output, _line = answer_event("claude-code", sys.argv[1], os.environ, cwd=os.getcwd())
print(json.dumps([output, sorted(set(sys.modules) - before)]))
"""


def load(words, folder):
    """Run a command; return its exit code, our modules and the packages that it loaded."""
    return load_with(RUN, words, folder)


def load_with(program, words, folder):
    """Run a program; return its result, our modules and the packages that it loaded."""
    done = run_python(program, *words, cwd=folder)
    assert done.code == 0, done.err
    code, modules = json.loads(done.out.splitlines()[-1])
    ours = {name for name in modules if name.split(".")[0] == "lessons_kb"}
    others = {name.split(".")[0] for name in modules if name not in ours}
    packages = {name for name in others if not name.startswith("_") and name not in STANDARD}
    heavy = {name for name in HEAVY_STANDARD if name in modules}
    return code, ours | (packages - {*OF_TYPER, "cython_runtime"}) | heavy


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    """Return the text of three cards, by name."""
    example = copy_example(tmp_path_factory.mktemp("example") / "brain")
    names = (CARD, "money-in-floats", "shell-true-file-name")
    return {name: (example / "lessons" / f"{name}.md").read_text("utf-8") for name in names}


@pytest.fixture
def brain(tmp_path, cards, at, settle):
    """A trusted brain of three cards, whose index is fresh and whose journal knows a prompt."""
    root = tmp_path / "brain"
    for name, text in cards.items():
        write(root, f"lessons/{name}.md", text)
    write(root, "lessons.toml", "")
    write(root, "labelled.jsonl", json.dumps({"query": PROMPT, "expected": [CARD]}) + "\n")
    write(root, "more.md", "# Lessons\n\n## Floats\n\nNever keep money in floats.\n")
    trust_brain(str(root))
    settle()  # what was just written is read again by the next command
    assert at(root, "preflight", PROMPT).code == 0
    return root


def test_every_command_is_run_here():
    assert set(COMMANDS) == set(SUMMARIES) - set(HIDDEN)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_what_it_uses(command, tmp_path, request):
    words = COMMANDS[command]
    folder = tmp_path if words == ("--help",) else request.getfixturevalue("brain")
    code, loaded = load([command, *words], folder)
    assert code in (0, 1, 2)
    path = GOLDEN / f"{command}.txt"
    if request.config.getoption("--update"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{name}\n" for name in sorted(loaded)), encoding="utf-8")
    allowed = set(path.read_text("utf-8").split())
    assert loaded - allowed == set(), f"`lessons {command}` loads more than it did"


def test_lessons_alone_loads_what_its_screen_shows(brain, request):
    code, loaded = load([], brain)
    assert code == 0
    path = GOLDEN / "no-command.txt"
    if request.config.getoption("--update"):
        path.write_text("".join(f"{name}\n" for name in sorted(loaded)), encoding="utf-8")
    assert loaded - set(path.read_text("utf-8").split()) == set()


EVENTS = {
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT},
    "call": {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls src"},
        "tool_response": {"stdout": "a.py\n", "stderr": "", "interrupted": False},
        "tool_use_id": "call-1",
    },
    "edit": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"},
        "tool_use_id": "call-2",
    },
}


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_without_a_daemon_loads_what_it_uses(kind, brain, tmp_path, request, monkeypatch):
    """The agent cannot open a card of the brain without asking its user, so it gets no titles."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.setenv("LESSONS_BRAIN", str(brain))
    session = {"session_id": "s-1", "transcript_path": "", "cwd": str(folder)}
    start = {**session, "hook_event_name": "SessionStart", "source": "startup"}
    load(["index"], folder)  # otherwise each event starts the process that judges the cards
    load_with(EVENT, [json.dumps(start)], folder)
    output, loaded = load_with(EVENT, [json.dumps({**session, **EVENTS[kind]})], folder)
    assert ("ACTIVE LESSONS" in output) == (kind == "prompt")
    path = GOLDEN / f"event-{kind}.txt"
    if request.config.getoption("--update"):
        path.write_text("".join(f"{name}\n" for name in sorted(loaded)), encoding="utf-8")
    assert loaded - set(path.read_text("utf-8").split()) == set()


LIGHT = (
    *("list", "show", "search", "preflight", "why", "daemon", "config", "review", "no-command"),
    *("bump", "confirm"),
)
NEEDED_NEVER = {
    *("asyncio", "filelock", "frontmatter", "jinja2", "markdown_it", "multiprocessing", "numpy"),
    *("onnxruntime", "pathspec", "pydantic", "rank_bm25", "textual", "tomlkit", "watchdog", "yaml"),
}


@pytest.mark.parametrize("command", LIGHT)
def test_a_usual_command_needs_no_parser_and_no_library_for_locks(command):
    """Of a brain that has not changed, whose cards are plain; the lists are of the other test."""
    allowed = set((GOLDEN / f"{command}.txt").read_text("utf-8").split())
    assert not allowed & NEEDED_NEVER
    assert "lessons_kb.library" not in allowed
    assert "lessons_kb.brain.write_index" not in allowed


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=" ".join)
def test_help_and_version_load_no_command(words, tmp_path):
    _code, loaded = load(words, tmp_path)
    assert not any(name.startswith("lessons_kb.cli.commands.") for name in loaded)
    assert not any(name.startswith(("lessons_kb.brain", "lessons_kb.store")) for name in loaded)


@pytest.mark.parametrize(("typed", "expected"), [("lessons sh", "show"), ("lessons ", "list")])
def test_the_name_of_a_command_is_completed_without_loading_one(typed, expected, tmp_path):
    words = {"COMP_WORDS": typed, "COMP_CWORD": "1", "_LESSONS_COMPLETE": "complete_bash"}
    done = run_python(RUN, cwd=tmp_path, **words)
    *names, modules = done.out.splitlines()
    assert expected in names
    assert not [name for name in json.loads(modules)[1] if ".cli.commands." in name]
