"""Inputs to begin with: one of each form that a reader knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def _lines(*events: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


_CALL = {"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": "@CWD@/bot/a.py"}}


def payloads() -> Iterable[bytes]:
    common = {"session_id": "s", "sessionId": "s", "conversation_id": "s", "cwd": "@CWD@"}
    prompt = "Add a telegram command that restarts the service"
    events: tuple[dict[str, Any], ...] = (
        {"hook_event_name": "UserPromptSubmit", "prompt": prompt},
        {"hook_event_name": "PreToolUse", **_CALL},
        {"hook_event_name": "PostToolUse", **_CALL, "tool_response": {"stdout": "x"}},
        {"hook_event_name": "PostToolUseFailure", **_CALL, "error": "Exit code 1"},
        {"hook_event_name": "Stop", "last_assistant_message": "Done."},
        {"hook_event_name": "SessionStart", "source": "compact"},
        {"hook_event_name": "BeforeAgent", "prompt": prompt},
        {"hook_event_name": "AfterTool", **_CALL, "tool_response": {"error": {}}},
        {"hook_event_name": "beforeSubmitPrompt", "prompt": prompt},
        {"hook_event_name": "afterAgentResponse", "text": "Done"},
        {"event": "prompt", "text": prompt, "sessionID": "s"},
        {
            "event": "after",
            "tool": "edit",
            "args": {"filePath": "@CWD@/bot/a.py"},
            "sessionID": "s",
        },
    )
    for number in range(7):
        for event in events:
            yield bytes([number]) + json.dumps(common | event).encode()


TRANSCRIPTS = (
    _lines(
        {
            "type": "user",
            "sessionId": "s",
            "uuid": "u",
            "timestamp": "2026-11-22T01:02:03.004Z",
            "message": {"role": "user", "content": "Fix the bot"},
        },
        {
            "type": "assistant",
            "sessionId": "s",
            "uuid": "v",
            "message": {
                "content": [
                    {"type": "text", "text": "Done"},
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "x"}},
                ]
            },
        },
        {
            "type": "user",
            "sessionId": "s",
            "message": {
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "is_error": True,
                        "content": "Exit code 1",
                    }
                ]
            },
        },
    ),
    _lines(
        {"type": "session_meta", "payload": {"id": "s", "timestamp": "2026-11-22T01:02:03Z"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Fix"}},
        {
            "type": "response_item",
            "payload": {
                "type": "function_call",
                "name": "shell",
                "call_id": "c",
                "arguments": '{"command": ["bash", "-lc", "pytest"]}',
            },
        },
        {
            "type": "response_item",
            "payload": {
                "type": "function_call_output",
                "call_id": "c",
                "output": '{"output": "x", "metadata": {"exit_code": 1}}',
            },
        },
    ),
    _lines(
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-11-22T01:02:03Z"},
        {"type": "user", "id": "1", "content": [{"text": "Fix"}]},
        {"type": "gemini", "id": "2", "content": "Done", "toolCalls": [{"name": "x", "args": {}}]},
    ),
)

REVIEW = """\
# Review

## Verified claims

| # | Claim | Evidence | Supported by | Verdict |
|---|---|---|---|---|
| 1 | `a.py:3` swallows the error | test | A, B | confirmed |
| 2 | Cache is never emptied | reading | C | disputed |

## Deferred

- Retry queue: reopen when the second region is up
"""
MEMORY = """\
# Agents

## Lessons learned

- **Never** drop a column in the same release: old processes write it. (2026-01-02)
- Always run `make lint` first
  - nested: because CI fails
1. Use UTC

## Gotchas
* Windows paths hold `\\`
"""
ROWS = [
    {
        "id": 1,
        "description": "Forgot the lock",
        "feedback": "- Take the lock first\n- Test with two processes",
        "stage": "DEV",
        "file_patterns": '["src/*.py"]',
        "occurrence_count": 3,
        "last_task": "t",
        "last_timestamp": 1.7e9,
        "example_tasks": '["a", "b"]',
    }
]
JSONL = b'{"title": "Never retry blindly", "severity": "high", "tags": ["a"], "count": 3}\n'
TOML = b'language = "ko"\n[preflight]\nmax_lessons = 2\n[folders]\n"docs/x" = "lesson"\n'
TOML += b"[triggers]\npatterns = ['broke again', 'a.{0,20}b']\n"
SETTINGS = b'{\n  // mine\n  "model": "x",\n  "hooks": {"Stop": [{"hooks": []}]},\n}\n'
_CARD = b"""\
---
title: A
occurrences: %d  # seen
last-seen: 2026-01-0%d
examples: [%s]
---

# A

- b
"""
THREE = b"\n====\n".join(_CARD % (n, n, b"x" * n) for n in (2, 3, 5))

RULES = (
    b"""\
id: a
message: Open names no encoding
language: python
severity: error
note: The default differs.
files: ["src/**"]
rule:
  all:
    - any: [{pattern: open($A)}, {pattern: "open('x')"}]
    - not: {inside: {kind: decorated_definition, has: {regex: "^@a\\\\b"}, stopBy: end}}
    - has: {regex: ^encoding$}
""",
    b"""\
base: &base {languages: [python], severity: ERROR}
rules:
  - <<: *base
    id: s
    message: A shell is started
    patterns:
      - pattern: subprocess.run(..., shell=True)
      - pattern-not-inside: |
          @pytest.fixture
          def $F(...): ...
      - pattern-not-regex: \\bquote\\b
    paths: {include: ["*.py"]}
  - {id: r, message: m, languages: [regex], pattern-regex: 'os\\.system'}
""",
)
"""Files of rules of ast-grep and of Semgrep."""
