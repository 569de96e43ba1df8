"""``gate: ask``: the user is asked before a change of a guarded file, once, and never for a read."""

import json
import os

import pytest

from lessons_kb import Brain
from tests.sessions import record_failure

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


CHANGING = [
    f"psql -f {FILE}", f"psql --file={FILE} db", f"psql db < {FILE}", f"cat {FILE} | psql db",
    f"docker exec -i db psql -U app < {FILE}", f"sqlite3 app.db '.read {FILE}'",
    'for f in migrations/*.sql; do psql -f "$f"; done', "cd migrations && psql -f 001.sql",
    f'psql -f "$PWD/{FILE}"', f"psql --file=${{PWD}}/{FILE}",
    'cd "$PWD/migrations" && psql -f $PWD/001.sql', "psql -f migrations/003.sql",
    "cd migrations && psql -f 0010_new.sql", f"bash -c 'psql -f {FILE}'",
    f"sudo -u postgres psql -f {FILE}", f"./{FILE}", f"sed -i s/1/2/ {FILE}",
    f"sed --in-place s/1/2/ {FILE}", f"echo x > {FILE}", f"echo x | tee -a {FILE}",
    f"mv {FILE} /tmp", "mv /tmp/001.sql migrations/", f"cp other.sql {FILE}",
    "cp /tmp/001.sql migrations/", f"rm {FILE}", "rm migrations/*.sql", "rm -rf migrations",
    "find migrations -name '*.sql' -delete", f"git checkout -- {FILE}",
    "git checkout HEAD~1 -- migrations", "git restore .", f"git rm {FILE}",
    "git -C migrations checkout 001.sql", f"dd if=/dev/null of={FILE}",
    f"python3 -c \"open('{FILE}', 'w').write('x')\"",
    f"python3 - <<'EOF'\nfrom pathlib import Path\nPath('{FILE}').write_text('x')\nEOF",
]  # fmt: skip


@pytest.mark.slow
def test_a_command_that_changes_or_runs_the_file_is_asked_about(claude):
    for number, command in enumerate(CHANGING):
        reason = claude.run(command, session_id=f"c{number}").asked
        assert TITLE in reason, command
        assert "migrations/00" in reason, command


READING = [
    f"cat {FILE}", f"less {FILE}", f"head -5 {FILE}; tail -5 {FILE}; wc -l {FILE}",
    f"grep -n select {FILE} | head", "grep -rn select migrations > /tmp/found",
    f"sed -n 1,20p {FILE}", f"diff {FILE} migrations/002.sql", f"git diff {FILE}",
    f"git log -p -- {FILE} | cat", f"git show HEAD:{FILE}", "git diff; git log; git status",
    f"git add {FILE} && git commit -m 'checkout {FILE}'", f"cp {FILE} /tmp/",
    f"test -f {FILE} && echo {FILE}", f"while read line; do echo $line; done < {FILE}",
    "for f in migrations/*.sql; do cat $f; done", f"python3 -c \"print(open('{FILE}').read())\"",
    "ls -la migrations; find migrations -name '*.sql'", "npm run migrations",
    'psql -f "$PWD/src/app.sql"; cat "$PWD/migrations/001.sql"',
    "psql -f elsewhere/migrations/001.sql", "docker run registry.io/migrations/x.sql",
    "sed -i s/1/2/ src/app.py", "rm -f /*/*/*/*/*/*/*", "rm -f 'a\0/*'",
]  # fmt: skip


def test_a_command_that_reads_the_file_is_not(claude):
    for number, command in enumerate(READING):
        assert claude.run(command, session_id=f"r{number}") == {}, command


@pytest.mark.parametrize("home", ["$HOME", "${HOME}", "~"])
def test_a_command_that_names_the_file_from_home_is_asked_about(home, claude):
    path = f"{home}/{os.path.relpath(claude.project, os.environ['HOME'])}/{FILE}"
    assert TITLE in claude.run(f"cd /tmp && psql -f {path}").asked
    assert claude.run(f"cat {path}", session_id="s2").asked == ""


def test_edits_and_creations_are_asked_about_and_reads_are_not(claude, project):
    assert claude.call("Pre", "Read", {"file_path": str(project / FILE)}) == {}
    new = {"file_path": str(project / "migrations/003.sql"), "content": "x"}
    # The dialogs of these show no reason: a refusal, which does, comes first.
    assert FILE in claude.edit(FILE, 2).refused
    assert FILE in claude.edit(FILE, 3).asked
    assert "migrations/003.sql" in claude.call("Pre", "Write", new, 4).refused
    assert "migrations/003.sql" in claude.call("Pre", "Write", new, 5).asked


def test_once_a_file_and_session_a_read_before_does_not_count(claude):
    assert not claude.run(f"cat {FILE}", 1).asked
    assert FILE in claude.run(f"rm {FILE}", 2).asked
    assert claude.run(f"sed -i s/a/b/ {FILE}", 3) == {}
    second = claude.run("rm migrations/*.sql", 4).asked
    assert "migrations/002.sql" in second
    assert FILE not in second
    assert FILE in claude.run(f"rm {FILE}", 5, session_id="s2").asked


def test_a_file_that_the_question_did_not_name_is_asked_about_again(claude, project):
    for number in range(10, 20):
        (project / "migrations" / f"0{number}.sql").write_text("select 1;\n")
    first = claude.run("rm -rf migrations").asked
    unnamed = next(n for n in range(10, 20) if f"0{n}.sql" not in first)
    assert "more" in first
    assert f"0{unnamed}.sql" in claude.run(f"rm migrations/0{unnamed}.sql", 2).asked


def test_the_folder_that_git_works_in_is_not_what_it_changes(claude):
    reason = claude.run(f"git -C . checkout -- {FILE}").asked
    assert FILE in reason
    assert "more" not in reason


SDK, ATTENDED = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {"CLAUDE_CODE_SESSION_ATTENDED": "1"}


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "mode", "environment"), [
    ("claude-code", "default", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}),
    ("claude-code", "default", SDK),
    ("claude-code", "bypassPermissions", ATTENDED),
    ("claude-code", "dontAsk", {}),
    ("codex", "default", {}),  # it cannot ask
])  # fmt: skip
def test_where_nobody_can_answer_it_is_context(agent, mode, environment, claude):
    claude.agent = agent
    how = {"permission_mode": mode, "environment": environment}
    how |= {"turn_id": "t1"} if agent == "codex" else {}
    said = claude.run(f"rm {FILE}", **how)
    assert not said.asked
    assert "Drop the column one release later" in said.context
    assert "nobody can be asked here" in said.context
    assert claude.run(f"rm {FILE}", 2, **how) == {}


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto", "plan"])
def test_where_the_user_is_there_the_mode_does_not_matter(mode, claude):
    environment = {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    assert claude.run(f"rm {FILE}", environment=environment, permission_mode=mode).asked


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
    "was a file edit, the new_string was NOT written to the file)."
)
STOP = f"{REFUSED} STOP what you are doing and wait for the user to tell you how to proceed."
SAID = f"{REFUSED} To tell you how to proceed, the user said:\nnever touch the live schema"
BEFORE = {"toolDenialBeforeRun": True}


def write_refusal(claude, command, text, tool="Bash", **more):
    """Write what Claude Code 2.1.328 writes when a call is refused at its question."""
    record_failure(claude, 1, command, tool, text, toolDenialKind="user-rejected", **more)
    sent = json.loads(claude.transcript.read_text().splitlines()[-1])["message"]
    # A copy of what was sent to the model.
    claude.record({"type": "api-request-blob", "hash": "0a", "message": sent})


@pytest.fixture
def refuse(claude, drafted):
    """Let a call be refused: (tool, outcome) of the session's calls, the kinds of its drafts."""

    def refuse(command, text, reason="Then leave the column alone please", **more):
        claude.prompt("go on")
        claude.run(command)
        write_refusal(claude, command, text, **more)
        claude.prompt(reason, 2)
        claude.stop()
        drafted()
        with Brain.discover(claude.project) as brain:
            calls = [e for e in brain.journal.events(session="s1") if e.tool]
            return [(e.tool, e.outcome) for e in calls], [d.kind for d in brain.drafts.all()]

    return refuse


WITH_LESSONS = [
    ("mcp__lessons__lessons_search", "retry of a webhook"),
    ("mcp__plugin_lessons_lessons__lessons_propose", "x"), ("mcp_lessons_lessons_bump", "x"),
    ("lessons-lessons_get", "x"), ("Bash", "lessons review --json"),
    ("Bash", "cd sub && /home/dev/.venv/bin/lessons review"),
]  # fmt: skip
DENIED, FEEDBACK = "permission_denied", {"userFeedback": "never touch the live schema"}


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "command", "text", "more", "outcome", "drafts"), [
    *((*call, text, BEFORE, DENIED, [])
      for call in WITH_LESSONS for text in (STOP, f"{STOP} The user said: not now")),
    # declining another command tells no mistake, saying why does
    *(("Bash", command, STOP, BEFORE, DENIED, [])
      for command in ("cat lessons", "rm -r lessons", "make other_lessons_x", "rm -rf build")),
    ("Bash", f"rm {FILE}", SAID, FEEDBACK, DENIED, ["rejection"]),
    # Esc while a call runs, with a reason and without
    ("Bash", "python3 wait.py", STOP, {}, "cancelled", ["interrupt"]),
    ("Bash", "python3 wait.py", STOP, {"reason": "go on"}, "cancelled", []),
])  # fmt: skip
def test_what_is_declined_or_stopped_is_one_event(
    refuse, tool, command, text, more, outcome, drafts
):
    assert refuse(command, text, tool=tool, **more) == ([(tool, outcome)], drafts)


@pytest.mark.slow
def test_esc_at_the_question_makes_no_draft_and_it_is_asked_again(claude, refuse):
    assert refuse(f"rm {FILE}", STOP, **BEFORE) == ([("Bash", DENIED)], [])
    assert FILE in claude.run(f"rm {FILE}", 2).asked


def test_esc_at_the_question_brings_the_lesson_with_the_next_prompt(claude):
    claude.prompt("go on")
    declined = claude.run(f"rm {FILE}").context
    assert "Drop the column one release later" in declined
    write_refusal(claude, f"rm {FILE}", STOP, **BEFORE)
    assert [claude.prompt(f"another way, {n}", n).context for n in (2, 3)] == [declined, ""]
    again = claude.run(f"rm {FILE}", 2)
    assert FILE in again.asked
    assert again.context == ""


def test_what_was_approved_brings_it_no_second_time(claude):
    claude.prompt("go on")
    command = f"sed -i s/1/2/ {FILE}"
    assert claude.run(command).context
    assert claude.run(command, when="Post", tool_response={"stdout": ""}).context == ""
    assert claude.prompt("another way", 2).context == ""


@pytest.mark.parametrize("begun", [{"initial_prompt": "go on with it"}, {}])
def test_copilot_is_not_asked_where_its_prompt_came_with_the_command(begun, session):
    copilot = session("copilot-cli")
    copilot.say("SessionStart", source="new", **begun)
    said = copilot.run(f"sed -i s/1/2/ {FILE}")
    assert said.get("permissionDecision") == (None if begun else "ask")
    assert ("nobody can be asked" in said.context) == bool(begun)
