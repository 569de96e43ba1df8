"""The repository holds what the tables of docs/contributing.md list, and nothing else."""

import ast
import importlib
import re

import pytest

from tests.kit import ROOT, git

LARGEST = 300_000
"""Bytes that a tracked file may have unless the table lists it."""

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="a source distribution has no list of tracked files"
)


def read_table(heading):
    """Return the code spans in the first column of the table below a heading."""
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture(scope="module")
def tracked():
    names = git(ROOT, "ls-files", "-z").split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def is_binary(data):
    try:
        return "\0" in data.decode("utf-8")
    except UnicodeDecodeError:
        return True


def test_the_root_holds_the_entries_of_the_table(tracked):
    entries = {name.partition("/")[0] + "/" * ("/" in name) for name in tracked}
    assert sorted(read_table("The root")) == sorted(entries)


def test_no_file_is_binary_or_large_but_those_of_the_table(tracked):
    odd = set()
    for name in tracked:
        data = (ROOT / name).read_bytes()
        if len(data) > LARGEST or is_binary(data):
            odd.add(name)
    assert sorted(read_table("Large and binary files")) == sorted(odd)


def list_statements(node):
    """Yield all statements below a node: far fewer than its nodes."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        parts = getattr(node, field, ())
        for part in parts if isinstance(parts, list) else ():
            yield part
            yield from list_statements(part)


def find_missing_imports(source):
    """Return what a program imports from lessons_kb that is not there."""
    for node in list_statements(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("lessons_kb"):
            continue
        module = importlib.import_module(node.module)
        for name in node.names:
            if not hasattr(module, name.name):
                try:
                    importlib.import_module(f"{node.module}.{name.name}")
                except ImportError:
                    yield f"{node.module}.{name.name}"


def test_programs_beside_the_package_import_what_it_has(tracked):
    """Imports inside functions, too: no other check sees them before they run."""
    programs = [name for name in tracked if name.endswith(".py")]
    missing = {
        name: absent
        for name in programs
        if "lessons_kb" in (source := (ROOT / name).read_text("utf-8"))
        and (absent := list(find_missing_imports(source)))
    }
    assert missing == {}
