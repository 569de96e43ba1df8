"""Qwen Code, by payloads that version 0.24.4 sent."""

COMMON = {
    "session_id": "7657721c-f174-4477-b519-6209ee95a5cb",
    "transcript_path": "/home/ann/.qwen/projects/-shop/chats/7657721c.jsonl",
    "timestamp": "2026-11-25T18:23:40.643Z",
    "permission_mode": "yolo",
    "prompt_id": "7657721c-f174-4477-b519-6209ee95a5cb########0",
}
PROMPT = "Add a telegram command that restarts the service"
SHELL = {
    "tool_name": "run_shell_command",
    "tool_input": {"command": "alembic upgrade head", "description": "Migrate"},
    "tool_use_id": "toolu_1795631021811_4f2o8tbq4",
}


def test_a_prompt_draws_a_lesson_and_the_result_of_a_call_none(project, fire):
    event = COMMON | {"cwd": str(project), "hook_event_name": "UserPromptSubmit"}
    given = fire("qwen-code", event | {"prompt": PROMPT, "submitted_prompt": PROMPT})
    assert "Reject every chat id" in given["hookSpecificOutput"]["additionalContext"]
    assert fire("qwen-code", event | {"prompt": ""}) == {}


def test_what_a_tool_printed_and_how_it_failed_is_read(project, fire):
    event = COMMON | {"cwd": str(project), **SHELL}
    response = {"llmContent": "Command: alembic upgrade head\nOutput: ok\nExit Code: 0"}
    done = event | {"hook_event_name": "PostToolUse", "tool_response": response}
    assert fire("qwen-code", done) == {}
    error = "Command: alembic upgrade head\nOutput: no such column\nError: (none)\nExit Code: 1"
    failed = event | {"hook_event_name": "PostToolUseFailure", "error": error}
    texts = [
        str(fire("qwen-code", failed | {"tool_use_id": f"toolu_{number}", "is_interrupt": False}))
        for number in range(3)
    ]
    assert "different approach" in texts[-1], texts
