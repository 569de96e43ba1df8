"""Claude Code: every event answered in its form, and what only its transcript tells."""

import concurrent.futures
import json

import pytest

from lessons_kb import Brain
from tests.kit import read_troubles
from tests.sessions import record_failure

PROMPT = "Add a telegram command that restarts the service"
ITEM = "Reject every chat id"
LOST = "String to replace not found in file."


def begun(claude, number):
    return claude.run(f"npm test {number}", number)


def fail(claude, number, **fields):
    error = "Exit code 1\nError: Cannot find module"
    return claude.run(f"npm test {number}", number, "Failed", error=error, **fields)


def refused(claude, number, text=LOST, tool="Edit"):
    """Write to the transcript what a call leaves there that fires no hook."""
    error = f"<tool_use_error>{text}</tool_use_error>"
    record_failure(claude, number, f"{number}", tool, error)


def made_together(claude, message, *numbers):
    """Write calls to the transcript as Claude Code does: a line each, one message."""
    for number in numbers:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
        claude.record({"type": "assistant", "message": {"id": message, "content": [block]}})


def test_a_prompt_brings_the_lesson_once(claude, project):
    claude.say("SessionStart", source="startup")
    assert claude.prompt("nothing to do with it") == {}
    first = claude.prompt(PROMPT)  # said in the middle of the turn: it has the same id
    assert ITEM in first.context
    assert first["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert (
        first["systemMessage"]
        == "Lessons: 1 (“Telegram remote execution must require an allowlist”)"
    )
    assert claude.prompt(PROMPT) == {}, "reported twice"
    assert claude.prompt(PROMPT, 2) == {}
    with Brain.discover(project) as brain:
        assert len(brain.journal.events(session="s1", kinds=["prompt"])) == 3


@pytest.mark.slow
def test_an_interrupt_and_its_reason_become_a_draft(claude, project, drafted):
    claude.prompt("Migrate the database")
    said = {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
    claude.record({"type": "user", "uuid": "u1", "message": said})
    claude.prompt("never against the live data", 2)
    claude.stop("Understood.")
    drafted()
    with Brain.discover(project) as brain:
        kinds = [e.kind for e in brain.journal.events(session="s1")]
        assert kinds == ["prompt", "interrupt", "prompt", "answer"]
        assert [draft.kind for draft in brain.drafts.all()] == ["interrupt"]


def test_a_card_that_was_just_put_away_asks_no_more(claude, project):
    path = next(project.rglob("telegram-allowlist.md"))
    path.write_text(path.read_text().replace("paths:", "gate: ask\npaths:", 1))
    claude.prompt("rename it")
    assert claude.run("rm bot/run.py", 1).asked
    with Brain.open(project, directory=project) as brain:
        brain.cards.set_status("ignored", "telegram-allowlist")
    assert not claude.run("rm bot/run.py", 2).asked


def test_calls_made_together_fail_once(claude):
    claude.prompt("go on")
    made_together(claude, "m1", 1, 2, 3)
    assert [fail(claude, n) for n in (2, 1, 3)] == [{}] * 3
    made_together(claude, "m2", 4)
    assert fail(claude, 4) == {}
    made_together(claude, "m3", 5, 6)
    assert "3 tool calls in a row failed" in fail(claude, 5).context
    assert fail(claude, 6) == {}


def test_a_call_made_before_the_model_was_told_goes_on(claude):
    claude.prompt("go on")
    made_together(claude, "m0", 0)
    for number in range(1, 6):
        fail(claude, number)
    made_together(claude, "m6", 6, 7)
    assert "Stop here" in fail(claude, 6).context
    assert "continue" not in begun(claude, 7)
    made_together(claude, "m8", 8)
    assert begun(claude, 8)["continue"] is False


@pytest.mark.parametrize("ends", ["prompt", "success"])
def test_nothing_is_stopped_once_things_go_well(claude, ends):
    claude.prompt("go on")
    for number in range(1, 7):
        fail(claude, number)
    if ends == "prompt":
        claude.prompt("try again", 2)
    else:
        assert "continue" not in claude.run("ls", 7, "Post", tool_response={"stdout": "a"})
    assert begun(claude, 8) == {}


def test_three_failures_bring_a_nudge_and_the_call_after_three_more_ends_the_turn(claude):
    claude.prompt("go on")
    said = [fail(claude, n) for n in range(1, 7)]
    assert [bool(output) for output in said] == [False, False, True, False, False, True]
    assert "3 tool calls in a row failed" in said[2].context
    assert said[2]["systemMessage"].startswith("Hit repeated")
    assert "continue" not in said[2]
    assert "Stop here: tell the user" in said[5].context
    told = "Repeated errors persisted — asked the agent to stop and report."
    assert said[5]["systemMessage"] == told
    assert "continue" not in said[5], "the model is to read that"
    stopped = begun(claude, 7)
    assert stopped["continue"] is False
    assert stopped["stopReason"] == "Repeated errors persisted — stopped the turn."
    assert begun(claude, 8) == {}


def test_one_failure_reported_twice_counts_once(claude):
    assert [fail(claude, 1) for _ in range(4)] == [{}] * 4


def test_failures_that_fire_no_hook_are_read_from_the_transcript_as_whole_lines(claude):
    for number in range(5):
        refused(claude, number)
    claude.say("SessionStart", source="resume")
    assert fail(claude, 9) == {}, "it held them before the session"
    claude.prompt("go on")
    refused(claude, 21)
    refused(claude, 22, "Error: No such tool available: X", tool="X")
    whole = claude.transcript.read_bytes()
    claude.transcript.write_bytes(whole[:-30])
    assert fail(claude, 3) == {}
    claude.transcript.write_bytes(whole)
    assert "(invalid_arguments, exec_error, tool_not_found)" in fail(claude, 4).context


def addressed(project):
    """Return how many items of the card were looked for and seen in what was done."""
    with Brain.open(project, directory=project) as brain:
        effect = brain.stats.effect("telegram-allowlist")
        return effect.checked, effect.addressed


@pytest.mark.parametrize(("writes", "seen"), [(False, 0), (True, 2)])
def test_what_was_done_counts_in_the_post_check_and_nothing_is_told(claude, project, writes, seen):
    claude.prompt(PROMPT)
    if writes:
        written = "def test_rejection_of_a_chat_id_not_on_the_allowlist(): cover the rejection"
        arguments = {"file_path": str(project / "tests/test_bot.py"), "content": written}
        claude.call("Post", "Write", arguments)
    said = "I reject every chat id that is not on the allowlist." if writes else "All done."
    assert claude.stop(said) == {}
    assert addressed(project) == (2, seen)


QUOTED = "Reject every chat id that is not on the allowlist\nCover the rejection with a test\n"


@pytest.mark.slow
@pytest.mark.parametrize(("when", "tool", "arguments", "response"), [
    ("Post", "Read", {"file_path": "docs/bot.txt"}, {"file": {"content": QUOTED}}),
    *(("Post", "Bash", {"command": command}, {"stdout": QUOTED * 40})
      for command in ("cat docs/bot.txt", "git log -p -3", "pytest -q")),
    ("Post", "Grep", {"pattern": "chat"}, {"content": QUOTED, "stdout": QUOTED}),
    ("Post", "mcp__docs__fetch", {"url": "x"}, {"stdout": QUOTED}),
    ("Post", "WebFetch", {"url": "https://x.test"}, {"result": QUOTED}),
    ("Failed", "Bash", {"command": "make"}, {"stderr": QUOTED}),
    ("Failed", "Write", {"file_path": "a.py", "content": QUOTED}, {}),
    ("Post", "Write", {"file_path": "lessons/again.md", "content": QUOTED}, {}),
    ("Post", "Edit", {"file_path": "lessons.toml", "new_string": QUOTED}, {}),
    ("Post", "Bash", {"command": f"cat > lessons/new.md <<'E'\n{QUOTED}E"}, {}),
])  # fmt: skip
def test_what_was_read_and_the_brain_itself_are_no_evidence(
    claude, project, when, tool, arguments, response
):
    claude.prompt(PROMPT)
    if "file_path" in arguments:
        arguments = arguments | {"file_path": str(project / arguments["file_path"])}
    extra = {"tool_response": response, "error": QUOTED} if response else {"error": QUOTED}
    for number in range(3):
        claude.call(when, tool, arguments, number, **extra)
    claude.stop("All done.")
    assert addressed(project) == (2, 0)


def test_the_session_stays_where_it_began_or_where_the_agents_variable_says(claude, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    named = {"CLAUDE_PROJECT_DIR": str(claude.project)}
    asked = {"cwd": str(elsewhere), "session_id": "s2"}
    assert ITEM in claude.prompt(PROMPT, environment=named, **asked).context
    claude.say("SessionStart", source="startup")
    assert ITEM in claude.prompt(PROMPT, cwd=str(elsewhere)).context


@pytest.mark.parametrize("name", ["PreCompact", "Notification", "SubagentStop", "NoSuchEvent", ""])
def test_other_events_are_passed_over(claude, name):
    assert claude.say(name) == {}
    assert read_troubles() == []


def test_a_new_prompt_clears_the_failures_and_a_subagent_has_its_own(claude):
    fail(claude, 1)
    fail(claude, 2)
    assert fail(claude, 3, agent_id="a1") == {}
    claude.prompt("try it another way")
    assert [bool(fail(claude, n).context) for n in (4, 5, 6)] == [False, False, True]


@pytest.mark.slow
def test_parallel_hooks_lose_no_failure(claude, enter):
    def fire_one(number):
        error = {"error": "Exit code 1", "tool_use_id": f"t{number}", "tool_name": "Bash"}
        call = {"tool_input": {"command": f"npm test {number}"}, **error}
        return enter("claude-code", claude.event("PostToolUseFailure", **call))[0]

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        said = [json.dumps(output) for output in pool.map(fire_one, range(6)) if output]
    assert len(said) == 2
    assert sum("more tool calls" in text for text in said) == 1


@pytest.mark.slow
def test_two_compactions_in_a_moment_each_bring_the_lessons_again(claude):
    claude.agent = "codex"
    claude.prompt(PROMPT)
    for number in range(2):
        claude.record({"type": "compacted", "payload": {"message": number}})
        assert ITEM in claude.say("SessionStart", source="compact").context
        assert claude.say("SessionStart", source="compact") == {}, "told by a second hook"
