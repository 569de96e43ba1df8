#!/usr/bin/env bash
# ast-grep's `$$$` after a comma does not match zero arguments, although it means "zero or more".
#
# Expected: `open($PATH, $$$)` finds every call of `open` with at least one argument, as
# `open($PATH, ...)` does in Semgrep.
# Seen (ast-grep-py 0.51.0): the comma of the pattern must be in the code, so `open(p)` is missed. The
# other way round, `f($$$, $LAST)` finds only the call with a single argument. lessons_kb searches
# for such a pattern both with and without its trailing `, $$$`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ast-grep-py==0.51.0

cat > "$folder/show.py" <<'PYTHON'
from ast_grep_py import SgRoot

CODE = "open()\nopen(p)\nopen(p, 'r')\nopen(p, 'r', 1)\n"
for pattern in ("open($$$)", "open($PATH, $$$)", "open($PATH, $$$REST)", "open($$$, $LAST)"):
    nodes = SgRoot(CODE, "python").root().find_all(pattern=pattern)
    print(f"{pattern}: {[node.text() for node in nodes]}")
PYTHON
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
open($$$): ['open()', 'open(p)', "open(p, 'r')", "open(p, 'r', 1)"]
open($PATH, $$$): ["open(p, 'r')", "open(p, 'r', 1)"]
open($PATH, $$$REST): ["open(p, 'r')", "open(p, 'r', 1)"]
open($$$, $LAST): ['open(p)']
TEXT
