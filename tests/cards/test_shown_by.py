"""`shown-by` comments of checklist items: parsed with the card, invisible, linted."""

import pytest

from lessons_kb.config import PreflightSettings
from lessons_kb.model import Hit
from lessons_kb.preflight.block import pack
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
    assert parse(CARD.replace("shown-by", "seen by")).card.shown_by == ()
    assert check(CARD) == ()


def test_it_reaches_neither_the_block_nor_the_index():
    document = parse(CARD)
    hit = Hit(card=document.card, score=1.0, bm25=1.0, passed=True)
    block = pack([hit], [], query="x", frequencies={}, size=1,
                 settings=PreflightSettings(), counter=len)  # fmt: skip
    assert "- [ ] Cover the rejection with a test\n" in block.text
    assert "shown-by" not in block.text
    assert not any("shown-by" in text for text in document.fields.values())


def findings(text):
    return [(one.rule, one.line) for one in check(text) if one.rule == "shown-by"]


@pytest.mark.parametrize("pattern", ["test(", "a*", "", r"(?=x)y", "x" * 300])
def test_lint_finds_a_bad_one(pattern):
    assert findings(CARD.replace(r"test\w*reject", pattern)) == [("shown-by", 14)]


def test_lint_finds_one_that_is_misspelt_or_elsewhere():
    assert findings(CARD.replace("shown-by:", "shown_by:")) == [("shown-by", 14)]
    assert findings(CARD.replace("Nobody", "<!-- shown-by: x --> Nobody")) == [("shown-by", 9)]


def test_when_to_apply_holds_conditions():
    told = CARD.replace("Prevention Checklist", "When to Apply")
    assert parse(told).card.conditional
    assert not parse(CARD).card.conditional
