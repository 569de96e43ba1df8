"""`lessons show` and `lessons edit` without an id open a list to choose from."""

import asyncio

import pytest
from textual.widgets import Input

from lessons_kb.tui.pick_card import PickApp, rank_rows
from lessons_kb.tui.rows import RowSource
from tests.kit import trust_brain
from tests.tui.conftest import Hand


@pytest.fixture
def source(brain):
    return RowSource(brain)


def pick(source, *keys):
    """Press keys in the list; return the name of the card that was chosen."""
    rows = [row for row in source.load() if row.card is not None]
    app = PickApp(source, rows, verb="show")

    async def run():
        async with app.run_test(size=(120, 30)) as pilot:
            for key in keys:
                await pilot.press(key)
                await pilot.pause(0.01)

    asyncio.run(run())
    return app.return_value


def test_a_few_letters_find_a_card_and_enter_chooses_it(source):
    assert pick(source, *"tgram", "enter") == "lessons/telegram-allowlist.md"


def test_the_arrows_choose_while_the_filter_has_the_focus(source):
    first, second = pick(source, "enter"), pick(source, "down", "enter")
    assert None not in (first, second)
    assert first != second


def test_escape_chooses_nothing(source):
    assert pick(source, "t", "escape") is None


def test_enter_without_a_match_stays_open(source):
    assert pick(source, *"zzzqqq", "enter", "escape") is None


def test_the_card_under_the_cursor_is_shown(source):
    rows = [row for row in source.load() if row.card is not None]
    app = PickApp(source, rows, verb="show")

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            app.query_one(Input).value = "telegram"
            hand = Hand(app, pilot)
            for _try in range(100):
                await pilot.pause(0.1)
                if "/run handler" in hand.screen:
                    break
            return hand.screen

    shown = asyncio.run(run())
    assert "Telegram remote execution" in shown
    assert "The ops bot gained a /run handler" in shown
    assert "enter to show" in shown


def test_the_best_match_comes_first(source):
    rows = [row for row in source.load() if row.card is not None]
    assert rank_rows(rows, "  ") == rows
    assert rank_rows(rows, "money floats")[0].path == "lessons/money-in-floats.md"
    assert rank_rows(rows, "zzzqqq") == []


@pytest.mark.parametrize("command", ["show", "edit"])
def test_a_pipe_gets_one_clear_line(root, command, at):
    trust_brain(str(root))
    done = at(root, command)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"lessons: name a card, as in `lessons {command} ID`; `lessons list` shows the ids\n"
    )
