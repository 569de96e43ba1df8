"""Systems that offer less than Linux: what can be said of macOS and Windows without them.

A fresh process loses what only Linux, or only POSIX, has; the everyday commands must still work,
by the other way that each of them has.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parents[1] / "lessons_kb"
FILES = sorted(PACKAGE.rglob("*.py"))

POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}

POORER = """
import ctypes, os, signal, sys
import filelock, subprocess, watchdog.observers  # they have their own ways on each system
filelock.FileLock = filelock.SoftFileLock  # the one of POSIX would not work any more

for module in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None
for name in (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "fchown",
    "geteuid", "getuid", "getxattr", "killpg", "listxattr", "pidfd_open", "setxattr",
):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGURG", "SIGWINCH"):
    delattr(signal, name)

def no_library(*_arguments, **_options):
    raise OSError("no such library")

ctypes.CDLL = no_library
"""

WALK = """
import json, os, pathlib
from lessons_kb import Brain
from lessons_kb.brain.health import check_health
from lessons_kb.brain.discovery import make_brain
from lessons_kb.errors import DuplicateCard

make_brain("shop")
card = pathlib.Path("shop/lessons/refund-worker-pays-twice.md")
with Brain.open("shop") as brain:
    brain.create("Refund worker pays twice")
    try:
        brain.create("Refund worker pays twice")
    except DuplicateCard:
        pass
    head = card.read_text("utf-8").partition("## ")[0]
    card.write_text(f"{head}## Prevention Checklist\\n\\n- [ ] Send one key per order\\n", "utf-8")
    before = card.read_bytes()
    for _ in range(3):
        brain.bump("refund-worker")
    assert brain.cards.get("refund-worker").occurrences == 4
    assert card.read_bytes() != before
    brain.cards.delete("refund-worker")
    assert not card.exists()
    brain.cards.restore("refund-worker")
    assert card.exists()
    block = brain.preflight("Why does the refund worker pay twice?")
    assert "Refund worker pays twice" in block.text, block
    assert [line for line in check_health(brain, ".") if line.level == "error"] == []

from lessons_kb.service.hook_event import answer_event

event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": os.getcwd()}
event["prompt"] = "Why does the refund worker pay twice?"
output, _ = answer_event("claude-code", json.dumps(event), {"LESSONS_BRAIN": "shop"})
assert "Refund worker pays twice" in output, output
"""


def run(code, folder):
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=folder,
        env={**os.environ, "LESSONS_BRAIN": str(folder / "shop")},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_walk_works_here(tmp_path):
    run(WALK, tmp_path)


@pytest.mark.slow
def test_a_system_without_what_only_linux_has_will_do(tmp_path):
    run(POORER + WALK, tmp_path)


@pytest.mark.slow
def test_no_module_needs_posix_to_be_imported():
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not POSIX_MODULES & {name.split(".")[0] for name in names}, path.name


@pytest.mark.slow
def test_text_is_never_read_in_the_encoding_of_the_system():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "open":
                continue
            given = {keyword.arg for keyword in node.keywords}
            modes = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
            binary = "b" in str(modes[0]) if modes else False
            assert binary or "encoding" in given, f"{path.name}:{node.lineno}"


@pytest.mark.slow
def test_no_parameter_of_sql_is_numbered():
    """Python 3.14 refuses ``?1`` with a sequence of values."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                numbered = re.search(r"(?:[=<>(,|] ?|\b(?:AND|OR|IN|LIMIT) )\?\d", node.value)
                assert not numbered, f"{path.name}:{node.lineno}"
