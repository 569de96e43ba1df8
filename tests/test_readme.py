"""README and docs are executed: every block runs, and every output they show is compared.

README's first two shell blocks install the package; a newcomer's walk runs them in fresh clones.
The blocks of a page run in order, in a temporary folder that holds a copy of the example brain.
``pytest tests/test_readme.py --update`` writes the outputs seen back into the pages.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.kit import ROOT, copy_example, run_python

SET_UP = 2
"""How many of README's first blocks install the package, and are not run here."""
GENERATED = "reference.md"
"""Its blocks are the examples in the help texts; tests of the commands run those."""
SHELL = ("sh", "bash", "shell", "console", "")
RUNNERS = {"python": (sys.executable, "-c"), **dict.fromkeys(SHELL, ("bash", "-e", "-c"))}
NOT_RUN = ("text", "markdown", "toml", "yaml", "json", "lua", "ini", "nginx")

PAGES = (
    "README.md",
    *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md") if p.name != GENERATED),
)

NORMAL_FORMS = (
    (re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b"), "DATE"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b"), "TIME"),
    (re.compile(r"\b(?:today|\d+(?:min|mo|[mhdwy]))\b"), "AGE"),
    (re.compile(r"\b\d+\.\d+\b|\b\d+%"), "SCORE"),  # tuning moves scores; their order must hold
    (re.compile(r"[ \t]+"), " "),  # a table's columns are as wide as what stands in them
    (re.compile(r"[─━-]{4,}"), "----"),
)


class Block:
    def __init__(self, language, text, first_line):
        self.language = language
        self.text = text
        self.first_line = first_line
        self.output: Block | None = None


def blocks(page="README.md"):
    """Return the runnable blocks, each with the ``text`` block that follows it, if any."""
    found = []
    previous = None
    for token in MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8")):
        if token.type != "fence" or token.map is None:
            continue
        block = Block(token.info.strip().split(" ")[0], token.content, token.map[0] + 1)
        if block.language in RUNNERS:
            found.append(block)
        elif block.language == "text" and previous and previous.language in RUNNERS:
            previous.output = block
        previous = block
    return found


def blocks_to_run(page):
    return blocks(page)[SET_UP if page == "README.md" else 0 :]


def normal(text, folder):
    text = text.replace(str(folder.resolve()), "…").replace(str(folder), "…")
    for pattern, replacement in NORMAL_FORMS:
        text = pattern.sub(replacement, text)
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def command_of(block):
    lines = [re.sub(r"^\$ ", "", line) for line in block.text.splitlines()]
    return "\n".join(lines) + "\n"


def write_outputs(page, seen):
    lines = page.read_text(encoding="utf-8").split("\n")
    for output, text in reversed(seen):
        old = len(output.text.rstrip("\n").split("\n")) if output.text else 0
        lines[output.first_line : output.first_line + old] = text.strip("\n").split("\n")
    page.write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def newcomer(tmp_path):
    """A folder with the example brain, and an environment that knows nothing but the package."""
    folder = tmp_path / "lessons_kb"
    copy_example(folder / "brain-example")
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        "PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "100",
        "PYTHONUTF8": "1", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "n",
        "GIT_AUTHOR_EMAIL": "n@example.org", "GIT_COMMITTER_NAME": "n",
        "GIT_COMMITTER_EMAIL": "n@example.org", "LESSONS_DAEMON": "0",
        "LESSONS_HOOK_DEADLINE": "50",  # a busy machine may be slow; the answers count here
    }  # fmt: skip
    return folder, environment


def run_block(language, text, folder, environment):
    return subprocess.run(
        [*RUNNERS[language], text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_known_language(page):
    tokens = MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
    languages = {token.info.strip() for token in tokens if token.type in ("fence", "code_block")}
    assert languages <= {*RUNNERS, *NOT_RUN}


def test_set_up_is_one_line_each():
    job, suite = (command_of(block).strip() for block in blocks()[:SET_UP])
    for line in (job, suite):
        assert "\n" not in line
        assert line.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert "-q" not in job, "the installation takes long, so it must show what it does"
    assert " preflight " in job
    assert '-e ".[dev]"' in suite


def test_continuous_integration_runs_the_second_block_as_it_stands():
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    extract = re.search(r"<<'PYTHON'\n(.*?)^PYTHON$", run, re.MULTILINE | re.DOTALL)
    assert extract, ".ci/run takes the test command from the README"
    assert run_python(extract[1], cwd=ROOT).out == blocks()[1].text


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_to_run(page)])
def test_blocks_run_and_print_what_is_shown(newcomer, request, page):
    folder, environment = newcomer
    if page == "docs/daemon.md":  # which says what it does where nothing turns it off
        del environment["LESSONS_DAEMON"]
    seen = []
    differences = []
    for block in blocks_to_run(page):
        done = run_block(block.language, command_of(block), folder, environment)
        where = f"{page}:{block.first_line}"
        assert done.returncode == 0, f"{where} exits {done.returncode}\n{block.text}{done.stderr}"
        if block.output is None:
            continue
        printed = done.stdout.replace(str(folder.resolve()), "…")
        seen.append((block.output, printed))
        shown = normal(block.output.text, folder)
        differences += difflib.unified_diff(
            shown, normal(printed, folder), f"{where} shows", "prints", lineterm=""
        )
    if request.config.getoption("--update"):
        write_outputs(ROOT / page, seen)
    else:
        assert not differences, "\n".join(differences)


@pytest.mark.slow
def test_whoever_types_one_block_after_the_other_gets_through(newcomer):
    folder, environment = newcomer
    typed = "\n".join(command_of(block) for block in blocks_to_run("README.md"))
    done = run_block("sh", typed, folder, environment)
    assert done.returncode == 0, done.stderr
