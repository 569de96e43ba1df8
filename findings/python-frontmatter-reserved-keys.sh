#!/usr/bin/env bash
# python-frontmatter cannot load a header with the key `content`, `handler` or an integer.
#
# Expected: any YAML mapping is valid front matter, so `loads` returns its keys as metadata.
# Seen (1.1.0): `loads` passes the mapping as keyword arguments to `Post`, so three kinds of valid
# headers raise TypeError. `frontmatter.parse` reads all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check python-frontmatter==1.1.0

cat > "$folder/show.py" <<'PYTHON'
import frontmatter

for header in ("content: a note", "handler: nginx", "404: not found", "title: fine"):
    try:
        post = frontmatter.loads(f"---\n{header}\n---\nBody\n")
        print(f"{header!r}: {post.metadata}")
    except TypeError as error:
        print(f"{header!r}: TypeError: {error}")
PYTHON
cat > "$folder/expected" <<'TEXT'
'content: a note': TypeError: Post.__init__() got multiple values for argument 'content'
'handler: nginx': TypeError: Post.__init__() got multiple values for argument 'handler'
'404: not found': TypeError: keywords must be strings
'title: fine': {'title': 'fine'}
TEXT
"$folder/venv/bin/python" -W ignore "$folder/show.py" | tee "$folder/seen"
diff "$folder/expected" "$folder/seen"
