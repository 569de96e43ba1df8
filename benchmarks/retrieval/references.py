"""What plain tools reach: each reference indexes documents and returns a search function.

None of them shares code with lessons_kb; they are written as a user of those libraries
would write them.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.data import Doc

    Search = Callable[[str, int], list[str]]
    """Query text, limit → document ids, best first."""
    Build = Callable[[Sequence[Doc]], Search]

_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then"
    " there these they this to was will with"
)
_STOP = frozenset(_STOP_WORDS.split())
"""Lucene's English stop words."""


def build_rank_bm25_plain(docs: Sequence[Doc]) -> Search:
    """Index with rank-bm25 on lower-cased words between blanks."""
    return _rank_bm25(docs, lambda text: text.lower().split())


def build_rank_bm25_stemmed(docs: Sequence[Doc]) -> Search:
    """Index with rank-bm25 on stemmed words without stop words."""
    return _rank_bm25(docs, _stemmer())


def build_bm25s_identifiers(docs: Sequence[Doc]) -> Search:
    """Index with bm25s on stemmed words, identifiers split and kept whole, the title thrice."""
    import bm25s

    tokens = _stemmer(split=True)
    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    texts = [f"{doc.title}\n{doc.title}\n{_joined(doc)}" for doc in docs]
    retriever.index([tokens(text) for text in texts], show_progress=False)
    ids = [doc.id for doc in docs]

    def search(text: str, limit: int) -> list[str]:
        query = tokens(text)
        if not query:
            return []
        numbers, scores = retriever.retrieve(
            [query], k=min(limit, len(ids)), show_progress=False, n_threads=0
        )
        found = zip(numbers[0], scores[0], strict=True)
        return [ids[number] for number, score in found if score > 0]

    return search


def build_fts5_porter(docs: Sequence[Doc]) -> Search:
    """Index with SQLite FTS5, Porter stemming, the title weighing three times the text."""
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute(
        "CREATE VIRTUAL TABLE cards"
        " USING fts5(id UNINDEXED, title, text, tokenize='porter unicode61')"
    )
    db.executemany("INSERT INTO cards VALUES (?, ?, ?)", [(d.id, d.title, d.text) for d in docs])

    def search(text: str, limit: int) -> list[str]:
        words = dict.fromkeys(_WORD.findall(text.lower()))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        statement = "SELECT id FROM cards WHERE cards MATCH ? ORDER BY bm25(cards, 0, 3, 1) LIMIT ?"
        return [row[0] for row in db.execute(statement, (match, limit))]

    return search


def build_tantivy_english(docs: Sequence[Doc]) -> Search:
    """Index with tantivy's own English analyzer, title and text as two fields of one weight."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("title", tokenizer_name="en_stem")
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer(heap_size=50_000_000, num_threads=1)
    for doc in docs:
        writer.add_document(tantivy.Document(id=doc.id, title=doc.title, text=doc.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(text: str, limit: int) -> list[str]:
        words = " ".join(_WORD.findall(text.lower()))
        if not words:
            return []
        query, _ = index.parse_query_lenient(words, ["title", "text"])
        hits = searcher.search(query, limit).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    return search


def build_minilm(docs: Sequence[Doc]) -> Search:
    """Embed with all-MiniLM-L6-v2 (256 tokens) and rank by cosine."""
    from benchmarks.retrieval.minilm import encode_cached, open_encoder

    encoder = open_encoder()
    vectors = encode_cached(encoder, [_joined(doc) for doc in docs])
    ids = [doc.id for doc in docs]

    def search(text: str, limit: int) -> list[str]:
        scores = vectors @ encoder.encode([text])[0]
        return [ids[number] for number in (-scores).argsort(kind="stable")[:limit]]

    return search


LEXICAL: Mapping[str, Build] = {
    "rank-bm25 whitespace": build_rank_bm25_plain,
    "rank-bm25 stem+stop": build_rank_bm25_stemmed,
    "bm25s + identifier split, title x3": build_bm25s_identifiers,
    "FTS5 porter, title x3": build_fts5_porter,
    "tantivy en_stem": build_tantivy_english,
}
SEMANTIC: Mapping[str, Build] = {"MiniLM": build_minilm}


def _joined(doc: Doc) -> str:
    return f"{doc.title}\n{doc.text}"


def _stemmer(*, split: bool = False) -> Callable[[str], list[str]]:
    import Stemmer

    stem = Stemmer.Stemmer("english").stemWords

    def tokens(text: str) -> list[str]:
        words = _WORD.findall(text)
        if split:
            words = [part for word in words for part in _split(word)]
        return list(stem([word for word in map(str.lower, words) if word not in _STOP]))

    return tokens


def _split(word: str) -> list[str]:
    parts = _IDENTIFIER.findall(word)
    return [word, *parts] if len(parts) > 1 else [word]


def _rank_bm25(docs: Sequence[Doc], tokens: Callable[[str], list[str]]) -> Search:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([tokens(_joined(doc)) for doc in docs])
    ids = [doc.id for doc in docs]

    def search(text: str, limit: int) -> list[str]:
        scores = index.get_scores(tokens(text))
        best = (-scores).argsort(kind="stable")[:limit]
        return [ids[number] for number in best if scores[number] > 0]

    return search
