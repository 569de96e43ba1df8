"""When a turn ends the answer is checked at once; drafts are made by a process of its own."""

import json
import os
import pathlib
import sys
import time

import pytest

from lessons_kb import Brain
from lessons_kb.session.draft_process import draft_session
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
def claude(repository):
    claude = Claude(repository)
    claude.stop_as_usual = lambda: claude.stop(DONE).line
    return claude


@pytest.fixture
def drafts(repository):
    def drafts(kind=""):
        with Brain.open(repository) as brain:
            return [draft for draft in brain.drafts.all() if kind in draft.kind]

    return drafts


def turn(claude, reds=1):
    """Let tests fail, a file change, and the tests pass."""
    claude.prompt(PROMPT)
    for number in range(reds):
        command = f"pytest tests/test_{number}.py"
        error = f"Exit code 1\nFAILED tests/test_{number}.py::test_total - assert 1 == 3"
        claude.run(command, f"r{number}", "Failed", error=error)
        done = {"tool_response": {"filePath": "cart.py"}}
        claude.edit("cart.py", f"e{number}", "Post", "sum(items)", "1", **done)
        passed = {"tool_response": {"stdout": "1 passed", "stderr": ""}}
        claude.run(command, f"g{number}", "Post", **passed)


DONE = "Done: I rejected every chat id that is not on the allowlist."


@pytest.mark.slow
def test_two_thousand_drafts_slow_nothing_and_a_turn_ends_without_git(
    claude, many_waiting, drafted
):
    with watched() as seen:
        said = claude.say("SessionStart", source="startup")
        assert said.line == NEW.format("2000 drafts")
        turn(claude)
        line = claude.stop("I left the test that covers the rejection for a follow-up.").line
    assert DENIED_ITEM in line
    started = [arguments for event, arguments in seen if event == "subprocess.Popen"]
    assert sum("draft_session" in arguments for arguments in started) == 1
    assert all(sys.executable in arguments for arguments in started), "no git"
    assert not [path for event, path in seen if event == "open" and str(many_waiting) in path]
    drafted()
    assert claude.prompt("And now something else", 2).line == NEW.format("1 draft")


@pytest.mark.slow
def test_the_next_prompt_tells_of_new_drafts_once_and_hands_the_agent_the_evidence(
    claude, drafted, drafts, lessons, repository
):
    turn(claude)
    assert "draft" not in claude.stop_as_usual()
    drafted()
    (draft,) = drafts()
    assert draft.kind == "red-green"
    said = claude.prompt("And now something else 2", 2)
    assert said.line == NEW.format("1 draft")
    assert f"`lessons review --show {draft.id} --json`" in said.context
    assert said.context.count("\n") == 0
    assert "/lesson" in said.context
    shown = lessons("--brain", repository, "review", "--show", draft.id, "--json").out
    assert "+total = sum(items)" in json.loads(shown)["text"]
    for number in (3, 4):
        assert claude.prompt(f"And now something else {number}", number) == {}
        claude.stop_as_usual()
        drafted()
    assert read_troubles() == []


@pytest.mark.slow
def test_a_complaint_that_counts_a_card_is_told_once_with_the_way_back(
    claude, drafted, drafts, repository
):
    with Brain.open(repository) as brain:
        before = brain.cards.get("telegram-allowlist")
    claude.prompt("Rename the header component")
    claude.stop_as_usual()
    complaint = "It broke again: the telegram command that restarts the service is for everybody"
    claude.prompt(complaint, 2)
    claude.stop_as_usual()
    drafted()
    assert drafts() == []
    with Brain.open(repository) as brain:
        card = brain.cards.get("telegram-allowlist")
        outcomes = brain.stats.effect("telegram-allowlist").outcomes
    seen = before.occurrences + 1
    assert (card.occurrences, card.examples) == (seen, before.examples)
    assert outcomes.get("came back", 0) == 0, "the lesson came with the complaint"
    line = claude.prompt("And now something else", 3).line
    assert line == (
        f"lessons: counted “{card.title}” again, as you said that it came back (seen {seen}×); "
        f"`lessons bump --undo {card.id}` takes it back"
    )
    assert claude.prompt("And now something else 4", 4).line == ""
    claude.prompt(f"{complaint}!", 5)
    claude.stop_as_usual()
    drafted()
    with Brain.open(repository) as brain:
        assert brain.stats.effect("telegram-allowlist").outcomes.get("came back") == 1
    assert read_troubles() == []


@pytest.mark.slow
@pytest.mark.parametrize("settled", [False, True])
def test_no_evidence_is_handed_where_it_is_off_or_settled(
    claude, drafted, drafts, repository, settled
):
    if not settled:
        (repository / "lessons.toml").write_text("[hooks]\ndraft_line = false\n")
    turn(claude)
    claude.stop_as_usual()
    drafted()
    if settled:
        with Brain.open(repository) as brain:
            brain.drafts.discard(drafts()[0].id)
    assert "review --show" not in claude.prompt("And now something else", 2).context


@pytest.mark.slow
def test_the_end_of_a_session_drafts_as_well_and_another_is_told_once(claude, drafted, drafts):
    turn(claude)
    assert claude.say("SessionEnd") == {}
    drafted()
    claude.session = "s2"
    assert claude.say("SessionStart", source="startup").line == NEW.format("1 draft")
    assert claude.say("SessionStart", source="resume").line == ""
    assert len(drafts()) == 1


def test_gemini_cli_is_told_with_the_prompt_for_it_shows_a_line_of_the_start_twice(
    repository, session
):
    with Brain.open(repository) as brain:
        brain.drafts.propose("The total of a cart was hard-coded")
    gemini = session("gemini-cli")
    said = [gemini.say("SessionStart", source="startup")]
    said += [gemini.prompt(text) for text in ("And now something else", "And on")]
    assert [one.line for one in said] == ["", NEW.format("1 draft"), ""]


PATCH = "*** Begin Patch\n*** Update File: cart.py\n@@\n-a = round(x)\n+a = x\n*** End Patch"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_complaint_s_draft_shows_both_sides_of_the_change(claude, agent, drafted, drafts):
    claude.agent = agent
    claude.prompt("Fix the rounding in add()")
    if agent == "codex":
        claude.run(f"apply_patch <<'EOF'\n{PATCH}\nEOF", when="Post", tool_response="")
    else:
        done = {"tool_response": {"filePath": "cart.py"}}
        claude.edit("cart.py", 1, "Post", "a = x", "a = round(x)", **done)
    claude.stop("Done.")
    claude.prompt("add() is broken again", 2)
    claude.stop("Sorry.")
    drafted()
    (draft,) = drafts("feedback")
    assert "-a = round(x)\n+a = x" in draft.text
    assert draft.title == "add() is broken again"


@pytest.mark.slow
def test_sessions_that_end_at_once_all_get_their_drafts_by_a_few_runs(claude, drafted, drafts):
    for number in range(4):
        claude.session = f"s{number}"
        turn(claude)
    with watched() as seen:
        for number in range(12):
            claude.session = f"s{number % 4}"
            claude.stop(f"Done {number}.")
    starts = [arguments for event, arguments in seen if event == "subprocess.Popen"]
    assert 4 <= len(starts) < 12
    drafted()
    assert sum(draft.seen for draft in drafts()) == 4


@pytest.mark.slow
def test_what_goes_wrong_is_logged(repository, claude, drafted):
    turn(claude)
    pathlib.Path(state_dir(str(repository)), "drafts").write_text("no folder")
    claude.stop_as_usual()
    drafted()
    assert [(t.agent, t.hook_event) for t in read_troubles()] == [("claude-code", "drafts")]


@pytest.mark.slow
def test_drafting_reads_two_thousand_drafts_once(repository, claude, many_waiting):
    turn(claude, reds=REDS)
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
def test_a_run_that_never_began_is_started_again(repository, claude, drafted, drafts, monkeypatch):
    """A killed run leaves its mark; after a minute nobody waits for it any more."""
    turn(claude)
    with Brain.open(repository) as brain:
        cache = pathlib.Path(brain.members[0].cache)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/bin/true")
        claude.stop_as_usual()
    (mark,) = cache.glob("drafts-*")
    claude.stop("Done.")
    drafted()
    assert mark.exists()
    os.utime(mark, (time.time() - 100, time.time() - 100))
    claude.stop("Done again.")
    drafted()
    assert not mark.exists()
    assert len(drafts()) == 1


def test_a_run_whose_mark_another_has_taken_drafts_as_well(repository, claude, drafts):
    """Two may be due at once, a minute apart; the other one may have been killed since."""
    turn(claude)
    with Brain.open(repository) as brain:
        roots = [layer.root for layer in brain.members]
    draft_session("no-such-mark", "claude-code", "s1", str(repository), *roots)
    assert len(drafts()) == 1
    assert read_troubles() == []
