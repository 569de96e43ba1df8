"""`lessons trial` with arms that give one card at one moment."""

import json
import os
import sys

import pytest

from tests.kit import commit
from tests.trial.test_trial import CARD, HOOK, shop  # noqa: F401 (a fixture)

AGENT = """\
import json, os, pathlib, subprocess, sys
hook, words = {hook!r}, {{}}
def tell(name, **fields):
    event = {{"session_id": "one", "hook_event_name": name, "cwd": os.getcwd(),
             "transcript_path": "", **fields}}
    done = subprocess.run([sys.executable, "-I", "-S", hook, "claude-code"],
                          input=json.dumps(event), capture_output=True, text=True)
    words.setdefault(name, "")
    words[name] += done.stdout
    return "idempotency key" in "".join(words.values())
tell("SessionStart", source="startup")
tell("UserPromptSubmit", prompt=sys.argv[1])
pay = os.path.abspath("pay.py")
def pay_by(text, number):
    call = {{"tool_name": "Write", "tool_use_id": str(number),
            "tool_input": {{"file_path": pay, "content": text}}}}
    if '"deny"' in words.get("PreToolUse", ""):
        words["PreToolUse"] += " once"
    tell("PreToolUse", **call)
    pathlib.Path(pay).write_text(text)
    tell("PostToolUse", **call, tool_response={{}})
knows = tell("SessionStart", source="resume")
pay_by("send(key=1)\\n" if knows else "send()\\n", 1)
if not knows and tell("Stop", last_assistant_message="It is retried."):
    pay_by("send(key=1)\\n", 2)
print(json.dumps({{"words": words}}))
"""
DETECTED = CARD.replace(
    "created:", "detect: [{regex: 'send\\(\\)', files: ['*.py']}]\ngate: once\ncreated:"
)
TASK = """
[[task]]
name = "retry"
prompt = "retry a failed payment when the gateway times out"
commit = "HEAD"
check = "grep -q key pay.py"
lesson = "lessons/idempotency.md"
"""
EVENTS = {
    "start": "SessionStart", "prompt": "UserPromptSubmit", "call": "PreToolUse", "after": "Stop",
}  # fmt: skip


@pytest.mark.slow
def test_each_arm_gives_the_card_of_the_task_at_its_moment(shop, lessons, tmp_path):  # noqa: F811
    other = CARD.replace("idempotency key", "receipt")
    commit(shop, **{"lessons/idempotency.md": DETECTED, "lessons/other.md": other})
    script = tmp_path / "agent.py"
    script.write_text(AGENT.format(hook=HOOK))
    (tmp_path / "tasks.toml").write_text(TASK)
    out = tmp_path / "out"
    words = ("--agent", f"{sys.executable} {script} {{prompt}}", "--out", out)
    arms = ("without", *EVENTS)
    done = lessons("--json", "trial", tmp_path / "tasks.toml", *words, "--arms", ",".join(arms))
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["faults"] == []
    right = {arm: cells == ["right"] for arm, cells in data["tasks"][0]["arms"].items()}
    assert right == {arm: arm != "without" for arm in arms}
    for arm in arms:
        printed = json.loads((out / "runs" / f"retry.{arm}.1" / "agent.txt").read_text())["words"]
        told = [name for name, text in printed.items() if "idempotency key" in text]
        assert told == ([EVENTS[arm]] if arm in EVENTS else [])
        assert "receipt" not in "".join(printed.values()), "the brain's other cards stay away"
    assert {row["second"] for row in data["comparisons"]} == set(EVENTS)


def test_an_arm_of_a_moment_needs_a_card_and_an_agent_that_can_go_on(
    shop,  # noqa: F811
    lessons,
    tmp_path,
    monkeypatch,
):
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(TASK.replace("idempotency.md", "nothing.md"))
    words = ("trial", tasks, "--agent", f"{sys.executable} {{prompt}}", "--out", tmp_path / "out")
    done = lessons(*words, "--arms", "without,call")
    assert (
        done.code,
        "task retry: the arm call gives one card; name it as lesson" in done.err,
    ) == (2, True)
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    tasks.write_text(TASK)
    done = lessons("trial", tasks, "--agent", "codex --model small", "--arms", "without,after")
    assert (done.code, "needs an agent that can go on after its turn: claude-code" in done.err) == (
        2,
        True,
    )
    done = lessons("trial", tasks, "--agent", "codex", "--arms", "without,noon")
    assert "'noon' must be one of without, with, placebo, start, prompt, call, after" in done.err
