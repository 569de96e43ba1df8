"""The screen before its lists were read: it says so, and keeps the keys."""

import asyncio
import threading

from lessons_kb.tui.app import ManageApp
from lessons_kb.tui.rows import CARDS, Board, RowSource
from tests.tui.conftest import TODAY, Hand


def drive_early(brain, *keys):
    """Press keys before the list is read. Return the screen at that time, and the last screen."""
    source = RowSource(brain)
    may_load = threading.Event()
    load = source.load

    def load_late(*arguments):
        may_load.wait(20)
        return load(*arguments)

    source.load = load_late
    screens = []

    async def main():
        app = ManageApp(source, today=TODAY)
        async with app.run_test(size=(80, 24)) as pilot:
            hand = Hand(app, pilot)
            for _ in range(5):  # until the lines were drawn
                await pilot.pause()
                await asyncio.sleep(0.01)
            for key in keys:
                await pilot.press(key)
            screens.append(hand.screen)
            may_load.set()
            await hand.settle()
            screens.extend([hand.screen, hand.said])

    asyncio.run(main())
    return screens


def test_no_number_is_shown_before_the_lists_were_read(brain):
    early, late, _said = drive_early(brain)
    assert "[Cards …]" in early
    assert "Drafts …" in early
    assert "reading" in early
    assert "Drafts 0" in late


def test_keys_that_were_pressed_early_act_once_the_list_was_read(brain):
    board = Board()
    board.set(CARDS, RowSource(brain).load())
    second = board.shown()[1]
    _early, _late, said = drive_early(brain, "down", "plus")
    assert "seen" in said
    assert brain.cards.get(second.path).occurrences == second.card.occurrences + 1


def test_an_early_key_takes_no_row_away_that_nobody_saw(brain):
    before = [card.status for card in brain.cards.all()]
    _early, _late, said = drive_early(brain, "down", "x", "plus")
    assert said.startswith("pressed before the list was read: x, plus; press again")
    assert [card.status for card in brain.cards.all()] == before


def test_the_rest_of_the_early_keys_does_not_answer_a_question(brain):
    cards = len(brain.cards.all())
    drive_early(brain, "D", "y")
    assert len(brain.cards.all()) == cards
