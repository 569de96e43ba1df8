"""Headings and their synonyms, the checklist and its fallbacks, the `Why:` line (SPEC §1, §5)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lessons_kb.cards.sections import find_headings, read_fragments
from tests.cards import reading


def parse(body, header=""):
    return reading.parse(f"---\ntitle: T\n{header}---\n{body}")


def card_of(body):
    return parse(body).card


@pytest.mark.parametrize("heading", [
    "## Prevention Checklist", "## prevention checklist", "##   PREVENTION   ", "## Prevention ##",
    "## **Prevention**", "## Prevention:", "## 5. Prevention", "## ✅ Prevention", "Prevention\n---",
    "## Reusable rule", "## Takeaways", "## Gotchas", "## When to Apply", "## 재발 방지",
    "### Prevention", "## Prevention (next time)", "## Prevention & Testing", "## Prevention: tests",
    "## Prevention - next time", "## Prevention — next time", "## Prevention – tests",
    "## 3. Prevention: tests", "## :eye: Prevention", "## Rule", "## Rules", "## Action Items",
    "## Follow-ups", "## Lessons Learned", "## Prevention Guidance", "## Case 1\n\n### Prevention",
])  # fmt: skip
def test_headings_of_the_checklist(heading):
    assert card_of(f"Intro\n\n{heading}\n\n- Set a timeout\n").checklist == ("Set a timeout",)


@pytest.mark.parametrize(
    "heading", ["# Prevention", "#### Prevention", "## Prevention of fire", "    ## Prevention"]
)
def test_other_headings_mean_nothing(heading):
    assert card_of(f"## Intro\n\n{heading}\n\n- Set a timeout\n").checklist == ()


def test_kinds_of_items():
    body = """\
## Prevention Checklist

- dash
* star
+ plus

1. one
2) two

- [ ] open box
- [x] ticked box
- [X] Ticked box
- outer
  - inner
    1. innermost
- over
  two lines
- first paragraph

  second paragraph
- with code:
  ```sh
  - not an item
  ```
> - quoted

Prose after it.
"""
    document = parse(body)
    assert document.card.checklist == (
        "dash", "star", "plus", "one", "two", "open box", "ticked box", "Ticked box",
        "outer", "inner", "innermost", "over two lines", "first paragraph", "with code:", "quoted",
    )  # fmt: skip
    lines = f"---\ntitle: T\n---\n{body}".split("\n")
    for item, line in zip(document.card.checklist, document.checklist_lines, strict=True):
        assert item.split(maxsplit=1)[0] in lines[line - 1]


def test_lines_count_the_whole_file_whatever_its_line_ends():
    text = "\ufeff---\ntitle: T\n\n# c\n---\n\nx\n\n## Prevention\n- a\n- b\n"
    for eol in ("\n", "\r\n", "\r"):
        document = reading.parse(text.replace("\n", eol))
        assert document.checklist_lines == (10, 11)


def test_a_heading_in_code_is_none():
    body = """\
## Fix

```md
## Prevention Checklist
- not this
```

~~~
## Prevention Checklist
~~~

    ## Prevention Checklist

<!--
## Prevention Checklist
- nor this
-->

- fix it
"""
    assert card_of(body).checklist == ("fix it",)


def test_when_to_apply_speaks_only_where_no_prevention_does():
    apply = "## When to Apply\n\n- When porting\n"
    assert card_of(f"{apply}\n## Prevention\n\n- Check it\n").checklist == ("Check it",)
    card = card_of(f"{apply}\n## Fix\n\n- Fixed\n")
    assert (card.checklist, card.conditional) == (("When porting",), True)


@pytest.mark.parametrize(("body", "checklist"), [
    ("## Solution\n\n1. Do\n2. Then\n", ("Do", "Then")),
    ("## Prevention\n\nOnly prose. More.\n\n## Fix\n\n- From fix\n", ("From fix",)),
    ("## Prevention\n\nOnly\nprose. More of it.\n", ("Only prose.",)),
    ("## Prevention\n\n```\ncode\n```\n\nThen prose.\n", ("Then prose.",)),
    ("## Prevention\n\n## Fix\n\nProse.\n", ("Prose.",)),
    ("## Rule\n\nDo so. Why not.\n\n## When this applies\n\n- Here\n", ("Here",)),
    ("## Rule\n\nDo so. Why not.\n\n## When this applies\n\nHere.\n", ("Do so.",)),
    ("## Notes\n\nNothing at all.\n", ()),
    ("", ()),
])  # fmt: skip
def test_fallbacks_of_the_checklist(body, checklist):
    assert card_of(body).checklist == checklist


def test_lines_of_the_fallbacks():
    assert parse("## Prevention\n\n\nProse. More.\n").checklist_lines == (7,)
    bare = reading.parse("## x\n")
    assert (bare.card.checklist, bare.checklist_lines, bare.card.is_title_only) == ((), (), True)


@pytest.mark.parametrize(("markdown", "text"), [
    ("**Never** use `eval()`", "Never use eval()"),
    ("pass `**kwargs` and `a_b`", "pass **kwargs and a_b"),
    ("**Never *ever* use** it, *nor* this", "Never ever use it, nor this"),
    ("see [pages/[id].tsx](x/[id].tsx)", "see pages/[id].tsx"),
    ("Add it to __all__ in httpx/__init__.py", "Add it to __all__ in httpx/__init__.py"),
    ("Pass *args, match src/*.py, **/*.ts and a/**", "Pass *args, match src/*.py, **/*.ts and a/**"),
    ("**Keep this.** It *is* **a/b**.", "Keep this. It is a/b."),
    ("See **`__all__`** and __Never__", "See __all__ and Never"),
    ("_all_ of ***it***, ~~not~~", "all of it, not"),
    ('see [the `docs`](https://x.y/z_(a) "t") first', "see the docs first"),
    ("see [[note]] or [[note|that]]", "see note or that"),
    ("at <https://x.y>", "at https://x.y"),
    ("use Map<String, T>", "use Map<String, T>"),
    (r"a \* b \_ c", "a * b _ c"),
    ("keep <!-- not this --> it", "keep it"),
    ("``a ` b`` stays", "a ` b stays"),
    ("AT&amp;T, a&lt;b and &quot;c&quot; &unknown; & d", 'AT&T, a<b and "c" &unknown; & d'),
    ("decodes &#8203; and &nbsp; in <T any>", "decodes &#8203; and &nbsp; in <T any>"),
])  # fmt: skip
def test_items_are_plain_text(markdown, text):
    assert card_of(f"## Prevention\n\n- {markdown}\n").checklist == (text,)


@pytest.mark.parametrize(("body", "why"), [
    ("## Root Cause\n\nIt *never*\nlooked. Then more.\n\nOther.\n", "It never looked."),
    ("## Mistake / Risk\n\nTrusted it. Yes.\n", "Trusted it."),
    ("## Why This Works\n\nA.\n\n## Root Cause\n\nB.\n", "B."),
    ("## Why This Works\n\nA.\n\n## Mistake\n\nB.\n", "A."),
    ("## What Didn\u2019t Work\n\n- Retrying it. Twice.\n", "Retrying it."),
    ("## Root Cause\n\n```\ncode\n```\n\nAfter code.\n", "After code."),
    ("## Root Cause\n\n### Detail\n\nUnder it.\n", "Under it."),
    ("## Root Cause\n\n> `Quoted`. Yes.\n", "Quoted."),
    ("## Root Cause\n\nTwo things:\n\n- the clock\n- the zone\n", "Two things: the clock"),
    ("## Root Cause\n\n两种情况\uff1a\n\n- 时钟\n- 时区\n", "两种情况\uff1a 时钟"),
    ("## Root Cause\n\n<!-- name the mechanism -->\n", ""),
    ("## Root Cause\n\n## Mistake\n\nB.\n", "B."),
    ("## 근본 원인\n\n발신자를 확인하지 않았다. 그래서 뚫렸다.\n", "발신자를 확인하지 않았다."),
])  # fmt: skip
def test_why_is_the_first_sentence_of_the_cause(body, why):
    assert card_of(body).why == why


def test_topics_under_applies_to():
    body = (
        "## Applies To\n\n- telegram\n- remote execution\n- Everything that a stranger can reach\n"
    )
    assert card_of(body).topics == ("telegram", "remote execution")
    document = parse(body, "applies-to: [bot]\n")
    assert document.card.topics == ("bot",)


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
_COMMONMARK = MarkdownIt("commonmark").disable("reference")


def whole_headings(body):
    return [
        (token.tag, *token.map)
        for token in _COMMONMARK.parse(body)
        if token.type == "heading_open"
        and token.level == 0
        and token.tag in ("h1", "h2", "h3")
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
    found = [(f"h{h.level}", h.line, h.end) for h in find_headings(body, deepest=3)]
    assert found == whole_headings(body)
    outer = [(f"h{h.level}", h.line, h.end) for h in find_headings(body)]
    assert outer == [one for one in found if one[0] != "h3"]


FRAGMENTS = """\
# Top

Prose over
two lines.

- [ ] first
  goes on

  ```
  # no heading
  ```
  - nested
* second

| # | **Claim** | State |
|---|---|---|
| 1 | uses `a` \\| c | Evidenced |

Below
-----
"""


def test_each_fragment_has_its_kind_line_and_text():
    found = read_fragments(FRAGMENTS)
    assert [(one.kind, one.line, one.text) for one in found] == [
        ("heading", 1, "Top"),
        ("paragraph", 3, "Prose over\ntwo lines."),
        ("item", 6, "first\ngoes on\n\n# no heading"),
        ("item", 12, "nested"),
        ("item", 13, "second"),
        ("row", 17, ""),
        ("heading", 19, "Below"),
    ]
    assert found[3].level > found[2].level == found[4].level
    assert found[5].cells == (("#", "1"), ("claim", "uses `a` | c"), ("state", "Evidenced"))
