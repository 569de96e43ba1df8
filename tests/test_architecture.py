"""The laws of the package: who may import what, and who may touch a disk."""

import ast
import importlib
import json
import re
import subprocess
import sys
from functools import cache

from lessons_kb import hook_client, hook_gates, on_demand
from lessons_kb.agents import table
from tests.kit import ROOT, Claude, run_python, write

PACKAGE = ROOT / "lessons_kb"

PURE_ROOMS = (
    *("text", "detect", "cards", "calls", "search", "relevance", "preflight", "postcheck"),
    *("guards", "transcripts", "importers"),
)
PURE_FILES = (
    *("errors.py", "model.py", "config.py", "collection/near_duplicates.py"),
    *("ledger/lesson_effect.py", "ledger/statistics.py"),
    *("mining/draft_text.py", "mining/candidates.py", "mining/triggers.py"),
    *("mining/commit_facts.py", "mining/rank_commits.py", "mining/review_comments.py"),
)
"""The pure part of a feature whose use case stands beside it."""
OWN_A_DIRECTORY = (
    "search/tantivy_engine.py", "search/rank_bm25_engine.py", "search/qdrant_engine.py",
    "search/embeddings.py", "search/engine_protocol.py",
)  # fmt: skip
"""An engine owns its index directory, a model its files and vectors: the exceptions to "nothing
below store opens a file"."""

ANYWHERE = ("",)
PACKAGES = {
    "ast_grep_py": (14, ("detect",)),
    "concurrent.futures": (15, ANYWHERE),
    "filelock": (40, ("store",)),
    "frontmatter": (35, ("cards",)),
    "http.client": (30, ANYWHERE),
    "jinja2": (50, ("report", "service/web/pages.py")),
    "lsprotocol": (300, ("service/lsp",)),
    "markdown_it": (45, ("cards",)),
    "mcp": (800, ("service/mcp",)),
    "multiprocessing": (18, ANYWHERE),
    "nodesemver": (40, ("freshness/conditions.py",)),
    "numpy": (110, ("search", "brain/semantic_similarity.py", "relevance/background_batch.py")),
    "onnxruntime": (140, ("search/embeddings.py",)),
    "packaging": (55, ("freshness/conditions.py",)),
    "platformdirs": (20, ("store",)),
    "prometheus_client": (70, ("service/web",)),
    "pydantic": (45, ("service/mcp", "service/web")),
    "pygls": (400, ("service/lsp",)),
    "qdrant_client": (940, ("search/qdrant_engine.py",)),
    "rank_bm25": (110, ("search",)),
    "re2": (0, ("text",)),
    "rich": (17, ("cli", "tui")),
    "sqlite3": (0, ("store", "brain", "ledger", "collection/doctor.py", "mining", "search")),
    "ssl": (20, ANYWHERE),
    "starlette": (90, ("service/mcp", "service/web")),
    "Stemmer": (0, ("text",)),
    "tantivy": (0, ("search",)),
    "textual": (190, ("tui",)),
    "tokenizers": (23, ("search/embeddings.py",)),
    "tomlkit": (30, ("agents",)),
    "typer": (50, ("cli",)),
    "uvicorn": (100, ("service/mcp", "service/web")),
    "watchdog": (45, ("store",)),
    "yaml": (20, ("cards",)),
}
"""Package → ms of processor time that it costs a fresh process, where a bare interpreter costs 10,
and the rooms that may import it."""
ON_FIRST_USE = {name for name, (cost, _homes) in PACKAGES.items() if cost}
"""Heavy packages: they may be imported inside a function, and so may files of ours that begin with
one. An event answered without a daemon loads none of them."""

LATE = {
    "__init__.py": "the front door opens for free",
    "hook_client.py": "a module of Windows; without a daemon the second stage and the full answer",
    "values.py": "few callers ask for what only ``dataclasses`` can do, which needs ``inspect``",
    "process/installation.py": "only the advice to add an extra needs the slow ``importlib.metadata``",
    "service/fallback.py": "the watch over the deadline runs before anything else is loaded",
    "store/trust.py": "only a command in an agent's sandbox needs the temporary folder",
}
"""Files that import others late, and why."""


@cache
def files():
    """Return each file of the package by its name, parsed."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths
    }


@cache
def walk(name):
    """Return every node of a file."""
    return tuple(ast.walk(files()[name]))


def find(kind):
    """Return the nodes of a kind in all files, each with its file's name."""
    return [(name, node) for name in files() for node in walk(name) if isinstance(node, kind)]


def imported(nodes):
    """Return what nodes import: modules, and what is taken from them."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages(nodes):
    return {name.partition(".")[0] for name in imported(nodes)}


def inside(name, rooms):
    return any(not room or f"{name}/".startswith(f"{room}/") for room in rooms)


def is_one_of(name, modules):
    return any(f"{name}.".startswith(f"{module}.") for module in modules)


def test_a_third_party_package_has_one_home():
    strangers = {
        (name, package)
        for name in files()
        for package in packages(walk(name)) & set(PACKAGES)
        if not inside(name, PACKAGES[package][1])
    }
    assert strangers == set()


def test_nothing_below_store_does_io():
    forbidden = {"logging", "subprocess", "socket", "shutil", "tempfile", "time", "io"}
    clocks = (".now", ".today", ".utcnow")
    pure = {n for n in files() if inside(n, PURE_ROOMS + PURE_FILES)} - set(OWN_A_DIRECTORY)
    assert {name: packages(walk(name)) & forbidden for name in pure} == {
        name: set() for name in pure
    }
    called = [(name, ast.unparse(node.func)) for name, node in find(ast.Call) if name in pure]
    assert [
        (name, call)
        for name, call in called
        if call in ("open", "print", "input")
        or (call.startswith(("os.", "sys.")) and not call.startswith("os.path."))
        or call.endswith(clocks)
    ] == []


STARTS_PROCESSES = {
    "process/git.py": "git is ended when it is silent for too long",
    "process/run.py": "the user's command (stall), the judge (check.seconds)",
    "process/process_tree.py": "taskkill itself",
    "process/programs.py": "an index ends itself, a daemon leaves when idle, an editor is waited for",
}
"""The files that start processes, and what ends each process."""


def test_every_process_has_an_end():
    starts = ("subprocess.", "os.spawn", "os.system")
    calls = [(name, ast.unparse(node.func)) for name, node in find(ast.Call)]
    assert {name for name, call in calls if call.startswith(starts)} == set(STARTS_PROCESSES)


OPEN_UNGUARDED = {
    "cli/options.py": "a file that the user names may be a pipe, such as <(command)",
    "data/__init__.py": "a resource of the package",
    "process/git.py": "is looked at first, and never waits",
    "process/installation.py": "the interpreter's own",
    "process/marks.py": "/proc",
    "process/process_tree.py": "/proc",
    "process/run.py": "/proc",
    "search": "an engine's own folder, a model's files",
    "service/daemon_client.py": "/proc",
    "store/files.py": "the one door",
    "store/database.py": "/proc",
    "store/foreign_settings.py": "writes a temporary file of git's",
    "store/card_files.py": "a resource of the package",
    "store/file_watcher.py": "/proc",
}
"""Files that open others to read them and do not go through ``store.files.open_regular``."""


def test_a_file_is_opened_to_be_read_in_one_place():
    other = (
        *("'wb'", "'x", "O_WRONLY", "O_CREAT", "flags", "os.devnull", "O_DIRECTORY"),
        "O_PATH",  # opens no content
    )
    guarded = [
        (name, ast.unparse(node))
        for name, node in find(ast.Call)
        if not inside(name, (*OPEN_UNGUARDED, "hook_client.py", "hook_gates.py"))
    ]
    opens = [
        (name, call)
        for name, call in guarded
        if call.startswith(("open(", "os.open(")) or call.endswith(".read_bytes()")
    ]
    assert [(name, call) for name, call in opens if not any(word in call for word in other)] == []


def test_every_public_name_says_what_it_promises():
    functions = (ast.FunctionDef, ast.ClassDef)
    for name, module in files().items():
        assert ast.get_docstring(module), f"{name} has no docstring"
        public = [n for n in module.body if isinstance(n, functions) and n.name[0] != "_"]
        for node in public:
            methods = node.body if isinstance(node, ast.ClassDef) else ()
            own = [n for n in methods if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]
            for one in (node, *own):
                assert ast.get_docstring(one), f"{name}: {one.name} has no docstring"


def test_imports_stand_at_the_top_but_those_of_heavy_packages():
    begins = {
        f"lessons_kb.{name.removesuffix('.py').replace('/', '.')}": list(imported(module.body))
        for name, module in files().items()
    }
    heavy = set(ON_FIRST_USE)
    while more := {
        module
        for module, names in begins.items()
        if module not in heavy and any(is_one_of(name, heavy) for name in names)
    }:
        heavy |= more
    functions = find((ast.FunctionDef, ast.AsyncFunctionDef))
    late = {
        file
        for file, one in functions
        if any(not is_one_of(name, heavy) for name in imported(ast.walk(one)))
    }
    assert late == set(LATE)


def test_the_table_of_heavy_packages_is_about_what_is_imported():
    names = {name for file in files() for name in imported(walk(file))}
    assert {one for one in ON_FIRST_USE if not any(is_one_of(n, {one}) for n in names)} == set()


def test_a_module_that_is_loaded_by_name_has_what_is_used_of_it():
    used = {
        (getattr(on_demand, name), attribute)
        for path in PACKAGE.rglob("*.py")
        for name, attribute in re.findall(
            r"\bload\(([A-Z_]+)\)\s*\.\s*(\w+)", path.read_text("utf-8")
        )
    }
    assert len(used) > 100
    ours = [(name, attribute) for name, attribute in used if name.startswith("lessons_kb.")]
    missing = [one for one in ours if not hasattr(importlib.import_module(one[0]), one[1])]
    assert missing == []


def test_a_module_that_is_loaded_by_name_has_a_constant_with_its_words():
    named = {
        name: module
        for name, module in vars(on_demand).items()
        if name.isupper() and str(module).startswith("lessons_kb.")
    }
    assert len(named) > 50
    parts = {name: name.lower().split("_") for name in named}
    assert [name for name in named if not all(part in named[name] for part in parts[name])] == []


def test_the_files_of_the_hook_agree_on_what_they_say_twice():
    assert table.OFF_VARIABLE == hook_gates.OFF_VARIABLE == hook_client.OFF_VARIABLE.decode()
    assert hook_gates.ENDED_REFUSED == hook_client.ENDED_REFUSED
    assert hook_gates.ENDED_UNCHECKED == hook_client.ENDED_UNCHECKED


def test_no_files_import_each_other_in_a_circle():
    modules = {
        f"lessons_kb.{n.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__"): tree
        for n, tree in files().items()
    }
    needs = {}
    for name, tree in modules.items():
        found = set(imported(ast.walk(tree)))
        found |= {one.rpartition(".")[0] for one in found}
        needs[name] = (found & set(modules)) - {name, "lessons_kb"}
    while free := [name for name, needed in needs.items() if not needed & set(needs)]:
        for name in free:
            del needs[name]
    assert not needs, "these import each other, or what does"


def test_the_client_imports_only_built_in_modules():
    """A daemon's answer needs built-in modules alone; the second stage needs re, json and time.

    The child process that answers without a daemon finds the packages with os and site.
    """
    client, gates = files()["hook_client.py"], files()["hook_gates.py"]
    lean = {"_signal", "_socket", "nt", "posix", "sys", "time"}
    assert packages(client.body) <= lean
    late = {"hook_gates", "importlib", "lessons_kb", "os", "site"}
    assert packages(ast.walk(client)) <= lean | late
    frozen = {"__future__", "collections", "os", "pwd", "sys", "typing"}
    assert packages(ast.walk(gates)) == frozen | {"json", "re", "time"}


def test_the_second_stage_loads_nothing_of_the_package():
    code = "import sys; sys.path.append(sys.argv[1]); import hook_gates; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", code, str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "hook_gates" in loaded
    assert not any(name.partition(".")[0] == "lessons_kb" for name in loaded)
    assert not loaded & {"sqlite3", "pathlib", "subprocess", "socket", "tempfile"}


SURROUNDINGS = {
    "brain/brain.py": "whether the model of [semantic] is wanted",
    "outcome/session_journal.py": "a command runs where it was started",
    "brain/current_session.py": "the default for a library's caller: the session it runs in",
    "ledger/withheld.py": "a trial that runs here withholds lessons of its own",
    "service/open_brains.py": "the default for a library's caller",
    "brain/discovery.py": "the default for a library's caller",
    "brain/brains.py": "the default for a library's caller: where it stands",
    "collection/doctor.py": "whether a variable turns hooks off",
    "collection/git_merge.py": "git runs where the user stands",
    "mining/mine_project.py": "where agents keep their records",
    "process/git.py": "git's own variables, handed on but for those that lead elsewhere",
    "process/run.py": "a marked process is told its mark beside what it inherits",
    "process/programs.py": "the user's editor, the search path of programs",
    "search/embeddings.py": "the cache that other programs share",
    "service/daemon.py": "who is served, and by which state",
    "service/daemon_client.py": "which daemon is asked, and whether one is wanted",
    "service/fallback.py": "the client's other half",
    "service/web/application.py": "the library that keeps the figures is told by a variable alone",
    "store/locations.py": "where the user keeps state: the only place that says so",
    "tui/app.py": "a terminal's colours",
    "tui/pick_card.py": "a terminal's colours",
}
"""File → why it reads the environment or the working directory; everything else is told them."""


def test_the_environment_is_read_at_the_top_alone():
    read = {"os.environ", "os.environb", "os.getenv", "os.getcwd", "os.getcwdb"}
    read |= {"Path.cwd", "pathlib.Path.cwd"}
    found = {name for name, node in find(ast.Attribute) if ast.unparse(node) in read}
    below = {name for name in found if not inside(name, ("cli", "agents", "hook_client.py"))}
    assert below == set(SURROUNDINGS)


def test_no_room_is_called_after_nothing():
    empty = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc"}
    assert not {path.stem for path in PACKAGE.rglob("*.py")} & empty


POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
NUMBERED = re.compile(r"(?:[=<>(,|] ?|\b(?:AND|OR|IN|LIMIT) )\?\d")
"""A parameter of SQL that Python 3.14 refuses with a sequence of values."""


def test_no_file_needs_one_system_or_one_version():
    for name, tree in files().items():
        assert not POSIX_MODULES & packages(tree.body), name
    texts = [(name, node) for name, node in find(ast.Constant) if isinstance(node.value, str)]
    assert [(name, node.lineno) for name, node in texts if NUMBERED.search(node.value)] == []
    opens = [(name, node) for name, node in find(ast.Call) if ast.unparse(node.func) == "open"]
    assert [
        (name, node.lineno)
        for name, node in opens
        if "encoding" not in {keyword.arg for keyword in node.keywords}
        and not any(isinstance(a, ast.Constant) and "b" in str(a.value) for a in node.args[1:2])
    ] == [], "text is read in the encoding of the system"


def test_an_event_answered_without_a_daemon_loads_no_heavy_package(tmp_path):
    card = "# Retry without an idempotency key\n\n## Prevention Checklist\n\n- Send a key\n"
    write(tmp_path, "brain/lessons/retry.md", card)
    fire = (
        "import os, sys; from lessons_kb.service.hook_event import answer_event\n"
        "output, _ = answer_event('claude-code', sys.argv[1], os.environ, leave_open=True)\n"
        "assert 'Send a key' in output, output\n"
        "print(*sys.modules)\n"
    )
    project = tmp_path / "project"
    project.mkdir()
    for session in ("first", "second"):
        event = Claude(project, session).event("UserPromptSubmit", prompt="retry the key")
        done = run_python(fire, json.dumps(event), LESSONS_BRAIN=str(tmp_path / "brain"))
        assert done.code == 0, done.err
    assert not ON_FIRST_USE & set(done.out.split())


def test_the_front_door_opens_for_free():
    seen = run_python(
        "import sys; before = set(sys.modules); import lessons_kb; "
        "print(*(set(sys.modules) - before))"
    )
    assert set(seen.out.split()) <= {"lessons_kb", "lessons_kb.version", "__future__"}
