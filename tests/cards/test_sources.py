"""The sources of a card: read, added, kept by every edit, checked."""

import pytest

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.edit_sources import (
    MAX_QUOTE,
    add_sources,
    drop_session_quotes,
    list_session_quotes,
    make_commit_source,
    make_file_source,
    make_quote,
    make_request_source,
    make_session_source,
)
from lessons_kb.cards.merge import merge_cards
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.model import Source
from tests.cards.reading import parse

AWS_KEY = "AKIA" + "IOSFODNN7EXAMPLF"
COMMIT = make_commit_source("1a2b3c4d5e6f7a8b", "fix: it", "2026-03-04T10:00:00Z", "the reason")
CARD = """\
---
type: lesson
title:   odd spacing   # and a comment
sources:
  # the first one
  - resource: "session:0123456789abcdef"
    quote: it broke
      again
    note: kept
  - quote: 'first key'
    resource: https://example.org/pull/3
severity: "high"
---

## Root Cause

Nobody looked.
"""


def rules(header):
    document = parse(f"---\ntype: lesson\n{header}---\n\n# T\n\n- [ ] Look\n")
    return [one.message for one in check_card(document) if one.rule == "bad-source"]


def test_a_card_says_where_it_comes_from():
    session, request = parse(CARD).sources
    assert session == Source(resource="session:0123456789abcdef", quote="it broke again")
    assert (session.scheme, session.name) == ("session", "0123456789abcdef")
    assert request == Source(resource="https://example.org/pull/3", quote="first key")


@pytest.mark.parametrize("header", [
    "sources: [commit:1a2b3c4d]", "sources:\n  - commit:1a2b3c4d",
    "sources:\n- {resource: 'commit:1a2b3c4d'}", "sources: commit:1a2b3c4d",
])  # fmt: skip
def test_other_forms_are_read(header):
    text = f"---\n{header}\n---\n# T\n"
    assert [source.resource for source in read_sources_of(text)] == ["commit:1a2b3c4d"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_source_is_added_and_no_other_byte_changes(end):
    text = CARD.replace("\n", end)
    result = add_sources(text, [COMMIT])
    added = [line for line in result.splitlines(True) if line not in text.splitlines(True)]
    assert "".join(added) == (
        '  - resource: "commit:1a2b3c4d5e6f"\n    title: "fix: it"\n'
        "    last_modified: 2026-03-04T10:00:00Z\n    quote: the reason\n"
    ).replace("\n", end)
    assert result.replace("".join(added), "") == text
    assert add_sources(result, [COMMIT]) == result


@pytest.mark.parametrize("header", ["", "sources:\n", "sources: []\n", "sources: []  # none\n"])
def test_the_first_source_of_a_card(header):
    text = f"---\ntype: lesson\n{header}title: x\n---\nbody\n"
    result = add_sources(text, [COMMIT])
    assert read_sources_of(result) == (COMMIT,)
    assert result.count("sources:") == 1
    assert parse(result).card == parse(text).card


def test_every_edit_of_the_header_keeps_the_sources():
    text = add_sources(CARD, [COMMIT])
    changes = {
        "title": "new", "occurrences": 3, "confirmed": "2026-01-01", "status": "archived",
        "examples": ("a", "b"), "severity": "low", "symptoms": ("x",),
    }  # fmt: skip
    block = text[text.index("sources:") : text.index("severity:")]
    assert block in edit_header(text, changes)


def test_the_quote_of_a_session_is_dropped_and_nothing_else():
    assert list_session_quotes(CARD) == ["it broke again"]
    assert drop_session_quotes(CARD) == CARD.replace("    quote: it broke\n      again\n", "")
    plain = add_sources("---\ntype: lesson\n---\n", [COMMIT])
    assert drop_session_quotes(plain) == plain


def test_a_quote_is_one_line_without_secrets_and_cut():
    quote = make_quote(f"export KEY={AWS_KEY}\n" + "word " * 100)
    assert AWS_KEY not in quote
    assert len(quote) == MAX_QUOTE
    assert "\n" not in quote
    # A secret that the cut would divide is removed before the cut.
    assert AWS_KEY[:8] not in make_quote("x" * (MAX_QUOTE - 10) + f" {AWS_KEY}")


def test_a_session_is_named_by_a_hash_of_its_id():
    source = make_session_source("the-private-id", "2026-01-01T00:00:00Z")
    assert source.scheme == "session"
    assert "private" not in source.resource
    assert source == make_session_source("the-private-id", "2026-01-01T00:00:00Z")


def test_the_other_sources():
    assert make_file_source("docs/a.md", 12).resource == "file:docs/a.md#L12"
    assert make_file_source("docs/a.md").resource == "file:docs/a.md"
    assert make_request_source("shop#12").resource == "pull-request:shop#12"
    assert make_request_source("https://a.b/pull/1").resource == "https://a.b/pull/1"


def test_lint_reports_what_is_wrong_with_a_source():
    assert rules("") == []
    assert rules("sources:\n  - resource: commit:1a2b3c4d\n    quote: short\n") == []
    assert "has no entry" in rules("sources:\n  - title: x\n")[0]
    (long,) = rules(f"sources:\n  - resource: a\n    quote: {'x ' * 150}\n")
    assert "has 299 characters" in long
    (secret,) = rules(f"sources:\n  - resource: a\n    quote: key {AWS_KEY}\n")
    assert "holds a secret" in secret
    (session,) = rules("sources:\n  - resource: session:me-and-my-machine\n")
    assert "names a session by its id" in session
    (date,) = rules("sources:\n  - resource: a\n    last_modified: yesterday\n")
    assert "last_modified of a is 'yesterday'" in date


def test_sources_of_two_branches_are_united():
    base = add_sources("---\ntype: lesson\ntitle: x\n---\nbody\n", [COMMIT])
    ours = add_sources(base, [make_file_source("a.md", 1)])
    theirs = add_sources(base, [make_file_source("b.md", 2)])

    def fail(*_texts):
        raise AssertionError("merged by lines")

    merged = merge_cards(base, ours, theirs, merge_text=fail)
    names = [source.resource for source in read_sources_of(merged.text)]
    assert names == [COMMIT.resource, "file:a.md#L1", "file:b.md#L2"]
    assert not merged.conflict
