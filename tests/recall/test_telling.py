"""Whether a sentence tells something as done, and how far a "not" reaches."""

from __future__ import annotations

import pytest

from lessons_kb.recall.telling import is_done, opens_what_is_left, split_clauses
from lessons_kb.recall.wanted import read_item


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("The lexer is new; tests are missing", ("The lexer is new", "tests are missing")),
        ("The lexer is new; it works", ("The lexer is new, it works",)),
        ("So it is, but slowly", ("So it is, but slowly",)),
        ("Done; the lexer is new", ("Done", "the lexer is new")),
        ("The  lexer\nis new", ("The lexer is new",)),
        ("렉서를 고쳤지만, 테스트는 없다", ("렉서를 고쳤지만", "테스트는 없다")),
        ("", ()),
    ],
)
def test_a_sentence_is_split_where_a_not_reaches_no_further(sentence, clauses):
    assert split_clauses(sentence) == clauses


@pytest.mark.parametrize(
    ("sentence", "opens"),
    [
        ("What I left out:", True),
        ("**What I left out:**", True),
        ("__Still open:__", True),
        ("## Still open", True),
        ("## Done", False),
        ("What I did:", False),
        ("I left it out.", False),
        ("Still open: the layout", False),
    ],
)
def test_a_heading_opens_a_list_of_what_is_left(sentence, opens):
    assert opens_what_is_left(sentence) is opens


@pytest.mark.parametrize(
    ("item", "text", "done"),
    [
        ("Sort unknown keys", "Unknown keys are sorted", True),
        ("Sort unknown keys", "Unknown keys are not sorted", False),
        ("Sort unknown keys", "Unknown Keys are NOT sorted", False),
        ("Sort unknown keys", "I left out the sorting of unknown keys", False),
        ("Ignore unknown keys", "Unknown keys do not stop it", True),
        ("Never log the token", "The token is not logged", True),
        ("Never log the token", "Not logging the token is for later", False),
        ("Reject chats that are unknown", "Chats that are not known are refused", True),
    ],
)
def test_done_is_what_is_neither_denied_nor_put_off(item, text, done):
    assert is_done(text, read_item(item)) is done
