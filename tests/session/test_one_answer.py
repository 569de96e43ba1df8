"""An agent may run our hook twice for one event: the model and the user get one answer.

Codex 0.171 runs a command that stands in hooks.json and in config.toml twice, at the same moment.
Claude Code 2.1.332 does so for our plugin beside our hooks in its settings.
"""

import threading

import pytest

TITLES = "[LESSON_TITLES]"
PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
SPAWN = {"description": "d", "prompt": PROMPT, "subagent_type": "general-purpose"}


def start(session, source="startup", **how):
    return session.say("SessionStart", source=source, **how)


def count(text, *outputs):
    return sum(text in str(output) for output in outputs)


@pytest.mark.parametrize("agent", ["claude-code", "codex", "qwen-code", "copilot-cli"])
@pytest.mark.parametrize("source", ["startup", "clear"])
def test_the_titles_come_once_with_the_start(agent, source, session):
    one = session(agent)
    one.seconds -= 1
    first, second = start(one, source), start(one, source)
    assert count(TITLES, first) == 1
    assert second == {}


@pytest.mark.parametrize("agent", ["copilot-cli"])
def test_a_session_that_is_resumed_later_gets_them_again(agent, session):
    one = session(agent)
    assert TITLES in str(start(one, "resume"))
    one.prompt("rename the variable")
    assert TITLES in str(start(one, "resume"))


def test_an_answer_that_nobody_heard_is_given_to_the_process_that_asks_again(session):
    one, token = session("claude-code"), {"LESSONS_HOOK_TOKEN": "7-1"}
    assert TITLES in str(start(one, environment=token))
    again = {**token, "LESSONS_HOOK_AGAIN": "1"}
    assert TITLES in str(start(one, environment=again))
    assert start(one) == {}


def test_two_processes_at_the_same_moment(session, enter):
    one = session("claude-code")
    event = one.event("SessionStart", source="startup")
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(enter("claude-code", event)[0]))
        for _number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(TITLES, *answers) == 1


def test_each_subagent_gets_the_lessons_of_its_own_task(claude):
    claude.prompt("go on")
    other = {**SPAWN, "prompt": "rename the variable"}
    for _twice in range(2):
        assert claude.call("Pre", "Agent", SPAWN, 1) == {}
    for _twice in range(2):
        assert claude.call("Pre", "Agent", other, 2) == {}
    kind = {"agent_type": "general-purpose"}
    names = ("a", "a", "b", "b")
    given = [claude.say("SubagentStart", agent_id=name, **kind) for name in names]
    assert [ITEM in one.context for one in given] == [True, False, False, False]
    assert [TITLES in one.context for one in given] == [True, False, True, False]


def test_a_prompt_a_call_its_result_and_the_end_of_a_turn(session):
    one = session("claude-code")
    start(one)
    given = [one.prompt(PROMPT, 1) for _twice in range(2)]
    assert count(ITEM, *given) == 1
    edits = [one.edit("bot/run.py", 1) for _twice in range(2)]
    assert count("once more", *edits) == 1
    gated = [one.edit("migrations/1.sql", 2) for _twice in range(2)]
    assert count("permission", *gated) == 1
    assert one.edit("migrations/1.sql", 9).asked, "nobody was asked about the refused call"
    for number in (3, 4, 5):
        failed = [one.run("make", number, "Failed", error="Exit code 3") for _twice in range(2)]
        assert count("guidance injected", *failed) == (number == 5)
    one.edit("bot/run.py", 1, "Post", tool_response={"filePath": "bot/run.py"})
    answer = "I changed the handler. I left the tests for a follow-up."
    ends = [one.stop(answer) for _twice in range(2)]
    assert count("systemMessage", *ends) == 1
