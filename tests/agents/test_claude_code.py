"""Claude Code: every event answered in its form, and what only its transcript tells."""

import json

import pytest

from lessons_kb import Brain
from tests.kit import read_troubles

PROMPT = "Add a telegram command that restarts the service"


def event(project, name, **fields):
    common = {
        "session_id": "s1",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": name,
    }
    return common | fields


def called(project, name, tool, number, **fields):
    return event(project, name, tool_name=tool, tool_use_id=f"toolu_{number}", **fields)


def failed(project, number, command="npm test"):
    return called(
        project,
        "PostToolUseFailure",
        "Bash",
        number,
        tool_input={"command": f"{command} {number}"},
        error="Exit code 1\nError: Cannot find module",
        is_interrupt=False,
    )


def context(output):
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")


def refused(project, number, text, tool="Edit"):
    """Write to the transcript what a call leaves there that fires no hook."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {"n": number}}
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{number}",
        "is_error": True,
        "content": f"<tool_use_error>{text}</tool_use_error>",
    }
    with (project / "transcript.jsonl").open("a") as file:
        for kind, block in (("assistant", call), ("user", result)):
            file.write(json.dumps({"type": kind, "message": {"content": [block]}}) + "\n")


def test_a_prompt_brings_the_lesson_once(project, fire):
    first = fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT, prompt_id="p1"))
    assert "Reject every chat id" in context(first)
    assert first["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert first["systemMessage"] == "Lessons: 1 (lessons/telegram-allowlist.md)"
    again = fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT, prompt_id="p2"))
    assert again == {}


def test_the_same_prompt_reported_twice_is_one(project, fire):
    payload = event(project, "UserPromptSubmit", prompt=PROMPT, prompt_id="p1")
    fire("claude-code", payload)
    assert fire("claude-code", payload) == {}
    with Brain.discover(project) as brain:
        assert len(brain.journal.events(session="s1", kinds=["prompt"])) == 1


def test_what_is_said_in_the_middle_of_a_turn_is_answered_too(project, fire):
    payload = event(project, "UserPromptSubmit", prompt="nothing to do with it", prompt_id="p1")
    fire("claude-code", payload)
    assert "Reject every chat id" in context(fire("claude-code", payload | {"prompt": PROMPT}))


@pytest.mark.slow
def test_an_interrupt_and_its_reason_become_a_draft(project, fire, drafted):
    payload = event(project, "UserPromptSubmit", prompt="Migrate the database", prompt_id="p1")
    fire("claude-code", payload)
    said = {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}
    line = json.dumps({"type": "user", "uuid": "u1", "message": said}) + "\n"
    (project / "transcript.jsonl").write_text(line)
    reason = {"prompt": "never against the live data", "prompt_id": "p2"}
    fire("claude-code", payload | reason)
    fire("claude-code", event(project, "Stop", last_assistant_message="Understood."))
    drafted()
    with Brain.discover(project) as brain:
        kinds = [e.kind for e in brain.journal.events(session="s1")]
        assert kinds == ["prompt", "interrupt", "prompt", "answer"]
        assert [draft.kind for draft in brain.drafts.all()] == ["interrupt"]


def test_a_card_that_was_just_put_away_asks_no_more(project, fire):
    with Brain.open(project) as brain:
        (card,) = [card for card in brain.cards.all() if card.id.endswith("telegram-allowlist.md")]
    path = next(project.rglob("telegram-allowlist.md"))
    path.write_text(path.read_text().replace("paths:", "gate: ask\npaths:", 1))
    fire("claude-code", event(project, "UserPromptSubmit", prompt="rename it", prompt_id="p1"))
    edit = {"file_path": str(project / "bot" / "run.py"), "old_string": "a", "new_string": "b"}

    def ask(number):
        said = fire("claude-code", called(project, "PreToolUse", "Edit", number, tool_input=edit))
        return said.get("hookSpecificOutput", {}).get("permissionDecision", "")

    assert ask(1) == "ask"
    with Brain.open(project) as brain:
        brain.cards.set_status("ignored", card.id)
    assert ask(2) == ""


def test_an_unrelated_prompt_adds_nothing(project, fire):
    payload = event(project, "UserPromptSubmit", prompt="rename this variable please")
    assert fire("claude-code", payload) == {}


def begun(project, number):
    call = {"tool_input": {"command": f"npm test {number}"}}
    return called(project, "PreToolUse", "Bash", number, **call)


def made_together(project, message, *numbers):
    """Write calls to the transcript as Claude Code does: a line each, one message."""
    with (project / "transcript.jsonl").open("a") as file:
        for number in numbers:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
            said = {"id": message, "content": [block]}
            file.write(json.dumps({"type": "assistant", "message": said}) + "\n")


def test_calls_made_together_fail_once(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on"))
    made_together(project, "m1", 1, 2, 3)
    assert [fire("claude-code", failed(project, n)) for n in (2, 1, 3)] == [{}] * 3
    made_together(project, "m2", 4)
    assert fire("claude-code", failed(project, 4)) == {}
    made_together(project, "m3", 5, 6)
    assert "3 tool calls in a row failed" in context(fire("claude-code", failed(project, 5)))
    assert fire("claude-code", failed(project, 6)) == {}


def test_a_call_made_before_the_model_was_told_goes_on(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on"))
    made_together(project, "m0", 0)
    for number in range(1, 6):
        fire("claude-code", failed(project, number))
    made_together(project, "m6", 6, 7)
    assert "Stop here" in context(fire("claude-code", failed(project, 6)))
    assert "continue" not in fire("claude-code", begun(project, 7))
    made_together(project, "m8", 8)
    assert fire("claude-code", begun(project, 8))["continue"] is False


@pytest.mark.parametrize("ends", ["prompt", "success"])
def test_nothing_is_stopped_once_things_go_well(project, fire, ends):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on"))
    for number in range(1, 7):
        fire("claude-code", failed(project, number))
    if ends == "prompt":
        fire("claude-code", event(project, "UserPromptSubmit", prompt="try again"))
    else:
        done = {"tool_input": {"command": "ls"}, "tool_response": {"stdout": "a"}}
        assert "continue" not in fire(
            "claude-code", called(project, "PostToolUse", "Bash", 7, **done)
        )
    assert fire("claude-code", begun(project, 8)) == {}


def test_three_failures_bring_a_nudge_and_the_call_after_three_more_ends_the_turn(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on"))
    said = [fire("claude-code", failed(project, n)) for n in range(1, 7)]
    assert [bool(output) for output in said] == [False, False, True, False, False, True]
    assert "3 tool calls in a row failed" in context(said[2])
    assert said[2]["systemMessage"].startswith("Hit repeated")
    assert "continue" not in said[2]
    assert "Stop here: tell the user" in context(said[5])
    told = "Repeated errors persisted — asked the agent to stop and report."
    assert said[5]["systemMessage"] == told
    assert "continue" not in said[5], "the model is to read that"
    stopped = fire("claude-code", begun(project, 7))
    assert stopped["continue"] is False
    assert stopped["stopReason"] == "Repeated errors persisted — stopped the turn."
    assert fire("claude-code", begun(project, 8)) == {}


def test_one_failure_reported_twice_counts_once(project, fire):
    said = [fire("claude-code", failed(project, 1)) for _ in range(4)]
    assert said == [{}] * 4


def test_failures_that_fire_no_hook_are_read_from_the_transcript(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on"))
    refused(project, 1, "String to replace not found in file.")
    refused(project, 2, "Error: No such tool available: X", tool="X")
    said = fire("claude-code", failed(project, 3))
    assert "(invalid_arguments, tool_not_found, exec_error)" in context(said)


def test_what_the_transcript_held_before_the_session_is_not_counted(project, fire):
    for number in range(5):
        refused(project, number, "String to replace not found in file.")
    fire("claude-code", event(project, "SessionStart", source="resume"))
    assert fire("claude-code", failed(project, 9)) == {}


def test_a_partial_last_line_is_read_when_it_is_whole(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on"))
    refused(project, 1, "String to replace not found in file.")
    refused(project, 2, "String to replace not found in file.")
    whole = (project / "transcript.jsonl").read_bytes()
    (project / "transcript.jsonl").write_bytes(whole[:-30])
    assert fire("claude-code", failed(project, 3)) == {}
    (project / "transcript.jsonl").write_bytes(whole)
    assert "in a row failed" in context(fire("claude-code", failed(project, 4)))


def test_the_third_edit_without_a_look_is_noted(project, fire):
    said = [
        fire(
            "claude-code",
            called(
                project,
                "PostToolUse",
                "Edit",
                number,
                tool_input={
                    "file_path": str(project / "a.py"),
                    "old_string": f"{number}",
                    "new_string": "x",
                },
                tool_response={"filePath": str(project / "a.py")},
            ),
        )
        for number in range(3)
    ]
    assert said[:2] == [{}, {}]
    assert context(said[2]).startswith("Note: 3rd consecutive edit of a.py without a fresh read")


def test_a_guarded_file_brings_its_card_once(project, fire):
    def edit(number):
        arguments = {"file_path": str(project / "bot/run.py"), "old_string": "a"}
        return called(project, "PreToolUse", "Edit", number, tool_input=arguments)

    fire("claude-code", event(project, "UserPromptSubmit", prompt="rename this variable"))
    first = fire("claude-code", edit(1))
    assert "Telegram remote execution" in context(first)
    assert "permissionDecision" not in first["hookSpecificOutput"]
    assert fire("claude-code", edit(2)) == {}


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_command_that_reads_a_guarded_file_brings_no_card(agent, project, fire):
    def run(number, command):
        arguments = {"command": command}
        return fire(agent, called(project, "PreToolUse", "Bash", number, tool_input=arguments))

    (project / "bot/run.py").write_text("def handle(update): ...\n")
    asked = "what does handle() in bot/run.py return?"
    fire(agent, event(project, "UserPromptSubmit", prompt=asked))
    for number, command in enumerate(("cat bot/run.py", "grep -n def bot/*.py", "git diff bot")):
        assert run(number, command) == {}
    assert "Telegram remote execution" in context(run(9, "sed -i s/a/b/ bot/run.py"))


def test_a_card_given_with_the_prompt_is_not_given_before_the_edit(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT))
    arguments = {"file_path": str(project / "bot/run.py"), "old_string": "a"}
    assert fire("claude-code", called(project, "PreToolUse", "Edit", 1, tool_input=arguments)) == {}


def test_a_gate_asks_once_says_so_and_how_to_proceed(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="rename this variable"))
    arguments = {"command": "rm migrations/001.sql"}
    said = fire("claude-code", called(project, "PreToolUse", "Bash", 1, tool_input=arguments))
    specific = said["hookSpecificOutput"]
    assert specific["permissionDecision"] == "ask"
    assert specific["permissionDecisionReason"] == (
        "A lesson asks for your permission before migrations/001.sql is changed or run: "
        "“Never drop a column in the release that stops writing it” (lessons/drop-column.md). "
        "Approve to go on, or decline to leave the file as it is."
    )
    again = fire("claude-code", called(project, "PreToolUse", "Bash", 2, tool_input=arguments))
    assert again == {}


def test_a_turn_that_changed_nothing_is_counted_and_not_told(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT))
    assert fire("claude-code", event(project, "Stop", last_assistant_message="All done.")) == {}
    assert addressed(project) == (2, 0)


def addressed(project):
    """Return how many items of the card were looked for and seen in what was done."""
    with Brain.open(project) as brain:
        effect = brain.stats.effect("telegram-allowlist")
        return effect.checked, effect.addressed


def test_what_was_done_counts_in_the_post_check(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT))
    written = "def test_rejection_of_a_chat_id_not_on_the_allowlist(): cover the rejection"
    arguments = {"file_path": str(project / "tests/test_bot.py"), "content": written}
    fire("claude-code", called(project, "PostToolUse", "Write", 1, tool_input=arguments))
    answer = "I reject every chat id that is not on the allowlist."
    assert fire("claude-code", event(project, "Stop", last_assistant_message=answer)) == {}
    assert addressed(project) == (2, 2)


QUOTED = "Reject every chat id that is not on the allowlist\nCover the rejection with a test\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tool", "arguments", "response"),
    [
        ("PostToolUse", "Read", {"file_path": "docs/bot.txt"}, {"file": {"content": QUOTED}}),
        ("PostToolUse", "Bash", {"command": "cat docs/bot.txt"}, {"stdout": QUOTED * 40}),
        ("PostToolUse", "Bash", {"command": "git log -p -3"}, {"stdout": QUOTED * 40}),
        ("PostToolUse", "Bash", {"command": "pytest -q"}, {"stdout": QUOTED}),
        ("PostToolUse", "Grep", {"pattern": "chat"}, {"content": QUOTED, "stdout": QUOTED}),
        ("PostToolUse", "mcp__docs__fetch", {"url": "x"}, {"stdout": QUOTED}),
        ("PostToolUse", "WebFetch", {"url": "https://x.test"}, {"result": QUOTED}),
        ("PostToolUseFailure", "Bash", {"command": "make"}, {"stderr": QUOTED}),
        ("PostToolUseFailure", "Write", {"file_path": "a.py", "content": QUOTED}, {}),
        ("PostToolUse", "Write", {"file_path": "lessons/again.md", "content": QUOTED}, {}),
        ("PostToolUse", "Edit", {"file_path": "lessons.toml", "new_string": QUOTED}, {}),
        ("PostToolUse", "Bash", {"command": f"cat > lessons/new.md <<'E'\n{QUOTED}E"}, {}),
    ],
)
def test_what_was_read_and_the_brain_itself_are_no_evidence(
    project, fire, name, tool, arguments, response
):
    fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT))
    if "file_path" in arguments:
        arguments = arguments | {"file_path": str(project / arguments["file_path"])}
    extra = {"tool_response": response, "error": QUOTED} if response else {"error": QUOTED}
    for number in range(3):
        done = called(project, name, tool, number, tool_input=arguments, **extra)
        fire("claude-code", done)
    fire("claude-code", event(project, "Stop", last_assistant_message="All done."))
    assert addressed(project) == (2, 0)


def test_after_a_compaction_files_and_lessons_come_again(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT))
    arguments = {"file_path": str(project / "a.py")}
    fire("claude-code", called(project, "PostToolUse", "Read", 1, tool_input=arguments))
    said = context(fire("claude-code", event(project, "SessionStart", source="compact")))
    assert "Reject every chat id" in said
    assert "## Files Read\n- a.py" in said
    prompt = event(project, "UserPromptSubmit", prompt=PROMPT, prompt_id="later")
    assert fire("claude-code", prompt) == {}


def test_the_session_stays_where_it_began(project, fire, tmp_path):
    fire("claude-code", event(project, "SessionStart", source="startup"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    payload = event(project, "UserPromptSubmit", prompt=PROMPT) | {"cwd": str(elsewhere)}
    assert "Reject every chat id" in context(fire("claude-code", payload))


def test_the_agents_own_variable_names_the_project(project, fire, tmp_path):
    payload = event(project, "UserPromptSubmit", prompt=PROMPT) | {"cwd": str(tmp_path)}
    said = fire("claude-code", payload, {"CLAUDE_PROJECT_DIR": str(project)})
    assert "Reject every chat id" in context(said)


@pytest.mark.parametrize("name", ["PreCompact", "Notification", "SubagentStop", "NoSuchEvent", ""])
def test_other_events_are_passed_over(project, fire, name):
    assert fire("claude-code", event(project, name)) == {}
    assert read_troubles() == []


def test_a_new_prompt_clears_the_failures(project, fire):
    fire("claude-code", failed(project, 1))
    fire("claude-code", failed(project, 2))
    fire("claude-code", event(project, "UserPromptSubmit", prompt="try it another way"))
    said = [fire("claude-code", failed(project, number)) for number in (3, 4, 5)]
    assert [bool(context(output)) for output in said] == [False, False, True]


def test_a_subagent_has_guards_of_its_own(project, fire):
    fire("claude-code", failed(project, 1))
    fire("claude-code", failed(project, 2))
    assert fire("claude-code", failed(project, 3) | {"agent_id": "a1"}) == {}
    assert context(fire("claude-code", failed(project, 4)))


@pytest.mark.slow
def test_parallel_hooks_lose_no_failure(project, enter):
    import concurrent.futures

    fire_one = lambda number: enter("claude-code", failed(project, number))  # noqa: E731
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        said = list(pool.map(fire_one, range(6)))
    texts = [context(output) for output, _stderr in said if context(output)]
    assert len(texts) == 2
    assert sum("more tool calls" in text for text in texts) == 1


@pytest.mark.slow
def test_two_compactions_in_a_moment_each_bring_the_lessons_again(project, fire):
    fire("codex", event(project, "UserPromptSubmit", prompt=PROMPT, turn_id="t1"))
    record = project / "transcript.jsonl"
    for number in range(2):
        with record.open("a") as file:
            file.write(json.dumps({"type": "compacted", "payload": {"message": number}}) + "\n")
        start = event(project, "SessionStart", source="compact")
        assert "Reject every chat id" in context(fire("codex", start))
        assert fire("codex", start) == {}, "the same one, told by a second hook"


@pytest.mark.slow
def test_a_fork_has_the_lessons_of_what_it_is_a_copy_of(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt=PROMPT, prompt_id="p1"))
    fire("claude-code", event(project, "Stop", last_assistant_message="done"))
    start = {"source": "fork", "seconds_since_last_response": 1, "session_id": "s2"}
    fire("claude-code", event(project, "SessionStart") | start)
    asked = event(project, "UserPromptSubmit", prompt=PROMPT, prompt_id="p9") | {"session_id": "s2"}
    assert fire("claude-code", asked) == {}
    other = asked | {"session_id": "s3"}
    assert "Reject every chat id" in context(fire("claude-code", other))


@pytest.mark.parametrize(("end", "given"), [(2, False), (1, True)])
def test_a_fork_in_codex_has_the_lessons_of_what_its_record_names(end, given, project, fire):
    whole, copy = project / "s1.jsonl", project / "s2.jsonl"
    whole.write_text("".join(json.dumps({"ordinal": n}) + "\n" for n in range(2)))
    origin = {"id": "s2", "forked_from_id": "s1", "forked_from_ordinal_exclusive": end}
    copy.write_text(json.dumps({"type": "session_meta", "payload": origin}) + "\n")
    first = event(project, "UserPromptSubmit", prompt=PROMPT, turn_id="t1")
    fire("codex", first | {"transcript_path": str(whole)})
    second = {"session_id": "s2", "transcript_path": str(copy)}
    fire("codex", event(project, "SessionStart", source="fork") | second)
    asked = first | second | {"turn_id": "t2"}
    assert ("Reject every chat id" in context(fire("codex", asked))) is given, "a part may lack it"
