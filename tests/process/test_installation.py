"""The hint how to add an extra fits how the package was installed."""

import json
import sys

import pytest

from lessons_kb.process import programs as installation

FOLDER = {"url": "file:///home/me/lessons%20kb", "dir_info": {}}
EDITABLE = {**FOLDER, "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/l.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}


@pytest.fixture
def hint(tmp_path, monkeypatch):
    class Distribution:
        text = ""

        def read_text(self, name):
            assert name == "direct_url.json"
            return self.text

    found = Distribution()
    monkeypatch.setattr(installation, "distribution", lambda _name: found)
    monkeypatch.setattr(installation, "find_spec", lambda _name: object())
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))

    def hint(source=None, **files):
        found.text = json.dumps(source) if source else ""
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        installation.install_command.cache_clear()
        return installation.install_command("mcp").replace(str(tmp_path), "VENV")

    yield hint
    installation.install_command.cache_clear()


def test_in_a_virtual_environment(hint):
    pip = "VENV/bin/python -m pip install"
    assert hint() == f"{pip} 'lessons-kb[mcp]'"
    assert hint(FOLDER) == f"{pip} '/home/me/lessons kb[mcp]'"
    assert hint(EDITABLE) == f"{pip} -e '/home/me/lessons kb[mcp]'"
    assert hint(GIT) == f"{pip} 'lessons-kb[mcp] @ git+https://example.org/l.git'"
    by_uv = hint(FOLDER, pyvenv__cfg="home = /usr/bin\nuv = 0.9.1\n")
    assert by_uv == "uv pip install --python VENV/bin/python '/home/me/lessons kb[mcp]'"


def test_in_a_tool_of_pipx(hint):
    assert hint(FOLDER, pipx_metadata__json="{}") == (
        "pipx install --force '/home/me/lessons kb[mcp]'"
    )
    assert hint(EDITABLE) == "pipx install --force --editable '/home/me/lessons kb[mcp]'"


def test_in_a_tool_of_uv(hint):
    assert hint(**{"uv-receipt__toml": ""}) == "uv tool install 'lessons-kb[mcp]'"
    assert hint(EDITABLE) == "uv tool install --editable '/home/me/lessons kb[mcp]'"


def test_what_cannot_be_read_is_taken_for_an_index(hint):
    assert hint({"url": 3, "dir_info": None}).endswith("'lessons-kb[mcp]'")
