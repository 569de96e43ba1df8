"""Titles, sections and items made of what others wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.importers.incoming import (
    MAX_TITLE,
    checklist,
    section,
    shorten,
    split_lead,
    unmarked,
)


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
