"""A lesson is said again at the act that it is about, and ``gate: once`` refuses that act once."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from lessons_kb import Brain
from lessons_kb.text.token_estimate import estimate_tokens
from tests.agents.conftest import card
from tests.agents.test_gate import before, context, event

ONCE = r"""
---
type: lesson
title: Retries of the payment client charged customers twice
gate: once
paths: ["pay/client.py"]
detect:
  - regex: 'retry\s*=\s*True'
    files: ["*.py"]
  - command: '\bpay-cli\s+replay\b'
---

## Root Cause

The gateway takes each request without a key for a new charge.

## Prevention Checklist

- Send an idempotency key with each charge
- Test that a retried charge is one charge
"""
LINE = "charge(order, retry=True)"
PROMPT = "Let the payment client retry a charge when the gateway times out"
TELEGRAM = "Add a Telegram command that runs a shell script on the server"
ITEM = "Send an idempotency key with each charge"
BLOCK = "[ACTIVE LESSONS"


@pytest.fixture(autouse=True)
def once(project: pathlib.Path) -> pathlib.Path:
    card(project, "lessons/charged-twice.md", ONCE)
    for name in ("pay/client.py", "pay/other.py", "bot/app.py", "bot/more.py", "migrations/1.sql"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("x = 1\n")
    (project / "transcript.jsonl").touch()
    with Brain.open(project) as brain:
        brain.refresh()
    return project


def edit(project: pathlib.Path, file: str, number: int = 1, new: str = "x = 2", **more: Any) -> Any:
    change = {"file_path": str(project / file), "old_string": "x = 1", "new_string": new}
    return before(project, number, "Edit", change, **more)


def prompt(project: pathlib.Path, text: str, number: int = 1, **more: Any) -> Any:
    return event(project, "UserPromptSubmit", prompt=text, prompt_id=f"p{number}", **more)


def refusal(output: Any) -> str:
    specific = output.get("hookSpecificOutput", {})
    denied = specific.get("permissionDecision") == "deny"
    return str(specific["permissionDecisionReason"]) if denied else ""


@pytest.mark.parametrize("turn", [{}, {"turn_id": "t1"}], ids=["claude-code", "codex"])
def test_what_came_with_the_prompt_is_said_again_before_the_change(project, fire, turn) -> None:
    agent = "codex" if turn else "claude-code"
    assert BLOCK in context(fire(agent, prompt(project, TELEGRAM, **turn)))
    said = context(fire(agent, edit(project, "bot/app.py", **turn)))
    assert said == (
        "Before this, once more: “Telegram remote execution must require an allowlist” "
        "(lessons/telegram-allowlist.md)\n"
        "- [ ] Reject every chat id that is not on the allowlist\n"
        "- [ ] Cover the rejection with a test"
    )
    assert estimate_tokens(said) <= 60
    assert fire(agent, edit(project, "bot/app.py", 2, **turn)) == {}


def test_gemini_is_reminded_with_the_result(project, fire) -> None:
    common = {"session_id": "s1", "cwd": str(project), "timestamp": "2026-11-22T10:00:00Z"}
    fire("gemini-cli", {**common, "hook_event_name": "BeforeAgent", "prompt": TELEGRAM})
    change = {"file_path": str(project / "bot/app.py"), "old_string": "1", "new_string": "2"}
    call = {**common, "tool_name": "replace", "tool_input": change}
    assert fire("gemini-cli", {**call, "hook_event_name": "BeforeTool"}) == {}
    done = {**call, "hook_event_name": "AfterTool", "tool_response": {"llmContent": "ok"}}
    assert context(fire("gemini-cli", done)).startswith("Before this, once more: “Telegram")


def test_a_broad_glob_reminds_once_and_a_narrow_one_for_each_file(project, fire) -> None:
    fire("claude-code", prompt(project, TELEGRAM))
    assert context(fire("claude-code", edit(project, "bot/app.py", 1)))
    assert fire("claude-code", edit(project, "bot/more.py", 2)) == {}
    text = (project / "lessons/telegram-allowlist.md").read_text()
    card(project, "lessons/telegram-allowlist.md", text.replace("bot/**", "bot/*.py"))
    assert context(fire("claude-code", edit(project, "bot/app.py", 3, session_id="s2")))
    assert context(fire("claude-code", edit(project, "bot/more.py", 4, session_id="s2")))


@pytest.mark.parametrize("turns", [3, 4])
def test_after_four_turns_once_more(project, fire, turns) -> None:
    fire("claude-code", prompt(project, TELEGRAM))
    assert context(fire("claude-code", edit(project, "bot/app.py", 1)))
    for number in range(2, 2 + turns):
        fire("claude-code", prompt(project, f"now the changelog, part {number}", number))
    said = context(fire("claude-code", edit(project, "bot/app.py", 2)))
    assert said.startswith("Before this, once more:") == (turns == 4)


def test_after_a_compaction_once_more(project, fire) -> None:
    fire("claude-code", prompt(project, TELEGRAM))
    assert context(fire("claude-code", edit(project, "bot/app.py", 1)))
    fire("claude-code", event(project, "SessionStart", source="compact"))
    said = context(fire("claude-code", edit(project, "bot/app.py", 2)))
    assert said.startswith("Before this, once more:")


def test_an_item_that_was_done_is_not_among_the_open_ones(project, fire) -> None:
    path = project / "lessons/telegram-allowlist.md"
    path.write_text(
        path.read_text().replace(
            "on the allowlist\n", "on the allowlist <!-- shown-by: allow -->\n"
        )
    )
    fire("claude-code", prompt(project, TELEGRAM))
    done = edit(project, "src.py", 1, "if chat not in allowed: return")
    fire("claude-code", done | {"hook_event_name": "PostToolUse", "tool_response": {}})
    said = context(fire("claude-code", edit(project, "bot/app.py", 2)))
    assert "Cover the rejection" in said
    assert "Reject every" not in said


def test_a_detect_match_brings_the_checklist_of_a_card_that_is_known(project, fire) -> None:
    text = ONCE.replace("gate: once\n", "")
    card(project, "lessons/charged-twice.md", text)
    assert BLOCK in context(fire("claude-code", prompt(project, PROMPT)))
    said = context(fire("claude-code", edit(project, "pay/other.py", 1, LINE)))
    assert f"pay/other.py:1: `{LINE}` — lessons/charged-twice.md" in said
    assert f"- [ ] {ITEM}" in said
    assert BLOCK not in said


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize(
    ("file", "new"), [("pay/client.py", "x = 2"), ("pay/other.py", LINE)], ids=["paths", "detect"]
)
def test_the_first_matching_change_is_refused_once(project, fire, agent, file, new) -> None:
    more = {"turn_id": "t1"} if agent == "codex" else {}
    first = fire(agent, edit(project, file, 1, new, **more))
    assert refusal(first).startswith("A lesson holds this back once, before ")
    assert "It will pass when you propose it again" in refusal(first)
    assert BLOCK in refusal(first)
    assert ITEM in refusal(first)
    assert context(first) == ""
    assert fire(agent, edit(project, file, 1, new, **more), {"LESSONS_HOOK_AGAIN": "1"}) == first
    again = fire(agent, edit(project, file, 2, new.replace("2", "3"), **more))
    assert again == {}
    other = f"{new}  # and now"
    assert refusal(fire(agent, edit(project, file, 3, other, **more))) == ""
    assert refusal(fire(agent, edit(project, file, 4, new, session_id="s2", **more)))


def test_a_command_is_refused_once(project, fire) -> None:
    command = {"command": "pay-cli replay --since yesterday"}
    assert "`pay-cli replay" in refusal(fire("codex", before(project, 1, "Bash", command)))
    assert fire("codex", before(project, 2, "Bash", command)) == {}


def test_what_is_refused_brings_the_lesson_that_is_known_in_short(project, fire) -> None:
    fire("claude-code", prompt(project, PROMPT))
    said = refusal(fire("claude-code", edit(project, "pay/client.py")))
    assert f"- [ ] {ITEM}" in said
    assert BLOCK not in said


def test_reading_and_other_files_are_not_refused(project, fire) -> None:
    path = str(project / "pay/client.py")
    assert fire("claude-code", before(project, 1, "Read", {"file_path": path})) == {}
    assert fire("claude-code", before(project, 2, "Bash", {"command": f"cat {path}"})) == {}
    assert fire("claude-code", edit(project, "pay/other.py", 3)) == {}


def test_an_agent_that_cannot_refuse_is_given_the_card(project, fire) -> None:
    arguments = {"filePath": str(project / "pay/client.py"), "oldString": "1", "newString": "2"}
    common = {"sessionID": "s1", "cwd": str(project)}
    call = {**common, "event": "before", "callID": "c1", "tool": "edit", "args": arguments}
    said = fire("opencode", call)
    assert ITEM in said["context"]
    assert set(said) <= {"context", "message"}


@pytest.mark.parametrize(
    ("agent", "name", "tool", "key", "reason"),
    [
        ("gemini-cli", "BeforeTool", "replace", "decision", "reason"),
        ("copilot-cli", "PreToolUse", "edit", "permissionDecision", "permissionDecisionReason"),
        ("cursor", "preToolUse", "Write", "permission", "agent_message"),
    ],
)
def test_each_agent_is_refused_in_its_own_words(
    project, fire, agent, name, tool, key, reason
) -> None:
    def propose(number: int) -> Any:
        change = {"file_path": str(project / "pay/client.py"), "content": "x = 2\n"}
        ids = {"session_id": "s1", "conversation_id": "s1", "tool_use_id": f"c{number}"}
        ids |= {"generation_id": "g1", "cursor_version": "3"} if agent == "cursor" else {}
        time = {"timestamp": f"2026-11-22T10:00:0{number}Z"}
        call = {"tool_name": tool, "tool_input": change, "cwd": str(project)}
        return fire(agent, {"hook_event_name": name, **ids, **time, **call})

    first = propose(1)
    assert first[key] == "deny"
    assert ITEM in first[reason]
    assert key not in propose(2)


def test_a_refusal_of_ours_is_no_failure_and_no_draft(project, fire, drafted) -> None:
    fire("claude-code", prompt(project, "go on"))
    reason = refusal(fire("claude-code", edit(project, "pay/client.py")))
    use = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"file_path": "x"}}
    text = f"PreToolUse:Edit hook error: {reason}"
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": text}
    lines = [
        {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]},
         "toolDenialKind": "permission-rule"},
    ]  # fmt: skip
    with (project / "transcript.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    fire("claude-code", prompt(project, "and on", 2))
    fire("claude-code", event(project, "Stop", last_assistant_message="finished"))
    drafted()
    with Brain.discover(project) as brain:
        assert [one.kind for one in brain.journal.events(session="s1")] == ["prompt"] * 2 + [
            "answer"
        ]
        assert brain.drafts.all() == []


def test_a_dialog_that_shows_no_reason_comes_after_it(project, fire) -> None:
    first = fire("claude-code", edit(project, "migrations/1.sql", 1))
    question = (
        "A lesson asks for your permission before migrations/1.sql is changed or run: “Never "
        "drop a column in the release that stops writing it” (lessons/drop-column.md)."
    )
    assert question in first["systemMessage"]
    assert "Drop the column one release later" in refusal(first)
    assert "The user is asked when you propose it again" in refusal(first)
    second = fire("claude-code", edit(project, "migrations/1.sql", 2))
    assert second["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert fire("claude-code", edit(project, "migrations/1.sql", 3)) == {}


@pytest.mark.parametrize(("new", "asks"), [("-- release 2", False), ("drop column", True)])
def test_what_does_as_the_card_says_is_not_asked_about(project, fire, new, asks) -> None:
    path = project / "lessons/drop-column.md"
    path.write_text(path.read_text().rstrip() + " <!-- shown-by: release \\d -->\n")
    command = f"cat > migrations/2.sql <<'EOF'\n{new}\nEOF"
    said = fire("claude-code", before(project, 1, "Bash", {"command": command}))
    assert ("permissionDecision" in said["hookSpecificOutput"]) == asks
