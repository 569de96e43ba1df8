"""Which of two lessons comes first in a block: the surer lesson, if the brain has few cards."""

import pytest

from lessons_kb import Brain

PROMPT = "Add spans to the tool calls of the importer, request ids get lost"
SEVERE = """---
type: lesson
title: Tool call id set to the name of the tool
severity: high
occurrences: 8
symptoms:
  - add another provider that supports tool calls
---

## Root Cause

The provider sends no id for tool calls, and the id of the tool was used twice.

## Prevention Checklist

- [ ] Generate an id for each of the tool calls
"""
MEANT = """---
type: lesson
title: A thread of the importer loses the request of its caller
severity: low
source: auto
symptoms:
  - request ids are missing in the spans of a tool
---

## Root Cause

Context variables are not passed on to a thread, and each line that it writes lacks the request.

## Prevention Checklist

- [ ] Start the thread with a copy of the context
"""
OTHER = """---
type: lesson
title: Lesson {number} about a parser of quoted columns
symptoms:
  - read a table with quoted columns
---

## Prevention Checklist

- [ ] Read the quoted columns with the parser of the format
"""


@pytest.fixture
def brain(write, root):
    write("lessons/severe.md", SEVERE)
    write("lessons/meant.md", MEANT)
    return root


def _ask(brain):
    """Return the ids of the given lessons, and check that the rank prefers the less sure card."""
    with Brain.open(brain) as opened:
        block = opened.preflight(PROMPT)
        severe, meant, *_others = opened.search(PROMPT)
    assert (severe.card.id, meant.card.id) == ("lessons/severe.md", "lessons/meant.md")
    assert severe.confidence < meant.confidence
    return [hit.card.id for hit in block.lessons]


def test_in_a_small_brain_the_surer_lesson_is_given(brain):
    assert _ask(brain) == ["lessons/meant.md"]


def test_in_a_brain_of_many_cards_the_rank_decides(brain, write):
    for number in range(30):
        write(f"lessons/other-{number}.md", OTHER.format(number=number))
    assert _ask(brain) == ["lessons/severe.md"]
