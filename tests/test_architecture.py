"""The laws of the package: who may import what, and who may touch a disk."""

import ast
import json
import pathlib
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache

import pytest

PACKAGE = pathlib.Path(__file__).parents[1] / "lessons_kb"
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in FILES]

PURE_ROOMS = (
    *("text", "detect", "cards", "search", "duplicates", "relevance", "preflight", "check"),
    *("guards", "transcripts", "importers", "learn"),
)
PURE_FILES = ("errors.py", "model.py", "config.py")
OWN_A_DIRECTORY = (
    "search/tantivy_engine.py", "search/rank_bm25_engine.py", "search/qdrant_engine.py",
    "search/embeddings.py", "search/engine_protocol.py",
)  # fmt: skip
"""An engine owns its index directory, a model its files and vectors: the exceptions to "nothing
below store opens a file"."""

HOMES = {
    "ast_grep_py": ("detect",),
    "filelock": ("store",),
    "frontmatter": ("cards",),
    "jinja2": ("report", "service/web/pages.py"),
    "lsprotocol": ("service/lsp",),
    "markdown_it": ("cards",),
    "mcp": ("service/mcp",),
    "numpy": ("search", "brain/meaning.py"),
    "onnxruntime": ("search/embeddings.py",),
    "pathspec": ("text",),
    "platformdirs": ("store",),
    "prometheus_client": ("service/web",),
    "pydantic": ("service/mcp", "service/web"),
    "pygls": ("service/lsp",),
    "qdrant_client": ("search/qdrant_engine.py",),
    "rank_bm25": ("search",),
    "re2": ("text",),
    "rich": ("cli", "tui"),
    "sqlite3": ("store", "brain", "search"),
    "starlette": ("service/mcp", "service/web"),
    "Stemmer": ("text",),
    "tantivy": ("search",),
    "textual": ("tui",),
    "tokenizers": ("search/embeddings.py",),
    "tomlkit": ("agents",),
    "typer": ("cli",),
    "uvicorn": ("service/mcp", "service/web"),
    "watchdog": ("store",),
    "yaml": ("cards",),
}

ON_FIRST_USE = {
    "ast_grep_py": 14,
    "concurrent.futures": 15,
    "filelock": 40,
    "frontmatter": 35,
    "http.client": 30,
    "jinja2": 50,
    "lsprotocol": 300,
    "markdown_it": 45,
    "mcp": 800,
    "multiprocessing": 18,
    "numpy": 110,
    "onnxruntime": 140,
    "pathspec": 35,
    "platformdirs": 20,
    "prometheus_client": 70,
    "pydantic": 45,
    "pygls": 400,
    "qdrant_client": 940,
    "rank_bm25": 110,
    "rich": 17,
    "ssl": 20,
    "starlette": 90,
    "textual": 190,
    "tokenizers": 23,
    "tomlkit": 30,
    "typer": 50,
    "uvicorn": 100,
    "watchdog": 45,
    "yaml": 20,
}
"""Heavy packages: ms of processor time that each costs a fresh process, where a bare interpreter
costs 10. They may be imported inside a function, and so may files of ours that begin with one. An
event answered without a daemon loads none of them."""

LATE = {
    "__init__.py": "the front door opens for free",
    "hook_client.py": "a module that only Windows has, in a file that imports no contextlib",
    "cli/entry.py": "git's merge driver loads no command line, and no command the merge driver",
    "service/fallback.py": "the watch over the deadline runs before anything else is loaded",
}
"""Files that import others late, and why."""


@cache
def tree(path):
    return ast.parse(path.read_text("utf-8"))


def imported(path):
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").split(".")[0])
    return names


def inside(path, rooms):
    name = path.relative_to(PACKAGE).as_posix()
    return any(name == room or name.startswith(room + "/") for room in rooms)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_third_party_package_has_one_home(path):
    strangers = {n for n in imported(path) if n in HOMES and not inside(path, HOMES[n])}
    assert not strangers


PURE = [path for path in FILES if inside(path, (*PURE_ROOMS, *PURE_FILES))]


@pytest.mark.slow
@pytest.mark.parametrize("path", PURE, ids=[str(path.relative_to(PACKAGE)) for path in PURE])
def test_nothing_below_store_does_io(path):
    if inside(path, OWN_A_DIRECTORY):
        return
    forbidden_modules = {"logging", "subprocess", "socket", "shutil", "tempfile", "time", "io"}
    assert not imported(path) & forbidden_modules
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        assert called not in {"open", "print", "input"}, f"line {node.lineno}: {called}"
        assert not called.startswith(("os.", "sys.")) or called.startswith("os.path."), (
            f"line {node.lineno}: {called}"
        )
        clocks = (".now", ".today", ".utcnow")
        assert not called.endswith(clocks), f"line {node.lineno}: {called} reads a clock"


STARTS_PROCESSES = {
    "process/git.py": 1,  # silent for too long, git is ended
    "process/run.py": 3,  # `lessons run` (stall), the judge (check.seconds), taskkill
    # The index ends itself, the daemon leaves when it is idle; the user's editor is waited for.
    "process/programs.py": 2,
}
"""How many calls start a process, and what ends it."""


@pytest.mark.slow
def test_every_process_has_an_end():
    found = {}
    for path, name in zip(FILES, NAMES, strict=True):
        calls = (
            ast.unparse(node.func)
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        )
        count = sum(call.startswith(("subprocess.", "os.spawn", "os.system")) for call in calls)
        if count:
            found[name.replace("\\", "/")] = count
    assert found == STARTS_PROCESSES


OPEN_UNGUARDED = {
    "cli/options.py": "a file that the user names may be a pipe, such as <(command)",
    "data/__init__.py": "a resource of the package",
    "process/git.py": "is looked at first, and never waits",
    "process/programs.py": "the interpreter's own",
    "process/run.py": "/proc",
    "search": "an engine's own folder, a model's files",
    "service/daemon.py": "/proc",
    "store/files.py": "the one door",
    "store/database.py": "/proc",
    "store/settings.py": "writes a temporary file of git's",
    "store/card_files.py": "a resource of the package",
    "store/file_watcher.py": "/proc",
}
"""Files that open others to read them and do not go through ``store.files.open_regular``."""


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_is_opened_to_be_read_in_one_place(path):
    if inside(path, tuple(OPEN_UNGUARDED)) or path.name == "hook_client.py":
        return
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            call = ast.unparse(node)
            writes = "'wb'" in call or "'x" in call or "O_WRONLY" in call or "O_CREAT" in call
            opens = call.startswith(("open(", "os.open(")) or call.endswith((".read_bytes()",))
            assert (
                not opens
                or writes
                or "flags" in call
                or "os.devnull" in call
                or ("O_DIRECTORY" in call)
            ), f"line {node.lineno}: {call}"


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_public_name_says_what_it_promises(path):
    module = tree(path)
    assert ast.get_docstring(module), "the module has no docstring"
    for node in module.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        assert ast.get_docstring(node), f"{node.name} has no docstring"
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                assert ast.get_docstring(method), f"{node.name}.{method.name} has no docstring"


def names_imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_one_of(name: str, modules: Collection[str]) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for module in modules)


@pytest.mark.slow
def test_imports_stand_at_the_top_but_those_of_heavy_packages() -> None:
    trees = {path.relative_to(PACKAGE.parent).as_posix(): tree(path) for path in FILES}
    begins = {
        name.removesuffix(".py").replace("/", "."): list(names_imported(module.body))
        for name, module in trees.items()
    }
    heavy, late = set(ON_FIRST_USE), {}
    while more := {
        module
        for module, names in begins.items()
        if module not in heavy and any(is_one_of(name, heavy) for name in names)
    }:
        heavy |= more
    for file, module in trees.items():
        functions = [
            n for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        names = names_imported(node for one in functions for node in ast.walk(one))
        if light := {name for name in names if not is_one_of(name, heavy)}:
            late[file.removeprefix("lessons_kb/")] = light
    assert set(late) == set(LATE), late


@pytest.mark.slow
def test_the_table_of_heavy_packages_is_about_what_is_imported() -> None:
    names = {name for path in FILES for name in names_imported(ast.walk(tree(path)))}
    assert not {one for one in ON_FIRST_USE if not any(is_one_of(n, {one}) for n in names)}


@pytest.mark.slow
def test_no_files_import_each_other_in_a_circle():
    modules = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts): p for p in FILES}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    needs = {}
    for name, path in modules.items():
        nodes = [n for n in ast.walk(tree(path)) if isinstance(n, (ast.Import, ast.ImportFrom))]
        found = set()
        for node in nodes:
            begin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            found |= {f"{begin}{alias.name}" for alias in node.names} | {begin.rstrip(".")}
        needs[name] = (found & set(modules)) - {name, "lessons_kb"}
    while free := [name for name, needed in needs.items() if not needed & set(needs)]:
        for name in free:
            del needs[name]
    assert not needs, "these import each other, or what does"


def test_the_client_is_short_and_lean():
    path = PACKAGE / "hook_client.py"
    assert len(path.read_text("utf-8").splitlines()) < 150
    assert imported(path) <= {"_signal", "_socket", "nt", "posix", "sys", "time"}


SURROUNDINGS = {
    "brain/injected.py": "the default for a library's caller: the session it runs in",
    "brain/session_journal.py": "a command runs where it was started",
    "brain/discovery.py": "the default for a library's caller",
    "brain/layers.py": "the default for a library's caller: where it stands",
    "brain/git_merge.py": "git runs where the user stands",
    "brain/brain.py": "the default for a library's caller",
    "brain/mine_project.py": "where agents keep their records",
    "process/git.py": "git's own variables, handed on but for those that lead elsewhere",
    "process/programs.py": "the user's editor, the search path of programs",
    "search/embeddings.py": "the cache that other programs share",
    "service/daemon.py": "who is served, and by which state",
    "service/fallback.py": "the client's other half",
    "service/web/application.py": "the library that keeps the figures is told by a variable alone",
    "store/user_state.py": "where the user keeps state: the only place that says so",
    "tui/app.py": "a terminal's colours",
}
"""File → why it reads the environment or the working directory; everything else is told them."""


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_the_environment_is_read_at_the_top_alone(path):
    name = path.relative_to(PACKAGE).as_posix()
    if name.startswith(("cli/", "agents/")) or name == "hook_client.py":
        return
    read = {"os.environ", "os.environb", "os.getenv", "os.getcwd", "os.getcwdb"}
    read |= {"Path.cwd", "pathlib.Path.cwd"}
    found = {ast.unparse(n) for n in ast.walk(tree(path)) if isinstance(n, ast.Attribute)} & read
    assert bool(found) == (name in SURROUNDINGS), f"{name}: {sorted(found)}"


def test_no_room_is_called_after_nothing():
    empty = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc"}
    assert not {path.stem for path in FILES} & empty


def run_fresh(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_event_answered_without_a_daemon_loads_no_heavy_package(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "state"))
    lessons = tmp_path / "brain" / "lessons"
    lessons.mkdir(parents=True)
    card = "# Retry without an idempotency key\n\n## Prevention Checklist\n\n- Send a key\n"
    (lessons / "retry.md").write_text(card)
    monkeypatch.setenv("LESSONS_BRAIN", str(tmp_path / "brain"))
    fire = (
        "import os, sys; from lessons_kb.service.hook_event import answer_event\n"
        "output, _ = answer_event('claude-code', sys.argv[1], os.environ, leave_open=True)\n"
        "assert 'Send a key' in output, output\n"
    )
    asked = {"hook_event_name": "UserPromptSubmit", "prompt": "retry the idempotency key"}
    project = tmp_path / "project"
    project.mkdir()
    event = {"session_id": "first", "cwd": str(project), **asked}
    run_fresh(fire, json.dumps(event))
    event = {"session_id": "second", "cwd": str(project), **asked}
    seen = set(run_fresh(fire + "print(*sys.modules)", json.dumps(event)).split())
    assert not ON_FIRST_USE.keys() & seen


def test_the_front_door_opens_for_free():
    seen = run_fresh(
        "import sys; before = set(sys.modules); import lessons_kb; "
        "print(*(set(sys.modules) - before))"
    ).split()
    assert set(seen) <= {"lessons_kb", "lessons_kb.version", "__future__"}
