"""Which lessons were given is told in one line, with the first event whose line is shown."""

import pytest


def of_gemini(project, name, number):
    return {
        "session_id": "s1",
        "cwd": str(project),
        "hook_event_name": {"before": "BeforeTool", "after": "AfterTool"}[name],
        "timestamp": f"2026-11-22T10:00:0{number}Z",
        "tool_name": "replace",
        "tool_input": {"file_path": "bot/run.py", "old_string": f"{number}", "new_string": "x"},
        "tool_response": {"llmContent": "Successfully modified file"},
    }


def of_opencode(project, name, number):
    return {
        "event": name,
        "sessionID": "s1",
        "callID": f"c{number}",
        "tool": "edit",
        "args": {"filePath": "bot/run.py", "oldString": f"{number}", "newString": "x"},
        "output": "Edit applied successfully.",
        "cwd": str(project),
    }


@pytest.mark.parametrize(
    ("agent", "call", "line"),
    [("gemini-cli", of_gemini, "systemMessage"), ("opencode", of_opencode, "message")],
)
def test_a_card_before_a_call_is_told_to_the_user_once_it_can_be(agent, call, line, project, fire):
    (project / "bot/run.py").write_text("12\n")
    assert line not in fire(agent, call(project, "before", 1))
    told = "Lessons: 1 (lessons/telegram-allowlist.md)"
    assert fire(agent, call(project, "after", 1))[line] == told
    assert line not in fire(agent, call(project, "before", 2))
    assert line not in fire(agent, call(project, "after", 2))
