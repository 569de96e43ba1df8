#!/usr/bin/env bash
# tantivy cannot search an index in a folder that the process may only read.
#
# Expected: opening an index and counting its documents only reads files, so it works on a read-only
# mount, in a sandbox, and for a user who may not write there.
# Seen (tantivy 0.27.0, Python bindings): opening a searcher creates the file `.tantivy-meta.lock` in
# the folder of the index and locks it. Where it cannot do so, the index cannot be searched.
# lessons_kb then keeps an index in the temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tantivy==0.27.0

cat > "$folder/show.py" <<'PYTHON'
import os
import pathlib
import sys

import tantivy

folder = pathlib.Path(sys.argv[1])
folder.parent.chmod(0o755)
folder.mkdir()
schema = tantivy.SchemaBuilder()
schema.add_text_field("text")
index = tantivy.Index(schema.build(), path=str(folder))
writer = index.writer(heap_size=15_000_000, num_threads=1)
writer.add_document(tantivy.Document(text="apple"))
writer.commit()
writer.wait_merging_threads()
del writer, index
for file in folder.iterdir():
    file.chmod(0o644)


def search():
    try:
        searcher = tantivy.Index.open(str(folder)).searcher()
    except ValueError as error:
        return str(error).partition(":")[0]
    return f"{searcher.num_docs} document"


for label in ("writable", "read-only"):
    for lock in folder.glob("*.lock"):
        lock.unlink()
    if label == "read-only":
        folder.chmod(0o555)
        if os.geteuid() == 0:
            os.setuid(65534)  # no permission binds root
    answer = search()
    print(f"{label}: {answer}, new files: {[file.name for file in folder.glob('*.lock')]}")
PYTHON
"$folder/venv/bin/python" "$folder/show.py" "$folder/index" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
writable: 1 document, new files: ['.tantivy-meta.lock']
read-only: Failed to acquire Lockfile, new files: []
TEXT
