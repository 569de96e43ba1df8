"""`shown-by` comments of checklist items: parsed with the card, invisible, linted."""

import pytest

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.parse import parse_card
from lessons_kb.config import PreflightSettings
from lessons_kb.model import Hit
from lessons_kb.preflight.block import pack
from lessons_kb.store.catalogue import card_from_json, card_to_json
from lessons_kb.text.token_estimate import estimate_tokens

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


def parse(text=CARD):
    return parse_card(text, path="lessons/a.md", folders={"lessons": "lesson"})


def findings(text):
    return [(f.rule, f.line) for f in check_card(parse(text)) if f.rule == "shown-by"]


def test_a_pattern_belongs_to_its_item_and_is_not_part_of_it():
    card = parse().card
    assert card.checklist == ("Reject unknown senders", "Cover the rejection with a test")
    assert card.shown_by == ("", r"test\w*reject")
    assert card_from_json(card.id, card_to_json(card)) == card


def test_without_a_comment_there_is_no_pattern():
    assert parse(CARD.replace("shown-by", "seen by")).card.shown_by == ()


def test_it_reaches_neither_the_block_nor_the_index():
    document = parse()
    hit = Hit(card=document.card, score=1.0, bm25=1.0, passed=True)
    block = pack([hit], [], query="x", frequencies={}, size=1,
                 settings=PreflightSettings(), counter=estimate_tokens)  # fmt: skip
    assert "- [ ] Cover the rejection with a test\n" in block.text
    assert "shown-by" not in block.text
    assert not any("shown-by" in text for text in document.fields.values())


def test_a_good_one_is_no_finding():
    assert findings(CARD) == []


@pytest.mark.parametrize("pattern", ["test(", "a*", "", r"(?=x)y", "x" * 300])
def test_lint_finds_a_bad_one(pattern):
    assert findings(CARD.replace(r"test\w*reject", pattern)) == [("shown-by", 14)]


def test_lint_finds_one_that_is_misspelt_or_elsewhere():
    assert findings(CARD.replace("shown-by:", "shown_by:")) == [("shown-by", 14)]
    assert findings(CARD.replace("Nobody", "<!-- shown-by: x --> Nobody")) == [("shown-by", 9)]


def test_when_to_apply_holds_conditions():
    told = CARD.replace("Prevention Checklist", "When to Apply")
    assert parse(told).card.conditional
    assert not parse().card.conditional
