"""A list written as text is split at commas outside braces, brackets and quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.comma_list import split_commas


@pytest.mark.parametrize(("text", "parts"), [
    ("", []),
    ("a", ["a"]),
    (" a , b,,c ", ["a", "b", "c"]),
    ("src/**/*.{ts,tsx}", ["src/**/*.{ts,tsx}"]),
    ("**/*.{ts,tsx}, src/**", ["**/*.{ts,tsx}", "src/**"]),
    ("{a,{b,c}}/x,y", ["{a,{b,c}}/x", "y"]),
    ("[a,b].py, c", ["[a,b].py", "c"]),
    ('"a, b", c', ["a, b", "c"]),
    ("'**/*.ts', 'b'", ["**/*.ts", "b"]),
    ("don't, won't", ["don't", "won't"]),
    ("src/{a, b", ["src/{a", "b"]),
    ("a}, b", ["a}", "b"]),
    ('"open, b', ['"open', "b"]),
])  # fmt: skip
def test_parts(text, parts):
    assert split_commas(text) == parts


@given(st.text("ab{}[]\"', ", max_size=30))
def test_no_letter_is_lost(text):
    letters = [sign for sign in text if sign in "ab"]
    assert [sign for part in split_commas(text) for sign in part if sign in "ab"] == letters


@given(st.lists(st.text("abc/*.", min_size=1), max_size=5))
def test_parts_without_signs_read_back(parts):
    assert split_commas(", ".join(parts)) == parts
