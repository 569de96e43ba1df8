"""An index answers as a fresh one of the same cards, whatever was edited, deleted or added before.

The same goes for edits that are searched before they are committed.
"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.model import FIELDS
from lessons_kb.search.engine_protocol import make_card_terms
from lessons_kb.search.engine_registry import open_engine

ENGINES = ("tantivy", "rank-bm25")
WEIGHTS = {"title": 3.0, "symptoms": 2.0, "body": 1.0}
WORDS = [f"w{number}" for number in range(60)]
EDITED, ANOTHER = 17, 23


def make_fields(rng, longest=90):
    def draw(least, most):
        return tuple(rng.choices(WORDS, range(1, 61), k=rng.randint(least, most)))

    return {"title": draw(3, 6), "symptoms": draw(0, 5), "body": draw(1, longest)}


def draw_query(rng):
    return {word: float(rng.randint(1, 2)) for word in rng.sample(WORDS, 5)}


def assert_same_answers(reader, other, rng, queries=12):
    """Compare order, scores, frequencies and documents of two readers of the same cards."""
    assert reader.size() == other.size()
    for field in FIELDS:
        frequencies = reader.document_frequencies(WORDS, field)
        assert frequencies == other.document_frequencies(WORDS, field)
    for _ in range(queries):
        query = draw_query(rng)
        for limit in (3, 1_000):
            hits = reader.search(query, WEIGHTS, limit)
            expected = other.search(query, WEIGHTS, limit)
            assert [number for number, _ in hits] == [number for number, _ in expected]
            assert [s for _, s in hits] == pytest.approx([s for _, s in expected], rel=5e-6)
            numbers = [number for number, _ in hits]
            assert reader.documents(numbers) == other.documents(numbers)


def build_fresh(name, directory, cards):
    engine = open_engine(name, str(directory), create=True)
    engine.update(cards.items())
    return engine


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_an_edited_index_answers_as_a_fresh_one(name, seed, tmp_path):
    rng = random.Random(seed)
    cards = {number: make_fields(rng) for number in range(1, 120)}
    engine = build_fresh(name, tmp_path / "edited", cards)
    for commit in range(12):
        removed = rng.sample(sorted(cards), 2)
        for number in removed:
            del cards[number]
        edited = rng.sample(sorted(cards), rng.choice((1, 1, 9)))
        added = rng.sample(range(1_000, 9_000), 2)
        # From time to time much longer texts: the mean length moves.
        changed = {n: make_fields(rng, rng.choice((90, 400))) for n in (*edited, *added)}
        cards |= changed
        engine.update(changed.items(), removed)
        fresh = build_fresh(name, tmp_path / f"fresh-{commit}", cards)
        assert_same_answers(engine, fresh, rng, queries=4)
        fresh.close()
    engine.close()


@pytest.mark.parametrize("name", ENGINES)
def test_an_edit_is_searched_before_its_commit_as_it_will_be_afterwards(name, tmp_path):
    rng = random.Random(5)
    cards = {number: make_fields(rng) for number in range(1, 301)}
    engine = build_fresh(name, tmp_path / "index", cards)
    for _ in range(3):
        new = {**make_fields(rng, 300), "title": ("new", "words")}
        edits = {EDITED: make_fields(rng), ANOTHER: new}
        reader = engine.with_edits({n: make_card_terms(card) for n, card in edits.items()})
        fresh = build_fresh(name, tmp_path / f"fresh-{rng.random()}", cards | edits)
        assert_same_answers(reader, fresh, rng)
        engine.update(edits.items())
        assert_same_answers(engine, fresh, rng)
        fresh.close()
        cards |= edits
    engine.close()


@pytest.mark.parametrize("name", ENGINES)
def test_a_word_of_an_edited_card_alone_finds_it_and_no_more_are_returned(name, tmp_path):
    rng = random.Random(3)
    cards = {number: make_fields(rng) for number in range(1, 301)}
    engine = build_fresh(name, tmp_path / "index", cards)
    edits = {EDITED: {"body": ("w1", "zanzibar", "w2")}, ANOTHER: {"body": ("w1",) * 9}}
    reader = engine.with_edits({n: make_card_terms(card) for n, card in edits.items()})
    assert [number for number, _ in reader.search({"zanzibar": 1.0}, WEIGHTS, 10)] == [EDITED]
    assert EDITED not in dict(reader.search({"w50": 1.0}, WEIGHTS, 300))
    assert len(reader.search({"w1": 1.0}, WEIGHTS, 3)) == 3
    assert reader.search({"w1": 1.0}, WEIGHTS, 0) == []
    assert reader.document_frequencies(["zanzibar", "nowhere"]) == {"zanzibar": 1, "nowhere": 0}
    engine.close()


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=settings().max_examples // 6)
@given(
    texts=st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=1),
    removed=st.sets(st.integers(1, 12)),
)
def test_few_words_and_many_ties_answer_as_a_fresh_index(name, texts, removed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    cards = {number: {"body": tuple(text)} for number, text in enumerate(texts, 1)}
    engine = build_fresh(name, folder / "edited", cards)
    engine.update([], removed)
    left = {number: card for number, card in cards.items() if number not in removed}
    fresh = build_fresh(name, folder / "fresh", left)
    query = dict.fromkeys("abc", 1.0)
    for limit in (1, 2, 50):
        hits = engine.search(query, {"body": 1.0}, limit)
        expected = fresh.search(query, {"body": 1.0}, limit)
        assert [number for number, _ in hits] == [number for number, _ in expected]
        assert [s for _, s in hits] == pytest.approx([s for _, s in expected], rel=5e-6)
    engine.close()
    fresh.close()
