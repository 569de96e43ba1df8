"""What is read without a parser is what markdown-it reads."""

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lessons_kb.cards.plain_blocks import find_fenced, read_first_paragraph, read_plain_blocks

PARSER = MarkdownIt("commonmark", {"html": True}).disable("reference")
PIECES = [
    *(
        "",
        " ",
        "\t",
        "plain words",
        "more, words",
        "한국어 문장",
        "\u00a0odd",
        "`code` first",
        "```",
    ),
    *("```py", "```a`b", "~~~", "````", "- item", "* item", "+ item", "-", "- ", "-   wide"),
    *("-     code", "-\ttab", "- [ ] box", "- [x] box", "- - nested", "- # heading", "- 1. one"),
    *("- `c` text", "- **bold** text", "* * *", "***", "**bold**", "*em*", "_em_", "___", "- ___"),
    *(
        "1. one",
        "2) two",
        "12 apples",
        "3.5 metres",
        "2026-01-01 day",
        "# Title",
        "## Part",
        "#tag",
    ),
    *("===", "---", "--", "> quote", "<div>", "<!-- note -->", "- text <!-- shown-by: a -->"),
    *(
        "  indented",
        "    code",
        "  - nested",
        "\\- escaped",
        "[link](a)",
        "(brackets)",
        "| a | b |",
    ),
    *("= equals", "+1", "-1", "*", "-x", "**", "~~gone~~", "<b>x</b>", "&amp;", "\x0b", "a\x0c"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=9).map("\n".join)


def parse_paragraphs(text):
    """Return (is in an item, line, text) of each paragraph, and whether there are other blocks."""
    found = []
    tokens = PARSER.parse(text)
    for before, token, inside in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.type == "paragraph_open":
            is_item = before is not None and before.type == "list_item_open"
            found.append((is_item, token.map[0], inside.content))
    return found


@given(texts)
@example("words\n- item\nlazy\n\nnext")
@example("- a\n* b\n+ c")
def test_plain_blocks_are_the_paragraphs_of_the_parser(text):
    blocks = read_plain_blocks(text)
    if blocks is not None:
        assert [tuple(block) for block in blocks] == parse_paragraphs(text)


@given(texts)
@example("words\n```py\nx\n```")
@example("words\n# Title")
def test_the_first_paragraph_is_that_of_the_parser(text):
    paragraph = read_first_paragraph(text)
    if paragraph is not None:
        first = next(iter(parse_paragraphs(text)), (False, 0, ""))
        assert paragraph == first[2]


def test_ordinary_sections_need_no_parser():
    text = "\nSome words,\nover two lines.\n\n- [ ] Look first\n- `run` it\n  \n- 12 apples\n"
    assert read_plain_blocks(text) == [
        (False, 1, "Some words,\nover two lines."),
        (True, 4, "[ ] Look first"),
        (True, 5, "`run` it"),
        (True, 7, "12 apples"),
    ]
    assert read_first_paragraph(text) == "Some words,\nover two lines."
    assert read_plain_blocks("- a\n  - nested") is None


def test_a_fence_ends_at_one_of_its_kind_and_length():
    lines = ["## a", "````py", "## b", "```", "~~~~", "````", "## c", "```a`b", "~~~", "## d"]
    assert find_fenced(lines) == {2, 3, 4, 5, 9}
