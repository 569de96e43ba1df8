"""Links between cards."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lessons_kb.cards.links import find_links, normal_title, relink, slug
from lessons_kb.errors import InputError
from tests.cards.reading import parse

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


def renamed(text, home, old, name):
    def change(link):
        return link.written_to(name, home=home) if link.leads_to(old, home=home) else None

    for start, end, new in reversed(relink(text, change)):
        text = text[:start] + new + text[end:]
    return text


def test_links_in_code_and_to_the_web_do_not_count():
    assert [TEXT[link.start : link.end] for link in find_links(TEXT)] == [
        *("other.md", "other", "lessons/other", "../lessons/other.md", "other.md", "./other.md")
    ]


def test_each_link_that_leads_to_a_card_is_written_as_its_author_would():
    text = renamed(TEXT, "lessons/a.md", "lessons/other.md", "lessons/new name.md")
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
    ("a.md", "[x](https://e.org/lessons/old.md)", "[x](https://e.org/lessons/old.md)"),
    ("a.md", "old, old.mdx, my-lessons/old.md", "old, old.mdx, my-lessons/old.md"),
    ("a.md", "[[older]] [[an/old]]", "[[older]] [[an/old]]"),
])  # fmt: skip
def test_links_follow_a_card_to_another_name(home, text, expected):
    assert renamed(text, home, "lessons/old.md", "lessons/new-name.md") == expected


@pytest.mark.parametrize("text", [
    "    git rm lessons/old.md\n", "- item\n\n      rm lessons/old.md\n",
    "```\n```python\nlessons/old.md [x](lessons/old.md)\n```\n",
    "> ```\n> [x](lessons/old.md)\n> ```\n", "<!-- lessons/old.md -->\n",
    "https://example.org/?f=lessons/old.md\n",
    "user@host:lessons/old.md, $lessons/old.md, ~lessons/old.md\n", r"\[[old]]",
])  # fmt: skip
def test_what_is_no_link_does_not_count(text):
    assert [one for one in find_links(text) if one.leads_to("lessons/old.md", home="a.md")] == []


@pytest.mark.parametrize(("title", "name"), [
    ("Telegram remote execution must require an allowlist",
     "telegram-remote-execution-must-require-an-allowlist"),
    ("Don't trust `eval()`!", "dont-trust-eval"),
    ("It\u2019s late", "its-late"),
    ("../../etc/passwd", "etc-passwd"),
    ('a/b\\c:d*e?f"g<h>i|j', "a-b-c-d-e-f-g-h-i-j"),
    ("텔레그램은 허용 목록이 필요하다", "텔레그램은-허용-목록이-필요하다"),
    (unicodedata.normalize("NFD", "한글 café"), "한글-café"),
    ("हिन्दी शीर्षक", "हिन्दी-शीर्षक"),
    ("zero\u200bwidth \u202eright", "zerowidth-right"),
    ("CON", "con-card"),
    ("COM1", "com1-card"),
    ("lpt\u00b9", "lpt1-card"),
    ("README", "readme-card"),
    ("_private", "private"),
    ("???", "untitled"),
    ("\u0557", "untitled"),
    ("?!*+~", "untitled"),
    ("? ?\u200b ?", "untitled"),
    ("a\u0301\u0323 -\u0301b", "\u1ea1\u0301-b"),
    ("a -\u0301\u0302\u0303b", "a-b"),
])  # fmt: skip
def test_slug(title, name):
    assert slug(title) == name


@pytest.mark.parametrize("title", ["", "\n\t", "\u200b", "\x00\x07", "\u3164"])
def test_nothing_to_see(title):
    with pytest.raises(InputError) as caught:
        slug(title)
    assert str(caught.value) == "the title is empty; name the mistake in one sentence"


@pytest.mark.parametrize(("title", "name"), [
    ("x" * 300, "x" * 60),
    ("가" * 300, "가" * 32),
    # A character that the limit would cut in two goes as a whole.
    ("a" + "가" * 300, "a" + "가" * 31),
    # Cut at a hyphen if one stands in the second half, and never with one at the end.
    ("x" * 30 + "-" + "y" * 99, "x" * 30 + "-" + "y" * 29),
    ("x" * 31 + "-" + "y" * 99, "x" * 31),
    ("x" * 60 + "-" + "y" * 99, "x" * 60),
])  # fmt: skip
def test_long_titles_are_cut_between_words(title, name):
    assert slug(title) == name


@given(st.text())
@example("\u0300")
@example("-\u0300")
@example("\u0345")
@example("ΐ")
@example("İstanbul")
@example("ǰ")
@example("com1" + "\u0301")
def test_slugs_are_safe_file_names(title):
    try:
        name = slug(title)
    except InputError:
        return
    assert name
    assert len(name.encode("utf-8")) <= 101
    assert name[0].isalnum() or unicodedata.category(name[0])[0] in "LN"
    assert not name.endswith(("-", ".", " "))
    assert not set(name) & set('/\\:*?"<>|.\0\n\r\t ')
    assert unicodedata.normalize("NFC", name) == name
    assert slug(name) == name
    assert parse("Text", f"lessons/{name}.md").card.kind == "lesson"


@pytest.mark.parametrize(("one", "other"), [
    ("Never use eval", "never  use\nEVAL"),
    ("Never use eval", "Never use `eval`."),
    ("It's late", "It\u2019s late"),
    ("a \u2014 b", "a - b"),
    ("Ｎever", "never"),
    ("한글", unicodedata.normalize("NFD", "한글")),
    ("a\u200bb", "ab"),
    ("\u201cNever\u201d \u2018use\u2019 \u00abeval\u00bb", '"never" \'use\' "eval"'),
    ("Stra\u00dfe .\u3002. ", "strasse"),
])  # fmt: skip
def test_same_titles(one, other):
    assert normal_title(one) == normal_title(other)


@pytest.mark.parametrize(("one", "other"), [
    ("Never use ==", "Never use ==="),
    ("C++ drops it", "C# drops it"),
    ("Use *args", "Use **args"),
    ("Retry on 500", "Retry on 503"),
    ("Do retry", "Do not retry"),
    ("really?", "really!"),
])  # fmt: skip
def test_different_titles(one, other):
    assert normal_title(one) != normal_title(other)


@given(st.text())
def test_normal_title_is_stable(title):
    assert normal_title(normal_title(title)) == normal_title(title)
