"""SPEC §13: any number of processes at once, and no increment, no byte, no card lost."""

import pathlib

import pytest

from lessons_kb import Brain
from tests.store.conftest import in_processes

pytestmark = pytest.mark.slow


def _create(root, who):
    with Brain.open(root) as brain:
        for number in range(5):
            brain.create(f"The same mistake number {number}", on_duplicate="new", project=f"p{who}")


def test_cards_created_at_once_never_overwrite_each_other(root):
    in_processes(_create, [(str(root), who) for who in range(4)])
    with Brain.open(root) as brain:
        cards = brain.cards.all()
    assert len(cards) == 20
    assert {card.project for card in cards} == {"p0", "p1", "p2", "p3"}


def _edit_and_search(root, who):
    path = pathlib.Path(root) / f"lessons/{who}.md"
    with Brain.open(root) as brain:
        for number in range(6):
            path.write_text(f"# Mind the animal{who}x{number}\n\n- item\n")
            assert brain.search(f"animal{who}x{number}")[0].card.id == f"lessons/{who}.md"


def test_every_process_finds_what_it_has_just_written(root, telegram):
    in_processes(_edit_and_search, [(str(root), who) for who in range(4)])
