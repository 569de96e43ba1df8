"""Foreign Markdown cut into blocks: never fails, never loses a line's number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.importers.markdown_blocks import (
    MAX_TITLE,
    checklist,
    read_blocks,
    section,
    shorten,
    split_lead,
    split_row,
    unmarked,
)

TEXT = """\
# Top

Prose over
two lines.

- first
  goes on

  ```
  # no heading
  - no item
  ```
  - nested
* second

| # | Claim | State |
|---|---|---|
| 1 | uses `a|b` \\| c | Evidenced |

Below
-----
"""


def test_each_piece_has_its_kind_and_line():
    assert [(block.kind, block.line) for block in read_blocks(TEXT)] == [
        ("heading", 1), ("text", 3), ("item", 6), ("item", 13), ("item", 14), ("row", 18),
        ("heading", 20),
    ]  # fmt: skip


def test_an_item_holds_its_continuation_and_code():
    item = read_blocks(TEXT)[2]
    assert item.text == "first\ngoes on\n\n```\n# no heading\n- no item\n```"


def test_a_row_knows_its_columns():
    cells = (("#", "1"), ("claim", "uses `a|b` | c"), ("state", "Evidenced"))
    assert read_blocks(TEXT)[5].cells == cells


def test_a_table_of_plain_text_needs_no_rule_and_no_outer_pipes():
    rows = read_blocks("# | Claim | State\n1 | It leaks | Evidenced\n2 | It lies | Disputed\n")
    assert [row.cells[1] for row in rows] == [("claim", "It leaks"), ("claim", "It lies")]
    assert [block.kind for block in read_blocks("a | b\nc | d\n")] == ["text"]


@pytest.mark.parametrize(("line", "cells"), [
    ("| a | b |", ["a", "b"]),
    ("a | b", ["a", "b"]),
    ("| a | |", ["a", ""]),
    ("| ` | b |", ["\u02cb", "b"]),
    ("||", [""]),
])  # fmt: skip
def test_a_row_is_cut_at_its_pipes(line, cells):
    assert split_row(line) == cells


@given(st.text(alphabet=st.sampled_from("#-*|`~ =\n\tab1.)[]"), max_size=200))
def test_any_text_can_be_read(text):
    blocks = read_blocks(text)
    lines = [block.line for block in blocks]
    assert lines == sorted(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


@pytest.mark.parametrize(("text", "title", "rest"), [
    ("Never edit an applied migration.", "Never edit an applied migration", ""),
    ("**Pin the zone.** The cloud assigns one.", "Pin the zone", "The cloud assigns one."),
    ("**Pin it** after the first apply.", "Pin it", "**Pin it** after the first apply."),
    ("One thing. Another thing.", "One thing", "One thing. Another thing."),
    ("**Only this**", "Only this", ""),
    ("*a* [link](http://x.y) and `code`", "a link and `code`", ""),
    ("절대 병합하지 말 것. 이유는 길다.", "절대 병합하지 말 것", "절대 병합하지 말 것. 이유는 길다."),
])  # fmt: skip
def test_a_paragraph_gives_a_title_and_the_rest(text, title, rest):
    assert split_lead(text) == (title, rest)


@given(st.text(max_size=400))
def test_a_title_is_short_and_on_one_line(text):
    title, _rest = split_lead(text)
    assert len(title) <= MAX_TITLE
    assert "\n" not in title


def test_a_long_title_is_cut_at_a_clause_or_a_word():
    assert shorten("The handler charges twice because of a retry; " + "x " * 60) == (
        "The handler charges twice because of a retry"
    )
    assert shorten("word " * 40).endswith("word…")


def test_a_section_cannot_open_one_of_ours():
    text = section("# One\n## Root Cause\nA\n---\nB\n```\n## kept\n```\n<!-- hidden -->")
    assert "\n## Root" not in text
    assert text.startswith("### One\n### Root Cause\nA\n\n---")
    assert "## kept" in text
    assert "hidden" not in text


def test_a_fence_that_nobody_closed_is_closed():
    assert section("```\ncode") == "```\ncode\n```"


def test_a_checklist_has_one_line_each():
    assert checklist(["**Do** it", "Do it", "two\nlines", ""]) == "- [ ] Do it\n- [ ] two lines"


def test_markup_goes_and_code_stays():
    assert unmarked("**a** __b__ ~~c~~ `**kwargs`\n2 * 3 * 4") == "a b c `**kwargs` 2 * 3 * 4"
