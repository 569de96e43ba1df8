#!/usr/bin/env bash
# Validators of the Open Knowledge Format disagree on a date without a time.
#
# Expected: a `timestamp` of `2026-11-29`, as YAML writes dates, is valid for each of them.
# Seen: okfgen 0.1.3 and okf-cli 0.7.0 accept it, vault2okf 0.1.0 reports an error.
# lessons_kb writes every date with a time and a zone, which all three accept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  okfgen==0.1.3 okf-cli==0.7.0 vault2okf==0.1.0

for moment in 2026-11-29 2026-11-29T00:00:00Z; do
  mkdir "$folder/$moment"
  printf -- '---\nokf_version: "0.2"\n---\n\n# Index\n\n* [Note](note.md) - A note\n' > "$folder/$moment/index.md"
  printf -- '---\ntype: note\ntitle: Note\ndescription: A note\ntimestamp: %s\n---\n\nText.\n' "$moment" \
    > "$folder/$moment/note.md"
  for program in okfgen okf vault2okf; do
    verdict=accepts
    "$folder/venv/bin/$program" validate "$folder/$moment" > "$folder/output" 2>&1 || verdict=refuses
    echo "$program $verdict $moment"
  done
done | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
okfgen accepts 2026-11-29
okf accepts 2026-11-29
vault2okf refuses 2026-11-29
okfgen accepts 2026-11-29T00:00:00Z
okf accepts 2026-11-29T00:00:00Z
vault2okf accepts 2026-11-29T00:00:00Z
TEXT
