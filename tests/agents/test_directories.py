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


def claude(project, command, after, **response):
    return {
        "session_id": "s1",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project / after),
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": command, "description": "x"},
        "tool_response": {"stdout": "", "stderr": "", "interrupted": False, **response},
    }


@pytest.mark.parametrize(
    ("command", "after", "files"),
    [
        ("cd src && sed -i s/1/2/ app.py", "src", ["src/app.py"]),
        ("sed -i s/1/2/ app.py", "src", ["src/app.py"]),
        ("cd .. && touch b.py", "", ["b.py"]),
        ("cd ../lib; touch b.py", "lib", ["lib/b.py"]),
        ("touch a.py; cd ..", "", []),  # nobody tells the name of the folder it was in
        ("(cd src && touch c.py) && touch d.py", "", ["src/c.py", "d.py"]),
        ("pushd src && touch g.py; popd; touch h.py", "", ["src/g.py", "h.py"]),
        ("cd src && cd .. && cd src && cat app.py", "src", ["src/app.py"]),
        ("cd gone || touch a.py", "", ["gone/a.py"]),
        ("cd $HERE && touch a.py", "src", []),
        ("cd '{project}/src' && touch a.py", "src", ["src/a.py"]),
    ],
)
def test_claude_code_tells_the_directory_after_the_command(command, after, files, project, fire):
    fire("claude-code", claude(project, command.replace("{project}", str(project)), after))
    assert touched(project) == files


def test_claude_code_goes_back_into_the_project(project, fire):
    reset = f"\nShell cwd was reset to {project}"
    fire("claude-code", claude(project, "touch a.py; cd /tmp && touch f.py", "", stderr=reset))
    assert touched(project) == ["a.py", "/tmp/f.py"]


def codex(project, command, cwd, name):
    return {
        "session_id": "s1",
        "turn_id": "t1",
        "transcript_path": None,
        "cwd": str(project / cwd),
        "hook_event_name": name,
        "model": "gpt-5",
        "permission_mode": "bypassPermissions",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": "",
        "tool_use_id": "call_0_0",
    }


@pytest.mark.parametrize(
    ("command", "cwd"),
    [("cd src && sed -i s/1/2/ app.py", ""), ("sed -i s/1/2/ app.py", "src")],
)
def test_codex_tells_the_directory_before_it(command, cwd, project, fire):
    fire("codex", {**codex(project, "ls", "", "SessionStart"), "source": "startup"})
    fire("codex", codex(project, command, cwd, "PostToolUse"))
    assert touched(project) == ["src/app.py"]


PATCH = "*** Begin Patch\n*** Update File: run.py\n@@\n-1\n+2\n*** End Patch\n"


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        (f"cd bot && apply_patch <<'EOF'\n{PATCH}EOF", ""),
        (f"apply_patch <<'EOF'\n{PATCH}EOF", "bot"),
    ],
)
def test_codex_applies_a_patch_below_its_folder(command, cwd, project, fire):
    fire("codex", {**codex(project, "ls", "", "SessionStart"), "source": "startup"})
    said = fire("codex", codex(project, command, cwd, "PreToolUse"))
    assert "Telegram" in said["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("folder", ["src", "{project}/src"])
def test_gemini_cli_runs_a_command_in_a_folder(folder, project, fire):
    arguments = {"command": "sed -i s/2/3/ app.py", "dir_path": folder}
    arguments["dir_path"] = folder.replace("{project}", str(project))
    payload = {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(project),
        "hook_event_name": "AfterTool",
        "timestamp": "2026-11-21T21:17:32.673Z",
        "tool_name": "run_shell_command",
        "tool_input": arguments,
        "tool_response": {"llmContent": "Output: (empty)", "returnDisplay": ""},
    }
    fire("gemini-cli", payload)
    assert touched(project) == ["src/app.py"]


@pytest.mark.parametrize("folder", ["src", "{project}/src"])
def test_opencode_runs_a_command_in_a_folder(folder, project, fire):
    folder = folder.replace("{project}", str(project))
    payload = {
        "event": "after",
        "sessionID": "s1",
        "callID": "toolu_1",
        "cwd": str(project),
        "tool": "bash",
        "args": {"command": "sed -i s/2/3/ app.py", "workdir": folder},
        "output": "(no output)",
        "metadata": {"exit": 0},
    }
    fire("opencode", payload)
    assert touched(project) == ["src/app.py"]
