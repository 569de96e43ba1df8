"""Items that the agent provably ignored."""

from dataclasses import replace

import pytest

from lessons_kb.model import Card, Edit, Evidence
from lessons_kb.outcome.session_evidence import read_command
from lessons_kb.postcheck.ignored_items import find_ignored
from lessons_kb.postcheck.item_states import check_items

EDIT = Edit(path="docs/features.md", text="A new feature", before="")
ANSWER = "I added the feature. All tests pass."


def ask(item, *commands, edits=(EDIT,), answer=ANSWER, complete=True, **card):
    """Return the items that are named of a card about docs/."""
    fields = {"title": "The docs were stale", "paths": ("docs/*.md",), **card}
    one = Card(id="a.md", kind="lesson", checklist=(item,), **fields)
    runs = tuple(map(read_command, commands))
    evidence = Evidence(edits=edits, commands=runs, complete=complete)
    return [found.item for found in find_ignored(check_items([one], answer, evidence), evidence)]


RUN = "Run `just cog` after a change of the docs"


def test_a_command_that_did_not_run_is_named():
    assert ask(RUN, "just test") == [RUN]
    assert ask(RUN) == [RUN]


@pytest.mark.parametrize("item", [
    "Run just cog after a change of the docs", "After a change of the docs, run just cog.",
    "Regenerate the page with just cog",
])  # fmt: skip
def test_a_command_is_known_without_the_signs_of_code(item):
    """The checklist of a card that was read from a file has none."""
    assert ask(item, "just test") == [item]
    assert ask(item, "just cog") == []


def test_a_verb_without_a_program_asks_for_no_command():
    assert ask("Run it by hand on the largest page") == []


@pytest.mark.parametrize("command", [
    "just cog", "cd docs && just cog", "FORCE=1 just --verbose cog", "just cog && git add -A",
])  # fmt: skip
def test_a_command_that_ran_is_not(command):
    assert ask(RUN, command) == []


@pytest.mark.parametrize(("item", "command"), [
    ("Regenerate with `pnpm gen <package>`", "pnpm gen core"),
    ("Run `alembic upgrade head` on a copy", "alembic upgrade head"),
])  # fmt: skip
def test_a_placeholder_stands_for_anything(item, command):
    assert ask(item) == [item]
    assert ask(item, command) == []


def test_a_file_that_was_not_changed_is_named():
    item = "Update `docs/index.md` beside the page"
    assert ask(item) == [item]
    assert ask(item, edits=(EDIT, Edit(path="docs/index.md", text="x"))) == []
    assert ask("See `docs/index.md` for the form of a page") == []


def test_a_test_that_was_not_written_or_run_is_named():
    write, run = "Add a test for the page's links", "Run the tests of the links"
    test = Edit(path="tests/test_links.py", text="def test_nothing(): pass")
    assert ask(write, answer="Done.") == [write]
    assert ask(write, answer="Done.", edits=(EDIT, test)) == []
    assert ask(run, answer="Done.") == [run]
    assert ask(run, "pytest tests", answer="Done.") == []
    assert ask("Keep a test set apart", answer="Done.") == []


def test_a_pattern_that_matches_nothing_is_named():
    item = "Give each page a date"
    assert ask(item, shown_by=(r"^date:",)) == [item]
    dated = Edit(path="docs/features.md", text="date: 2026-01-01")
    assert ask(item, shown_by=(r"^date:",), edits=(dated,)) == []
    assert ask(item) == [], "without a pattern nobody knows how a date looks"


@pytest.mark.parametrize("item", [
    "Never run `just cog` on the release branch",
    "If a column is dropped, run `just cog`",
    "Choose a good name",
])  # fmt: skip
def test_what_may_not_be_asked_for_is_not_named(item):
    assert ask(item) == []


def test_a_condition_that_holds_asks():
    item = "When a feature is added, run `just cog`"
    assert ask(item) == [item]


def test_nothing_is_named_where_the_turn_is_about_something_else_or_not_all_is_known():
    assert ask(RUN, edits=(replace(EDIT, path="src/app.py"),)) == []
    assert ask(RUN, edits=()) == []
    assert ask(RUN, edits=(replace(EDIT, earlier=True),)) == []
    assert ask(RUN, complete=False) == []
    about = {"paths": (), "title": "The features of the docs were stale"}
    assert ask(RUN, **about) == [RUN]
    assert ask(RUN, paths=(), title="Payments were counted twice") == []


@pytest.mark.parametrize("answer", ["I did not run `just cog`.", "I ran `just cog` at the end."])
def test_what_the_answer_speaks_of_is_denied_or_contradicted_instead(answer):
    assert ask(RUN, answer=answer) == []
