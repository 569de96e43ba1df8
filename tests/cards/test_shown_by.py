"""`shown-by` comments of checklist items: parsed with the card, invisible, linted."""

import pytest

from tests.cards.reading import check, parse

CARD = """\
---
type: lesson
title: Unknown senders run commands
symptoms: [a stranger runs a command, anyone can run it]
---

## Root Cause

Nobody looked at the sender.

## Prevention Checklist

- [ ] Reject unknown senders
- [ ] Cover the rejection with a test <!-- shown-by: test\\w*reject -->
"""


def test_a_pattern_belongs_to_its_item_and_is_not_part_of_it():
    card = parse(CARD).card
    assert card.checklist == ("Reject unknown senders", "Cover the rejection with a test")
    assert card.shown_by == ("", r"test\w*reject")
    assert not any("shown-by" in text for text in parse(CARD).fields.values())
    assert parse(CARD.replace("shown-by", "seen by")).card.shown_by == ()
    assert check(CARD) == ()


def findings(text):
    return [(one.rule, one.line) for one in check(text) if one.rule == "shown-by"]


@pytest.mark.parametrize("pattern", ["test(", "a*", "", r"(?=x)y", "x" * 300])
def test_lint_finds_a_bad_one(pattern):
    assert findings(CARD.replace(r"test\w*reject", pattern)) == [("shown-by", 14)]


def test_lint_finds_one_that_is_misspelt_or_elsewhere():
    assert findings(CARD.replace("shown-by:", "shown_by:")) == [("shown-by", 14)]
    assert findings(CARD.replace("Nobody", "<!-- shown-by: x --> Nobody")) == [("shown-by", 9)]
