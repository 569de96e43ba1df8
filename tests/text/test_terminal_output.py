"""What a terminal would have left of an output."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.sanitize import plain

CASES = {
    "plain 한글 text": "plain 한글 text",
    "a\tb\nc\r\nd\n": "a\tb\nc\nd\n",
    "\x1b[1;31mred\x1b[0m\x1b[K": "red",
    "\x1b]0;title\x07text\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\": "textlink",
    "\x1b]0;title\x1b\\text": "text",
    "10%\r 50%\r100%\ndone": "100%\ndone",
    "10%\r100%\r\ndone": "100%\ndone",
    "bell\x07 null\0 back\x08": "bell null back",
    "\x1b(B\x1b=x": "x",
    "open \x1b": "open ",
}


@pytest.mark.parametrize(("text", "shown"), CASES.items())
def test_only_what_is_seen_is_left(text, shown):
    assert plain(text) == shown


@pytest.mark.slow
@given(st.text(st.sampled_from([*"\x1b[]m;0\x07\\\r\n\t ab(?"]), max_size=60))
def test_nothing_but_text_is_left(text):
    left = plain(text)
    assert "\r" not in left
    assert "\x1b" not in left


@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]", "\x1b", "\r", "\x1b[0;"])
def test_time_is_linear(piece):
    started = time.process_time()
    plain(piece * 100_000)
    assert time.process_time() - started < 30
