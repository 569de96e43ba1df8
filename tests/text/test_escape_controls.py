"""What a terminal would obey or hide is written out; the data of a JSON text stay the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.sanitize import visible, visible_json

INVISIBLE = set("\x1b\x07\x00\x7f\x9b\u202e\u2066\u200b\ufeff\U000e0041")


@pytest.mark.parametrize(("text", "shown"), [
    ("plain 한국어 é", "plain 한국어 é"),
    ("two\nlines\tand\u00a0blanks", "two\nlines\tand\u00a0blanks"),
    ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    ("\u202eexe.txt", "\\u202eexe.txt"),
    ("\x9b2J", "\\x9b2J"),
])  # fmt: skip
def test_visible(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_is_left_to_obey(text):
    assert not INVISIBLE & set(visible(text))


@pytest.mark.slow
@given(st.dictionaries(st.text(), st.text() | st.sampled_from(sorted(INVISIBLE))))
def test_json_says_the_same(data):
    text = visible_json(json.dumps(data, ensure_ascii=False, indent=1))
    assert json.loads(text) == data
    assert not INVISIBLE & set(text)
