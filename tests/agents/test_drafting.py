"""When a turn ends the answer is checked at once; drafts are made by a process of its own."""

import json
import os
import pathlib
import sys
import time

import pytest

from lessons_kb import Brain
from tests.kit import Claude, commit, git, read_troubles, state_dir, watched

PROMPT = "Add a telegram command that restarts the service"
DENIED_ITEM = "Cover the rejection with a test"
WAITING = 2_000
REDS = 12
NEW = "lessons: {} to review: /lessons-review here, or `lessons review` in a terminal"


@pytest.fixture
def repository(project):
    """A real one, with a change that fixed a test."""
    git(project, "init", "-q")
    commit(project, **{"cart.py": "total = 1\n"})
    (project / "cart.py").write_text("total = sum(items)\n")
    return project


@pytest.fixture
def many_waiting(repository):
    """Two thousand drafts, as the journal makes them."""
    folder = pathlib.Path(state_dir(str(repository)), "drafts")
    with Brain.open(repository) as brain:
        first = brain.drafts.propose("The total of a cart was hard-coded")
    text, facts = (folder / f"{first.id}.md").read_text(), (folder / f"{first.id}.json").read_text()
    for number in range(WAITING - 1):
        (folder / f"proposed-{number:08x}.md").write_text(text)
        known = json.loads(facts) | {"key": f"key {number}", "ids": [f"id {number}"]}
        (folder / f"proposed-{number:08x}.json").write_text(json.dumps(known))
    return folder


@pytest.fixture
def tell(repository):
    def tell(name, session="s1", agent="claude-code", **fields):
        return Claude(repository, session, agent).say(name, transcript_path="", **fields)

    return tell


def turn(tell, *, reds=1, session="s1"):
    """Let tests fail, a file change, and the tests pass."""
    tell("UserPromptSubmit", session, prompt=PROMPT, prompt_id="p1")
    for number in range(reds):
        call = {"tool_name": "Bash", "tool_input": {"command": f"pytest tests/test_{number}.py"}}
        error = f"Exit code 1\nFAILED tests/test_{number}.py::test_total - assert 1 == 3"
        tell("PostToolUseFailure", session, tool_use_id=f"r{number}", error=error, **call)
        edit = {"file_path": "cart.py", "old_string": "1", "new_string": "sum(items)"}
        done = {"tool_name": "Edit", "tool_input": edit, "tool_response": {"filePath": "cart.py"}}
        tell("PostToolUse", session, tool_use_id=f"e{number}", **done)
        passed = {"tool_response": {"stdout": "1 passed", "stderr": ""}}
        tell("PostToolUse", session, tool_use_id=f"g{number}", **call, **passed)


STOP = {"last_assistant_message": "Done: I rejected every chat id that is not on the allowlist."}


def message(output):
    return str(output.get("systemMessage", ""))


@pytest.mark.slow
def test_a_turn_ends_without_git_and_without_a_draft_read(tell, many_waiting, drafted):
    turn(tell, reds=REDS)
    with watched() as seen:
        said = tell(
            "Stop",
            last_assistant_message="I left the test that covers the rejection for a follow-up.",
        )
    assert DENIED_ITEM in message(said)
    started = [arguments for event, arguments in seen if event == "subprocess.Popen"]
    assert len(started) == 1
    assert "draft_session" in started[0]
    assert not [path for _event, path in seen if str(many_waiting) in path]
    drafted()


@pytest.mark.slow
def test_the_next_prompt_tells_of_new_drafts_once(repository, tell, drafted):
    turn(tell)
    assert "draft" not in message(tell("Stop", **STOP))
    drafted()
    asked = {"prompt": "And now something else", "prompt_id": "p2"}
    assert message(tell("UserPromptSubmit", **asked)) == NEW.format("1 draft")
    assert message(tell("UserPromptSubmit", **asked | {"prompt_id": "p3"})) == ""
    with Brain.open(repository) as brain:
        (draft,) = brain.drafts.all()
    assert draft.kind == "red-green"
    assert "+total = sum(items)" in draft.text
    assert read_troubles() == []


@pytest.mark.slow
def test_nothing_new_is_not_told(tell, drafted):
    turn(tell)
    for number in range(3):
        tell("Stop", **STOP)
        drafted()
        asked = {"prompt": f"And now something else {number}", "prompt_id": f"p{number + 2}"}
        assert bool(message(tell("UserPromptSubmit", **asked))) is (number == 0)


@pytest.mark.slow
def test_the_end_of_a_session_drafts_as_well(repository, tell, drafted):
    turn(tell)
    assert tell("SessionEnd") == {}
    drafted()
    said = tell("SessionStart", "s2", source="startup")
    assert message(said) == NEW.format("1 draft")
    with Brain.open(repository) as brain:
        assert len(brain.drafts.ids()) == 1


@pytest.mark.slow
def test_a_session_that_is_resumed_is_not_told_twice(repository, tell, drafted):
    turn(tell)
    assert tell("SessionEnd") == {}
    drafted()
    assert "1 draft" in message(tell("SessionStart", "s2", source="startup"))
    assert message(tell("SessionStart", "s2", source="resume")) == ""


def test_gemini_cli_is_told_with_the_prompt_for_it_shows_a_line_of_the_start_twice(
    repository, tell
):
    with Brain.open(repository) as brain:
        brain.drafts.propose("The total of a cart was hard-coded")
    assert message(tell("SessionStart", agent="gemini-cli", source="startup")) == ""
    asked = {"agent": "gemini-cli", "prompt": "And now something else"}
    assert message(tell("BeforeAgent", timestamp="2026-11-22T10:00:00Z", **asked)) == NEW.format(
        "1 draft"
    )
    assert message(tell("BeforeAgent", timestamp="2026-11-22T10:01:00Z", **asked)) == ""


@pytest.mark.slow
def test_a_complaint_s_draft_shows_both_sides_of_the_change(repository, tell, drafted):
    tell("UserPromptSubmit", prompt="Fix the rounding in add()", prompt_id="p1")
    edit = {"file_path": "cart.py", "old_string": "total = round(x)", "new_string": "total = x"}
    done = {"tool_name": "Edit", "tool_input": edit, "tool_response": {"filePath": "cart.py"}}
    tell("PostToolUse", tool_use_id="e1", **done)
    tell("Stop", last_assistant_message="Done.")
    tell("UserPromptSubmit", prompt="add() is broken again", prompt_id="p2")
    tell("Stop", last_assistant_message="Sorry.")
    drafted()
    with Brain.open(repository) as brain:
        (draft,) = [draft for draft in brain.drafts.all() if draft.kind == "feedback"]
    assert "-total = round(x)" in draft.text
    assert "+total = x" in draft.text
    assert draft.title == "TODO name the mistake (add() is broken again)"


@pytest.mark.slow
def test_so_does_that_of_a_patch_run_as_a_command(repository, tell, drafted):
    tell("UserPromptSubmit", agent="codex", prompt="Fix the rounding in add()", turn_id="t1")
    patch = "*** Begin Patch\n*** Update File: cart.py\n@@\n-a = round(x)\n+a = x\n*** End Patch"
    call = {"tool_name": "Bash", "tool_input": {"command": f"apply_patch <<'EOF'\n{patch}\nEOF"}}
    tell("PostToolUse", agent="codex", tool_use_id="e1", tool_response="", **call)
    tell("Stop", agent="codex", last_assistant_message="Done.")
    tell("UserPromptSubmit", agent="codex", prompt="add() is broken again", turn_id="t2")
    tell("Stop", agent="codex", last_assistant_message="Sorry.")
    drafted()
    with Brain.open(repository) as brain:
        (draft,) = [draft for draft in brain.drafts.all() if draft.kind == "feedback"]
    assert "-a = round(x)\n+a = x" in draft.text


@pytest.mark.slow
def test_sessions_that_end_at_once_all_get_their_drafts(repository, tell, drafted):
    sessions = [f"s{number}" for number in range(4)]
    for session in sessions:
        turn(tell, session=session)
    for session in sessions:
        tell("Stop", session, **STOP)
    drafted()
    with Brain.open(repository) as brain:
        assert sum(draft.seen for draft in brain.drafts.all()) == len(sessions)


@pytest.mark.slow
def test_stops_in_a_row_do_not_start_a_run_each(tell, drafted):
    turn(tell)
    with watched() as seen:
        for number in range(10):
            tell("Stop", last_assistant_message=f"Done {number}.")
    starts = [arguments for event, arguments in seen if event == "subprocess.Popen"]
    assert 1 <= len(starts) < 10
    drafted()


@pytest.mark.slow
def test_what_goes_wrong_is_logged(repository, tell, drafted):
    turn(tell)
    drafts = pathlib.Path(state_dir(str(repository)), "drafts")
    drafts.write_text("no folder")
    tell("Stop", **STOP)
    drafted()
    assert [(t.agent, t.hook_event) for t in read_troubles()] == [("claude-code", "drafts")]


@pytest.mark.slow
def test_two_thousand_drafts_slow_nothing(repository, tell, many_waiting, drafted):
    with watched() as seen:
        said = tell("SessionStart", source="startup")
        assert message(said) == NEW.format("2000 drafts")
        turn(tell)
        tell("Stop", **STOP)
    assert not [path for event, path in seen if event == "open" and str(many_waiting) in path]
    drafted()
    asked = {"prompt": "And now something else", "prompt_id": "p2"}
    assert message(tell("UserPromptSubmit", **asked)) == NEW.format("1 draft")


@pytest.mark.slow
def test_drafting_reads_two_thousand_drafts_once(repository, tell, many_waiting, drafted):
    turn(tell, reds=REDS)
    with Brain.open(repository) as brain:
        with watched() as seen:
            made = brain.drafts.collect("s1")
        reads = [path for event, path in seen if event == "open" and str(many_waiting) in path]
        assert len(made) == REDS
        assert len(reads) < WAITING + 30 * REDS
        with watched() as seen:
            brain.drafts.get(made[0].id)
            brain.drafts.count()
            brain.drafts.discard(made[0].id)
        assert len([path for event, path in seen if str(many_waiting) in path]) < 30


@pytest.mark.slow
def test_a_run_that_never_began_is_started_again(repository, tell, drafted, monkeypatch):
    """A killed run leaves its mark; after a minute nobody waits for it any more."""
    turn(tell)
    with Brain.open(repository) as brain:
        cache = pathlib.Path(brain.layers[0].cache)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/bin/true")
        tell("Stop", **STOP)
    (mark,) = cache.glob("drafts-*")
    tell("Stop", last_assistant_message="Done.")
    drafted()
    assert mark.exists()
    os.utime(mark, (time.time() - 100, time.time() - 100))
    tell("Stop", last_assistant_message="Done again.")
    drafted()
    assert not mark.exists()
    with Brain.open(repository) as brain:
        assert len(brain.drafts.all()) == 1
