"""The default engine: tantivy, embedded, on disk, memory-mapped."""

from __future__ import annotations

import errno
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import tantivy
from tantivy import Query

from lessons_kb.errors import StorageError
from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import (
    CardTerms,
    Engine,
    check_stamp,
    find_best,
    join_terms,
    make_folder,
    order_hits,
    plain_term,
    read_terms,
    tell_broken,
    tell_busy,
)

_KEY = "key"
_FREQUENCY = "freq"  # postings without positions: half the disk; phrases are asked of a few hits

_DOCUMENTS_KEPT = 5_000
"""About 4 kB each."""
_KEPT = 50_000
"""Frequencies of terms, and clauses of searches."""
_FOOTER_BYTES = 64
"""Fewer than a footer has; they hold the checksum of all above it."""
_FOOTER_NUMBERS = 8
"""Bytes at a file's end: the length of the JSON above, and a magic number."""
_REFUSALS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.EROFS, errno.EACCES),
    *(errno.EPERM, errno.EIO, errno.ENOMEM, errno.ENOLCK, errno.ENOSYS),
)
"""Errors that no rebuild would fix; tantivy tells them in words alone."""
_COMPACT_ABOVE = 0.1
"""Share of deleted documents above which the idf is off enough to compact."""
_IN_ONE_PIECE = range(2_000, 20_000)
"""Cards of an index that is fastest in one segment: 10,000 in five take a search twice as long.
More than these are not written at once."""
_HEAP = 30_000_000  # bytes; tantivy takes 15 MB at least, and more makes fewer segments


class TantivyEngine(Engine):
    """An index in a directory of its own; see ``Engine`` for the contract.

    What was deleted counts in N and n until tantivy merges by itself or ``compact`` is called.
    Safe to share between threads.
    """

    # Of the commit that is seen; `reload` begins them anew.
    _size: int
    _documents: dict[int, CardTerms]
    _frequency: Callable[[str, str], int]
    _clause: Callable[[str, str, float], tuple[tantivy.Occur, Query] | None]

    def __init__(self, directory: str, *, create: bool) -> None:
        self._directory = directory
        builder = tantivy.SchemaBuilder()
        for field in FIELDS:
            # Stored, so that `documents` and `compact` need nobody else's memory.
            builder.add_text_field(
                field, stored=True, tokenizer_name="whitespace", index_option=_FREQUENCY
            )
        # An unsigned field that is given a Python int panics the writer.
        builder.add_integer_field(_KEY, indexed=True, fast=True)
        self._schema = builder.build()
        with self._translating():
            if os.path.isdir(directory):
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if not entry.is_file(follow_symlinks=False):  # a FIFO would keep us waiting
                            raise ValueError(f"{entry.name} is not a file")
        make_folder(directory, "meta.json", create=create)
        with self._translating():
            self._index = tantivy.Index(self._schema, path=directory)
            self._index.config_reader("manual")
        self.reload()

    def update(
        self,
        added: Iterable[tuple[int, Mapping[str, Sequence[str]]]],
        removed: Iterable[int] = (),
    ) -> None:
        """Commit these changes at once or not at all; a number that exists is replaced."""
        with self._writing() as writer:
            for number in removed:
                writer.delete_documents_by_term(_KEY, number)
            for number, fields in added:
                writer.delete_documents_by_term(_KEY, number)
                texts = {field: join_terms(fields.get(field, ())) for field in FIELDS}
                writer.add_document(_document(number, texts))

    def search(
        self, terms: Mapping[str, float], weights: Mapping[str, float], limit: int
    ) -> list[tuple[int, float]]:
        """Return the best ``limit`` numbers with scores, best first, ties by number.

        One flat union of term queries lets tantivy skip blocks that cannot reach the best
        (measured: 0.85 ms for 25 terms over six fields of 12,000 cards; nested by field 1.2).
        """
        if limit < 1:
            return []
        with self._translating():
            searcher, clause = self._index.searcher(), self._clause
            asked = [(plain_term(term), count) for term, count in terms.items()]
            found = [
                clause(field, term, weight * count)
                for field, weight in weights.items()
                for term, count in asked
            ]
            if not (union := [one for one in found if one]):
                return []
            query = Query.boolean_query(union)

            def fetch(most: int) -> list[tuple[Any, float]]:
                hits = searcher.search(query, most, count=False).hits
                return [(address, score) for score, address in hits]

            best = find_best(fetch, limit)
            keys = searcher.fast_field_values(_KEY, [address for address, _ in best])
        scored = zip(keys, best, strict=True)
        return order_hits([(int(key or 0), score) for key, (_, score) in scored], limit)

    def _build_clause(
        self, field: str, term: str, boost: float
    ) -> tuple[tantivy.Occur, Query] | None:
        """Return the clause of a search; None where the term is not in the field."""
        if boost <= 0 or not term or not self._index.searcher().doc_freq(field, term):
            return None
        query = Query.term_query(self._schema, field, term, _FREQUENCY)
        return tantivy.Occur.Should, Query.boost_query(query, boost)

    def document_frequencies(self, terms: Iterable[str], field: str = "body") -> dict[str, int]:
        """Return in how many cards' ``field`` each term stands, 0 included."""
        with self._translating():
            return {term: self._frequency(field, term) for term in terms}

    def _count_cards(self, field: str, term: str) -> int:
        return min(self._index.searcher().doc_freq(field, plain_term(term)), self._size)

    def documents(self, numbers: Iterable[int]) -> dict[int, CardTerms]:
        """Return the terms of each number that exists."""
        if len(self._documents) > _DOCUMENTS_KEPT:
            self._documents = {}  # not cleared: another thread may be reading it
        known, distinct = self._documents, list(dict.fromkeys(numbers))
        if missing := [number for number in distinct if number not in known]:
            wanted = [Query.term_query(self._schema, _KEY, number, "basic") for number in missing]
            query = Query.boolean_query([(tantivy.Occur.Should, one) for one in wanted])
            with self._translating():
                searcher = self._index.searcher()
                found = searcher.search(query, len(missing), count=False).hits
                keys = searcher.fast_field_values(_KEY, [address for _, address in found])
                for key, (_, address) in zip(keys, found, strict=True):
                    known[int(key or 0)] = read_terms(_read_texts(searcher.doc(address)))
        return {number: known[number] for number in distinct if number in known}

    def size(self) -> int:
        """Return the number of live cards."""
        return self._size

    def needs_compaction(self) -> bool:
        """Tell whether so much is deleted that the idf is off, or a new index lies in pieces."""
        try:
            segments = self._read_meta()["segments"]
            sizes = [segment["max_doc"] for segment in segments]
            stored = sum(sizes)
            deleted = sum((one["deletes"] or {}).get("num_deleted_docs", 0) for one in segments)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise tell_broken(self._directory, error) from None
        in_pieces = stored in _IN_ONE_PIECE and max(sizes) < stored / 2
        return in_pieces or bool(deleted > _COMPACT_ABOVE * stored)

    def stamp(self) -> str:
        """Return what names the last commit and what is stored with it."""
        return self._read_stamp(whole=False)

    def verify(self, stamp: str, *, whole: bool = True) -> None:
        """Raise IndexBroken where what is stored is not that of the commit ``stamp``, or later.

        tantivy writes a checksum below each file of a segment and looks at none while it reads.
        """
        try:
            check_stamp(self._read_stamp(whole=whole), stamp)
        except FileNotFoundError:
            return  # another process has just merged these segments into one
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise tell_broken(self._directory, error) from None

    def _read_stamp(self, *, whole: bool) -> str:
        meta = self._read_meta()
        names = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
        digest = zlib.crc32(repr(meta).encode())
        for entry in sorted(os.listdir(self._directory)):
            if entry.partition(".")[0] in names:
                with open(os.path.join(self._directory, entry), "rb") as file:
                    if not whole:
                        file.seek(-_FOOTER_BYTES, os.SEEK_END)
                    data = file.read()
                if whole:
                    _check_sum(entry, data)
                digest = zlib.crc32(data[-_FOOTER_BYTES:], zlib.crc32(entry.encode(), digest))
        return f"{int(meta['opstamp'])} {digest}"

    def _read_meta(self) -> dict[str, Any]:
        with open(os.path.join(self._directory, "meta.json"), encoding="utf-8") as file:
            meta: dict[str, Any] = json.load(file)
        return meta

    def compact(self) -> None:
        """Rewrite the index without what was deleted, in one commit.

        tantivy-py offers no merge on request, so every card is written anew from its stored terms.
        """
        with self._writing() as writer:
            self.reload()
            searcher = self._index.searcher()
            found = searcher.search(Query.all_query(), max(searcher.num_docs, 1), count=False).hits
            addresses = [address for _, address in found]
            keys = searcher.fast_field_values(_KEY, addresses)
            writer.delete_all_documents()
            for key, address in zip(keys, addresses, strict=True):
                writer.add_document(_document(int(key or 0), _read_texts(searcher.doc(address))))

    def reload(self) -> None:
        """See what other processes have committed since."""
        with self._translating():
            self._index.reload()
            self._size = int(self._index.searcher().num_docs)
        self._documents = {}
        self._frequency = lru_cache(_KEPT)(self._count_cards)
        self._clause = lru_cache(_KEPT)(self._build_clause)

    def close(self) -> None:
        """Let go of files and memory; no other method may be called afterwards."""
        del self._index, self._frequency, self._clause

    @contextmanager
    def _writing(self) -> Iterator[tantivy.IndexWriter]:
        with self._translating():
            writer = self._index.writer(_HEAP, num_threads=1)
            try:
                yield writer
                writer.commit()
            finally:
                # Drops what was not committed, releases the lock, and lets merges end: a merge
                # that is killed is begun again by the next update.
                writer.wait_merging_threads()
        self.reload()

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise what the library raises as errors of ours, and OSError where the disk refuses."""
        try:
            yield
        except BaseException as error:
            is_panic = type(error).__name__ == "PanicException"  # what one in Rust is raised as
            if isinstance(error, StorageError) or not (is_panic or isinstance(error, ValueError)):
                raise
            if "LockBusy" in str(error):
                raise tell_busy(self._directory) from None
            found = re.search(r"os error (\d+)|Os \{ code: (\d+)", str(error))
            number = int(found[1] or found[2]) if found else 0
            if number in _REFUSALS:  # the system refused to write: the index is as whole as before
                raise OSError(number, os.strerror(number), self._directory) from None
            raise tell_broken(self._directory, error) from None


def _document(number: int, texts: Mapping[str, str]) -> tantivy.Document:
    document = tantivy.Document()
    document.add_integer(_KEY, number)
    for field, text in texts.items():
        if text:
            document.add_text(field, text)
    return document


def _check_sum(name: str, data: bytes) -> None:
    """Raise ValueError unless the footer (JSON, its length, a magic number) fits the bytes above.

    https://github.com/quickwit-oss/tantivy/blob/main/src/directory/footer.rs
    """
    end = len(data) - _FOOTER_NUMBERS
    begin = end - int.from_bytes(data[end : end + 4], "little")
    if begin < 0 or zlib.crc32(data[:begin]) != json.loads(data[begin:end])["crc"]:
        raise ValueError(f"{name} is damaged")


def _read_texts(document: tantivy.Document) -> dict[str, str]:
    return {field: document.get_first(field) or "" for field in FIELDS}
