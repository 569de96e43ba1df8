"""Foreign Markdown cut into blocks: never fails, never loses a line's number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.importers.markdown_blocks import read_blocks, split_row

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
    found = [(block.kind, block.line) for block in read_blocks(TEXT)]
    assert found == [
        ("heading", 1),
        ("text", 3),
        ("item", 6),
        ("item", 13),
        ("item", 14),
        ("row", 18),
        ("heading", 20),
    ]


def test_an_item_holds_its_continuation_and_code():
    item = read_blocks(TEXT)[2]
    assert item.text == "first\ngoes on\n\n```\n# no heading\n- no item\n```"


def test_a_row_knows_its_columns():
    assert read_blocks(TEXT)[5].cells == (
        ("#", "1"),
        ("claim", "uses `a|b` | c"),
        ("state", "Evidenced"),
    )


def test_a_table_of_plain_text_needs_no_rule_and_no_outer_pipes():
    rows = read_blocks("# | Claim | State\n1 | It leaks | Evidenced\n2 | It lies | Disputed\n")
    assert [row.cells[1] for row in rows] == [("claim", "It leaks"), ("claim", "It lies")]


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
