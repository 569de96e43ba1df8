#!/usr/bin/env bash
# tantivy's default tokenizer leaves out words of 40 bytes or more, such as the id of a git commit.
#
# Expected: a text field finds a document by each word in it, however long the word is.
# Seen (tantivy 0.27.0, Python bindings): the default tokenizer drops a token whose UTF-8 form has 40
# bytes or more, without an error when the document is added or searched. A commit id has exactly 40;
# a Korean or Japanese word reaches the limit with 14 characters. lessons_kb splits words itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tantivy==0.27.0

cat > "$folder/show.py" <<'PYTHON'
import tantivy

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WORDS = (COMMIT[:39], COMMIT, "가" * 13, "가" * 14)
schema = tantivy.SchemaBuilder()
schema.add_text_field("text")
index = tantivy.Index(schema.build())
writer = index.writer(heap_size=15_000_000, num_threads=1)
for word in WORDS:
    writer.add_document(tantivy.Document(text=f"reverted {word} today"))
writer.commit()
index.reload()
for word in WORDS:
    hits = index.searcher().search(index.parse_query(word, ["text"])).hits
    size = len(word.encode())
    print(f"{len(word)} characters, {size} bytes: {len(hits)} hits")
PYTHON
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
39 characters, 39 bytes: 1 hits
40 characters, 40 bytes: 0 hits
13 characters, 39 bytes: 1 hits
14 characters, 42 bytes: 0 hits
TEXT
