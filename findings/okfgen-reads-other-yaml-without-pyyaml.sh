#!/usr/bin/env bash
# okfgen reads the same valid header differently, depending on whether PyYAML happens to be installed.
#
# Expected: a validator of the Open Knowledge Format reads its YAML headers in one way.
# Seen (okfgen 0.1.3): PyYAML is optional and not installed with it. Without it, a small parser of its
# own takes the keys of a nested mapping for keys of the concept, ends a text at its first line, and
# keeps quotes and comments. So `verified`, a key of the format's version 0.2, loses its content, and
# one machine accepts a bundle that another refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check okfgen==0.1.3

cat > "$folder/show.py" <<'PYTHON'
from okfgen import yamlfm

for header in (
    "verified:\n  - by: Ann\n    at: '2026-01-31'",
    "title: >-\n  Retry\n  once",
    "title: Retry # or not",
    'tags: ["a, b", c]',
):
    print(yamlfm.parse(header))
PYTHON
mkdir "$folder/bundle"
printf -- '---\nokf_version: "0.2"\n---\n\n# Index\n\n* [Note](note.md) - A note\n' > "$folder/bundle/index.md"
printf -- '---\n"type": note\ntitle: Note\ndescription: A note\n---\n\nText.\n' > "$folder/bundle/note.md"
for library in without with; do
  if [ "$library" = with ]; then
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check PyYAML==6.0.2
  fi
  echo "$library PyYAML:"
  "$folder/venv/bin/python" "$folder/show.py"
  verdict=accepts
  "$folder/venv/bin/okfgen" validate "$folder/bundle" > "$folder/output" 2>&1 || verdict=refuses
  echo "okfgen $verdict a header with \"type\" in quotes"
done | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
without PyYAML:
{'verified': ['by: Ann'], 'at': '2026-01-31'}
{'title': '>-'}
{'title': 'Retry # or not'}
{'tags': ['"a', 'b"', 'c']}
okfgen refuses a header with "type" in quotes
with PyYAML:
{'verified': [{'by': 'Ann', 'at': '2026-01-31'}]}
{'title': 'Retry once'}
{'title': 'Retry'}
{'tags': ['a, b', 'c']}
okfgen accepts a header with "type" in quotes
TEXT
