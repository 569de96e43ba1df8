"""A project's links may not lead an installation out of it: a clone chose where they point."""

import json
import pathlib

import pytest

from lessons_kb.agents.install import Entries, Request, install
from lessons_kb.errors import InputError


def request(project, **more):
    entries = Entries(hook="lessons-hook", server="lessons")
    return Request(agent="claude-code", project=str(project), entries=entries, **more)


@pytest.mark.parametrize("link", [".claude", ".claude/settings.local.json"])
def test_out_of_a_project_nothing_is_written(tmp_path, link):
    project, outside = tmp_path / "project", tmp_path / "outside"
    outside.mkdir()
    (project / link).parent.mkdir(parents=True)
    (outside / "settings.local.json").write_text("{}")
    is_file = link.endswith(".json")
    (project / link).symlink_to(outside / "settings.local.json" if is_file else outside)
    with pytest.raises(InputError, match="is a link out of the project"):
        install(request(project, scope="project"))
    assert (outside / "settings.local.json").read_text() == "{}"
    assert [path.name for path in outside.iterdir()] == ["settings.local.json"]


def test_a_link_within_the_project_is_followed(tmp_path):
    project = tmp_path / "project"
    (project / "config").mkdir(parents=True)
    (project / ".claude").symlink_to("config")
    install(request(project, scope="project"))
    assert "hooks" in json.loads((project / "config/settings.local.json").read_text())


def test_the_users_own_links_are_followed(tmp_path):
    home = pathlib.Path.home()
    (tmp_path / "dotfiles").mkdir()
    (home / ".claude").symlink_to(tmp_path / "dotfiles")
    install(request(tmp_path, scope="user"))
    assert (tmp_path / "dotfiles/settings.json").exists()
