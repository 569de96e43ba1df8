#!/usr/bin/env bash
# rank-bm25 gives a document that holds the word a lower score than one that does not.
#
# Expected: BM25Okapi replaces a negative idf by `epsilon` times the average idf, so that a word which
# most documents hold still adds a little (the parameter is documented as a floor).
# Seen (0.2.2): in a small corpus the average itself is negative. The floor is then negative too, and
# documents that match score below those that do not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rank-bm25==0.2.2

cat > "$folder/show.py" <<'PYTHON'
from rank_bm25 import BM25Okapi

corpus = [["deploy", "tests"], ["deploy", "tests"], ["deploy", "tests", "rollback"]]
bm25 = BM25Okapi(corpus)
print({word: round(idf, 3) for word, idf in bm25.idf.items()})
print("score for 'deploy':", [round(float(score), 3) for score in bm25.get_scores(["deploy"])])
print("score for a word in no document:", [float(score) for score in bm25.get_scores(["absent"])])
PYTHON
cat > "$folder/expected" <<'TEXT'
{'deploy': -0.282, 'tests': -0.282, 'rollback': 0.511}
score for 'deploy': [-0.301, -0.301, -0.25]
score for a word in no document: [0.0, 0.0, 0.0]
TEXT
"$folder/venv/bin/python" -W ignore "$folder/show.py" | tee "$folder/seen"
diff "$folder/expected" "$folder/seen"
