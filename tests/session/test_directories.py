"""Paths in events, wherever the agent and its command are: payloads as the clients send them."""

import pytest

from lessons_kb import Brain


@pytest.fixture(autouse=True)
def folders(project):
    for name in ("src", "lib"):
        (project / name).mkdir()
    with Brain.open(project) as brain:
        brain.refresh()


def touched(project, session="s1"):
    with Brain.discover(project) as brain:
        events = brain.journal.events(session=session)
        return [target for event in events for target in event.targets]


@pytest.mark.parametrize(("command", "after", "files"), [
    ("cd src && sed -i s/1/2/ app.py", "src", ["src/app.py"]),
    ("sed -i s/1/2/ app.py", "src", ["src/app.py"]),
    ("cd .. && touch b.py", "", ["b.py"]),
    ("touch a.py; cd ..", "", []),  # nobody tells the name of the folder it was in
    ("cd '{project}/src' && touch a.py", "src", ["src/a.py"]),
])  # fmt: skip
def test_claude_code_tells_the_directory_after_the_command(command, after, files, project, claude):
    done = {"cwd": str(project / after), "tool_response": {"stdout": ""}}
    claude.run(command.replace("{project}", str(project)), when="Post", **done)
    assert touched(project) == files


def test_claude_code_goes_back_into_the_project(project, claude):
    reset = {"stdout": "", "stderr": f"\nShell cwd was reset to {project}"}
    claude.run("touch a.py; cd /tmp && touch f.py", when="Post", tool_response=reset)
    assert touched(project) == ["a.py", "/tmp/f.py"]


CHANGE = "*** Begin Patch\n*** Update File: run.py\n@@\n-1\n+2\n*** End Patch"
PATCH = f"apply_patch <<'EOF'\n{CHANGE}\nEOF"


@pytest.mark.parametrize("moves", [True, False])
def test_codex_tells_the_directory_before_it(moves, project, session):
    codex = session("codex")
    codex.say("SessionStart", source="startup")
    for does, folder in (("sed -i s/1/2/ app.py", "src"), (PATCH, "bot")):
        command = f"cd {folder} && {does}" if moves else does
        cwd = str(project if moves else project / folder)
        said = codex.run(command, folder, cwd=cwd).context
        codex.run(command, folder, when="Post", cwd=cwd, tool_response="")
        assert ("Telegram" in said) == (folder == "bot")
    assert touched(project) == ["src/app.py", "bot/run.py"]


@pytest.mark.parametrize("folder", ["src", "{project}/src"])
@pytest.mark.parametrize(
    ("agent", "tool", "key", "done"),
    [
        ("gemini-cli", "run_shell_command", "dir_path", {"tool_response": {"llmContent": "ok"}}),
        ("opencode", "bash", "workdir", {"output": "ok", "metadata": {"exit": 0}}),
    ],
)
def test_some_run_a_command_in_a_folder(agent, tool, key, done, folder, project, session):
    arguments = {"command": "sed -i s/2/3/ app.py", key: folder.replace("{project}", str(project))}
    session(agent).call("Post", tool, arguments, **done)
    assert touched(project) == ["src/app.py"]
