#!/usr/bin/env bash
# tantivy scores the same four documents differently if others were deleted before.
#
# Expected: after a commit that deletes documents, BM25 is computed over the documents that are left.
# Seen (tantivy 0.26.0, Python bindings): `num_docs` counts the live documents, but document
# frequencies and average lengths still count the deleted ones until a merge rewrites the segment.
# Two indexes with the same content so give other scores, and other orders for several terms.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tantivy==0.26.0

cat > "$folder/show.py" <<'PYTHON'
import tantivy

kept = {"1": "apple pear", "2": "plum pear", "3": "plum pear", "4": "plum pear"}
deleted = {str(number): "apple pear" for number in range(5, 13)}


def build(documents):
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("text")
    index = tantivy.Index(schema.build())
    writer = index.writer(heap_size=15_000_000, num_threads=1)
    for name, text in documents.items():
        writer.add_document(tantivy.Document(id=name, text=text))
    writer.commit()
    return index, writer


def report(label, index):
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query("apple", ["text"])).hits
    print(f"{label}: {searcher.num_docs} documents, score {hits[0][0]:.3f}")


index, writer = build(kept | deleted)
for name in deleted:
    writer.delete_documents("id", name)
writer.commit()
report("eight of twelve deleted", index)
report("the same four, indexed anew", build(kept)[0])
PYTHON
cat > "$folder/expected" <<'TEXT'
eight of twelve deleted: 4 documents, score 0.314
the same four, indexed anew: 4 documents, score 1.204
TEXT
"$folder/venv/bin/python" -W ignore "$folder/show.py" | tee "$folder/seen"
diff "$folder/expected" "$folder/seen"
