"""Gemini CLI compresses a chat by itself: only the file of the chat tells of it."""

import json

import pytest

PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
SUMMARY = {"type": "user", "content": [{"text": "<state_snapshot>we added a command"}]}


@pytest.fixture
def chat(project):
    path = project / "chat.jsonl"
    path.write_text('{"sessionId":"s1"}\n')
    return path


@pytest.fixture
def say(project, chat, fire):
    seconds = iter(range(60))

    def say(name, **fields):
        event = {
            "session_id": "s1", "transcript_path": str(chat), "cwd": str(project),
            "hook_event_name": name, "timestamp": f"2026-11-21T21:17:{next(seconds):02d}.366Z",
        }  # fmt: skip
        if name == "AfterTool":
            event |= {
                "tool_name": "run_shell_command",
                "tool_input": {"command": f"ls {next(seconds)}"},
            }
            event |= {"tool_response": {"llmContent": "Exit Code: 0"}}
        context = fire("gemini-cli", event | fields).get("hookSpecificOutput", {})
        return str(context.get("additionalContext", ""))

    return say


def write(chat, record):
    with chat.open("a") as file:
        file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")


def told(text):
    return {"type": "user", "content": [{"text": text}]}


def test_what_compression_took_comes_with_the_next_result(chat, say):
    say("SessionStart", source="startup")
    block = say("BeforeAgent", prompt=PROMPT)
    assert ITEM in block
    write(chat, told(block))
    assert say("AfterTool") == ""
    write(chat, {"$set": {"messages": [SUMMARY]}})
    assert say("AfterTool").count(ITEM) == 1
    assert say("AfterTool") == ""


def test_or_with_the_next_prompt(chat, say):
    say("SessionStart", source="startup")
    write(chat, told(say("BeforeAgent", prompt=PROMPT)))
    write(chat, {"$set": {"messages": [SUMMARY]}})
    assert say("BeforeAgent", prompt="rename the variable").count(ITEM) == 1
    assert say("BeforeAgent", prompt=PROMPT) == ""


@pytest.mark.parametrize("where", ["kept", "after"])
def test_what_is_still_in_the_chat_is_not_given_twice(chat, say, where):
    say("SessionStart", source="startup")
    block = say("BeforeAgent", prompt=PROMPT)
    left = [SUMMARY, told(block)] if where == "kept" else [SUMMARY]
    write(chat, {"$set": {"messages": left}})
    if where == "after":  # compressed before the request that brings the prompt
        write(chat, told(block))
    assert say("AfterTool") == ""


def test_a_session_without_lessons_notes_nothing(chat, say, project):
    (project / "lessons.toml").write_text("[hooks]\ncatalogue_tokens = 0\n")
    say("SessionStart", source="startup")
    assert say("BeforeAgent", prompt="rename the variable") == ""
    write(chat, {"$set": {"messages": [SUMMARY]}})
    assert say("AfterTool") == ""
