"""A header in plain forms is read without a parser, exactly as YAML reads it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lessons_kb.cards.plain_header import is_plain_header
from lessons_kb.cards.read_header import NotYamlError, read_lenient, read_yaml

PLAIN = [
    ("title: Money in floats",),
    ("title: 'It isn, said \"he\"'", 'why: "a: b #c"'),
    ("topics: [a, b c, 'd, e', \"f\"]", "paths: []"),
    ("symptoms:", "  - the first", "  - x#y"),
    ("symptoms:", "  - the first", "  - 'the second'", "date: 2026-11-29"),
    ("symptoms:", "- the first", "- the second"),
    ("url: https://example.com/a?b=c#d", "count: 12"),
    ("title: 한국어 제목 — ünïcode 😀",),
    ("empty:", "next: 1"),
    (),
]
OTHERS = [
    ("a: b: c",), ("a: b # c",), ("a: it's [x", "  more"), ("a: *b",), ("a: &b c",), ("a: !t c",),
    ("a: |", "  text"), ("a: {b: c}",), ("a: [b, [c]]",), ("a: [b,c: d]",), ("a: 'it''s'",),
    ('a: "\\n"',), ("a: @b",), ("a: `b`",), ("a: %b",), ("? a",), ("- a",), (" a: b",), ("a:b",),
    ("a: b", "  - c"), ("a:", "  - b", " - c"), ("a:", "  - b: c"), ("a:", "  b"), ("a: b:",),
    ("a: b ",), ("a:  b",), ("a:\tb",), ("a: b\u2028c",), ("a: \ufeffb",), ("# comment",), ("",),
    ("a: ~",), ("---",), ("...",), ("<<: *b",), ('a: "b" c',), ("a: [b",), ("a: b\x85",),
]  # fmt: skip
PIECES = [
    *(
        "a",
        "B",
        "9",
        "é",
        "日",
        "😀",
        "\u0301",
        "²",
        " ",
        "  ",
        ":",
        ": ",
        " #",
        "#",
        "-",
        "- ",
        ",",
    ),
    *(", ", "[", "]", "{", "}", "'", '"', "`", "\\", "*", "&", "!", "|", ">", "%", "@", "?", "~"),
    *("null", "yes", "...", "---", "=", "\u200b", "\u00a0", "\u2028", "\ufeff", "\t"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
starts = st.sampled_from(
    ["title: ", "title: a", "topics: [", "topics: [a, ", "list:", "  - ", "  - a", "- ", "x: '"]
)
ends = st.sampled_from(["", "", "b", "]", "'", '"'])
headers = st.lists(st.tuples(starts, texts, ends).map("".join), max_size=4).map(tuple)


@pytest.mark.parametrize("lines", PLAIN, ids=" | ".join)
def test_usual_lines_are_plain(lines):
    assert is_plain_header(lines)
    assert read_lenient(lines) == (read_yaml(lines), ())


@pytest.mark.parametrize("lines", OTHERS, ids=repr)
def test_other_lines_are_left_to_yaml(lines):
    assert not is_plain_header(lines)


@given(headers)
@example(("a: b", "  - c"))
def test_a_plain_header_is_read_as_yaml_reads_it(lines):
    if not is_plain_header(lines):
        return
    try:
        expected = read_yaml(lines)
    except NotYamlError as error:
        pytest.fail(f"YAML cannot read it: {error}")
    assert read_lenient(lines) == (expected, ())
