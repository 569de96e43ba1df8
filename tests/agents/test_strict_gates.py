"""``gate: strict``: handlers that refuse a change if our hook fails, and what they answer."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.agents.install.launcher import launcher_path, write_launcher
from lessons_kb.hook_client import UNASKED, UNASKED_LINE
from lessons_kb.hook_gates import gate_path
from lessons_kb.store.locations import state_home
from tests.kit import write
from tests.sessions import card

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no strict handlers")

TITLE = "The ledger is append only"
PATHS = "['money/{ledger,books}.py', '*.sum', '!money/new.py', 'data/**']"


def write_strict(project, paths=PATHS):
    text = card(TITLE, "Append an entry", cause="It was changed.", gate="strict", paths=paths)
    write(project, "lessons/ledger.md", text)
    with Brain.open(project) as brain:
        brain.refresh()


@pytest.fixture
def strict(project):
    write_strict(project)
    return project


@pytest.fixture
def home(_own_home):
    return _own_home


def ask(project, **more):
    entries = Entries(hook=launcher_path(), server="lessons")
    return Request(agent="claude-code", project=str(project), entries=entries, server=False, **more)


def handlers_in(path):
    """Return the handlers before a call in a settings file."""
    (group,) = json.loads(pathlib.Path(path).read_text())["hooks"]["PreToolUse"]
    return group["hooks"]


def install_handlers(project, **more):
    changes = install(ask(project, **more))
    return handlers_in(changes[0].path)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_handler_per_file_and_tool_refuses_if_it_fails(scope, strict):
    usual, *handlers = install_handlers(strict, scope=scope)
    assert "onFailure" not in usual
    assert {handler["onFailure"] for handler in handlers} == {"block"}
    assert all(handler["args"] == ["claude-code", "strict"] for handler in handlers)
    places = ["**/*.sum", "data/**", "money/books.py", "money/ledger.py"]
    rules = [f"{tool}(/{strict}/{place})" for place in places for tool in ("Edit", "Write")]
    assert [handler["if"] for handler in handlers] == [*rules, "NotebookEdit"]


def test_colleagues_without_the_program_are_not_refused(strict):
    assert len(install_handlers(strict, scope="project", shared=True)) == 1


def test_another_project_s_files_are_not_in_a_project_s_settings(strict, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    assert len(install_handlers(other, scope="project")) == 1


@pytest.mark.parametrize("gate", ["once", "ask", "none"])
def test_no_other_gate_has_such_handlers(gate, project):
    text = card(TITLE, "Append", cause="So.", severity="high", gate=gate, paths=PATHS)
    write(project, "lessons/ledger.md", text)
    with Brain.open(project) as brain:
        brain.refresh()
    assert len(install_handlers(project)) == 1


def test_the_doctor_names_and_renews_outdated_handlers_and_uninstall_takes_all(
    strict, health, home
):
    settings = write(home, ".claude/settings.json", '{"model": "opus"}\n')
    install(ask(strict))
    write_strict(strict, "['money/till.py']")
    lines = [line.detail for line in health("agent", strict)]
    assert any("not as `lessons install` writes them: PreToolUse" in line for line in lines)
    assert any("settings.json" in line.detail for line in health("agent", strict, "--fix"))
    _usual, *handlers = handlers_in(settings)
    assert [h["if"] for h in handlers] == [
        f"{tool}(/{strict}/money/till.py)" for tool in ("Edit", "Write")
    ]
    assert not any("not as" in line.detail for line in health("agent", strict))
    uninstall(ask(strict))
    assert settings.read_text() == '{"model": "opus"}\n'


def call(project, path="money/ledger.py", **environment):
    """Run the strict handler for an edit; return the finished process."""
    arguments = {"file_path": str(project / path), "old_string": "a", "new_string": "b"}
    event = {
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(project),
        "tool_name": "Edit", "tool_use_id": f"t-{path}", "tool_input": arguments,
    }  # fmt: skip
    return subprocess.run(
        [launcher_path(), "claude-code", "strict"],
        input=json.dumps(event, separators=(",", ":")),
        text=True, capture_output=True, cwd=project,
        env={**os.environ, "LESSONS_DAEMON": "0", **environment},
    )  # fmt: skip


@pytest.fixture
def launched(strict):
    write_launcher()
    return strict


def test_an_answer_in_time_is_the_gate_s_own(launched):
    first, second = call(launched), call(launched, "app.py")
    assert TITLE in json.loads(first.stdout)["hookSpecificOutput"]["permissionDecisionReason"]
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


@pytest.mark.slow
def test_without_an_answer_in_time_the_second_stage_refuses_or_the_handler_fails(launched):
    late = {"LESSONS_HOOK_DEADLINE": "0.001"}
    first = call(launched, **late)
    assert first.returncode == 0
    assert TITLE in first.stdout
    # The process of the first call goes on, and may write the file of the gates once more.
    for number in range(1, 20):
        pathlib.Path(gate_path(state_home(), os.path.realpath(launched))).unlink(missing_ok=True)
        second = call(launched, f"data/{number}.txt", **late)
        if second.returncode:
            break
    assert (second.returncode, second.stdout) == (UNASKED, "")
    assert UNASKED_LINE in second.stderr


def test_settings_that_cannot_be_read_fail_the_handler(launched):
    (launched / "lessons.toml").write_text("x = [\n")
    failed = call(launched)
    assert failed.returncode == UNASKED
    assert f"{UNASKED_LINE}: ConfigError" in failed.stderr


def test_a_missing_installation_fails_the_handler(launched, tmp_path):
    path = pathlib.Path(launcher_path())
    path.write_text(path.read_text().replace("import main", "import gone"))
    assert call(launched).returncode == UNASKED


def test_switching_hooks_off_switches_strict_gates_off(launched):
    assert call(launched, LESSONS_HOOKS="0").returncode == 0


def test_in_doubt_the_second_stage_refuses_for_a_strict_gate_alone(strict, claude):
    from tests.session.test_second_stage import stage

    arguments = {"command": "sed -i s/a/b/ money/ledger.py"}
    event = claude.event("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input=arguments)
    assert TITLE in stage("claude-code", event, {}, strict).refusal
    text = (strict / "lessons" / "ledger.md").read_text()
    (strict / "lessons" / "ledger.md").write_text(text.replace("gate: strict", "gate: once"))
    with Brain.open(strict) as brain:
        brain.refresh()
    assert not stage("claude-code", event, {}, strict).refusal
