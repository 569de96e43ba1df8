"""What became of a lesson's mistake in the sessions that it was due for: facts, seen by hooks."""

import json
import pathlib
import re
import time

import pytest

from lessons_kb import Brain
from lessons_kb.errors import ConfigError
from lessons_kb.model import as_data
from lessons_kb.store.locations import user_settings_path
from tests.kit import Claude, occasions

SHELL = """\
---
type: lesson
title: A stranger ran programs on our server
symptoms:
  - "PermissionError: refused by the sandbox"
created: 2026-01-01
detect:
  - regex: 'shell\\s*=\\s*True'
    files: ["*.py"]
---

## Situation

```
FAILED tests/test_run.py::test_no_shell - assert 1 == 2
```

## Prevention Checklist

- Pass a list of arguments
"""
TASK = "A stranger ran programs on our server: look into the server programs"
BAD, GOOD = "    subprocess.run(cmd, shell=True)", "    subprocess.run([cmd])"
TEST = "pytest tests/test_run.py"
FAILED = "FAILED tests/test_run.py::test_no_shell - assert 3 == 4"
CARD = "lessons/shell.md"


@pytest.fixture(autouse=True)
def card(project):
    (project / "src").mkdir()
    (project / "src" / "run.py").write_text("import subprocess\n\n\ndef run(cmd):\n    pass\n")
    (project / "lessons" / "shell.md").write_text(SHELL)
    with Brain.open(project, directory=project) as opened:
        opened.refresh()
    return project


def change(claude, new, old="    pass", number=1, path="src/run.py"):
    """Let the agent edit a file, its hooks before and after it, and write it."""
    said = claude.edit(path, number, "Pre", new, old)
    file = claude.project / path
    file.write_text(file.read_text().replace(old, new))
    claude.edit(path, number, "Post", new, old, tool_response={"success": True})
    return said


def run(claude, failure="", number=1, command=TEST):
    claude.run(command, number)
    if failure:
        claude.run(command, number, "Failed", error=failure)
    else:
        claude.run(command, number, "Post", tool_response={"stdout": "1 passed"})


def effect(project):
    with Brain.open(project, directory=project) as brain:
        return brain.stats.effect(CARD)


def withhold(share, more=""):
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[effect]\nwithhold = {share}\n{more}")


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "outcome"), [
    ([], "unknown"),
    ([("edit", GOOD, "    pass")], "avoided"),
    ([("edit", BAD, "    pass")], "left"),
    ([("edit", BAD, "    pass"), ("edit", GOOD, BAD)], "corrected"),
    ([("edit", BAD, "    pass"), ("write", GOOD, BAD)], "corrected"),
    ([("run", "")], "avoided"),
    ([("run", FAILED)], "left"),
    ([("run", FAILED), ("run", "")], "corrected"),
    ([("run", FAILED), ("run", "FAILED tests/test_run.py::test_other - x")], "corrected"),
    ([("run", "PermissionError: refused by the sandbox")], "left"),
    ([("run", "PermissionError: refused by the kernel")], "unknown"),
    ([("edit", GOOD, "    pass"), ("run", FAILED)], "left"),
])  # fmt: skip
def test_a_fact_says_what_became_of_the_mistake(claude, card, steps, outcome):
    claude.prompt(TASK)
    for number, (does, *how) in enumerate(steps):
        if does == "edit":
            change(claude, *how, number=number)
        elif does == "write":  # by the user, in an editor
            file = card / "src" / "run.py"
            file.write_text(file.read_text().replace(how[1], how[0]))
        else:
            run(claude, *how, number=number)
    claude.stop()
    assert effect(card).outcomes == {outcome: 1}


def test_no_word_decides(claude, card):
    claude.prompt(TASK)
    claude.stop("Done.")
    claude.prompt(f"It is broken again! {TASK}", 2)
    run(claude, "Error: a stranger ran programs on our server", command="make it", number=3)
    claude.stop("I could not prevent that a stranger ran programs on our server.")
    assert effect(card).outcomes == {"unknown": 1}
    assert effect(card).verdict == "no facts yet"


def test_each_turn_looks_again_until_the_session_ends(claude, card):
    claude.prompt(TASK)
    change(claude, BAD)
    claude.stop()
    assert effect(card).outcomes == {"left": 1}
    claude.prompt("go on", 2)
    change(claude, GOOD, BAD, number=2)
    claude.stop("Done.")
    assert effect(card).outcomes == {"corrected": 1}


def test_what_was_told_in_an_earlier_session_came_back(claude, card):
    for session, outcomes in (("one", {"left": 1}), ("two", {"left": 1, "came back": 1})):
        one = Claude(card, session)
        one.prompt(TASK)
        change(one, BAD)
        one.stop()
        assert effect(card).outcomes == outcomes
        (card / "src" / "run.py").write_text("def run(cmd):\n    pass\n")


def test_a_card_without_facts_says_which_kinds_it_lacks(claude, card):
    bare = SHELL.partition("symptoms:")[0] + "---\n\n- Pass a list of arguments\n"
    (card / "lessons" / "shell.md").write_text(bare)
    claude.prompt(TASK)
    claude.stop()
    found = effect(card)
    assert found.verdict == "no facts yet"
    for kind in ("`detect` pattern", "error message", "failing test"):
        assert kind in found.reason


def test_what_a_session_has_been_told_is_not_withheld_in_its_middle(claude, card):
    claude.prompt(TASK)
    withhold(1.0)
    assert "shell.md" in change(claude, BAD).context


@pytest.mark.parametrize(("header", "more", "kept"), [
    ("severity: high", "", False),
    ("gate: once", "", False),
    ("severity: low", "", True),
    ("severity: high", "withhold_high = true\n", True),
])  # fmt: skip
def test_what_weighs_much_is_withheld_only_if_asked_for(claude, card, header, more, kept):
    text = SHELL.replace("created: 2026-01-01", header)
    (card / "lessons" / "shell.md").write_text(text)
    withhold(1.0, more)
    assert ("shell.md" not in claude.prompt(TASK).context) is kept


@pytest.mark.slow
def test_a_secret_of_the_user_decides_and_a_brain_has_no_say(claude, card, monkeypatch, tmp_path):
    withhold(0.5)

    def drawn():
        sessions = [Claude(card, f"s-{number}") for number in range(24)]
        return ["shell.md" in one.prompt(TASK).context for one in sessions]

    first = drawn()
    assert 4 <= sum(first) <= 20
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "other"))
    (card / "lessons.toml").write_text("[effect]\nwithhold = 0.9\n")
    with Brain.open(card) as brain, pytest.raises(ConfigError, match="is not a setting of a brain"):
        _ = brain.members[0].settings


def test_why_tells_what_was_withheld_once_the_session_is_over(claude, card, lessons, monkeypatch):
    def withheld():
        return json.loads(lessons("--brain", card, "why", "--session", "s1", "--json").out)[
            "withheld"
        ]

    withhold(1.0)
    claude.prompt(TASK)
    claude.stop()
    assert withheld() == []
    assert "shell.md" not in str(Claude(card, "s0").say("SessionStart", source="startup"))
    later = time.time() + 2 * 3_600
    monkeypatch.setattr("lessons_kb.outcome.why.time.time", lambda: later)
    line = f"Lessons withheld from your last session, to compare: {CARD}"
    next_one = Claude(card, "s2")
    assert line in next_one.say("SessionStart", source="startup").line
    assert line not in next_one.say("SessionStart", source="startup").context
    assert line not in Claude(card, "s3").say("SessionStart", source="startup").line
    assert withheld() == [CARD]
    monkeypatch.setenv("LESSONS_SESSION", "s1")
    assert withheld() == []


def test_an_edit_that_keeps_an_old_mistake_makes_none(claude, card):
    file = card / "src" / "run.py"
    file.write_text(f"{BAD}\n    pass\n")
    claude.prompt(TASK)
    change(claude, f"    x = 1\n{BAD}", f"{BAD}\n    pass")
    claude.stop()
    assert effect(card).outcomes == {"avoided": 1}


def test_a_bump_says_that_it_came_back_and_is_taken_back_with_its_undoing(claude, card, lessons):
    claude.prompt(TASK)
    change(claude, GOOD)
    claude.stop()
    with Brain.open(card, directory=card) as brain:
        brain.members[0].journal.ledger.bump("s1", CARD, at=5.0)
        assert brain.stats.effect(CARD).outcomes == {"came back": 1}
        brain.members[0].journal.ledger.take_back(CARD, at=5.0)
        assert brain.stats.effect(CARD).outcomes == {"avoided": 1}


@pytest.fixture
def harmful(card):
    """A card that does worse in twenty sessions than in ten without it."""
    with Brain.open(card, directory=card) as brain:
        journal = brain.members[0].journal
        for one in occasions(CARD, block=(14, 20), withheld=(1, 10)):
            journal.ledger.note(**as_data(one))
        journal.outcomes.count(CARD, "injected", at=time.time(), times=20)
    return card


@pytest.mark.slow
def test_harm_is_named_everywhere_and_nothing_is_archived_unasked(harmful, lessons, monkeypatch):
    monkeypatch.chdir(harmful)
    why = "the mistake was left in 14 of 20 sessions with it, in 1 of 10 when it was withheld"
    output = lessons("doctor").out
    assert "lessons/shell.md: the mistake was left in 14 of 20" in " ".join(output.split())
    assert why in lessons("archive", "--stale", "--dry-run", "--json").out
    assert f"Archive {CARD}" not in lessons("archive", "--stale", "--dry-run").out
    rows = json.loads(lessons("manage", "--json").out)["cards"]
    assert {row["id"]: row["effect"] for row in rows}[CARD] == "harms"
    shown = lessons("stats", "shell").out
    assert f"harms: {why}" in " ".join(shown.split())
    assert re.search(r"difference  -60 points \(95 % interval -\d\d to -\d\d\)", shown)
    lessons("report", "-o", "report.html")
    assert "in 14 of 20 sessions with it" in (harmful / "report.html").read_text()
    assert "status: archived" not in (harmful / CARD).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["withhold = 1.5", "withhold = true", "keep = 0.1"])
def test_settings_that_are_wrong_withhold_nothing_and_doctor_says_so(claude, card, lessons, wrong):
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[effect]\n{wrong}\n")
    assert "shell.md" in claude.prompt(TASK).context
    assert "settings.toml" in lessons("--brain", str(card), "doctor").out


def test_the_file_of_all_titles_has_none_of_a_withheld_card(card):
    (card / "lessons.toml").write_text("[hooks]\ncatalogue_tokens = 300\n")
    for number in range(40):
        text = f"# Lesson number {number} of many in this brain\n\n- Look at it\n"
        (card / "lessons" / f"many-{number}.md").write_text(text)

    def read(session):
        start = Claude(card, session).say("SessionStart", source="startup").context
        (path,) = re.findall(r"[^\s`]*titles-\w+\.md", start)
        return (card / path).read_text()

    assert "shell.md" in read("one")
    withhold(1.0)
    assert "shell.md" not in read("two")


def write_by_command(session):
    """Let the agent write the mistake with a command, whose text does not show it."""
    command = "./make.sh > src/made.py"
    session.run(command, 7)
    (session.project / "src" / "made.py").write_text(BAD)
    return session.run(command, 7, "Post", tool_response={"stdout": ""})


def fail(session):
    session.run("./serve", 8)
    return session.run("./serve", 8, "Failed", error="PermissionError: refused by the sandbox")


def spawn(session):
    session.call("Pre", "Agent", {"subagent_type": "Explore", "prompt": TASK, "description": "d"})
    return session.say("SubagentStart", agent_id="a1", agent_type="Explore")


def offer(session):
    (session.project / "lessons.toml").write_text("[gate]\nmin_confidence = 0.999\n")
    return session.prompt("Which programs run on our server?")


WAYS = {
    "start": (lambda session: session.say("SessionStart", source="startup"), None),
    "prompt": (lambda session: session.prompt(TASK), "block"),
    "offer": (offer, "offer"),
    "edit": (lambda session: change(session, BAD), "act"),
    "command": (write_by_command, "act"),
    "error": (fail, "act"),
    "subagent": (spawn, "block"),
    "titles again": (lambda session: session.say("SessionStart", source="compact"), None),
}
"""How a lesson is told, and as what the ledger knows it: titles are no occasion."""


@pytest.mark.slow
@pytest.mark.parametrize(("tell", "told"), WAYS.values(), ids=WAYS)
def test_each_way_that_tells_a_lesson_is_silent_where_it_is_withheld(card, tell, told):
    assert "stranger" in tell(Claude(card, "told")).context
    (card / "src" / "run.py").write_text("def run(cmd):\n    pass\n")
    (card / "src" / "made.py").unlink(missing_ok=True)
    withhold(1.0)
    assert "stranger" not in tell(Claude(card, "kept")).context
    with Brain.open(card, directory=card) as brain:
        occasions = brain.members[0].journal.ledger.find(cards=[CARD])
    rows = {one.session.partition("/")[0]: one.told for one in occasions}
    assert rows == ({"told": told, "kept": "withheld"} if told else {})


def test_a_broad_glob_that_tells_nothing_is_no_occasion_of_a_withheld_lesson(claude, card):
    for name in "abcdefgh":
        (card / "src" / f"{name}.py").write_text("pass\n")
    broad = SHELL.partition("detect:")[0] + 'paths: ["**/*.py"]\n---\n\n- Pass a list\n'
    (card / "lessons" / "shell.md").write_text(broad)
    withhold(1.0)
    change(claude, "    return 1")
    with Brain.open(card, directory=card) as brain:
        assert brain.members[0].journal.ledger.find(cards=[CARD]) == []


def test_a_note_that_a_withheld_lesson_was_imported_from_does_not_tell_it(card):
    note = f"# Reports\n\nA stranger ran programs on our server. {TASK}.\n"
    (card / "reports.md").write_text(note)
    (card / "lessons.toml").write_text("notes = true\n")

    def find_notes(session):
        with Brain.open(card, directory=card) as brain:
            block = brain.preflight(TASK, session=session, context=True)
            assert CARD not in [hit.card.id for hit in block.lessons]
            return [hit.card.id for hit in block.notes]

    withhold(1.0)
    assert find_notes("s1") == ["reports.md"]
    text = SHELL.replace("created:", "imported-from: [rules:reports.md#1]\ncreated:")
    (card / "lessons" / "shell.md").write_text(text)
    assert find_notes("s2") == []


def test_a_command_neither_finds_nor_shows_what_is_withheld(card, lessons, monkeypatch):
    monkeypatch.chdir(card)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")

    def ask():
        commands = (("search", TASK), ("preflight", TASK), ("show", "shell"))
        return [lessons(*command) for command in commands]

    assert all("stranger" in one.out for one in ask())
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s2")
    withhold(1.0)
    said = ask()
    assert not [one for one in said if "stranger" in one.out + one.err]
    assert said[2].err == "lessons: this card is not available in this session\n"
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    assert all("stranger" in one.out for one in ask())  # a person who asks is answered
