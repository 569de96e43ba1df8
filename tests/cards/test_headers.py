"""Where a header stands in its file, and where each key and value stands in the header."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.keys import MAX_HEADER, Header, Split, split_header
from lessons_kb.cards.read_header import NotYamlError, RefusedError, read_lenient, read_yaml


@pytest.mark.parametrize(("text", "header", "body", "body_line"), [
    ("---\na: 1\nb: 2\n---\nBody\n", Header(lines=("a: 1", "b: 2"), start=4, end=14, line=2,
     eol="\n"), "Body\n", 5),
    ("\ufeff---\r\na: 1\r\n---\r\nBody", Header(lines=("a: 1",), start=6, end=12, line=2,
     eol="\r\n"), "Body", 4),
    (" \n\n---\t\n\na: 1\n---  \n---\n", Header(lines=("", "a: 1"), start=8, end=14, line=4,
     eol="\n"), "---\n", 7),
    ("---\n---\nBody", Header(lines=(), start=4, end=4, line=2, eol="\n"), "Body", 3),
    ("---\na: 1\n---", Header(lines=("a: 1",), start=4, end=9, line=2, eol="\n"), "", 4),
    ("---\n- a list\n---\nBody", Header(lines=("- a list",), start=4, end=13, line=2, eol="\n"),
     "Body", 4),
    # no header
    # a thematic break, or two
    ("---\nBody\n", None, "---\nBody\n", 1),
    ("---\nno key\n---\nBody", None, "---\nno key\n---\nBody", 1),
    ("---\nSome prose, as people\nwrite it.\n---\nBody", None,
     "---\nSome prose, as people\nwrite it.\n---\nBody", 1),
    ("\n---\nBody\n\n---\nMore\n", None, "\n---\nBody\n\n---\nMore\n", 1),
    ("\n" * 21 + "---\na: 1\n---\n", None, "\n" * 21 + "---\na: 1\n---\n", 1),
])  # fmt: skip
def test_a_file_is_taken_apart_at_its_fences(text, header, body, body_line):
    assert split_header(text) == Split(header=header, body=body, body_line=body_line)


@pytest.mark.parametrize(("more", "problem"), [
    ("", ""),
    ("\n", "too-large"),
    (" \nBody\n", "too-large"),
    ("-\n", "unclosed"),
    ("x", "unclosed"),
])  # fmt: skip
def test_what_stands_across_the_limit_is_no_fence(more, problem):
    inside = f"a: {'x' * (MAX_HEADER - 7)}\n"
    assert len(f"{inside}---") == MAX_HEADER
    assert split_header(f"---\n{inside}---{more}").problem == problem
    below = inside.replace("xx", "", 1)
    assert split_header(f"---\n{below}---\nBody\n").header == Header(
        lines=(below[:-1],), start=4, end=4 + len(below), line=2, eol="\n"
    )


@given(st.text(alphabet="-ab: \n\r\t\ufeff#"), st.sampled_from(["", "---\n", "---\na: 1\n"]))
def test_the_parts_of_a_file_are_the_file(text, start):
    text = start + text
    found = split_header(text)
    assert text.endswith(found.body)
    if found.header is None:
        assert found.body == text.removeprefix("\ufeff")
        return
    head, inside = text[: found.header.start], text[found.header.start : found.header.end]
    fence = text[found.header.end : len(text) - len(found.body)]
    assert head.lstrip("\ufeff \t\r\n").rstrip(" \t\r\n") == fence.rstrip() == "---"
    assert head.endswith(found.header.eol)
    numbers = [len(f"{part}.".splitlines()) for part in (head, inside, fence)]
    assert found.header.line == numbers[0]
    assert len(found.header.lines) == numbers[1] - 1
    assert found.body_line == sum(numbers) - 2 or not fence.endswith(("\n", "\r"))


def cut(span, lines):
    first, start, last, stop = span
    if first == last:
        return lines[first][start:stop]
    return "\n".join([lines[first][start:], *lines[first + 1 : last], lines[last][:stop]])


@pytest.mark.parametrize("indent", ["", "  "])
def test_a_header_may_be_indented_as_a_whole(indent):
    lines = tuple(f"{indent}{line}" for line in ("a: 1", "b:", "- x", "- y", "c: {d: e}", "f: g"))
    places = [("a", 0, 1), ("b", 1, 4), ("c", 4, 5), ("f", 5, 6)]
    for entries in (read_yaml(lines), read_lenient(lines)[0]):
        assert [(e.key, e.line, e.end) for e in entries] == places
        assert {e.column for e in entries} == {len(indent)}


@pytest.mark.parametrize(("written", "styles", "texts", "pieces"), [
    ("- a: b", "m", ("a: b",), ("a: b",)),
    ("- 'q': b # c", "m", ("'q': b",), ("'q': b",)),
    ("- a: b\n  c: d\n- e", "np", (None, "e"), ("a: b\n  c: d", "e")),
    ("- - a\n  - b\n- c", "np", (None, "c"), ("- a\n  - b", "c")),
    ("- ~\n- null\n- ''", "pp'", (None, None, ""), ("~", "null", "''")),
    ("- |\n  a\n  b\n- >\n  c", "|>", ("a\nb\n", "c\n"), ("|\n  a\n  b", ">\n  c")),
    ("- &x a\n- *x\n- b", "pap", ("a", "a", "b"), ("&x a", "*x", "b")),
    ("- &x [a]\n- *x", "nn", (None, None), ("&x [a]", "*x")),
    ("- a: b\n    on # c\n- e", "mp", ("a: b on", "e"), ("a: b\n    on", "e")),
    ("- [&x a]\n- *x", "na", (None, "a"), ("[&x a]", "*x")),
])  # fmt: skip
def test_items_that_yaml_reads_as_more_than_text(written, styles, texts, pieces):
    lines = ["x: 1", "key:", *written.split("\n"), "y: 2"]
    first, entry, last = read_yaml(tuple(lines))
    assert (first.key, last.key, last.line) == ("x", "y", len(lines) - 1)
    assert (entry.shape, entry.styles, entry.texts) == ("list", styles, texts)
    found = tuple(cut(span, lines).rstrip("\n") for span in entry.spans)
    assert found == pieces
    assert (entry.line, entry.end) == (1, len(lines) - 1)


@pytest.mark.parametrize(("lines", "problem", "line"), [
    (("a: 1", "b: *x"), "nothing is named &x", 1),
    (("a: &x 1", "b: &x 2"), "second occurrence", 1),
    (("a: 1", "? [b]", ": c"), "a key is not plain text", 1),
    (("- a",), "it does not consist of `key: value` lines", 0),
    (("a: 1", "...", "---", "b: 1"), "a second document starts", 2),
])  # fmt: skip
def test_what_yaml_cannot_read_is_named_with_its_line(lines, problem, line):
    with pytest.raises(NotYamlError, match=rf"^[^\n]*{re.escape(problem)}$") as caught:
        read_yaml(lines)
    assert caught.value.line == line
    assert not isinstance(caught.value, RefusedError)


def test_breaks_that_only_yaml_counts_are_none():
    for char in "\x85\u2028\u2029":
        first, second = read_yaml((f"a: b{char}c é", "d: e"))
        assert (first.texts, second.line) == (("b c é",), 1)
    assert read_yaml(()) == read_yaml(("# c", "")) == ()


@pytest.mark.parametrize(("written", "shape", "texts", "whole"), [
    # what YAML would take for a list, a quote, a mapping or a comment, and is none
    ("[a,\n  b] c", "scalar", ("[a, b] c",), "[a,\n  b] c"),
    ("[@a, b]", "scalar", ("[@a, b]",), "[@a, b]"),
    ("[a, b] # c", "list", ("a", "b"), "[a, b]"),
    ("[a,\n  b # c\n]", "list", ("a", "b"), "[a,\n  b # c\n]"),
    ("'a' # b", "scalar", ("a",), "'a'"),
    ("`a # b`", "scalar", ("`a # b`",), "`a # b`"),
    ("@a\n  # c\n  b", "scalar", ("@a b",), "@a\n  # c\n  b"),
    ("| # c\n  a\n\n  b", "scalar", ("a\nb",), "| # c\n  a\n\n  b"),
    (">2-\n  a\n  b", "scalar", ("a b",), ">2-\n  a\n  b"),
    ("|\n", "scalar", ("",), "|"),
    ("\n  a: b\n  # c\n  d: e", "nested", (None,), "a: b\n  # c\n  d: e"),
    ("\n  a: b\n  c", "scalar", ("a: b c",), "a: b\n  c"),
    ("\n  - @a\n    b\n  - c", "list", ("@a b", "c"), "- @a\n    b\n  - c"),
    ("\n  -\n    b\n  - c", "list", ("b", "c"), "-\n    b\n  - c"),
    ("\n  - a\n    - b", "list", ("a - b",), "- a\n    - b"),
    ("# c", "scalar", (None,), ""),
])  # fmt: skip
def test_values_as_a_human_reads_them(written, shape, texts, whole):
    lines = ["x: 1", *f"key: {written}".split("\n"), "y: 2"]
    (_, entry, last), lost = read_lenient(tuple(lines))
    assert lost == ()
    assert (entry.shape, entry.texts, cut(entry.span, lines)) == (shape, texts, whole)
    assert len(entry.spans) == len(entry.styles) == len(texts)
    assert entry.spans[0][:2] >= entry.span[:2]
    assert entry.spans[-1][2:] <= entry.span[2:]
    assert (last.key, last.line) == ("y", len(lines) - 1)


@pytest.mark.parametrize(("escaped", "text"), [
    (r"\x41\u00e9\U0001f525", "Aé🔥"),
    (r"\N\_\L\P", "\x85\xa0\u2028\u2029"),
    (r"\"\\\/\ \q", '"\\/ q'),
    (r"\ud800 \U00110000", r"\ud800 \U00110000"),
    (r"\x4", "x4"),
])  # fmt: skip
def test_escapes_in_double_quotes(escaped, text):
    (entry,), _ = read_lenient((f'a: "{escaped}"',))
    assert entry.texts == (text,)
    assert entry.styles == '"'
