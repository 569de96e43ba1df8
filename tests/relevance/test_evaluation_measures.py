"""Figures by hand, and the file of labelled prompts."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.errors import InputError
from lessons_kb.relevance.evaluation_measures import PromptOutcome, parse_labelled, summarise


def outcome(expected="", ranked="", injected="", offered="", listed="", tokens=0, milliseconds=1.0):
    return PromptOutcome(
        expected=tuple(expected),
        ranked=tuple(ranked),
        injected=tuple(injected),
        offered=tuple(offered),
        listed=frozenset(listed),
        tokens=tokens,
        milliseconds=milliseconds,
    )


def test_figures_by_hand():
    found = summarise(
        [
            outcome("ab", "axb", "a", tokens=30, milliseconds=3),
            outcome("c", "vwxyzc", "", milliseconds=1),
            outcome("", "abc", "b", tokens=10, milliseconds=2),
            outcome("", "", "", milliseconds=8),
        ]
    )
    assert (found.queries, found.positive, found.negative) == (4, 2, 2)
    assert found.recall5 == 0.5
    assert found.hit3 == 0.5
    assert found.mrr == pytest.approx((1 + 1 / 6) / 2)
    first = (1 + 1 / 2) / (1 + 1 / math.log2(3))
    assert found.ndcg10 == pytest.approx((first + 1 / math.log2(7)) / 2)
    assert found.injected3 == 0.5
    assert found.kept == 1
    assert found.false_injection == 0.5
    assert found.tokens == 10
    assert found.milliseconds == 2.5


def test_what_is_offered_or_listed_counts_beside_what_is_injected():
    found = summarise(
        [
            outcome("a", "a", injected="a"),
            outcome("b", "b", injected="a", offered="cb", listed="d"),
            outcome("d", "d", listed="d"),
            outcome("e", "e", listed="d"),
            outcome("", "abc", offered="b"),
            outcome("", "abc", listed="d"),
        ]
    )
    assert (found.injected3, found.offered, found.openable) == (0.25, 0.5, 0.75)
    assert (found.false_injection, found.false_offer) == (0, 0.5)


def test_a_measure_without_prompts_is_none():
    silent = summarise([outcome()])
    assert silent.recall5 is silent.hit3 is silent.mrr is silent.ndcg10 is silent.kept is None
    assert summarise([outcome("a", "a", "a")]).false_injection is None


def test_a_file_is_read_line_by_line():
    text = '\ufeff{"query": "a\u2028b", "expected": ["x", "x"], "id": 7}\r\n\n{"query": "c", "expected": []}'
    read = parse_labelled(text, name="p.jsonl")
    assert [(one.line, one.query, one.expected) for one in read] == [
        (1, "a\u2028b", ("x",)),
        (3, "c", ()),
    ]


GOOD = '{"query": "a", "expected": []}\n'


@pytest.mark.parametrize(("line", "words"), [
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("7", 'no "query"'),
    ('{"expected": []}', 'no "query"'),
    ('{"query": " ", "expected": []}', 'no "query"'),
    ('{"query": 3, "expected": []}', 'no "query"'),
    ('{"query": "a"}', '"expected" must be a list'),
    ('{"query": "a", "expected": "x"}', '"expected" must be a list'),
    ('{"query": "a", "expected": [1]}', '"expected" must be a list'),
])  # fmt: skip
def test_a_bad_line_is_named_by_its_number(line, words):
    with pytest.raises(InputError, match=f"^p.jsonl:3: .*{words}"):
        parse_labelled(f"{GOOD}\n{line}\n", name="p.jsonl")


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_an_empty_file_says_what_to_write(text):
    with pytest.raises(InputError, match=r'^p.jsonl is empty; write lines such as {"query"'):
        parse_labelled(text, name="p.jsonl")


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(InputError):
        assert parse_labelled(text, name="p")
