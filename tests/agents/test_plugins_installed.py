"""`lessons doctor` says when a plugin, the settings and the package disagree."""

import json
import pathlib

import pytest

from lessons_kb import __version__


@pytest.mark.parametrize(("version", "level"), [(__version__, "ok"), ("0.0.1", "warning")])
def test_a_plugin_is_a_connection_and_one_of_another_version_is_named(health, version, level):
    path = (
        pathlib.Path.home() / ".codex/plugins/cache/lessons-kb/lessons" / version / ".codex-plugin"
    )
    path.mkdir(parents=True)
    (path / "plugin.json").write_text(json.dumps({"name": "lessons", "version": version}))
    (line,) = [line for line in health("") if line.detail.startswith("codex")]
    assert (line.level, version in line.detail) == (level, True)
    if level == "ok":
        assert line.detail == f"codex: plugin {__version__}"
    else:
        assert __version__ in line.detail
        assert "updates it; `" in line.fix
