"""Records of sessions in the shapes of three agents, written for these tests."""

import json

SESSION = "11111111-aaaa-4bbb-8ccc-222222222222"
WHEN = "2026-11-20T10:00:0{}.000Z"


def lines(*objects):
    return b"".join(json.dumps(item, ensure_ascii=False).encode() + b"\n" for item in objects)


def claude(kind, content, second=0, **more):
    message = {"role": kind, "content": content, "id": more.pop("message", f"m{second}")}
    place = {"sessionId": SESSION, "cwd": "/home/dev/proj", "timestamp": WHEN.format(second)}
    return {"type": kind, "message": message, "isSidechain": False, **place, **more}


def use(number, name, **arguments):
    return {"type": "tool_use", "id": number, "name": name, "input": arguments}


def result(number, text, *, error=False):
    return {"type": "tool_result", "tool_use_id": number, "content": text, "is_error": error}


LOST = "String to replace not found in file."
CLAUDE = lines(
    {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": "x"},
    claude("user", "Make it green", 0, promptId="p-1"),
    claude("assistant", [{"type": "text", "text": "Reading."}], 1),
    claude("assistant", [use("t1", "Bash", command="pytest -q")], 1),
    claude("user", [result("t1", "Exit code 1\n1 failed", error=True)], 2),
    claude("assistant", [use("t2", "Edit", file_path="/home/dev/proj/a.py", old_string="x")], 3),
    claude("user", [result("t2", f"<tool_use_error>{LOST}</tool_use_error>", error=True)], 3),
    claude("assistant", [use("t3", "Bash", command="sleep 9")], 4),
    claude("user", [result("t3", "stopped")], 4, toolUseResult={"interrupted": True}),
    claude("user", [{"type": "text", "text": "[Request interrupted by user]"}], 4, uuid="u-4"),
    claude("user", "<command-name>/clear</command-name>", 5),
    claude("user", "hook text", 5, isMeta=True),
    claude("user", "Summary so far", 5, isCompactSummary=True, uuid="u-5"),
    claude("user", "inner", 5, isSidechain=True),
    claude("assistant", [{"type": "text", "text": "Half"}], 6, message="m6"),
    claude("assistant", [{"type": "text", "text": "and half."}], 6, message="m6"),
    claude("user", "또 안 돼요\n<system-reminder>be good</system-reminder>", 7, promptId="p-2"),
    claude("assistant", [{"type": "text", "text": "Done."}], 8),
)


def codex(kind, payload, second=0):
    return {"timestamp": WHEN.format(second), "type": kind, "payload": payload}


def item(second, **fields):
    payload = {"type": "item_completed", "thread_id": SESSION, "turn_id": "turn-1", "item": fields}
    return codex("event_msg", payload, second)


def call(kind, number, second=0, **fields):
    return codex("response_item", {"type": kind, "call_id": number, **fields}, second)


CODEX = lines(
    codex("session_meta", {"id": SESSION, "cwd": "/home/dev/proj"}),
    item(1, type="UserMessage", content=[{"type": "text", "text": "Make it green"}]),
    call("function_call", "c1", 2, name="exec_command", arguments='{"cmd": "pytest"}'),
    item(2, type="CommandExecution", id="c1", command=["/bin/bash", "-lc", "pytest"], exit_code=3,
         aggregated_output="1 failed"),
    call("function_call_output", "c1", 2, output="Process exited with code 3"),
    call("custom_tool_call", "c2", 3, name="apply_patch", input="*** P"),
    call("custom_tool_call_output", "c2", 3, output="Success. Updated a.py"),
    call("function_call", "c3", name="zap", arguments="{"),
    call("function_call_output", "c3", output="unsupported call: zap"),
    item(4, type="AgentMessage", content=[{"type": "Text", "text": "Done."}]),
    codex("event_msg", {"type": "task_complete", "last_agent_message": "Done."}, 4),
)  # fmt: skip

OUTPUT = {"output": "Output: (empty)\nExit Code: 3\n"}
GEMINI_CALL = {
    "id": "g1", "name": "run_shell_command", "args": {"command": "pytest"}, "status": "success",
    "timestamp": WHEN.format(3), "result": [{"functionResponse": {"response": OUTPUT}}],
}  # fmt: skip
NOT_FOUND = {"error": "Could not find an exact match"}
GEMINI_EDIT = {
    "id": "g2", "name": "replace", "args": {"file_path": "a.py"}, "status": "error",
    "result": [{"functionResponse": {"response": NOT_FOUND}}],
}  # fmt: skip


def gemini(number, kind, content, **more):
    at = WHEN.format(number + (number > 2))
    return {"id": f"{number}", "timestamp": at, "type": kind, "content": content, **more}


ASKED = gemini(1, "user", [{"text": "<hook_context>x</hook_context>\n\nMake it green"}])
SAID, ENDED = gemini(2, "gemini", ""), gemini(3, "gemini", "Done.")
CONTEXT = {"id": "0", "type": "user", "content": [{"text": "<session_context>"}]}
GEMINI = lines(
    {"sessionId": SESSION, "projectHash": "e2", "kind": "main"},
    {"$set": {"messages": [CONTEXT]}},
    ASKED,
    SAID,
    {**SAID, "toolCalls": [{**GEMINI_CALL, "status": "executing"}]},
    {**SAID, "toolCalls": [GEMINI_CALL]},
    {**SAID, "toolCalls": [GEMINI_CALL, GEMINI_EDIT]},
    {"id": "9", "type": "user", "content": [{"functionResponse": {"id": "g1"}}]},
    ENDED,
)
CALLS = {**SAID, "toolCalls": [GEMINI_CALL, GEMINI_EDIT]}
DOCUMENT = {"sessionId": SESSION, "projectHash": "e2", "messages": [ASKED, CALLS, ENDED]}
GEMINI_DOCUMENT = json.dumps(DOCUMENT).encode()
