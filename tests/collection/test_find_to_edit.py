"""A card is found by its name for a change, although edited cards are not indexed yet."""

import os
import pathlib

import pytest

from lessons_kb.brain.brains import Brains
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.collection.lookup import CardLookup, find_fitting
from lessons_kb.errors import LessonsError

CARD = "---\ntitle: {title}\noccurrences: {count}\n---\n# {title}\n\n## Prevention Checklist\n\n- Use {word}\n"
NAMES = ("floats", "lessons/floats.md", "flo", "retries", "time", "notes", "lessons/time copy.md")


def card(title, count=1, word="it"):
    return CARD.format(title=title, count=count, word=word)


def edit_nothing(_root):
    pass


def count_again(root):
    (root / "lessons/floats.md").write_text(card("Floats", count=2))


def change_the_body(root):
    (root / "lessons/floats.md").write_text(card("Floats", word="decimals"))


def change_the_title(root):
    (root / "lessons/floats.md").write_text(card("Money in floats"))


def make_a_note_of_a_card(root):
    (root / "lessons/floats.md").write_text("---\ntype: note\n---\n# Floats\n")


def make_a_card_of_a_note(root):
    (root / "notes.md").write_text("---\ntype: lesson\n---\n" + card("Notes").split("---\n", 2)[2])


def repeat_another_card(root):
    (root / "lessons/floats.md").write_bytes((root / "lessons/retries.md").read_bytes())


def repeat_another_edited_card(root):
    for name in ("floats", "retries"):
        (root / f"lessons/{name}.md").write_text(card("Floats", count=9))


def change_an_original(root):
    (root / "lessons/time.md").write_text(card("Time", count=2))


def change_a_copy(root):
    (root / "lessons/time copy.md").write_text(card("Another time", count=2))


def add_a_card_of_the_same_name(root):
    (root / "lessons/more").mkdir()
    (root / "lessons/more/floats.md").write_text(card("More floats"))


def remove_the_card(root):
    (root / "lessons/floats.md").unlink()


def damage_the_card(root):
    (root / "lessons/floats.md").write_bytes(b"---\ntitle: a\0b\n---\n")


def change_the_settings(root):
    (root / "lessons.toml").write_text('[folders]\nlessons = "note"\n')


def ignore_the_card(root):
    (root / ".lessonsignore").write_text("floats.md\n")


def edit_many(root):
    for number in range(9):
        (root / f"lessons/card-{number}.md").write_text(card(f"Card {number}", count=2))


EDITS = [
    *(edit_nothing, count_again, change_the_body, change_the_title, make_a_note_of_a_card),
    *(make_a_card_of_a_note, repeat_another_card, repeat_another_edited_card, change_an_original),
    *(change_a_copy, add_a_card_of_the_same_name, remove_the_card, damage_the_card),
    *(change_the_settings, ignore_the_card, edit_many),
]


@pytest.fixture
def brain(root, write, settle):
    write("lessons.toml", "")
    for name in ("Floats", "Retries", "Time"):
        write(f"lessons/{name.lower()}.md", card(name))
    write("lessons/time copy.md", card("Time"))
    for number in range(9):
        write(f"lessons/card-{number}.md", card(f"Card {number}"))
    write("notes.md", "# Notes\n")
    settle()
    with Brains.open(root) as brains:
        brains.refresh()
    return root


def look_up(find, name):
    try:
        home, found = find(name)
    except LessonsError as error:
        return type(error).__name__, str(error)
    return home.root, found.id


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_finds_the_card_that_an_update_of_the_index_finds(brain, edit, name, settle):
    edit(pathlib.Path(brain))
    settle()
    with Brains.open(brain) as brains:
        to_edit = look_up(CardEdits(brains).find_to_edit, name)
    with Brains.open(brain) as brains:
        lookup = CardLookup(brains)
        assert to_edit == look_up(lambda name: lookup.find(name, notes=False), name)


@pytest.mark.parametrize("edit", [count_again, change_the_body])
def test_an_edit_of_other_text_is_not_indexed_for_that(brain, edit, settle):
    edit(pathlib.Path(brain))
    settle()
    with Brains.open(brain) as brains:
        before = brains.members[0].state.manifest
        CardEdits(brains).find_to_edit("floats")
        assert brains.members[0].state.manifest == before
        brains.refresh()
        assert brains.members[0].state.manifest != before


def test_a_bump_counts_in_the_file_and_not_in_the_index(brain):
    for count in (2, 3, 4):
        with Brains.open(brain) as brains:
            (bumped,) = CardEdits(brains).bump("floats")
            assert bumped.occurrences == count
    with Brains.open(brain) as brains:
        assert CardLookup(brains).get("floats").occurrences == 4
    assert "occurrences: 4\n" in pathlib.Path(brain, "lessons/floats.md").read_text()


def test_a_second_bump_of_a_process_is_seen_by_its_next_search(brain):
    with Brains.open(brain) as brains:
        edits = CardEdits(brains)
        edits.bump("floats")
        edits.bump("floats")
        assert edits.get("floats").occurrences == 3
        assert os.path.isdir(brains.members[0].cache)


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("migration", ["lessons/edited-a-released-migration.md"]),
        ("released-migration", ["lessons/edited-a-released-migration.md"]),
        (
            "released",
            ["lessons/edited-a-released-migration.md", "lessons/forgot-a-released-note.md"],
        ),
        ("edited", ["lessons/edited-a-released-migration.md"]),
        ("migr", []),
        ("a", []),
    ],
)
def test_words_of_a_slug_name_a_card(name, fitting):
    ids = ["lessons/edited-a-released-migration.md", "lessons/forgot-a-released-note.md"]
    assert find_fitting(name, ids) == fitting
    assert find_fitting(name, ids, exact=True) == []
