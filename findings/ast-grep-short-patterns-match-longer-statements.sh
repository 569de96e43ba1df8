#!/usr/bin/env bash
# An ast-grep pattern matches some statements that say more than the pattern, but not others.
#
# Expected: code without a metavariable matches that code alone, so `import os` does not match
# `import os, sys`; or else it matches everything that begins like it.
# Seen (ast-grep-py 0.51.0): further nodes at the end, and `async` at the beginning, are passed over.
# So `assert a` matches `assert a, 'why'`. But `return a` does not match `return a, b`, `import os` not
# `import os as o`, and a function with a result type is not found by `def f($$$): $$$`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ast-grep-py==0.51.0

cat > "$folder/show.py" <<'PYTHON'
from ast_grep_py import SgRoot

CASES = {
    "import os": ("import os, sys", "import os as o"),
    "assert a": ("assert a, 'why'",),
    "raise Error": ("raise Error from cause",),
    "return a": ("return a, b",),
    "def f($$$): $$$": ("async def f(a): pass", "def f(a) -> int: pass"),
}
for pattern, codes in CASES.items():
    for code in codes:
        found = SgRoot(code, "python").root().find(pattern=pattern)
        print(f"{pattern!r} on {code!r}: {'a match' if found else 'no match'}")
PYTHON
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
'import os' on 'import os, sys': a match
'import os' on 'import os as o': no match
'assert a' on "assert a, 'why'": a match
'raise Error' on 'raise Error from cause': a match
'return a' on 'return a, b': no match
'def f($$$): $$$' on 'async def f(a): pass': a match
'def f($$$): $$$' on 'def f(a) -> int: pass': no match
TEXT
