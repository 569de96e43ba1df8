"""Slugs are safe for any title, and titles are the same only when they are (SPEC §8, §10)."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lessons_kb.cards.links import normal_title, slug
from lessons_kb.cards.parse import kind_of
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.errors import InputError


@pytest.mark.parametrize(("title", "name"), [
    ("Telegram remote execution must require an allowlist",
     "telegram-remote-execution-must-require-an-allowlist"),
    ("  Spaces   and\ttabs\n", "spaces-and-tabs"),
    ("Don't trust `eval()`!", "dont-trust-eval"),
    ("It\u2019s late", "its-late"),
    ("../../etc/passwd", "etc-passwd"),
    ("..\\..\\windows", "windows"),
    ('a/b\\c:d*e?f"g<h>i|j', "a-b-c-d-e-f-g-h-i-j"),
    ("snake_case and getUserById", "snake-case-and-getuserbyid"),
    ("텔레그램은 허용 목록이 필요하다", "텔레그램은-허용-목록이-필요하다"),
    (unicodedata.normalize("NFD", "한글 café"), "한글-café"),
    ("ＦＵＬＬ ｗｉｄｔｈ", "full-width"),
    ("日本語のタイトル", "日本語のタイトル"),
    ("हिन्दी शीर्षक", "हिन्दी-शीर्षक"),
    ("Straße", "strasse"),
    ("zero\u200bwidth \u202eright", "zerowidth-right"),
    ("fire 🔥 in CI", "fire-in-ci"),
    ("CON", "con-card"),
    ("nul", "nul-card"),
    ("COM1", "com1-card"),
    ("lpt\u00b9", "lpt1-card"),
    ("README", "readme-card"),
    ("Index", "index-card"),
    ("_private", "private"),
    (".hidden", "hidden"),
    ("-rf", "rf"),
    ("1.", "1"),
    ("???", "question-mark"),
    ("\u0557", "u0557"),
    ("🔥", "fire"),
    ("../", "full-stop-solidus"),
    ("?!*+~", "question-mark-exclamation-mark-asterisk-plus-sign"),
    ("? ?\u200b ?", "question-mark"),
    ("a\u0301\u0323 -\u0301b", "\u1ea1\u0301-b"),
    ("a -\u0301\u0302\u0303b", "a-b"),
    ("rock 'n' roll", "rock-n-roll"),
    ("x\u00b2 \u2167", "x2-viii"),
])  # fmt: skip
def test_slug(title, name):
    assert slug(title) == name


@pytest.mark.parametrize("title", ["", "   ", "\n\t", "\u200b", "\x00\x07", "\u3164"])
def test_nothing_to_see(title):
    with pytest.raises(InputError) as caught:
        slug(title)
    assert str(caught.value) == "the title is empty; name the mistake in one sentence"


def test_long_titles_are_cut_between_words():
    name = slug("never trust the client " * 20)
    assert 60 < len(name) <= 96
    assert name.rsplit("-", 1)[-1] in {"never", "trust", "the", "client"}
    assert len(slug("x" * 300).encode()) == 96
    assert len(slug("가" * 300).encode()) == 96
    assert slug("가" * 300) == "가" * 32
    # A character that the limit would cut in two goes as a whole.
    assert slug("a" + "가" * 300) == "a" + "가" * 31
    # Cut at a hyphen if one stands in the second half, and never with one at the end.
    assert slug("x" * 48 + "-" + "y" * 99) == "x" * 48 + "-" + "y" * 47
    assert slug("x" * 49 + "-" + "y" * 99) == "x" * 49
    assert slug("x" * 96 + "-" + "y" * 99) == "x" * 96
    assert slug("x" * 95 + "-" + "y" * 99) == "x" * 95
    assert slug("x" * 48 + "-" + "y" * 47) == "x" * 48 + "-" + "y" * 47


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
    assert kind_of(f"lessons/{name}.md", KNOWN_FOLDERS) == "lesson"


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
