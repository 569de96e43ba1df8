"""The package as others get it: what a wheel holds, what a start imports, the hook for pre-commit."""

import importlib
import subprocess
import sys
import tomllib
import venv
import zipfile

import pytest
import yaml

from lessons_kb.cli.command_table import SUMMARIES
from tests.kit import EXAMPLE, ROOT, run_python, write

LATER = {
    *("filelock", "frontmatter", "jinja2", "markdown_it", "mcp", "numpy", "onnxruntime"),
    *("rank_bm25", "tantivy", "textual", "tokenizers", "tomlkit", "tomllib"),
    *("watchdog", "yaml"),
}
"""What a command imports when it needs it, and not before."""
NOT_FOR_HELP = {"lessons_kb.brain", "lessons_kb.store", "platformdirs", "rich", "sqlite3"}


IMPORTED = """
import atexit, sys
from lessons_kb.cli.entry import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
main()
"""


@pytest.mark.slow
def test_help_imports_the_command_line_and_nothing_behind_it():
    done = run_python(IMPORTED, "--help")
    assert done.code == 0, done.err
    seen = set(done.err.splitlines()[-1].split())
    assert not (LATER | NOT_FOR_HELP) & seen
    assert "lessons_kb.cli.main" in seen


def test_each_program_is_there():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert sorted(scripts) == ["lessons", "lessons-hook"]
    for target in scripts.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_the_hook_for_pre_commit_is_a_command_that_exists():
    hook, detect = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert (hook["id"], detect["id"]) == ("lessons-lint", "lessons-detect")
    assert detect["entry"] == "lessons detect --diff"
    program, command = hook["entry"].split()
    assert program == "lessons"
    assert command in SUMMARIES
    assert hook["args"] == ["."]


@pytest.mark.slow
def test_a_wheel_alone_is_enough(tmp_path):
    build = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    subprocess.run([sys.executable, *build], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    templates = {p.relative_to(ROOT) for p in (ROOT / "templates").rglob("*") if p.is_file()}
    read = {
        p.as_posix()
        for p in templates
        if p.parts[1] not in ("ci", "claude-code", "plugins", "vscode") and p.name != "lessons.1"
    }
    assert {name.removeprefix("lessons_kb/") for name in held if "/templates/" in name} == read
    assert not [name for name in held if name.startswith(("tests", "benchmarks"))]
    folder = tmp_path / "venv"
    # The dependencies are those of the environment that runs this test.
    venv.create(folder, with_pip=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "outer.pth").write_text("\n".join(p for p in sys.path if "site-packages" in p))
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)

    def lessons(*arguments):
        done = subprocess.run(
            [folder / "bin" / "lessons", *arguments],
            cwd=tmp_path, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    code = "import lessons_kb; print(lessons_kb.__file__)"
    where = subprocess.run([python, "-I", "-c", code], capture_output=True, check=True, text=True)
    assert where.stdout.startswith(str(packages))
    lessons("init", "shop")
    said = ("--why", "It was never read.", "--do", "Pay in the currency of the order")
    asked_for = ("--symptom", "pay a refund", "--symptom", "refund an order from abroad")
    title = "Refund worker ignored the currency of the order"
    lessons("--brain", "shop", "add", title, *said, *asked_for)
    asked = lessons("--brain", "shop", "preflight", "The refund worker pays the wrong currency")
    assert "Refund worker ignored the currency of the order" in asked


@pytest.mark.slow
def test_pre_commit_runs_the_hook_in_another_repository(tmp_path):
    repository = tmp_path / "shop"
    text = (EXAMPLE / "lessons" / "money-in-floats.md").read_text("utf-8")
    card = write(repository, "lessons/a.md", text)

    def run(*words):
        return subprocess.run(
            words, cwd=repository, capture_output=True, encoding="utf-8", check=False
        )

    run("git", "init", "-q")
    run("git", "add", "-A")
    hook = ("try-repo", str(ROOT), "lessons-lint", "-a", "--ref", "HEAD")
    command = (sys.executable, "-m", "pre_commit", *hook)
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    card.write_text("---\ntype: lesson\nno header ends\n")
    run("git", "add", "-A")
    done = run(*command)
    assert done.returncode == 1
    assert "lessons/a.md" in done.stdout
