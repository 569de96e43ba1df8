"""Titles, sections and items made of what others wrote."""

import json

import pytest

LONG = "The handler charges twice because of a retry; " + "x " * 59 + "x"


@pytest.mark.parametrize(("text", "title", "rest"), [
    ("Never edit an applied migration.", "Never edit an applied migration", ""),
    ("**Pin the zone.** The cloud assigns one.", "Pin the zone", "The cloud assigns one."),
    ("**Pin it** after the first apply.", "Pin it", "**Pin it** after the first apply."),
    ("One thing. Another thing.", "One thing", "One thing. Another thing."),
    ("**Only this**", "Only this", ""),
    ("*a* [link](http://x.y) and `code`", "a link and `code`", ""),
    ("절대 병합하지 말 것. 이유는 길다.", "절대 병합하지 말 것", "절대 병합하지 말 것. 이유는 길다."),
    (LONG, "The handler charges twice because of a retry", LONG),
])  # fmt: skip
def test_a_claim_gives_a_title_and_the_rest(plan, text, title, rest):
    table = f"| Claim | State |\n|---|---|\n| {text} | Evidenced |\n"
    (found,) = plan("review", "r.md", table).lessons
    assert (found.title, dict(found.sections).get("Mistake / Risk", "")) == (title, rest)


def test_a_title_is_not_cut_inside_code(plan):
    code = "`fix(ui): adjust the spacing of the settings page on small screens and of the menu`"
    (found,) = plan(
        "review", "r.md", f"## YAGNI\n\n- Write each commit as {code}, please\n"
    ).lessons
    assert not found.title.endswith("fix(ui)")


def test_a_title_is_short_and_words_are_whole(plan):
    (found,) = plan("review", "r.md", f"## YAGNI\n\n- {'word ' * 40}\n").lessons
    assert found.title.endswith("word…")
    assert len(found.title) <= 110


@pytest.mark.parametrize(("key", "told", "kept"), [
    ("fix", "# One\n## Root Cause\nA\n---\nB\n```\n## kept\n```\n<!-- hidden -->",
     "### One\n### Root Cause\nA\n\n---\nB\n```\n## kept\n```"),
    ("fix", "```\ncode", "```\ncode\n```"),
    ("rules", ["Do **it**", "Do it", "two\nlines", ""], "- [ ] Do it\n- [ ] two\n- [ ] lines"),
    ("title", "**a** __b__ ~~c~~ `**kwargs`\n2 * 3 * 4", "a b c `**kwargs` 2 * 3 * 4"),
    ("title", "**Keep `a/*.ts`** and `b/*.ts`, `x:*`", "Keep `a/*.ts` and `b/*.ts`, `x:*`"),
])  # fmt: skip
def test_markup_cannot_open_a_section_nor_an_item_and_code_stays(plan, key, told, kept):
    (found,) = plan("jsonl", "x.jsonl", json.dumps({"title": "a", key: told})).lessons
    assert kept == (found.title if key == "title" else found.sections[0][1])
