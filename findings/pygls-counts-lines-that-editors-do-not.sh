#!/usr/bin/env bash
# pygls puts an editor's change into the wrong line if the text has a form feed or U+2028.
#
# Expected: pygls splits a document where the Language Server Protocol does, after "\n", "\r\n" and
# "\r" alone, so that line 1 is the editor's line 1.
# Seen (pygls 2.1.1): it uses `str.splitlines`, which also splits at a form feed, at U+0085, at U+2028
# and at five further characters. Each of them moves every later line, so that incremental changes,
# hovers and renames hit another text. lessons_kb keeps documents with a class of its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pygls==2.1.1

cat > "$folder/show.py" <<'PYTHON'
from lsprotocol import types
from pygls.workspace import TextDocument

# The editor replaces the first word of its second line.
CHANGE = types.TextDocumentContentChangePartial(
    range=types.Range(start=types.Position(1, 0), end=types.Position(1, 4)), text="NEXT"
)
for separator in (" ", "\f", "\u2028"):
    document = TextDocument("file:///notes.md", f"one{separator}two\nthree four\n")
    document.apply_change(CHANGE)
    print(f"{separator!r}: {document.source!r}")
PYTHON
cat > "$folder/expected" <<'TEXT'
' ': 'one two\nNEXTe four\n'
'\x0c': 'one\x0cNEXTthree four\n'
'\u2028': 'one\u2028NEXTthree four\n'
TEXT
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff "$folder/expected" "$folder/seen"
