"""`lessons doctor` says when a plugin, the settings and the package disagree."""

import json

import pytest

from lessons_kb.agents.install.install_agent import check_agents
from lessons_kb.version import __version__


@pytest.fixture
def plugin(_own_home):
    def put(version):
        path = _own_home / ".codex/plugins/cache/lessons-kb/lessons" / version / ".codex-plugin"
        path.mkdir(parents=True)
        (path / "plugin.json").write_text(json.dumps({"name": "lessons", "version": version}))

    return put


def told(project):
    return [line for line in check_agents(str(project)) if line.detail.startswith("codex")]


def test_a_plugin_of_this_version_is_a_connection(plugin, tmp_path):
    plugin(__version__)
    (line,) = told(tmp_path)
    assert (line.level, line.detail) == ("ok", f"codex: plugin {__version__}")


def test_a_plugin_of_another_version_is_named(plugin, tmp_path):
    plugin("0.0.1")
    (line,) = told(tmp_path)
    assert (line.level, "0.0.1" in line.detail, __version__ in line.detail) == (
        "warning",
        True,
        True,
    )
    assert "updates it; `" in line.fix
