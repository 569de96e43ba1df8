"""The laws of the package: who may import what, and who may touch a disk."""

from __future__ import annotations

import ast
import json
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parents[1] / "lessons_kb"
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in FILES]

PURE_ROOMS = ("text", "cards", "recall", "guards", "learn", "exchange")
PURE_FILES = ("errors.py", "value.py", "model.py", "config.py")
OWN_A_DIRECTORY = ("recall/engines", "recall/semantic")
"""An engine owns its index directory, a model its files and vectors: the exceptions to "nothing
below storage opens a file"."""

HOMES = {
    "filelock": ("storage", "brain/refresh.py"),
    "frontmatter": ("cards",),
    "jinja2": ("report",),
    "markdown_it": ("cards",),
    "mcp": ("mcp_server",),
    "numpy": ("recall/engines", "recall/semantic", "brain/meaning.py"),
    "onnxruntime": ("recall/semantic",),
    "pathspec": ("text",),
    "platformdirs": ("storage",),
    "rank_bm25": ("recall/engines", "cards/duplicates.py"),
    "rich": ("cli", "manage", "render.py"),
    "sqlite3": ("storage", "brain", "recall/engines", "recall/semantic"),
    "Stemmer": ("text",),
    "tantivy": ("recall/engines",),
    "textual": ("manage",),
    "tokenizers": ("recall/semantic",),
    "tomlkit": ("agents",),
    "typer": ("cli",),
    "watchdog": ("storage",),
    "yaml": ("cards",),
}

NEVER_IN_A_HOOK = {
    "dataclasses",
    "filelock",
    "frontmatter",
    "logging",
    "markdown_it",
    "mcp",
    "numpy",
    "onnxruntime",
    "pathspec",
    "platformdirs",
    "rich",
    "textual",
    "tokenizers",
    "tomllib",
    "typer",
    "typing",
    "watchdog",
    "yaml",
}


def tree(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imported(path: pathlib.Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").split(".")[0])
    return names


def inside(path: pathlib.Path, rooms: tuple[str, ...]) -> bool:
    name = path.relative_to(PACKAGE).as_posix()
    return any(name == room or name.startswith(room + "/") for room in rooms)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_third_party_package_has_one_home(path: pathlib.Path) -> None:
    strangers = {n for n in imported(path) if n in HOMES and not inside(path, HOMES[n])}
    assert not strangers


PURE = [path for path in FILES if inside(path, (*PURE_ROOMS, *PURE_FILES))]


@pytest.mark.parametrize("path", PURE, ids=[str(path.relative_to(PACKAGE)) for path in PURE])
def test_nothing_below_storage_does_io(path: pathlib.Path) -> None:
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


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_public_name_says_what_it_promises(path: pathlib.Path) -> None:
    module = tree(path)
    assert ast.get_docstring(module), "the module has no docstring"
    for node in module.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        assert ast.get_docstring(node), f"{node.name} has no docstring"
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                assert ast.get_docstring(method), f"{node.name}.{method.name} has no docstring"


def test_no_room_is_called_after_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc"}
    assert not {path.stem for path in FILES} & empty


def run_fresh(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_preflight_over_an_unchanged_brain_imports_nothing_heavy(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "state"))
    lessons = tmp_path / "brain" / "lessons"
    lessons.mkdir(parents=True)
    card = "# Retry without an idempotency key\n\n## Prevention Checklist\n\n- Send a key\n"
    (lessons / "retry.md").write_text(card)
    ask = (
        "import sys; from lessons_kb.brain import Brain\n"
        "block = Brain.open(sys.argv[1]).preflight('retry the idempotency key', context=False)\n"
        "assert 'Send a key' in block.text, block\n"
    )
    first = ask + "import time; time.sleep(0.1)\n"
    run_fresh(first, str(tmp_path / "brain"))
    run_fresh(first, str(tmp_path / "brain"))  # the file is old enough now: nothing is read again
    seen = run_fresh(ask + "print(*sys.modules)", str(tmp_path / "brain")).split()
    assert not NEVER_IN_A_HOOK & set(seen)


HOOKED = {
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "retry the idempotency key"},
    "after a tool": {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls -l src"},
        "tool_response": {"stdout": "a.py"},
        "tool_use_id": "t1",
    },
    "before an edit": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"},
        "tool_use_id": "t2",
    },
}
NEVER_AFTER_A_TOOL = {"tantivy", "Stemmer", "lessons_kb.brain.brain", "lessons_kb.render"}


@pytest.mark.parametrize("occasion", HOOKED)
def test_a_hook_over_an_unchanged_brain_imports_nothing_heavy(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, occasion: str
) -> None:
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "state"))
    lessons = tmp_path / "brain" / "lessons"
    lessons.mkdir(parents=True)
    card = "# Retry without an idempotency key\n\n## Prevention Checklist\n\n- Send a key\n"
    (lessons / "retry.md").write_text(card)
    monkeypatch.setenv("LESSONS_BRAIN", str(tmp_path / "brain"))
    project = tmp_path / "project"
    project.mkdir()
    fire = (
        "import os, sys; from lessons_kb.agents.hook import answer_event\n"
        "output, _ = answer_event('claude-code', sys.argv[1], os.environ, leave_open=True)\n"
    )
    for session in ("first", "second"):
        event = {"session_id": session, "cwd": str(project), **HOOKED["prompt"]}
        code = fire + "assert 'Send a key' in output, output; import time; time.sleep(0.1)"
        run_fresh(code, json.dumps(event))
    event = {"session_id": "third", "cwd": str(project), **HOOKED[occasion]}
    seen = set(run_fresh(fire + "print(*sys.modules)", json.dumps(event)).split())
    never = NEVER_IN_A_HOOK | (NEVER_AFTER_A_TOOL if occasion == "after a tool" else set())
    assert not never & seen


def test_the_front_door_opens_for_free() -> None:
    seen = run_fresh(
        "import sys; before = set(sys.modules); import lessons_kb; "
        "print(*(set(sys.modules) - before))"
    ).split()
    assert set(seen) <= {"lessons_kb", "__future__"}
