"""Gemini CLI compresses a chat by itself: only the file of the chat tells of it."""

import json

import pytest

PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
TITLE = "\nL1 Telegram remote execution"
SUMMARY = {"type": "user", "content": [{"text": "<state_snapshot>we added a command"}]}


@pytest.fixture
def gemini(session):
    gemini = session("gemini-cli")
    gemini.transcript.write_text('{"sessionId":"s1"}\n')
    gemini.say("SessionStart", source="startup")
    return gemini


def after(gemini):
    """What comes with the next result."""
    done = {"llmContent": "Exit Code: 0"}
    call = ("run_shell_command", {"command": f"ls {gemini.seconds}"})
    return gemini.call("Post", *call, tool_response=done).context


def write(gemini, record):
    with gemini.transcript.open("a") as file:
        file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")


def compress(gemini, *messages):
    write(gemini, {"$set": {"messages": [SUMMARY, *messages]}})


def told(text):
    return {"type": "user", "content": [{"text": text}]}


@pytest.mark.parametrize("then", [after, lambda gemini: gemini.prompt("rename it").context])
def test_what_compression_took_comes_with_the_next_result_or_prompt(gemini, then):
    block = gemini.prompt(PROMPT).context
    assert ITEM in block
    assert TITLE in block
    write(gemini, told(block))
    assert after(gemini) == ""
    compress(gemini)
    text = then(gemini)
    assert (text.count(ITEM), TITLE in text) == (1, True)
    assert after(gemini) == gemini.prompt(PROMPT).context == ""


@pytest.mark.parametrize("where", ["kept", "after"])
def test_what_is_still_in_the_chat_is_not_given_twice(gemini, where):
    block = told(gemini.prompt(PROMPT).context)
    compress(gemini, *([block] if where == "kept" else []))
    if where == "after":  # compressed before the request that brings the prompt
        write(gemini, block)
    assert after(gemini) == ""


def test_titles_alone_come_again_as_well_and_without_any_nothing_does(gemini, project):
    block = gemini.prompt("rename the variable").context
    compress(gemini, told(f"{block} and so on"))
    assert after(gemini) == ""
    compress(gemini)
    assert TITLE in after(gemini)
    (project / "lessons.toml").write_text("[hooks]\ncatalogue_tokens = 0\n")
    gemini.session = "s2"
    assert gemini.prompt("rename the variable").context == ""
    compress(gemini)
    assert after(gemini) == ""
