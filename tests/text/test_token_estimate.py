"""The estimate is held against a real vocabulary on named corpora of our own."""

import pathlib
import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text import token_estimate
from lessons_kb.text.token_estimate import estimate_tokens

pytestmark = pytest.mark.slow  # a real vocabulary counts whole corpora

CORPORA = pathlib.Path(__file__).parent / "corpora"
NAMES = sorted(path.stem for path in CORPORA.glob("*.txt"))

ANY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(string.printable),
        st.sampled_from("가나다あア漢é─✅\ud800\u200b"),
    ),
    max_size=60,
)


@pytest.fixture(scope="module")
def ratios():
    """Corpus → estimate ÷ real count."""
    bpe_openai = pytest.importorskip("bpe_openai", reason="the vocabulary is a dev dependency")
    vocabulary = bpe_openai.get_encoding("o200k_base")
    texts = {name: (CORPORA / f"{name}.txt").read_text("utf-8") for name in NAMES}
    return {
        name: estimate_tokens(text) / len(vocabulary.encode(text)) for name, text in texts.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_undercounts_by_a_tenth_at_most(ratios, name):
    assert ratios[name] >= 0.9


def test_overcounts_by_a_quarter_at_most_on_average(ratios):
    assert sum(ratios.values()) / len(ratios) <= 1.25


def test_only_the_empty_text_costs_nothing():
    assert estimate_tokens("") == 0


LINES = st.lists(
    st.one_of(ANY, st.text(" \t.\r\x1c\u2028a가", max_size=6)), min_size=1, max_size=8
).map("\n".join)


@given(LINES)
def test_a_count_by_lines_is_the_count_of_the_whole(text):
    pieces = re.findall(token_estimate._PIECE, text)
    assert token_estimate._count_pieces(text) == len(pieces)


@given(ANY.filter(bool))
def test_any_other_text_costs_something(text):
    assert estimate_tokens(text) >= 1


@pytest.mark.slow
@given(ANY)
def test_a_text_has_at_most_one_token_more_than_bytes(text):
    """A text that has fewer bytes than a budget has tokens therefore need not be counted."""
    assert estimate_tokens(text) <= len(text.encode(errors="replace")) + 1


@given(ANY, ANY)
def test_a_joined_text_costs_about_the_sum_of_its_parts(first, second):
    parts = estimate_tokens(first) + estimate_tokens(second)
    assert parts - 3 <= estimate_tokens(first + second) <= parts + 2


@pytest.mark.slow
@given(ANY, st.integers(2, 20))
def test_repeating_a_text_costs_more(text, times):
    text = f"{text} word."
    assert estimate_tokens(text * times) >= (estimate_tokens(text) - 3) * times


@pytest.mark.parametrize(
    "unit", ["\t", " ", "\n", " \n", "a", "_", " _", "가", "é", "─", "1", " !", "\r\n", "\x00"]
)
def test_time_is_linear_on_hostile_runs(unit):
    began = time.process_time()
    estimate_tokens(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 30
