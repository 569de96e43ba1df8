"""Links to a card follow it to another name, and nothing else changes."""

from __future__ import annotations

import pytest

from lessons_kb.cards.links import follow

OLD, NEW = "lessons/old.md", "lessons/new-name.md"


@pytest.mark.parametrize(
    ("at", "text", "expected"),
    [
        ("notes/a.md", "[x](../lessons/old.md)", "[x](../lessons/new-name.md)"),
        ("lessons/b.md", "[x](old.md#root-cause)", "[x](new-name.md#root-cause)"),
        ("a.md", "[x](<lessons/old.md>)", "[x](<lessons/new-name.md>)"),
        ("a.md", "[x]: lessons/old.md 'T'", "[x]: lessons/new-name.md 'T'"),
        ("a.md", "[[old]] and [[old|the card]]", "[[new-name]] and [[new-name|the card]]"),
        ("a.md", "[[lessons/old.md#Fix]]", "[[lessons/new-name.md#Fix]]"),
        ("a.md", "see lessons/old.md.", "see lessons/new-name.md."),
        ("notes/a.md", "[x](old.md)", "[x](old.md)"),
        ("a.md", "[x](https://e.org/lessons/old.md)", "[x](https://e.org/lessons/old.md)"),
        (
            "a.md",
            "the old way, old.mdx, my-lessons/old.md",
            "the old way, old.mdx, my-lessons/old.md",
        ),
        ("a.md", "[[older]] [[an/old]]", "[[older]] [[an/old]]"),
    ],
)
def test_links_follow(at: str, text: str, expected: str) -> None:
    assert follow(text, at=at, old=OLD, new=NEW) == expected


def test_names_of_other_scripts_are_escaped_as_links_are() -> None:
    old, new = "lessons/옛 카드.md", "lessons/새 카드.md"
    text = "[x](lessons/%EC%98%9B%20%EC%B9%B4%EB%93%9C.md) [[옛 카드]]"
    found = follow(text, at="a.md", old=old, new=new)
    assert found == "[x](lessons/%EC%83%88%20%EC%B9%B4%EB%93%9C.md) [[새 카드]]"
