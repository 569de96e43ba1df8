"""A mistake that comes back takes one step after the other, each after a yes."""

import json

import pytest

from lessons_kb import Brain
from tests.kit import commit, git, make_brain, write

BAD = "import yaml\n\n\ndef read(text):\n    return yaml.load(text, yaml.Loader)\n"
GOOD = "import yaml\n\n\ndef read(text):\n    return yaml.safe_load(text)\n"
PROMPT = "Parse the uploaded yaml settings of a user"
RUFF = '[tool.ruff.lint]\nselect = ["E", "F"]\n'
CARD = """\
---
type: lesson
title: Uploaded yaml settings ran code of a stranger
symptoms:
  - {prompt}
severity: high
sources:
  - resource: "commit:{fix}"
---

## Root Cause

The loader of yaml constructs any object that the uploaded settings name.

## Prevention Checklist

- [ ] Read settings with the safe loader
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A history in which one mistake was made and put right three times."""
    root = tmp_path / "shop"
    root.mkdir()
    commit(root, "start", **{"pyproject.toml": RUFF, "other.py": "import json\n"})
    for number, name in enumerate(("settings.py", "themes.py", "settings.py")):
        commit(root, f"read {name} {number}", **{name: BAD})
        fix = commit(root, f"Read {name} with the safe loader {number}", **{name: GOOD})
    make_brain(str(root))
    write(root, "lessons/yaml.md", CARD.format(prompt=PROMPT, fix=fix[:12]))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def come_back(lessons, project, monkeypatch):
    """Give the lesson to a session in which the mistake then happens again."""

    def come_back(session):
        with Brain.open(project) as brain:
            assert brain.preflight(PROMPT, session=session).lessons
        with monkeypatch.context() as inside:
            inside.setenv("LESSONS_SESSION", session)
            assert lessons("bump", "yaml").code == 0

    return come_back


def header(project):
    return (project / "lessons" / "yaml.md").read_text().split("---\n")[1]


def test_a_mistake_that_returns_five_times_takes_every_step_and_the_last_is_taken_back(
    lessons, answer, project, come_back
):
    assert "nothing calls for a next step" in lessons("escalate", "yaml").out

    come_back("one")  # the lesson was only a title and a block
    assert "lessons/yaml.md" in lessons("escalate").out
    shown = answer("escalate", "yaml", typed="n\n")
    assert "came back in 1 session that had the lesson" in shown
    assert "paths: settings.py" in shown
    assert "paths:" not in header(project)
    answer("escalate", "yaml", typed="y\n")
    assert "paths:\n  - settings.py\n" in header(project)
    assert "nothing calls for a next step" in lessons("escalate", "yaml").out

    come_back("two")
    answer("escalate", "yaml", typed="y\n")
    assert "gate: once\n" in header(project)

    come_back("three")
    refused = lessons("escalate", "yaml", "--detect", "import yaml", "--yes")
    assert refused.code == 2
    assert "the history does not support it" in refused.err
    assert "detect:" not in header(project)
    shown = answer("escalate", "yaml", "--detect", r"yaml\.load\(", typed="y\n")
    assert "it finds 3 commits whose line was removed later, and 0 whose line still stands" in shown
    assert "detect:\n  - regex: 'yaml\\.load\\('\n" in header(project)

    come_back("four")
    shown = answer("escalate", "yaml", typed="y\n")
    assert "add to pyproject.toml, by hand:" in shown
    assert 'extend-select = ["S506"]' in shown
    assert 'enforced-by: "ruff:S506"\n' in header(project)

    come_back("five")  # nobody has enabled the rule yet
    assert "ruff:S506 is not enabled yet" in lessons("escalate", "yaml").err
    (project / "pyproject.toml").write_text(f'{RUFF}extend-select = ["S506"]\n')
    shown = answer("escalate", "yaml", typed="y\n")
    assert "ruff:S506 is enabled and finds it" in shown
    assert "status: ignored\n" in header(project)
    with Brain.open(project) as brain:
        assert not brain.preflight(PROMPT).lessons

    (project / "pyproject.toml").write_text(RUFF)
    shown = answer("escalate", "yaml", typed="y\n")
    assert "ruff:S506 is not enabled any more" in shown
    assert "status: active\n" in header(project)
    with Brain.open(project) as brain:
        assert brain.preflight(PROMPT).lessons

    fix = git(project, "rev-parse", "HEAD").strip()[:12]
    traced = lessons("why", "yaml").out
    assert f"from commit {fix}: Read settings.py with the safe loader 2" in traced


def test_the_pattern_is_written_by_hand(lessons, project, come_back):
    text = (project / "lessons/yaml.md").read_text()
    text = text.replace("severity: high", "severity: high\npaths: [settings.py]\ngate: once")
    write(project, "lessons/yaml.md", text)
    come_back("one")
    assert "write the pattern of the mistake" in lessons("escalate", "yaml", "--yes").err
    done = lessons("escalate", "yaml", "--detect", r"yaml\.load\(", "--yes", "--json")
    data = json.loads(done.out)
    assert (data["step"], data["done"]) == ("detect", True)
    assert "yaml\\.load" in header(project)


def test_without_a_return_nothing_is_proposed(lessons, project):
    lessons("bump", "yaml")  # outside of a session that had the lesson
    assert lessons("escalate").err == "lessons: no lesson needs a next step\n"
    assert "no lesson" not in lessons("doctor").out


def test_doctor_and_stats_name_what_came_back(lessons, health, project, come_back):
    come_back("one")
    (line,) = health("escalation", project)
    assert line.detail == (
        "lessons/yaml.md needs a next step, because the mistake came back in 1 session that had "
        "the lesson"
    )
    assert "`lessons escalate lessons/yaml.md`" in line.fix
    assert "lessons escalate" in lessons("stats").out


def test_an_enabled_rule_covers_a_card_without_any_return(lessons, project):
    pattern = "detect:\n  - regex: 'yaml\\.load\\('\n"
    text = (project / "lessons/yaml.md").read_text().replace("severity:", f"{pattern}severity:")
    write(project, "lessons/yaml.md", text)
    assert "no lesson needs" in lessons("escalate").err
    (project / "pyproject.toml").write_text('[tool.ruff]\nlint.select = ["S"]\n')
    assert "ruff:S506 is enabled and finds it" in lessons("escalate").out
    lessons("escalate", "yaml", "--yes")
    assert "status: ignored\n" in header(project)
    assert 'enforced-by: "ruff:S506"\n' in header(project)
    (project / "pyproject.toml").write_text(
        '[tool.ruff]\nlint.select = ["S"]\nlint.ignore = ["S5"]\n'
    )
    lessons("escalate", "yaml", "--yes")
    assert "status: active\n" in header(project)


def test_the_first_step_asks_for_the_files_where_nobody_knows_them(lessons, project, come_back):
    text = (project / "lessons/yaml.md").read_text()
    write(project, "lessons/yaml.md", text.replace('"commit:', '"file:docs/a.md#L'))
    come_back("one")
    assert "name the files that it guards: `--paths GLOBS`" in lessons("escalate", "yaml").err
    assert lessons("escalate", "yaml", "--paths", "*.py", "--yes").code == 0
    assert 'paths:\n  - "*.py"\n' in header(project)


def test_nothing_is_written_without_a_yes(lessons, project, come_back):
    come_back("one")
    before = header(project)
    assert "--yes takes the step" in lessons("escalate", "yaml").err
    assert lessons("escalate", "yaml", "--dry-run").code == 0
    assert header(project) == before
