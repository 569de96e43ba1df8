#!/usr/bin/env bash
# An empty typer 0.29 app imports pydantic when it runs; with 0.28 it does not.
#
# Expected: `typer` is a thin layer over click, so a command without a single option costs about what
# click costs, and 0.29 costs what 0.28 costs.
# Seen: typer 0.29.2 imports pydantic and its compiled core as soon as the app runs, although the
# command has no parameter at all. A program whose commands should start in milliseconds pays for it
# at each start, and `import typer` alone does not show it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/show.py" <<'PYTHON'
import sys

import typer

app = typer.Typer()


@app.command()
def hello():
    before = "pydantic" in sys.modules
    print(f"typer {typer.__version__}: pydantic loaded when the command runs: {before}")


app([])
PYTHON
for version in 0.28.0 0.29.2; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "typer==$version"
  "$folder/$version/bin/python" "$folder/show.py"
done | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
typer 0.28.0: pydantic loaded when the command runs: False
typer 0.29.2: pydantic loaded when the command runs: True
TEXT
