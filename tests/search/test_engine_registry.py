"""Every engine keeps the same promises, and agrees with BM25 written down plainly."""

import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from itertools import chain

import pytest
import tantivy

from lessons_kb.errors import IndexBroken, IndexBusy, InputError, StorageError
from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import count_phrases, count_terms, find_terms, plain_term
from lessons_kb.search.engine_registry import engine_format, open_engine

ENGINES = ("tantivy", "rank-bm25", pytest.param("qdrant", marks=pytest.mark.slow))
BODY = {"body": 1.0}


@pytest.fixture(params=ENGINES)
def name(request):
    return request.param


@pytest.fixture
def start(name, tmp_path):
    """Open an engine, by default in a folder of its own that is made; closed after the test."""
    opened = []

    def start(folder=tmp_path / "index", *, create=True):
        opened.append(open_engine(name, str(folder), create=create))
        return opened[-1]

    yield start
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(start):
    return start()


def body(*terms):
    return {"body": terms}


def find(engine, *terms, limit=10):
    return [n for n, _ in engine.search(dict.fromkeys(terms, 1.0), BODY, limit)]


def lengths_of(engine, numbers):
    return {number: count_terms(card) for number, card in engine.documents(numbers).items()}


def terms_in(engine, numbers, terms):
    asked = [(term, plain_term(term)) for term in terms]
    return {number: find_terms(card, asked) for number, card in engine.documents(numbers).items()}


def plain_bm25(documents, terms, weights, limit):
    """BM25 as the textbook has it: number → field → terms, in; best numbers with scores, out."""
    scores = dict.fromkeys(documents, 0.0)
    for field, weight in weights.items():
        lengths = {number: len(fields.get(field, ())) for number, fields in documents.items()}
        mean = sum(lengths.values()) / len(lengths)
        for term, count in terms.items():
            tf = {k: list(fields.get(field, ())).count(term) for k, fields in documents.items()}
            n = sum(1 for value in tf.values() if value)
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            for number, value in tf.items():
                if value:
                    norm = 1.2 * (1 - 0.75 + 0.75 * lengths[number] / mean)
                    scores[number] += weight * count * idf * value * 2.2 / (value + norm)
    hits = [(number, score) for number, score in scores.items() if score > 0]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]


def test_what_is_not_there_or_not_asked_for_is_not_found(engine):
    assert (engine.size(), find(engine, "run"), engine.documents([1])) == (0, [], {})
    assert engine.document_frequencies(["run"]) == {"run": 0}
    assert not engine.needs_compaction()
    engine.update([(1, body("a")), (2, body("b"))])
    assert find(engine, "a") == [1]
    assert engine.search({"a": 1.0}, {"title": 1.0}, 10) == []
    assert engine.search({"a": 0.0}, BODY, 10) == []
    assert engine.search({"a": 1.0}, {"body": 0.0}, 10) == []
    assert find(engine) == find(engine, "a", limit=0) == []


def test_scores_follow_the_formula(engine):
    documents = {
        1: {"title": ["allow", "list"], "body": ["allow", "list", "chat", "chat", "bot"]},
        2: {"title": ["chat"], "body": ["chat", "server", "port"]},
        3: {"body": ["port", "port", "port", "list"]},
    }
    engine.update(documents.items())
    terms = {"chat": 2.0, "list": 1.0, "absent": 3.0}
    weights = {"title": 0.5, "body": 1.0, "tags": 4.0}
    hits = engine.search(terms, weights, 10)
    expected = plain_bm25(documents, terms, weights, 10)
    assert [number for number, _ in hits] == [number for number, _ in expected]
    assert [score for _, score in hits] == pytest.approx([s for _, s in expected], rel=1e-4)


def test_terms_are_taken_as_they_are_and_white_space_does_not_part_them(engine):
    terms = ["get_user_by_id", "src/a-b.py", "로그", "그인", "Foo", "ＡＢ", "naïve", "the", "\x00"]
    terms += ["x" * 3000, "two words"]
    engine.update([(1, body(*terms, "\n", "")), (2, body("two"))])
    assert [find(engine, term) for term in terms] == [[1]] * len(terms)
    nowhere = dict.fromkeys(["foo", " ", ""], 0)
    expected = {**dict.fromkeys([*terms, "two"], 1), **nowhere}
    assert engine.document_frequencies(expected) == expected
    assert terms_in(engine, [1], ["two words", "two", ""]) == {1: {"body": ("two words",)}}


def test_documents_tell_terms_by_field_lengths_and_pairs_side_by_side(engine):
    engine.update([
        (1, {"title": ["b", "a"], "body": ["the", "local", "base", "branch"]}),
        (2, body("base", "local", "branch")),
        (3, {"title": ["local", "base"], "body": ["locals"]}),
    ])  # fmt: skip
    assert lengths_of(engine, [1, 2, 9]) == {1: {"title": 2, "body": 4}, 2: {"body": 3}}
    assert terms_in(engine, [2, 1, 5], ["branch", "a", "base", "zz"]) == {
        1: {"title": ("a",), "body": ("branch", "base")},
        2: {"body": ("branch", "base")},
    }
    pairs = [("local", "base"), ("base", "branch"), ("two words", "base"), ("", "base")]
    cards = engine.documents([1, 2, 3, 9])
    assert {n: count_phrases(card, pairs) for n, card in cards.items()} == {1: 2, 2: 0, 3: 0}


def test_ties_go_to_the_smaller_number_across_commits(engine):
    order = list(range(1, 61))
    random.Random(5).shuffle(order)
    for first in range(0, 60, 12):
        engine.update((number, body("same", "words")) for number in order[first : first + 12])
    assert find(engine, "same", limit=5) == [1, 2, 3, 4, 5]
    assert find(engine, "words", limit=100) == list(range(1, 61))


def test_what_is_replaced_or_removed_is_gone(engine):
    engine.update([(1, body("old")), (2, body("other", "a")), (-3, body("a", "a"))])
    engine.update([(1, body("new"))])
    assert (engine.size(), find(engine, "old"), find(engine, "new")) == (3, [], [1])
    engine.update([(2, body("twice")), (2, body("last"))])
    assert (engine.size(), find(engine, "twice"), find(engine, "last")) == (3, [], [2])
    engine.update([], [1, 2, 99])
    assert (engine.size(), find(engine, "a")) == (1, [-3])
    assert engine.document_frequencies(["a", "last"])["a"] == 1, "never more than there are"
    engine.update([(1, body("b"))], [-3])
    engine.update([(1, body("c"))], [1])
    assert (engine.size(), find(engine, "b"), find(engine, "c")) == (1, [], [1])


def test_compacting_forgets_what_was_deleted(engine, name):
    documents = {n: {"title": [f"t{n}"], "body": ["a", "a", f"w{n}"]} for n in range(1, 41)}
    engine.update(documents.items())
    engine.update([], range(1, 21))
    assert engine.document_frequencies(["a"])["a"] <= engine.size() == 20
    assert engine.needs_compaction() == (name == "tantivy")
    engine.compact()
    assert not engine.needs_compaction()
    left = {number: fields for number, fields in documents.items() if number > 20}
    terms, weights = {"a": 1.0, "w30": 1.0, "t31": 1.0}, {"title": 1.0, "body": 1.0}
    expected = plain_bm25(left, terms, weights, 50)
    assert dict(engine.search(terms, weights, 50)) == pytest.approx(dict(expected), rel=1e-4)
    assert lengths_of(engine, [30]) == {30: {"title": 1, "body": 3}}
    assert terms_in(engine, [30], ["a", "t30"]) == {30: {"body": ("a",), "title": ("t30",)}}


@pytest.mark.parametrize("name", ["tantivy"])
def test_an_index_built_in_many_pieces_is_compacted(engine):
    for first in range(1, 2_500, 500):
        engine.update((n, body("a", f"w{n}")) for n in range(first, first + 500))
    assert engine.needs_compaction()
    engine.compact()
    engine.update([(9_999, body("a"))])
    assert not engine.needs_compaction()
    assert engine.size() == 2_501


def test_the_hundredth_search_answers_as_the_first(engine, start):
    """A process that asks again and again may keep what it has read, of this commit only."""
    rng = random.Random(7)
    words = [f"w{n}" for n in range(30)]
    weights = {"title": 0.6, "body": 1.0, "tags": 0.0}

    def make(number):
        text = rng.choices(words, weights=range(1, 31), k=rng.randrange(40))
        return number, {"title": text[:3], "body": text}

    for removed in ((), (1, 2, 3)):
        some = rng.sample(range(1, 90), 30)
        engine.update([make(rng.choice((1, -1)) * n) for n in some], removed)
        asked = [
            {word: rng.choice((0.0, 1.0, 2.1)) for word in rng.sample([*words, "absent"], 6)}
            for _ in range(25)
        ]
        for limit in (3, 1_000):
            for number, terms in enumerate(asked):
                fresh = start(create=False)
                expected = fresh.search(terms, weights, limit)
                hits = engine.search(terms, weights, limit)
                assert [n for n, _ in hits] == [n for n, _ in expected], (number, limit)
                assert [s for _, s in hits] == pytest.approx([s for _, s in expected], rel=1e-5)
    assert engine.search({"w29": 1.0}, {"title": 1.0}, 99) != engine.search({"w29": 1.0}, BODY, 99)


def test_another_engine_sees_a_commit_after_reload_and_when_it_is_opened(engine, start):
    reader = start(create=False)
    engine.update([(1, body("kept"))])
    assert reader.size() == 0
    reader.reload()
    assert reader.size() == start(create=True).size() == 1
    assert find(start(create=False), "kept") == [1]


def test_a_failing_update_changes_nothing(engine):
    engine.update([(1, body("a"))])

    def broken():
        yield 2, body("b")
        raise RuntimeError("the caller's own trouble")

    with pytest.raises(RuntimeError):
        engine.update(broken(), [1])
    engine.reload()
    assert engine.size() == 1
    engine.update([(3, body("c"))])
    assert engine.size() == 2


def test_a_second_writer_gets_busy(engine, start):
    second = start(create=False)

    def slow():
        yield 1, body("a")
        with pytest.raises(IndexBusy, match="try again"):
            second.update([(2, body("b"))])
        assert find(second, "a") == []

    engine.update(slow())
    second.reload()
    assert second.size() == 1
    second.update([(2, body("b"))])
    assert second.size() == 2


def test_threads_may_share_an_engine(engine):
    engine.update((number, body("a", f"w{number}")) for number in range(1, 50))
    answers = []

    def ask():
        answers.extend(find(engine, "a", "w7", limit=1) for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[7]] * 80


def test_a_missing_index_is_broken_unless_it_can_be_made(start, tmp_path):
    with pytest.raises(IndexBroken, match="lessons index"):
        start(tmp_path / "none", create=False)
    start(tmp_path / "deep" / "er")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot create"):
        start(tmp_path / "file" / "index")


@pytest.fixture
def copies(name, tmp_path):
    """Return the stamp of an index, and copies of it, each with one of its files to damage."""
    whole = tmp_path / "whole"
    engine = open_engine(name, str(whole), create=True)
    engine.update((n, {"title": [f"w{n}"], "body": ["a", f"w{n}"]}) for n in range(1, 30))
    engine.update([], [5])
    stamp = engine.stamp()
    engine.verify(stamp)
    engine.close()
    files = [
        file for file in whole.rglob("*") if file.is_file() and not file.name.endswith(".lock")
    ]
    pairs = []
    for number, file in enumerate(sorted(files)):
        copy = tmp_path / str(number)
        shutil.copytree(whole, copy)
        pairs.append((copy, copy / file.relative_to(whole)))
    return stamp, pairs


DAMAGES = {
    "garbage": lambda content: os.urandom(len(content)),
    "empty": lambda _content: b"",
    "half": lambda content: content[: len(content) // 2],
    "gone": None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_usable_or_called_broken(name, copies, damage):
    broken = 0
    for copy, file in copies[1]:
        if change := DAMAGES[damage]:
            file.write_bytes(change(file.read_bytes()))
        else:
            file.unlink()
        try:
            engine = open_engine(name, str(copy), create=False)
            engine.search({"a": 1.0, "w3": 1.0}, {"title": 1.0, "body": 1.0}, 5)
            engine.document_frequencies(["a"])
            terms_in(engine, [1, 2], ["a"])
            engine.update([(9, body("a"))], [2])
            engine.close()
        except StorageError:
            broken += 1
    assert broken


def test_a_single_byte_that_changed_is_found(name, copies):
    stamp, pairs = copies
    pairs = [(copy, file) for copy, file in pairs if file.suffix != ".json"]
    assert pairs
    for copy, file in pairs:
        content = file.read_bytes()
        file.write_bytes(bytes([content[0] ^ 0xFF]) + content[1:])
        with pytest.raises(IndexBroken):
            open_engine(name, str(copy), create=False).verify(stamp)


def test_an_older_commit_is_found_and_a_later_one_is_right(name, start, tmp_path):
    engine = open_engine(name, str(tmp_path / "first"), create=True)
    engine.update([(1, {"title": ["a"]})])
    older = engine.stamp()
    engine.close()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    engine = start(tmp_path / "second", create=False)
    engine.update([(2, {"title": ["b"]})])
    later = engine.stamp()
    for whole in (False, True):
        engine.verify(older, whole=whole)
        engine.verify(later, whole=whole)
        with pytest.raises(IndexBroken):
            start(tmp_path / "first", create=False).verify(later, whole=whole)


def test_another_engines_directory_is_broken_and_an_unknown_engine_refused(tmp_path):
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=True)
    for folder in ("tantivy", "rank-bm25"):
        (tmp_path / folder).mkdir()
    tantivy.Index(builder.build(), path=str(tmp_path / "tantivy"))
    other = sqlite3.connect(tmp_path / "rank-bm25" / "documents.sqlite")
    other.execute("CREATE TABLE documents (a, b)")
    other.close()
    for folder in ("tantivy", "rank-bm25"):
        with pytest.raises(IndexBroken):
            open_engine(folder, str(tmp_path / folder), create=True)
    with pytest.raises(InputError, match="tantivy"):
        open_engine("lucene", str(tmp_path), create=True)
    assert engine_format("tantivy") >= 1


def _generate(count, seed):
    source = random.Random(seed)
    vocabulary = [f"w{rank}" for rank in range(3000)]
    weights = [1 / (rank + 1) ** 0.9 for rank in range(3000)]

    def words(low, high):
        return source.choices(vocabulary, weights, k=source.randint(low, high))

    documents = {}
    for number in range(1, count + 1):
        fields = {field: words(0, 25) for field in FIELDS[:-1]}
        fields["body"] = [*chain(*fields.values()), *words(20, 250)]
        documents[number] = fields
    queries = []
    for number in source.sample(sorted(documents), 60):
        about = source.sample(documents[number]["body"], 6)
        queries.append(dict.fromkeys([*about, *words(4, 8)], 1.0))
    return documents, queries


def _ndcg(ranked, relevant):
    gains = [1 / math.log2(place + 2) for place, n in enumerate(ranked[:10]) if n in relevant]
    return sum(gains) / sum(1 / math.log2(place + 2) for place in range(min(len(relevant), 10)))


@pytest.mark.slow
def test_engines_agree_with_the_plain_formula(engine):
    documents, queries = _generate(300, seed=11)
    numbers = sorted(documents)
    for first in range(0, 300, 100):
        engine.update((n, documents[n]) for n in numbers[first : first + 100])
    weights = {"title": 1.0, "tags": 0.5, "symptoms": 1.0, "checklist": 0.3, "body": 1.0}
    same_first, quality = 0, []
    for terms in queries:
        expected = plain_bm25(documents, terms, weights, 10)
        hits = engine.search(terms, weights, 10)
        same_first += hits[0][0] == expected[0][0]
        relevant = {number for number, _ in expected[:3]}
        quality.append(_ndcg([n for n, _ in hits], relevant))
    assert same_first >= 0.95 * len(queries)
    assert sum(quality) / len(quality) >= 1 - 0.005


_WRITER = """
import sys
from lessons_kb.search.engine_registry import open_engine
engine = open_engine(sys.argv[1], sys.argv[2], create=False)
batch = engine.size() // 20
print("ready", flush=True)
while True:
    numbers = range(batch * 20 + 1, batch * 20 + 21)
    engine.update((n, {"body": ["all", f"batch{batch}"]}) for n in numbers)
    batch += 1
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_whole_commits(name, tmp_path):
    open_engine(name, str(tmp_path), create=True).close()
    for delay in (0.0, 0.03, 0.06, 0.1):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, name, str(tmp_path)], stdout=subprocess.PIPE
        )
        writer.stdout.readline()
        time.sleep(delay)
        writer.kill()
        writer.communicate()
        try:
            engine = open_engine(name, str(tmp_path), create=False)
        except IndexBroken:
            assert name == "qdrant"  # is told that it was cut short, and made anew
            shutil.rmtree(tmp_path)
            engine = open_engine(name, str(tmp_path), create=True)
        size = engine.size()
        assert size % 20 == 0
        assert len(find(engine, "all", limit=size + 1)) == size
        engine.update([(-1, body("mine"))])
        engine.update([], [-1])
        engine.close()
