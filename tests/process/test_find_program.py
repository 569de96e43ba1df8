"""A program is found on the PATH, never where one happens to stand."""

import os
import sys

import pytest

from lessons_kb.errors import GitError, InputError
from lessons_kb.process.git import read_diff
from lessons_kb.process.programs import find_program, open_editor

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A folder one stands in that holds programs called like ours, and a PATH that leads there."""
    folder = tmp_path / "cloned"
    folder.mkdir()
    for name in ("git", "edit", "lessons"):
        program = folder / name
        program.write_text(f'#!/bin/sh\ntouch "{tmp_path}/pwned"\n')
        program.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "../cloned")))
    yield folder
    assert not (tmp_path / "pwned").exists()


def test_what_lies_here_is_not_found(planted):
    for name in ("git", "edit", "lessons", "./git"):
        assert find_program(name) is None
    with pytest.raises(GitError, match="git is not installed"):
        read_diff(str(planted))


def test_nor_run_as_the_editor(planted, monkeypatch):
    monkeypatch.setenv("EDITOR", "edit")
    with pytest.raises(InputError, match="cannot start the editor 'edit'"):
        open_editor(str(planted / "card.md"))


def test_a_folder_of_the_path_is_searched_in_its_order(planted, monkeypatch):
    first, second = planted.parent / "one", planted.parent / "two"
    for folder in (first, second):
        folder.mkdir()
        (folder / "tool").write_text("")
        (folder / "tool").chmod(0o755)
    (first / "tool").chmod(0o644)
    monkeypatch.setenv("PATH", os.pathsep.join((".", str(first), str(second))))
    assert find_program("tool") == str(second / "tool")


def test_the_editor_gets_the_path_as_one_argument_and_no_shell(tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    code = f"import sys; open({str(seen)!r}, 'w').write('|'.join(sys.argv[1:]))"
    script = tmp_path / "my editor.py"
    script.write_text(code)
    monkeypatch.setenv("VISUAL", f"'{sys.executable}' '{script}' --wait")
    path = f"{tmp_path}/a card; touch $(echo pwned) `x` \"'.md"
    open_editor(path)
    assert seen.read_text() == f"--wait|{path}"
