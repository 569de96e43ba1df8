"""Programs are found on the PATH, an extra is named as it can be added, workers end in time."""

import json
import os
import subprocess
import sys

import pytest

from lessons_kb.errors import GitError, InputError
from lessons_kb.process import installation, programs
from lessons_kb.process.git import read_diff
from tests.kit import wait_until
from tests.process.test_run import running

posix = pytest.mark.skipif(os.name == "nt", reason="the traps are shell scripts")


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


@posix
def test_a_program_in_the_working_directory_is_not_run(planted, monkeypatch):
    for name in ("git", "edit", "lessons", "./git"):
        assert programs.find_program(name) is None
    with pytest.raises(GitError, match="git is not installed"):
        read_diff(str(planted))
    monkeypatch.setenv("EDITOR", "edit")
    with pytest.raises(InputError, match="cannot start the editor 'edit'"):
        programs.open_editor(str(planted / "card.md"))


@posix
def test_folders_of_the_path_are_searched_in_order(planted, monkeypatch):
    first, second = planted.parent / "one", planted.parent / "two"
    for folder, mode in ((first, 0o644), (second, 0o755)):
        folder.mkdir()
        (folder / "tool").touch()
        (folder / "tool").chmod(mode)
    monkeypatch.setenv("PATH", os.pathsep.join((".", str(first), str(second))))
    assert programs.find_program("tool") == str(second / "tool")


def test_the_editor_gets_the_path_as_one_argument_and_no_shell(tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    script = tmp_path / "my editor.py"
    script.write_text(f"import sys; open({str(seen)!r}, 'w').write('|'.join(sys.argv[1:]))")
    monkeypatch.setenv("VISUAL", f"'{sys.executable}' '{script}' --wait")
    path = f"{tmp_path}/a card; touch $(echo pwned) `x` \"'.md"
    programs.open_editor(path)
    assert seen.read_text() == f"--wait|{path}"


FOLDER = {"url": "file:///home/me/lessons%20kb", "dir_info": {}}
EDITABLE = {**FOLDER, "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/l.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}
PIP, UV, HERE = "VENV/bin/python -m pip install", "uv tool install", "'/home/me/lessons kb[mcp]'"
BY_UV, INDEX = {"pyvenv.cfg": "home = /usr/bin\nuv = 0.9.1\n"}, "'lessons-kb[mcp]'"


@pytest.mark.parametrize(
    ("source", "files", "command"),
    [
        (None, {}, f"{PIP} {INDEX}"),
        (FOLDER, {}, f"{PIP} {HERE}"),
        (EDITABLE, {}, f"{PIP} -e {HERE}"),
        (GIT, {}, f"{PIP} 'lessons-kb[mcp] @ git+https://example.org/l.git'"),
        ({"url": 3, "dir_info": None}, {}, f"{PIP} {INDEX}"),
        (FOLDER, BY_UV, f"uv pip install --python VENV/bin/python {HERE}"),
        (FOLDER, {"pipx_metadata.json": "{}"}, f"pipx install --force {HERE}"),
        (EDITABLE, {"pipx_metadata.json": "{}"}, f"pipx install --force --editable {HERE}"),
        (None, {"uv-receipt.toml": ""}, f"{UV} {INDEX}"),
        (EDITABLE, {"uv-receipt.toml": ""}, f"{UV} --editable {HERE}"),
    ],
)
def test_the_hint_how_to_add_an_extra_fits_the_installation(
    tmp_path, monkeypatch, source, files, command
):
    pose(tmp_path, monkeypatch, source, files)
    hint = installation.install_command.__wrapped__("mcp")
    assert hint.replace(str(tmp_path), "VENV") == command


@pytest.mark.parametrize(
    ("source", "files", "command"),
    [
        (None, {}, f"{PIP} --upgrade lessons-kb"),
        (GIT, {}, f"{PIP} --upgrade 'lessons-kb @ git+https://example.org/l.git'"),
        (None, BY_UV, "uv pip install --python VENV/bin/python --upgrade lessons-kb"),
        (None, {"pipx_metadata.json": ""}, "pipx upgrade lessons-kb"),
        (FOLDER, {"uv-receipt.toml": ""}, "uv tool upgrade lessons-kb"),
        (EDITABLE, {"uv-receipt.toml": ""}, "git -C '/home/me/lessons kb' pull"),
    ],
)
def test_the_hint_for_an_upgrade_fits_the_installation(
    tmp_path, monkeypatch, source, files, command
):
    pose(tmp_path, monkeypatch, source, files)
    hint = installation.upgrade_command().replace(str(tmp_path), "VENV")
    assert hint == f"{command} && lessons upgrade"


def test_an_installation_by_uvx_or_homebrew_is_upgraded_by_them(tmp_path, monkeypatch):
    (folder := tmp_path / "archive-v0" / "MlZdLpcOMiow").mkdir(parents=True)
    pose(folder, monkeypatch, None, BY_UV)
    assert installation.upgrade_command() == "uvx --from lessons-kb@latest lessons upgrade"
    (folder := tmp_path / "opt" / "lessons-kb" / "libexec").mkdir(parents=True)
    pose(folder, monkeypatch, FOLDER, {})
    assert installation.upgrade_command() == "brew upgrade lessons-kb && lessons upgrade"


def pose(folder, monkeypatch, source, files):
    """Let this process be an installation in a folder, from a source."""

    class Distribution:
        def read_text(self, name):
            assert name == "direct_url.json"
            return json.dumps(source) if source else ""

    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: Distribution())
    monkeypatch.setattr(installation, "find_spec", lambda _name: object())
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    for name, text in files.items():
        (folder / name).write_text(text)


WORKERS = """
import os, time
from lessons_kb.process.programs import map_batches
if __name__ == "__main__":
    for pid in map_batches(os.getpid, [(), ()], workers=2):
        print(pid, flush=True)
        time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_when_their_parent_is_killed():
    assert list(programs.map_batches(pow, [(2, 3), (3, 2)], workers=1)) == [8, 9]
    parent = subprocess.Popen([sys.executable, "-c", WORKERS], stdout=subprocess.PIPE, text=True)
    with parent:
        worker = int(parent.stdout.readline())
        assert worker in running("--multiprocessing-fork")
        parent.kill()
    wait_until(lambda: worker not in running("--multiprocessing-fork"))
