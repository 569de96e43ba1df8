"""Other Markdown files of a project are context only where the settings say so."""

import json

import pytest

from tests.kit import EXAMPLE, write

CARD = "---\ntype: lesson\ntitle: Zebra stripes\n---\n\n## Fix\n\n- Paint the zebra\n"
OTHER = CARD.replace("Paint", "Wash").replace("stripes", "dirt")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with three Markdown files of its own, one card and a broken header."""
    write(tmp_path, "README.md", "# Zebra house\n\nThe zebra lives here.\n")
    write(tmp_path, "docs/a.md", "# Zebra food\n")
    write(tmp_path, "docs/b.md", "---\nlayout: [\n---\n\n# Zebra\n")
    write(tmp_path, "lessons/zebra.md", CARD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find(lessons):
    return {hit["id"] for hit in json.loads(lessons("search", "zebra", "--json").out)}


def test_init_leaves_the_files_of_a_project_out_and_says_how_many_it_found(
    lessons, project, answer
):
    shown = answer("init", typed="y\n")
    assert "1 card found" in shown
    assert "3 other Markdown files found and left out; `notes = true`" in " ".join(shown.split())
    assert "notes = false" in (project / "lessons.toml").read_text()
    assert find(lessons) == {"lessons/zebra.md"}
    assert "1 file: 1 card, 0 notes, 0 unusable" in lessons("index").out
    assert "docs/" not in lessons("lint", "-v").out
    assert json.loads(lessons("--json").out)["attention"] == []


def test_a_card_outside_of_the_known_folders_is_one_by_its_header(lessons, project):
    write(project, "docs/c.md", OTHER)
    write(project, "docs/d.md", "---\ntype: lesson\ntags: [\n---\n\n# Zebra\n")
    lessons("init")
    lessons("trust")
    assert find(lessons) == {"lessons/zebra.md", "docs/c.md", "docs/d.md"}
    assert "docs/d.md" in lessons("lint").out


def test_the_switch_takes_effect_at_once_in_both_directions(lessons, project):
    lessons("init")
    lessons("trust")
    settings = project / "lessons.toml"
    assert len(find(lessons)) == 1
    settings.write_text(settings.read_text().replace("notes = false", "notes = true"))
    lessons("trust")
    assert find(lessons) == {"lessons/zebra.md", "README.md", "docs/a.md", "docs/b.md"}
    settings.write_text("notes = false\n")
    lessons("trust")
    assert find(lessons) == {"lessons/zebra.md"}


def test_a_card_that_becomes_a_note_is_gone_and_back_as_a_card(lessons, project):
    write(project, "docs/c.md", OTHER)
    lessons("init")
    lessons("trust")
    write(project, "docs/c.md", "# Zebra\n")
    assert find(lessons) == {"lessons/zebra.md"}
    assert lessons("show", "docs/c.md").code == 2
    write(project, "docs/c.md", OTHER)
    assert find(lessons) == {"lessons/zebra.md", "docs/c.md"}


def test_an_empty_folder_and_settings_without_the_key_have_notes(lessons, project):
    lessons("init", "brain")
    assert "notes = true" in (project / "brain" / "lessons.toml").read_text()
    (project / "lessons.toml").write_text("")  # as before this key existed
    lessons("trust", ".")
    assert "README.md" in find(lessons)
    assert "notes = true" in (EXAMPLE / "lessons.toml").read_text()


def test_config_all_prints_every_key(lessons, project):
    out = lessons("config", "--all").out
    for line in ("#notes = true ", "[gate]", "#budget = 3200 "):
        assert f"\n{line}" in out
