"""The commands that a user types in the chat, as `lessons install` writes them for each agent."""

import tomllib

import pytest
import yaml

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install import Entries, Request, install, uninstall

ENTRIES = Entries(hook="/opt/our tools/lessons-hook", server="/opt/our tools/lessons")
FILES = {
    "claude-code": ".claude/commands/{}.md",
    "codex": ".codex/skills/{}/SKILL.md",
    "gemini-cli": ".gemini/commands/{}.toml",
    "cursor": ".cursor/commands/{}.md",
    "copilot-cli": ".copilot/skills/{}/SKILL.md",
    "vscode": ".copilot/skills/{}/SKILL.md",
    "opencode": ".config/opencode/commands/{}.md",
}


@pytest.fixture
def home(_own_home):
    return _own_home


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "project").mkdir()

    def ask(agent, **more):
        return Request(agent=agent, project=str(tmp_path / "project"), entries=ENTRIES, **more)

    return ask


def header(text):
    return yaml.safe_load(text.split("---\n")[1])


@pytest.mark.parametrize("agent", AGENTS)
def test_each_agent_gets_two_commands_and_gives_them_back(agent, ask, home):
    install(ask(agent))
    for name in ("lesson", "lessons-review"):
        text = (home / FILES[agent].format(name)).read_text("utf-8")
        if agent == "gemini-cli":
            data = tomllib.loads(text)
            assert data["description"]
            body = data["prompt"]
        elif agent == "cursor":
            body = text
        else:
            assert header(text)["description"]
            body = text.split("---\n", 2)[2]
        assert ("lessons_propose" in body) == (name == "lesson")
        assert ("'/opt/our tools/lessons' review --accept ID" in body) == (name != "lesson")
        assert "{{" not in body.replace("{{args}}", "")
    uninstall(ask(agent))
    left = [path for path in home.rglob("*lesson*") if ".local" not in path.parts]
    assert left == []


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot-cli"])
def test_the_model_pays_nothing_until_the_user_calls(agent, ask, home):
    install(ask(agent))
    path = home / FILES[agent].format("lesson")
    if agent == "codex":
        policy = yaml.safe_load((path.parent / "agents" / "openai.yaml").read_text("utf-8"))
        assert policy == {"policy": {"allow_implicit_invocation": False}}
    else:
        assert header(path.read_text("utf-8"))["disable-model-invocation"] is True


def test_a_command_of_the_user_s_own_stays(ask, home):
    own = home / ".claude" / "commands" / "lesson.md"
    own.parent.mkdir(parents=True)
    own.write_text("Teach me something.\n")
    done = {change.path: change.action for change in install(ask("claude-code"))}
    assert done[str(own)] == "foreign"
    assert (own.parent / "lessons-review.md").exists()
    uninstall(ask("claude-code"))
    assert own.read_text() == "Teach me something.\n"
    assert not (own.parent / "lessons-review.md").exists()


def test_nothing_is_put_beside_a_skill_of_the_user_s_own(ask, home):
    skill = home / FILES["codex"].format("lesson")
    install(ask("codex"))
    policy = skill.parent / "agents" / "openai.yaml"
    assert policy.is_file()
    skill.write_text("---\nname: lesson\ndescription: Teach me something\n---\n")
    install(ask("codex"))
    assert not policy.parent.exists(), "it would silence a skill that is not ours"
    assert (home / FILES["codex"].format("lessons-review")).is_file()
    uninstall(ask("codex"))
    assert "Teach me" in skill.read_text()


def test_doctor_does_not_miss_what_was_never_written(ask, home, health):
    own = home / FILES["claude-code"].format("lesson")
    own.parent.mkdir(parents=True)
    own.write_text("Teach me something.\n")
    request = ask("claude-code")
    install(request)
    assert str(own) not in str(health("agent", request.project))
    own.unlink()
    install(request)
    own.write_text("Teach me something else.\n")
    assert str(own) in str(health("agent", request.project))
    install(request)
    assert str(own) not in str(health("agent", request.project)), "running it again is the cure"


def test_in_a_project_only_what_is_committed_gets_commands(ask, tmp_path):
    install(ask("claude-code", scope="project"))
    assert not (tmp_path / "project" / ".claude" / "commands").exists()
    install(ask("claude-code", scope="project", shared=True))
    assert (tmp_path / "project" / ".claude" / "commands" / "lesson.md").is_file()
