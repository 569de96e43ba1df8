"""Links between cards."""

import pytest

from lessons_kb.cards.links import find_links, relink

TEXT = """\
See [the other](other.md) and [[other]], [[lessons/other|it]] and [there](../lessons/other.md#why).
`[not](other.md)` nor [web](https://x.org/other.md) nor [top](/other.md) nor [here](#why)
```
[fenced](other.md)
```
~~~md
[fenced](other.md)
~~~
[a b](<other.md>) and ![picture](./other.md)
"""


def test_links_in_code_and_to_the_web_do_not_count():
    assert [TEXT[link.start : link.end] for link in find_links(TEXT)] == [
        *("other.md", "other", "lessons/other", "../lessons/other.md", "other.md", "./other.md")
    ]


def test_each_link_that_leads_to_a_card_is_written_as_its_author_would():
    def change(link):
        leads = link.leads_to("lessons/other.md", home="lessons/a.md")
        return link.written_to("lessons/new name.md", home="lessons/a.md") if leads else None

    text = TEXT
    for start, end, new in reversed(relink(text, change)):
        text = text[:start] + new + text[end:]
    assert text.splitlines()[0] == (
        "See [the other](new%20name.md) and [[new name]], [[lessons/new name|it]] "
        "and [there](new%20name.md#why)."
    )
    assert text.splitlines()[1:8] == TEXT.splitlines()[1:8]
    assert text.splitlines()[8] == "[a b](<new%20name.md>) and ![picture](./new%20name.md)"


@pytest.mark.parametrize("eol", ["\r\n", "\r"])
def test_places_are_those_of_the_text_as_it_is(eol):
    text = TEXT.replace("\n", eol)
    assert [link.target for link in find_links(text)] == [link.target for link in find_links(TEXT)]
    assert all(text[link.start : link.end] == link.target for link in find_links(text))


@pytest.mark.parametrize(("home", "text", "expected"), [
    ("a.md", "[x]: lessons/old.md 'T'", "[x]: lessons/new-name.md 'T'"),
    ("a.md", "[[old]] and [[old|the card]]", "[[new-name]] and [[new-name|the card]]"),
    ("a.md", "[[lessons/old.md#Fix]]", "[[lessons/new-name.md#Fix]]"),
    ("a.md", "see lessons/old.md.", "see lessons/new-name.md."),
    ("notes/a.md", "[x](old.md)", "[x](old.md)"),
    ("a.md", "[x](https://e.org/lessons/old.md)", "[x](https://e.org/lessons/old.md)"),
    ("a.md", "old, old.mdx, my-lessons/old.md", "old, old.mdx, my-lessons/old.md"),
    ("a.md", "[[older]] [[an/old]]", "[[older]] [[an/old]]"),
])  # fmt: skip
def test_links_follow_a_card_to_another_name(home, text, expected):
    def change(link):
        leads = link.leads_to("lessons/old.md", home=home)
        return link.written_to("lessons/new-name.md", home=home) if leads else None

    for start, end, new in reversed(relink(text, change)):
        text = text[:start] + new + text[end:]
    assert text == expected


@pytest.mark.parametrize("text", [
    "    git rm lessons/old.md\n", "- item\n\n      rm lessons/old.md\n",
    "```\n```python\nlessons/old.md [x](lessons/old.md)\n```\n",
    "> ```\n> [x](lessons/old.md)\n> ```\n", "<!-- lessons/old.md -->\n",
    "https://example.org/?f=lessons/old.md\n",
    "user@host:lessons/old.md, $lessons/old.md, ~lessons/old.md\n", r"\[[old]]",
])  # fmt: skip
def test_what_is_no_link_does_not_count(text):
    assert [one for one in find_links(text) if one.leads_to("lessons/old.md", home="a.md")] == []


def test_a_line_that_begins_with_code_opens_no_block():
    found = find_links("```x``` y\n\n[x](lessons/old.md)\n")
    assert [one.target for one in found] == ["lessons/old.md"]
