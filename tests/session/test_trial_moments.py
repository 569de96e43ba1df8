"""In a trial of moments, the card of a task is given at the moment of the arm and at no other."""

import pytest

from lessons_kb.store.journal import MOMENTS, write_arm
from tests.kit import Claude, make_brain, write

CARD = """\
---
type: lesson
title: Letters were sent twice because a worker took them with the default lease
detect:
  - regex: '\\.take\\('
    files: ["*.py"]
    unless: lease
gate: once
created: 2026-01-12
---

## Root Cause

After the lease the broker gives the message to another worker.

## Prevention Checklist

- [ ] Take letters with lease=60
"""
MISTAKE = 'broker.take("letters")\n'


@pytest.fixture
def claude(tmp_path, monkeypatch):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "state"))
    make_brain(str(project))
    write(project, "lessons/lease.md", CARD)
    return Claude(project)


def play_turn(claude, environment):
    """Play a turn with the mistake. Return the answers by the moment of their events."""
    change = {"file_path": str(claude.project / "worker.py"), "content": MISTAKE}
    told = {}

    def say(moment, name, **fields):
        told.setdefault(moment, []).append(claude.say(name, environment, **fields))

    call = {"tool_name": "Write", "tool_use_id": "toolu_1", "tool_input": change}
    say("start", "SessionStart", source="startup")
    say("prompt", "UserPromptSubmit", prompt="Write a worker that takes letters", prompt_id="p1")
    say("call", "PreToolUse", **call)
    write(claude.project, "worker.py", MISTAKE)
    # An agent repeats a call that was refused.
    call["tool_use_id"] = "toolu_2"
    say("call", "PreToolUse", **call)
    say("call", "PostToolUse", **call, tool_response={})
    say("after", "Stop", last_assistant_message="The worker takes letters.")
    say("after", "Stop", last_assistant_message="The worker is finished.")
    return told


def read_texts(answers):
    return [
        text for said in answers if (text := said.context or said.refused or said.get("reason"))
    ]


@pytest.mark.parametrize("arm", MOMENTS)
def test_the_card_comes_at_the_moment_of_the_arm_alone(claude, tmp_path, arm):
    token = "0123"
    write_arm(str(tmp_path / "state"), token, arm)
    told = play_turn(claude, {"LESSONS_TRIAL": token})
    texts = {moment: read_texts(answers) for moment, answers in told.items()}
    assert [moment for moment, found in texts.items() if found] == [arm]
    assert "Take letters with lease=60" in texts[arm][0]
    assert "the broker gives the message to another worker" in texts[arm][0]
    if arm == "call":
        first, second, _after = told["call"]
        assert "worker.py" in first.refused
        assert not second.refused, "a call is refused once"
    if arm == "after":
        first, second = told["after"]
        assert first["decision"] == "block"
        assert first["reason"].startswith("⚠ Checklist: ")
        assert "decision" not in second, "the turn goes on once"


def test_without_a_trial_the_end_of_a_turn_never_lets_the_model_go_on(claude):
    told = play_turn(claude, {})
    assert [said.get("decision") for said in told["after"]] == [None, None]
    assert read_texts(told["call"])
