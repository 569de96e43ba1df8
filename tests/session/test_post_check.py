"""What a user is told when a turn ends: one line, only where something was changed."""

import json
import time

import pytest

from lessons_kb import Brain
from tests.sessions import card

pytestmark = pytest.mark.slow  # whole turns

PROMPT = "Add a telegram command that restarts the service"
LEFT = "Done. I left the tests for a follow-up."
REJECT = "if chat.id not in allowlist:\n    reject(chat.id)  # every chat id\n"
ITEMS = ("Reject every chat id that is not on the allowlist", "Cover the rejection with a test")


@pytest.fixture
def turn(claude):
    """Play a turn of Claude Code: a prompt, some calls, an answer; return the line."""

    def play(answer, *calls, prompt=PROMPT):
        claude.prompt(prompt, prompt)
        for number, (tool, arguments) in enumerate(calls):
            claude.call("Post", tool, arguments, f"{prompt}{number}", tool_response={})
        said = claude.stop(answer)
        assert set(said) <= {"systemMessage"}
        return said.line

    return play


def write(project, name, text):
    return "Write", {"file_path": str(project / name), "content": text}


def run(command):
    return "Bash", {"command": command}


WRITE = ("Write", {"file_path": "bot/main.py", "content": REJECT})
CLAIM = "Every chat id is checked. I added a test that covers the rejection."


@pytest.mark.parametrize(("language", "calls", "answer", "line"), [
    ("en", [WRITE], LEFT, f"⚠ Checklist: the agent left out “{ITEMS[1]}” (“{LEFT[6:]}”). See `lessons check --last`."),
    ("en", [WRITE], "Done.", f"⚠ Checklist: not seen in this turn: “{ITEMS[1]}”. See `lessons check --last`."),
    ("en", [WRITE], "Done. Anything else?", ""),
    ("ko", [WRITE], LEFT, "⚠ 체크리스트: “Cover the rejection with a test” 빠짐 (“I left the tests"),
    # a question about what was left out is enough, and leaves open items open
    ("en", [WRITE], "I left the tests for a follow-up. Shall I add them?", ""),
    ("en", [WRITE], "The handler is there. Is the bot for a group or for a private chat?", ""),
    # nothing was changed
    ("en", [], LEFT, ""),
    ("en", [run("git status"), run("cat a.py"), ("Read", {"file_path": "a"})], LEFT, ""),
    # a claim of what never happened
    ("en", [WRITE, run("git status")], CLAIM, f"⚠ Checklist: for “{ITEMS[1]}” it says “I added a test that "),
])  # fmt: skip
def test_what_is_left_is_told_in_the_language_of_the_brain(
    project, turn, language, calls, answer, line
):
    (project / "lessons.toml").write_text(f'language = "{language}"\n')
    said = turn(answer, *calls)
    assert said.startswith(line)
    assert bool(said) == bool(line)
    assert ("but no test was written" in said) == (answer == CLAIM)


def test_the_last_check_in_full_with_lines_of_files(project, turn):
    code = "import os\n\n" + REJECT
    (project / "bot" / "main.py").write_text(code)
    turn(LEFT, write(project, "bot/main.py", code))
    with Brain.open(project) as brain:
        check = brain.check_last()
    shown, denied = check.items
    assert (shown.item, denied.item) == ITEMS
    assert (shown.state, shown.where) == ("shown", "bot/main.py:3")
    assert (denied.state, denied.quote) == ("denied", "I left the tests for a follow-up.")


def test_a_test_run_before_the_turn_bears_a_claim_out(project, turn):
    path = project / "lessons" / "telegram-allowlist.md"
    path.write_text(path.read_text() + "- Run the whole test suite\n")
    turn("Done.", run("pytest -q"), prompt="run the tests of the telegram restart command")
    assert "no test was run" not in turn("All tests pass.", write(project, "bot/a.py", "x = 1\n"))
    fresh = turn("All tests pass.", write(project, "bot/a.py", "x = 2\n"), prompt=PROMPT + " now")
    assert "no test was run" not in fresh


@pytest.mark.parametrize("whose", ["the user's", "the project's"])
def test_only_the_user_names_a_program_that_judges(project, tmp_path, turn, monkeypatch, whose):
    settings = (tmp_path if whose == "the user's" else project) / "settings" / "lessons-kb"
    settings.mkdir(parents=True)
    asked = tmp_path / "asked"
    (settings / "settings.toml").write_text(f"[check]\ncommand = 'tee {asked}'\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings.parent))
    turn(LEFT, write(project, "bot/main.py", REJECT))
    assert asked.exists() == (whose == "the user's")


def test_closings_are_asked_for_and_held_against_what_happened(project, claude, turn):
    (project / "lessons.toml").write_text("[hooks]\nclose = true\n")
    block = claude.prompt(PROMPT, session_id="s0").context
    assert "- [ ] L1.2 Cover the rejection with a test" in block
    assert "Lessons: L1.1 done src/bot.py:41; L1.2 n/a; L1.3 left" in block
    answer = "Fine.\n\nLessons: L1.1 done bot/main.py:1; L1.2 done tests/test_bot.py:9\n"
    line = turn(answer, write(project, "bot/main.py", "x = 1\n"))
    assert line == (
        "⚠ Checklist: for “Cover the rejection with a test” it says “L1.2 done tests/test_bot.py:9”, but this "
        "file was not changed. See `lessons check --last`."
    )
    with Brain.open(project) as brain:
        assert [item.state for item in brain.check_last().items] == ["shown", "contradicted"]


def detecting(word, item, title="A telegram command must not run a shell"):
    found = rf"""[{{regex: '{word}\s*=\s*True', files: ["*.py"]}}]"""
    return card(title, f"Run a {item}", detect=found)


def test_a_mistake_that_was_left_in_the_change_is_contradicted(project, turn):
    text = detecting("shell", "telegram command without a shell")
    (project / "lessons/no-shell.md").write_text(text)
    wrong = "subprocess.run(command, shell=True)\n"
    (project / "bot").mkdir(exist_ok=True)
    (project / "bot/main.py").write_text(wrong)
    line = turn("Done, it runs without a shell.", write(project, "bot/main.py", wrong))
    assert line == (
        "⚠ Checklist: “Run a telegram command without a shell”: the mistake is in the change "
        "(bot/main.py: subprocess.run(command, shell=True)). See `lessons check --last`."
    )


RULES = {
    "shell": "telegram command without any shell, whatever input it came from",
    "check": "telegram command that restarts the service with a checked exit code, and report it",
}


@pytest.mark.parametrize("many", [1, 2])
def test_mistakes_that_were_left_are_one_short_line(project, turn, many):
    settings = "[gate]\nmin_confidence = 0.1\n\n[preflight]\nweakest = 0\nmax_lessons = 3\n"
    (project / "lessons.toml").write_text(settings)
    for word, item in list(RULES.items())[:many]:
        text = detecting(word, item, f"Run a {item}").replace(
            "---\n", '---\npaths: ["bot/*.py"]\n', 1
        )
        (project / f"lessons/{word}.md").write_text(text)
    wrong = "subprocess.run(read_from_the_group, shell=True, check=True, timeout=True)\n"
    (project / "bot/main.py").write_text(wrong)
    prompt = f"{PROMPT} in bot/main.py"
    line = turn("Done.", write(project, "bot/main.py", wrong), prompt=prompt)
    assert line.startswith("⚠ Checklist: “Run ")
    assert line.count("the mistake is in the change (bot/main.py") == 1
    assert line.count("“Run ") == many
    assert len(line) <= 240


def test_in_copilot_each_session_has_its_own_answer_in_the_record_that_they_share(project, session):
    main, child = session("copilot-cli"), session("copilot-cli", "s2")
    main.transcript = child.transcript = project.parent / "events.jsonl"

    def record(text, **whose):
        told = {"timestamp": main.event("")["timestamp"], "data": {"content": text}, **whose}
        line = json.dumps({"type": "assistant.message", **told}, separators=(",", ":"))
        with main.transcript.open("a") as file:
            file.write(f"{line}\n")

    main.prompt(PROMPT)
    child.prompt(PROMPT)
    done = {"result_type": "success", "text_result_for_llm": "Created"}
    for one in (main, child):
        one.call("Post", *write(project, "bot/main.py", REJECT), tool_result=done)
    record("Nothing was left.")
    record(LEFT, agentId="s2")
    assert "follow-up" not in str(main.say("Stop"))
    assert "left the tests for a follow-up" in child.say("Stop")["progress"]


def test_in_copilot_the_answer_is_waited_for(project, session, monkeypatch):
    copilot = session("copilot-cli")
    copilot.transcript = project.parent / "events.jsonl"

    def record_answer(text):
        said = {"type": "assistant.message", "data": {"content": text, "toolRequests": []}}
        copilot.record(said | {"timestamp": copilot.event("")["timestamp"]})

    record_answer("That is done, tests and all.")  # of the turn before
    copilot.prompt(PROMPT)
    done = {"result_type": "success", "text_result_for_llm": "Created"}
    copilot.call("Post", *write(project, "bot/main.py", REJECT), tool_result=done)
    # The client writes while the hook runs.
    monkeypatch.setattr(time, "sleep", lambda _seconds: record_answer(LEFT))
    assert "left the tests for a follow-up" in copilot.say("Stop")["progress"]


def test_an_ignored_command_is_named_once_in_a_session(project, claude):
    text = """---
type: lesson
title: The feature page was stale after a change
paths: ["docs/*.rst"]
symptoms: [add a feature to the docs]
---

## Prevention Checklist

- [ ] Run `just cog` after a change of the docs
"""
    (project / "lessons" / "stale.md").write_text(text)
    prompt = "Add the new export feature to the docs/features.rst page"

    def play(number, answer, *commands):
        claude.prompt(prompt, number)
        claude.call(
            "Post",
            *write(project, "docs/features.rst", f"Export {number}"),
            f"{number}w",
            tool_response={},
        )
        for place, command in enumerate(commands):
            claude.call("Post", *run(command), f"{number}c{place}", tool_response={})
        return claude.stop(answer).line

    line = play(1, "The page has the feature. All tests pass.", "just test")
    named = "not seen in this turn: “Run just cog after a change of the docs”. See `lessons"
    assert named in line
    assert "not seen" not in play(2, "Done again.")
