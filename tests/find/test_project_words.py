"""In a small brain, the words of most commits of the project are everyday words."""

import pytest

from lessons_kb import Brain
from lessons_kb.relevance.project_words import (
    FEW_DOCUMENTS,
    ProjectWords,
    count_words,
    format_words,
    parse_words,
)
from tests.kit import commit, git, make_brain, write

CARD = """---
type: lesson
title: Tool use id set to the name of the tool
symptoms:
  - the agent calls the same tool twice and gets the wrong result
  - add a provider that supports tool calls
---

## Root Cause

The provider sends no id, so two calls of one tool in a turn shared an id.

## Prevention Checklist

- [ ] Generate an id for each of the tool calls
"""
OTHER = "---\ntype: lesson\n---\n\n# Lesson {0} of quoted columns\n\n## Fix\n\n- Quote column {0}\n"
UNRELATED = "Clean up the agent when a tool times out"
RELATED = "the wrong result comes back when one tool is called twice"
LOGS = """---
type: lesson
title: Changed the logs schema without a migration
symptoms:
  - add a column to the logs table
  - store more about each response
---

## Root Cause

The database of a user keeps the old tables, because only a migration adds a column.

## Prevention Checklist

- [ ] Add a function to llm/migrations.py
- [ ] Run the tests in tests/test_migrate.py
"""
SUBJECTS = [f"Let agent {number} call a tool of module m{number}" for number in range(40)]


@pytest.fixture
def ask(tmp_path):
    """Return the cards for a prompt, in a project with commits of these subjects."""

    def ask(prompt, subjects, *, where="src/a.py", cards=1, card=CARD):
        root = tmp_path / "project"
        if not root.exists():
            git(tmp_path, "init", "-q", "project")
            make_brain(str(root / "brain"))
            write(root, "brain/lessons/tool.md", card)
            for number in range(cards - 1):
                write(root, f"brain/lessons/c{number}.md", OTHER.format(number))
            commit(root, "Add the first lesson")
            for number, subject in enumerate(subjects):
                commit(root, subject, **{where: f"{number}\n"})
        with Brain.open(root / "brain", directory=root) as brain:
            for member in brain.members:
                member.words_only = True
            block = brain.preflight(prompt)
            assert parse_words(brain.members[0].project_words).basis or cards >= FEW_DOCUMENTS
        return [hit.card.id for hit in block.lessons]

    return ask


def test_a_word_of_most_commits_does_not_bring_a_lesson(ask):
    assert ask(UNRELATED, SUBJECTS) == []
    assert ask(RELATED, SUBJECTS) == ["lessons/tool.md"]


def test_two_everyday_words_of_the_project_do_not_bring_a_lesson(ask):
    subjects = [f"Fix the parser of module m{number} for nested groups" for number in range(120)]
    subjects[::20] = [f"Let logs show model m{number}" for number in range(6)]
    subjects[7::40] = [f"Store the keys of provider p{number}" for number in range(3)]
    assert ask("where are logs stored on macOS?", subjects, cards=2, card=LOGS) == []
    related = "add a column for the cost to the logs table"
    assert ask(related, subjects, cards=2, card=LOGS) == ["lessons/tool.md"]


def test_in_another_project_the_same_word_is_rare(ask):
    subjects = [f"Round price {number} of the invoice" for number in range(40)]
    assert ask(UNRELATED, subjects) == ["lessons/tool.md"]


def test_commits_that_change_only_cards_do_not_count(ask):
    assert ask(UNRELATED, SUBJECTS, where="brain/notes/a.md") == ["lessons/tool.md"]


def test_a_brain_of_many_cards_shows_by_itself_what_is_common(ask):
    assert ask(UNRELATED, SUBJECTS, cards=FEW_DOCUMENTS) == ["lessons/tool.md"]


def test_a_brain_outside_a_repository_has_no_words_of_a_project(tmp_path):
    make_brain(str(tmp_path / "brain"))
    write(tmp_path, "brain/lessons/tool.md", CARD)
    with Brain.open(tmp_path / "brain", directory=tmp_path) as brain:
        brain.preflight(UNRELATED)
        words = parse_words(brain.members[0].project_words)
    assert words.basis
    assert words.shares == {}


def test_a_word_is_everyday_from_three_commits_and_half_a_percent():
    words = count_words([*SUBJECTS, "Add a zebra", "Feed the zebra"], "b")
    assert words.shares["agent"] == pytest.approx(40.5 / 43, abs=0.001)
    assert "zebra" not in words.shares
    many = [*SUBJECTS[:4], *(f"Round price p{number}" for number in range(2_000))]
    assert "agent" not in count_words(many, "b").shares
    assert count_words(SUBJECTS[:10], "b") == ProjectWords(basis="b")


def test_the_share_of_passages_counts_words_that_come_together_once():
    subjects = [f"Round price number{number} of the new invoice" for number in range(200)]
    subjects[:10] = [f"Feed zebra number{number} in the new stable" for number in range(10)]
    words = count_words(subjects, "b")
    assert words.shares["zebra"] == pytest.approx(10.5 / 201, abs=0.001)
    assert words.passages["price"] > 0.8
    assert words.passages["zebra"] < 0.4
    assert count_words(subjects[:50], "b").passages == {}
    assert parse_words(format_words(words)) == words


@pytest.mark.parametrize("text", ["", "{", "[]", '{"basis": "b", "more": 1}'])
def test_damaged_words_count_as_none(text):
    assert parse_words(text) == ProjectWords()
