"""``gate: ask``: the user is asked before a change of a guarded file, once, and never for a read."""

import json
import os

import pytest

from lessons_kb import Brain

FILE = "migrations/001.sql"
TITLE = "Never drop a column"


@pytest.fixture(autouse=True)
def guarded(project):
    for name in (FILE, "migrations/002.sql", "src/app.py"):
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("select 1;\n")
    (project / "transcript.jsonl").touch()
    with Brain.open(project) as brain:
        brain.refresh()
    return project


def event(project, name, **fields):
    common = {
        "session_id": "s1",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": name,
    }
    return common | fields


def before(project, number, tool, arguments, **more):
    fields = {"tool_name": tool, "tool_use_id": f"toolu_{number}", "tool_input": arguments}
    return event(project, "PreToolUse", **fields, **more)


def run(project, command, number=1, **more):
    return before(project, number, "Bash", {"command": command}, **more)


def asked(output):
    specific = output.get("hookSpecificOutput", {})
    assert specific.get("permissionDecision") in (None, "ask")
    return specific.get("permissionDecisionReason", "")


def context(output):
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")


@pytest.mark.parametrize(
    "command",
    [
        f"psql -f {FILE}",
        f"psql --file={FILE} db",
        f"psql db < {FILE}",
        f"cat {FILE} | psql db",
        f"docker exec -i db psql -U app < {FILE}",
        f"sqlite3 app.db '.read {FILE}'",
        'for f in migrations/*.sql; do psql -f "$f"; done',
        "cd migrations && psql -f 001.sql",
        f'psql -f "$PWD/{FILE}"',
        f"psql --file=${{PWD}}/{FILE}",
        'cd "$PWD/migrations" && psql -f $PWD/001.sql',
        "psql -f migrations/003.sql",
        "cd migrations && psql -f 0010_new.sql",
        f"bash -c 'psql -f {FILE}'",
        f"sudo -u postgres psql -f {FILE}",
        f"./{FILE}",
        f"sed -i s/1/2/ {FILE}",
        f"sed --in-place s/1/2/ {FILE}",
        f"echo x > {FILE}",
        f"echo x | tee -a {FILE}",
        f"mv {FILE} /tmp",
        "mv /tmp/001.sql migrations/",
        f"cp other.sql {FILE}",
        "cp /tmp/001.sql migrations/",
        f"rm {FILE}",
        "rm migrations/*.sql",
        "rm -rf migrations",
        "find migrations -name '*.sql' -delete",
        f"git checkout -- {FILE}",
        "git checkout HEAD~1 -- migrations",
        "git restore .",
        f"git rm {FILE}",
        "git -C migrations checkout 001.sql",
        f"dd if=/dev/null of={FILE}",
        f"python3 -c \"open('{FILE}', 'w').write('x')\"",
        f"python3 - <<'EOF'\nfrom pathlib import Path\nPath('{FILE}').write_text('x')\nEOF",
    ],
)
def test_a_command_that_changes_or_runs_the_file_is_asked_about(command, project, fire):
    reason = asked(fire("claude-code", run(project, command)))
    assert TITLE in reason
    assert "migrations/00" in reason


@pytest.mark.parametrize(
    "command",
    [
        f"cat {FILE}",
        f"less {FILE}",
        f"head -5 {FILE}; tail -5 {FILE}; wc -l {FILE}",
        f"grep -n select {FILE} | head",
        "grep -rn select migrations > /tmp/found",
        f"sed -n 1,20p {FILE}",
        f"diff {FILE} migrations/002.sql",
        f"git diff {FILE}",
        f"git log -p -- {FILE} | cat",
        f"git show HEAD:{FILE}",
        "git diff; git log; git status",
        f"git add {FILE} && git commit -m 'checkout {FILE}'",
        f"cp {FILE} /tmp/",
        f"test -f {FILE} && echo {FILE}",
        f"while read line; do echo $line; done < {FILE}",
        "for f in migrations/*.sql; do cat $f; done",
        f"python3 -c \"print(open('{FILE}').read())\"",
        "ls -la migrations; find migrations -name '*.sql'",
        "npm run migrations",
        'psql -f "$PWD/src/app.sql"; cat "$PWD/migrations/001.sql"',
        "psql -f elsewhere/migrations/001.sql",
        "docker run registry.io/migrations/x.sql",
        "sed -i s/1/2/ src/app.py",
        "rm -f /*/*/*/*/*/*/*",
        "rm -f 'a\0/*'",
    ],
)
def test_a_command_that_reads_the_file_is_not(command, project, fire):
    assert asked(fire("claude-code", run(project, command))) == ""


@pytest.mark.parametrize("home", ["$HOME", "${HOME}", "~"])
def test_a_command_that_names_the_file_from_home_is_asked_about(home, project, fire):
    path = f"{home}/{os.path.relpath(project, os.environ['HOME'])}/{FILE}"
    asks = fire("claude-code", run(project, f"cd /tmp && psql -f {path}"))
    assert TITLE in asked(asks)
    assert asked(fire("claude-code", run(project, f"cat {path}", session_id="s2"))) == ""


def test_edits_and_creations_are_asked_about_and_reads_are_not(project, fire):
    path = str(project / FILE)
    assert fire("claude-code", before(project, 1, "Read", {"file_path": path})) == {}
    edit = {"file_path": path, "old_string": "1", "new_string": "2"}
    assert FILE in asked(fire("claude-code", before(project, 2, "Edit", edit)))
    new = {"file_path": str(project / "migrations/003.sql"), "content": "x"}
    assert "migrations/003.sql" in asked(fire("claude-code", before(project, 3, "Write", new)))


def test_the_reason_says_that_permission_is_asked_and_how_to_proceed(project, fire):
    reason = asked(fire("claude-code", run(project, f"rm {FILE}")))
    assert reason == (
        "A lesson asks for your permission before migrations/001.sql is changed or run: “Never "
        "drop a column in the release that stops writing it” (lessons/drop-column.md). "
        "Approve to go on, or decline to leave the file as it is."
    )


def test_once_a_file_and_session_a_read_before_does_not_count(project, fire):
    assert not asked(fire("claude-code", run(project, f"cat {FILE}", 1)))
    assert FILE in asked(fire("claude-code", run(project, f"rm {FILE}", 2)))
    assert fire("claude-code", run(project, f"sed -i s/a/b/ {FILE}", 3)) == {}
    second = asked(fire("claude-code", run(project, "rm migrations/*.sql", 4)))
    assert "migrations/002.sql" in second
    assert FILE not in second
    other = run(project, f"rm {FILE}", 5, session_id="s2")
    assert FILE in asked(fire("claude-code", other))


def test_a_file_that_the_question_did_not_name_is_asked_about_again(project, fire):
    for number in range(10, 20):
        (project / "migrations" / f"0{number}.sql").write_text("select 1;\n")
    first = asked(fire("claude-code", run(project, "rm -rf migrations")))
    named = [n for n in range(10, 20) if f"0{n}.sql" in first]
    assert "more" in first
    unnamed = next(n for n in range(10, 20) if n not in named)
    assert f"0{unnamed}.sql" in asked(
        fire("claude-code", run(project, f"rm migrations/0{unnamed}.sql", 2))
    )


def test_the_folder_that_git_works_in_is_not_what_it_changes(project, fire):
    reason = asked(fire("claude-code", run(project, f"git -C . checkout -- {FILE}")))
    assert FILE in reason
    assert "more" not in reason


@pytest.mark.parametrize(
    ("fields", "environment"),
    [
        ({}, {"CLAUDE_CODE_SESSION_ATTENDED": "0"}),
        ({}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}),
        ({"permission_mode": "bypassPermissions"}, {"CLAUDE_CODE_SESSION_ATTENDED": "1"}),
        ({"permission_mode": "dontAsk"}, {}),
    ],
)
def test_where_nobody_can_answer_it_is_context(fields, environment, project, fire):
    said = fire("claude-code", run(project, f"rm {FILE}", **fields), environment)
    assert not asked(said)
    assert "Drop the column one release later" in context(said)
    assert "nobody can be asked here" in context(said)
    assert fire("claude-code", run(project, f"rm {FILE}", 2, **fields), environment) == {}


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto", "plan"])
def test_where_the_user_is_there_the_mode_does_not_matter(mode, project, fire):
    payload = run(project, f"rm {FILE}", permission_mode=mode)
    environment = {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    assert asked(fire("claude-code", payload, environment))


def test_an_agent_that_cannot_ask_is_given_the_card(project, fire):
    payload = run(project, f"rm {FILE}") | {"turn_id": "t1", "model": "gpt-5"}
    said = fire("codex", payload)
    assert not asked(said)
    assert "Drop the column one release later" in context(said)
    assert "nobody can be asked here" in context(said)


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
    "was a file edit, the new_string was NOT written to the file)."
)
STOP = f"{REFUSED} STOP what you are doing and wait for the user to tell you how to proceed."
SAID = f"{REFUSED} To tell you how to proceed, the user said:\nnever touch the live schema"


def write_refusal(project, command, text, tool="Bash", **more):
    """Write what Claude Code 2.1.328 writes when a call is refused at its question."""
    use = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": text}
    sent = {"role": "user", "content": [result]}
    lines = [
        {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
        {"type": "user", "message": sent, "toolDenialKind": "user-rejected", **more},
        # A copy of what was sent to the model.
        {"type": "api-request-blob", "hash": "0a", "message": sent},
    ]
    with (project / "transcript.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def refuse(project, fire, command, text, **more):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on", prompt_id="p1"))
    fire("claude-code", run(project, command))
    write_refusal(project, command, text, **more)
    prompt = {"prompt": "Then leave the column alone please", "prompt_id": "p2"}
    fire("claude-code", event(project, "UserPromptSubmit", **prompt))
    fire("claude-code", event(project, "Stop", last_assistant_message="finished"))


@pytest.fixture
def journal(project, drafted):
    """Return (tool, outcome) of the session's calls, and the kinds of the drafts made of it."""

    def read():
        drafted()
        with Brain.discover(project) as brain:
            calls = [e for e in brain.journal.events(session="s1") if e.tool]
            return [(e.tool, e.outcome) for e in calls], [d.kind for d in brain.drafts.all()]

    return read


@pytest.mark.slow
def test_esc_at_the_question_makes_no_draft_and_one_event(project, fire, journal):
    refuse(project, fire, f"rm {FILE}", STOP, toolDenialBeforeRun=True)
    assert journal() == ([("Bash", "permission_denied")], [])
    # What was declined is asked about again.
    assert FILE in asked(fire("claude-code", run(project, f"rm {FILE}", 2)))


@pytest.mark.slow
@pytest.mark.parametrize("text", [STOP, f"{STOP} The user said: not now"])
@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("mcp__lessons__lessons_search", "retry of a webhook"),
        ("mcp__plugin_lessons_lessons__lessons_propose", "x"),
        ("mcp_lessons_lessons_bump", "x"),
        ("lessons-lessons_get", "x"),
        ("Bash", "lessons review --json"),
        ("Bash", "cd sub && /home/dev/.venv/bin/lessons review"),
    ],
)
def test_declining_to_work_with_lessons_makes_no_draft(project, fire, journal, tool, command, text):
    refuse(project, fire, command, text, tool=tool, toolDenialBeforeRun=True)
    assert journal() == ([(tool, "permission_denied")], [])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["cat lessons", "rm -r lessons", "make other_lessons_x"])
def test_declining_another_command_still_does(project, fire, journal, command):
    refuse(project, fire, command, STOP, toolDenialBeforeRun=True)
    assert journal() == ([("Bash", "permission_denied")], ["rejection"])


def test_esc_at_the_question_brings_the_lesson_with_the_next_prompt(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on", prompt_id="p1"))
    declined = context(fire("claude-code", run(project, f"rm {FILE}")))
    assert "Drop the column one release later" in declined
    write_refusal(project, f"rm {FILE}", STOP, toolDenialBeforeRun=True)
    prompts = [
        event(project, "UserPromptSubmit", prompt=f"another way, {number}", prompt_id=f"p{number}")
        for number in (2, 3)
    ]
    assert [context(fire("claude-code", prompt)) for prompt in prompts] == [declined, ""]
    again = fire("claude-code", run(project, f"rm {FILE}", 2))
    assert FILE in asked(again)
    assert context(again) == ""


def test_what_was_approved_brings_it_no_second_time(project, fire):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on", prompt_id="p1"))
    first = run(project, f"sed -i s/1/2/ {FILE}")
    assert context(fire("claude-code", first))
    ended = first | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}}
    assert context(fire("claude-code", ended)) == ""
    prompt = event(project, "UserPromptSubmit", prompt="another way", prompt_id="p2")
    assert context(fire("claude-code", prompt)) == ""


@pytest.mark.slow
def test_what_the_user_says_at_the_question_still_makes_one(project, fire, journal):
    refuse(project, fire, f"rm {FILE}", SAID, userFeedback="never touch the live schema")
    assert journal() == ([("Bash", "permission_denied")], ["rejection"])


@pytest.mark.slow
def test_a_refusal_at_the_agent_s_own_question_still_makes_one(project, fire, journal):
    refuse(project, fire, "rm -rf build", STOP, toolDenialBeforeRun=True)
    assert journal() == ([("Bash", "permission_denied")], ["rejection"])


@pytest.mark.slow
def test_esc_while_a_call_runs_is_cancelled_once(project, fire, journal):
    refuse(project, fire, "python3 wait.py", STOP)
    calls, drafts = journal()
    assert calls == [("Bash", "cancelled")]
    assert drafts == ["interrupt"]


@pytest.mark.slow
def test_esc_while_a_call_runs_and_no_reason_is_no_draft(project, fire, journal):
    fire("claude-code", event(project, "UserPromptSubmit", prompt="wait", prompt_id="p1"))
    fire("claude-code", run(project, "python3 wait.py"))
    write_refusal(project, "python3 wait.py", STOP)
    fire("claude-code", event(project, "UserPromptSubmit", prompt="go on", prompt_id="p2"))
    fire("claude-code", event(project, "Stop", last_assistant_message="finished"))
    assert journal() == ([("Bash", "cancelled")], [])


@pytest.mark.parametrize("begun", [{"initial_prompt": "go on with it"}, {}])
def test_copilot_is_not_asked_where_its_prompt_came_with_the_command(begun, project, fire):
    def say(name, **fields):
        common = {"session_id": "s1", "cwd": str(project), "timestamp": "2026-11-23T07:31:21.082Z"}
        return fire("copilot-cli", common | {"hook_event_name": name} | fields)

    say("SessionStart", source="new", **begun)
    command = {"command": f"sed -i s/1/2/ {FILE}"}
    said = say("PreToolUse", tool_name="Bash", tool_input=command)
    assert said.get("permissionDecision") == (None if begun else "ask")
    assert ("nobody can be asked" in context(said)) == bool(begun)
