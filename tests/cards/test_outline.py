"""Less work for markdown-it must not change what it says: held against it on any body."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lessons_kb.cards.sections import find_headings, find_items, first_paragraph, plain_text

PIECES = [
    "# One", "## Two", "### Three", "##", "#", "## Two ##", "##no", " ## one", "   ## three",
    "    ## four", "\t## tab", "text", "more text", "  indented", "    code", "- item", "* star",
    "  - inner", "      - deep", "1. first", "10) tenth", "- [ ] box", "- ## in item", "> quote",
    "> ## in quote", "---  ", "===\t", " == ", "```", "``` js", "```  ", "````", "~~~", "  ```", "   ~~~", "      ```", "- ```",
    "===", "---", "-", "--", "***", "* * *", "  ---", "<div>", "</div>", "<!-- c", "-->", " <p>",
    "<?php", "`code` x", "**bold**", "*em* x", "_x_", "-x", "--flag", "[a]: /url", "\\# x",
    "| a | b |", "|---|---|", "3 apples", "2026. Jan", "", "", "", "  ",
]  # fmt: skip
bodies = st.lists(st.sampled_from(PIECES), max_size=14).map("\n".join)
CHECKBOX = re.compile(r"\A\[[ xX]\](?:\s+|\Z)")
_COMMONMARK = MarkdownIt("commonmark").disable("reference")


def whole_headings(body):
    return [
        (token.tag, *token.map)
        for token in _COMMONMARK.parse(body)
        if token.type == "heading_open"
        and token.level == 0
        and token.tag in ("h1", "h2")
        and token.map
    ]


@pytest.mark.slow
@given(bodies)
@example("```\n## x\n```\n## y")
@example("## a\n\n---\n\n## b")
@example("- a\n\n  ```\n## b")
@example("text\n---\n## b")
@example("---\n## a\n---")
def test_headings_are_those_of_the_whole_body(body):
    found = [(f"h{h.level}", h.line, h.end) for h in find_headings(body)]
    assert found == whole_headings(body)


@pytest.mark.slow
@given(bodies)
@example("- a\n- b\n\n  c")
@example("- - a\n- 1. b")
@example("-x\n- y")
@example("*em* x\n- a")
@example("<div>\n- a")
def test_items_are_those_of_the_whole_part(part):
    tokens = _COMMONMARK.parse(part)
    expected = [
        (plain_text(CHECKBOX.sub("", tokens[place + 2].content)), token.map[0])
        for place, token in enumerate(tokens)
        if token.type == "list_item_open" and token.map and tokens[place + 2].type == "inline"
    ]
    assert [(i.text, i.line) for i in find_items(part)] == [e for e in expected if e[0]]


@pytest.mark.slow
@given(bodies)
@example("text\n## x")
@example("text\n===\n\nmore")
@example("text\n- item")
def test_first_paragraph_is_that_of_the_whole_part(part):
    tokens = _COMMONMARK.parse(part)
    texts = (
        plain_text(CHECKBOX.sub("", tokens[place + 1].content))
        for place, token in enumerate(tokens)
        if token.type == "paragraph_open"
    )
    assert first_paragraph(part) == next((text for text in texts if text), "")
