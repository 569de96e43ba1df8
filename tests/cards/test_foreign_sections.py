"""Sections as others write them: nested headings, longer headings, bold labels (SPEC §1)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.sections import LEAD, PROSE, read_sections
from tests.cards import reading


def parse(body, header=""):
    return reading.parse(f"---\ntitle: T\n{header}---\n{body}")


def card_of(body, header=""):
    return parse(body, header).card


def read(body):
    card = card_of(body)
    return card.why, card.checklist


NESTED = """\
## Pattern 1

### Symptoms

It hangs.

### Root Cause (confirmed)

Two writers share a lock. Always.

### Working Fix

- Give each its own

### Notes

- nothing to do

## Pattern 2

- unrelated
"""


def test_nested_headings_mean_what_they_say():
    assert read(NESTED) == ("Two writers share a lock.", ("Give each its own",))


def test_an_unknown_heading_of_level_3_belongs_to_the_section_around_it():
    body = "## Prevention\n\n### Code\n\n- a\n\n### Root Cause\n\nB.\n\n### Tests\n\n- c\n\n## Else\n\n- d\n"
    assert read(body) == ("B.", ("a", "c"))


def test_what_went_well_is_no_check():
    body = (
        "## Lessons Learned\n\n### What went well\n\n- The alert came\n\n### What went wrong\n\n"
        "- Nobody saw it\n\n### Where we got lucky\n\n- It was Sunday\n\n## Action Items\n\n- Page somebody\n"
    )
    assert read(body) == ("Nobody saw it", ("Page somebody",))


@pytest.mark.parametrize(("heading", "why"), [
    ("Root cause hypothesis", "A."), ("5 Whys", "A."), ("Five Why's", "A."), ("Consequences", "A."),
    ("What went wrong", "A."), ("Root Cause & Fix", "A."), ("Root Cause: the lock", "A."),
    ("Detection", ""), ("Where we got lucky", ""), ("Root causes of joy", ""),
])  # fmt: skip
def test_headings_of_the_cause(heading, why):
    assert card_of(f"Lead.\n\n## Situation\n\n## {heading}\n\nA. B.\n").why == why


@pytest.mark.parametrize("heading", ["Resolution", "Working Fix", "Decision", "Decision Outcome"])
def test_headings_of_the_fix(heading):
    assert card_of(f"## {heading}\n\n- Do it\n").checklist == ("Do it",)


def test_a_record_of_a_decision():
    body = (
        "# Use one queue\n\n## Status\n\nAccepted\n\n## Context\n\nTwo queues diverge.\n\n## Decision\n\n"
        "We use one queue. It is small.\n\n## Consequences\n\nConsumers have to filter. Sometimes.\n"
    )
    assert read(body) == ("Consumers have to filter.", ("We use one queue.",))


LABELLED = """\
# Log the state after the change

**Context**: Commands log what they changed.

**Problem**: The cache returned the state before. Twice.

**Rule**: Read the row again with `refresh: true`. The cache is old.

**Applies to**: `packages/core/**/commands/*.ts`, `app/[id]/page.tsx`, `refresh: true`, `/api/x`,
`@scope/pkg`, and `undo.ts`.
"""


def test_bold_labels_are_headings():
    document = parse(LABELLED)
    card = document.card
    assert card.why == "The cache returned the state before."
    assert card.checklist == ("Read the row again with refresh: true. The cache is old.",)
    assert document.checklist_lines == (10,)
    assert card.paths == ("packages/core/**/commands/*.ts", r"app/\[id\]/page.tsx", "undo.ts")
    assert card.topics == ()
    assert "Commands log what they changed." in document.fields["situation"]
    assert parse(LABELLED, "paths: [a.py]\n").card.paths == ("a.py",)


@pytest.mark.parametrize(("body", "why", "checklist"), [
    ("**Why:** because.\n**How to apply:** do so.\n", "because.", ("do so.",)),
    ("__Why__: because.\n\n__Rule__: do so\n", "because.", ("do so",)),
    ("- **Mistake**: it broke\n- **Fix**: mend it\n- other\n", "it broke", ("mend it",)),
    ("- **Rule (critical):** do so\n- **Rule**: and so\n", "", ("do so", "and so")),
    ("**Rule** — do so\n", "", ("do so",)),
    ("**Rule**\n\n- a\n- b\n\nprose\n\n**Fix**\n\n- c\n", "", ("a", "b")),
    ("**Rule**: these:\n\n- a\n  - b\n", "", ("a", "b")),
    ("- **Rule**: a\n  - b\n- c\n", "", ("a", "b")),
    ("1. **Cause**: The clock. Yes.\n   **Prevention**: z\n", "The clock.", ("z",)),
    ("- Cause: x\n- Rule: y\n", "x", ("y",)),
    ("## What happened\n\n**Pattern**: p\n", "p", ()),
    # no labels
    ("**Rule** of thumb\n", "", ()),
    ("**Rules of the road**: drive left\n", "", ()),
    ("Rule: y\n", "", ()),
    ("> **Rule**: y\n", "", ()),
    ("```\n**Rule**: y\n```\n", "", ()),
    ("text with **Rule**: y\n", "", ()),
    ("| **Rule**: y |\n", "", ()),
    # a heading that means something speaks for its text
    ("## Prevention\n\n- **Rule**: a\n- **Fix**: b\n", "", ("Rule: a", "Fix: b")),
    ("## Prevention\n\n**Why**: w.\n\n- a\n", "w.", ("a",)),
    ("## Root Cause\n\nc.\n\n## Notes\n\n**Why**: w.\n**Rule**: r\n", "c.", ("r",)),
])  # fmt: skip
def test_what_a_label_says(body, why, checklist):
    assert read(f"{body}\n## Applies To\n") == (why, checklist)


@pytest.mark.parametrize(("body", "why", "checklist"), [
    ("The handler never looked. It ran all.\n", "The handler never looked.", ()),
    ("# Title\n\nIt never looked.\n\n- Look first\n- Test it\n", "It never looked.",
     ("Look first", "Test it")),
    ("- Look first\n", "", ("Look first",)),
    ("# Title\n", "", ()),
    ("It never looked.\n\n## Notes\n\n- a\n", "It never looked.", ()),
    ("## Notes\n\nIt never looked. It ran.\n\n## More\n\nb\n", "It never looked.", ()),
    ("## Notes\n\n- a\n", "", ()),
])  # fmt: skip
def test_a_body_without_known_headings_speaks_for_itself(body, why, checklist):
    assert read(body) == (why, checklist)


PIECES = [
    "**Rule**: a", "**Why:** b", "- **Fix**: c", "  - **Rule**: d", "- e", "  f", "## Prevention",
    "### Root Cause", "## Other", "```", "> **Rule**: g", "1. Rule: h", "", "text", "**Rule**",
    "* * *", "    **Rule**: i", "---",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("\n".join))
def test_each_item_stands_in_its_line(body):
    document = parse(body)
    lines = f"---\ntitle: T\n---\n{body}".split("\n")
    for item, line in zip(document.card.checklist, document.checklist_lines, strict=True):
        assert item.split()[0] in lines[line - 1].replace("**", "")
    parts = [part for part in read_sections(body).parts if part.role not in (PROSE, LEAD)]
    heads = [lines[document.body_line + part.head - 1] for part in parts]
    assert all(re.search("#|:|[*]{2}|---", head) for head in heads)
