#!/usr/bin/env bash
# pathspec's GitIgnoreSpec and `git check-ignore` disagree on five kinds of valid patterns.
#
# Expected: `GitIgnoreSpec` says that it replicates git's edge cases, so both agree.
# Seen (pathspec 1.1.1 beside git 2.39.5): directory patterns after `**`, POSIX classes, an escaped
# bracket in a set, and a negation below an ignored folder are answered differently.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pathspec==1.1.1

cat > "$folder/show.py" <<'PYTHON'
import pathlib
import subprocess
import tempfile

import pathspec

CASES = [
    ("src/**/", "src/top.py"),
    ("v[[:digit:]].py", "v1.py"),
    ("a[[:space:]]b", "a b"),
    (r"x[\]]y", "x]y"),
    ("build/\n!build/keep.txt", "build/keep.txt"),
]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["git", "init", "-q", folder], check=True)
    for patterns, path in CASES:
        pathlib.Path(folder, ".gitignore").write_text(patterns + "\n")
        command = ["git", "-C", folder, "check-ignore", "-q", "--no-index", path]
        git = subprocess.run(command, check=False).returncode == 0
        ours = pathspec.GitIgnoreSpec.from_lines(patterns.splitlines()).match_file(path)
        print(f"{patterns!r} on {path!r}: git {git}, pathspec {ours}")
PYTHON
cat > "$folder/expected" <<'TEXT'
'src/**/' on 'src/top.py': git False, pathspec True
'v[[:digit:]].py' on 'v1.py': git True, pathspec False
'a[[:space:]]b' on 'a b': git True, pathspec False
'x[\\]]y' on 'x]y': git True, pathspec False
'build/\n!build/keep.txt' on 'build/keep.txt': git True, pathspec False
TEXT
"$folder/venv/bin/python" -W ignore "$folder/show.py" | tee "$folder/seen"
diff "$folder/expected" "$folder/seen"
