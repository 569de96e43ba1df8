"""The boundary of a hook: whatever comes in or goes wrong, exit 0, valid output, a line in the log."""

import copy
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import time

import pytest

from lessons_kb import Brain
from lessons_kb.agents.table import AGENTS, event_name, find_host
from lessons_kb.store.error_log import MAX_LOG_BYTES, log_trouble, read_troubles
from lessons_kb.store.state_folder import state_dir
from tests.kit import answer_event

CLAUDE_LIKE = {"hookSpecificOutput", "systemMessage", "continue", "stopReason"}
KEYS = {
    "claude-code": CLAUDE_LIKE,
    "codex": {"hookSpecificOutput", "systemMessage"},
    "gemini-cli": CLAUDE_LIKE,
    "opencode": {"context", "message"},
    "cursor": {"additional_context", "permission", "user_message", "agent_message"},
    "copilot-cli": {
        *("additionalContext", "hookSpecificOutput"),
        *("permissionDecision", "permissionDecisionReason"),
    },
    "vscode": CLAUDE_LIKE,
    "qwen-code": CLAUDE_LIKE,
    "grok-cli": CLAUDE_LIKE,
    "crush": {"context", "decision", "reason"},
    "antigravity": {"injectSteps"},
    "kilo": {"context", "message"},
    "pi": {"context", "message"},
    "droid": {*CLAUDE_LIKE, "suppressOutput"},
    "kimi": {"message", "hookSpecificOutput"},
    "cline": {"contextModification"},
}
SPECIFIC = {"hookEventName", "additionalContext"}
ASKING = {"permissionDecision", "permissionDecisionReason"}
PROMPT = "Add a telegram command that restarts the service"
ENTRY = "from lessons_kb.service.fallback import main; main()"


def is_valid(host, event, output):
    """Hold an output against what the agent documents for this event."""
    if not output:
        return AGENTS[host].silence == ""
    if (host, event) == ("droid", "UserPromptSubmit") and output[0] != "{":
        return len(output) < 10_000  # the text itself
    *progress, answer = output.split("\n")
    if progress and (not AGENTS[host].progress or event not in AGENTS[host].lines_at):
        return False
    if any(set(json.loads(line)) != {"type", "message"} for line in progress):
        return False
    data = json.loads(answer)
    if not isinstance(data, dict) or not set(data) <= KEYS[host]:
        return False
    specific = data.get("hookSpecificOutput")
    if specific is not None:
        allowed = SPECIFIC | (ASKING if event in AGENTS[host].asks_at else set())
        if not set(specific) <= allowed or specific["hookEventName"] != event:
            return False
        if "additionalContext" in specific and event not in AGENTS[host].context_at:
            return False
        if specific.get("permissionDecision", "ask") != "ask":
            return False
    texts = [text for text in [*data.values(), *(specific or {}).values()] if type(text) is str]
    return data.get("continue") in (None, False) and all(len(text) < 10_000 for text in texts)


def payloads(session):
    """Return events of each agent, as they come where nothing is wrong."""
    call = {"tool_name": "Edit", "tool_use_id": "t1"}
    call["tool_input"] = {"file_path": "bot/a.py", "old_string": "a", "new_string": "b"}
    result = {"tool_response": {"error": {}}, "tool_output": '{"exitCode": 1}', "output": "x"}
    return [
        (agent, session(agent).event(name, **fields))
        for agent in KEYS
        for name, fields in (
            ("UserPromptSubmit", {"prompt": PROMPT}), ("PreToolUse", call),
            ("PostToolUse", {**call, **result}), ("SessionStart", {"source": "compact"}),
            ("PostToolUseFailure", {**call, "error": "Exit code 1"}),
            ("Stop", {"last_assistant_message": "Done."}),
        )
    ]  # fmt: skip


ODD = [None, True, 0, -1, 1e308, "", "x", "x" * 50_000, "\ud800", "\u202e\x00\x1b[0m", [], {}]
ODD += [[[[]]], {"a": {"b": []}}, "../../../etc/passwd", "/", "~", "\n", ["x"] * 500, 10**400]


def mangle(rng, payload, others):
    """Return JSON, mostly: with odd values, missing keys, another agent's keys, cut, doubled."""
    data = copy.deepcopy(payload)
    for _ in range(rng.randrange(4)):
        holder = data
        while isinstance(holder, dict) and holder:
            key = rng.choice(sorted(holder))
            if isinstance(holder[key], dict) and holder[key] and rng.random() < 0.6:
                holder = holder[key]
                continue
            match rng.randrange(3):
                case 0:
                    del holder[key]
                case 1:
                    holder[key] = copy.deepcopy(rng.choice(ODD))
                case _:
                    more = copy.deepcopy(rng.choice(others))
                    holder |= {k: v for k, v in more.items() if rng.random() < 0.3}
            break
    text = json.dumps(data)
    at = rng.randrange(len(text))
    odd = f"{text[:at]}{chr(rng.randrange(1, 0xD7FF))}{text[at + 1 :]}"
    made = [text[:at], "[" * 3_000 + text, text + text, odd]
    return dict(enumerate(made)).get(rng.randrange(12), text)


def fuzz(project, session, seed, count):
    rng = random.Random(seed)
    known = payloads(session)
    others = [payload for _agent, payload in known]
    with Brain.open(project) as brain:
        for number in range(count):
            agent, payload = rng.choice(known)
            agent = rng.choice(sorted(AGENTS)) if rng.random() < 0.2 else agent
            text = mangle(rng, payload, others)
            data = text.encode("utf-8", "surrogatepass") if number % 2 else text
            output, _line = answer_event(agent, data, {}, find=lambda _folder: brain)
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                parsed = None
            host = find_host(agent, parsed, {}) if isinstance(parsed, dict) else agent
            event = event_name(parsed, host) if isinstance(parsed, dict) else ""
            assert is_valid(host, event, output), (agent, host, event, text[:500], output)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 8))
def test_no_payload_of_many_makes_a_hook_fail(project, session, seed, figure):
    fuzz(project, session, seed=seed, count=3_000)
    assert all("not a JSON object" in one.message for one in read_troubles(10_000))
    if seed == 7:
        figure("fuzzed inputs", "21,000 hook payloads: valid output every time")


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_garbage_through_the_entry(agent, enter):
    for data in (b"", b"\xff\xfe{", b"[1]", b'{"a":', b"\x00" * 1000, b"null"):
        assert enter(agent, data) == ({}, "")
    assert "not a JSON object" in read_troubles()[-1].message


def prompt(project, session="s1"):
    event = {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
    return {"session_id": session, "cwd": str(project)} | event


def journal_of(project):
    return pathlib.Path(state_dir(str(project))) / "journal.db"


@pytest.mark.slow
def test_a_corrupt_journal_costs_no_answer(project, enter):
    enter("claude-code", prompt(project))
    journal_of(project).write_bytes(b"SQLite format 3\x00" + b"\x07" * 8_000)
    for side in ("-wal", "-shm"):
        journal_of(project).with_name(f"journal.db{side}").unlink(missing_ok=True)
    for session in ("s2", "s3"):
        output, _ = enter("claude-code", prompt(project, session))
        assert "Reject every chat id" in str(output)


@pytest.mark.slow
def test_an_index_that_breaks_in_a_prompt_costs_nothing_that_is_remembered(claude, project):
    claude.prompt(PROMPT)
    for folder in project.rglob("index-*"):
        (folder / "meta.json").write_text("{}")
    claude.session = "s2"
    assert "Reject every chat id" in claude.prompt(PROMPT).context
    claude.call("Post", "Write", {"file_path": str(project / "a.py"), "content": "x = 1"})
    said = claude.stop("I left the test that covers the rejection for a follow-up.")
    assert "Cover the rejection" in said.line


@pytest.mark.slow
def test_what_takes_longer_than_the_deadline_is_silence_in_time(project, enter):
    enter("claude-code", prompt(project))
    holder = sqlite3.connect(journal_of(project), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        began = time.monotonic()
        said = enter("claude-code", prompt(project, "s2"), LESSONS_HOOK_DEADLINE="0.2")
        assert time.monotonic() - began < 60
    finally:
        holder.close()
    assert said == ({}, "")
    assert "no answer within 0." in read_troubles()[-1].message


def test_a_brain_that_was_named_and_is_gone_is_told_and_silences_no_other(project, fire):
    answer = fire("claude-code", prompt(project), {"LESSONS_BRAIN": str(project / "gone")})
    assert f"names {project}/gone" in answer["systemMessage"]
    assert "require an allowlist" in answer["hookSpecificOutput"]["additionalContext"]


def test_an_error_in_the_settings_is_logged(project, fire):
    (project / "lessons.toml").write_text("[preflight]\nbudgt = 3\n")
    said = fire("claude-code", prompt(project))
    assert "lessons.toml:2: unknown key preflight.budgt" in said.pop("systemMessage")
    assert said == {}
    assert "did you mean preflight.budget" in read_troubles()[-1].message


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["no-such-agent"], ["--help"]])
def test_a_call_by_hand_says_what_it_is_for(arguments):
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, *arguments], stdin=subprocess.DEVNULL, capture_output=True
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"usage: lessons-hook AGENT")


def test_the_log_stays_small_and_private():
    for number in range(600):
        log_trouble("claude-code", "Stop", f"{number} " + "x\n\t" * 200)
    path = pathlib.Path(os.environ["HOME"], ".local/state/lessons-kb/hook.log")
    assert path.stat().st_size <= MAX_LOG_BYTES
    assert path.stat().st_mode & 0o077 == 0
    assert read_troubles()[-1].message.startswith("599 ")
