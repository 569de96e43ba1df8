"""Twelve thousand cards are no more trouble than twenty."""

from __future__ import annotations

import time

import pytest

from lessons_kb.model import Card
from lessons_kb.tui.board import Board
from lessons_kb.tui.keys import CARDS
from lessons_kb.tui.rows import card_row

TIMES = 4
"""How many times as many rows the larger board has."""


def filled(count: int) -> Board:
    board = Board()
    words = ("retry", "token", "timezone", "unicode", "lock", "schema", "교훈", "cache", "webhook")
    rows = []
    for number in range(count):
        chosen = [words[number % 9], words[number // 9 % 9], words[number // 81 % 9]]
        card = Card(
            id=f"lessons/card-{number:05}.md",
            kind="lesson",
            title=f"The {' and the '.join(chosen)} broke the {number}th job",
            topics=tuple(chosen),
            symptoms=("it fails at night", "the second attempt succeeds"),
            last_seen=f"2026-{number % 12 + 1:02}-01",
        )
        rows.append(card_row(card, name=card.id))
    board.set(CARDS, rows)
    return board


@pytest.fixture(scope="module")
def boards() -> tuple[Board, Board]:
    return filled(12_000 // TIMES), filled(12_000)


@pytest.mark.parametrize(
    "typed", ["e", "retry", "retry token 11", "교훈", "nothing of the sort", ""]
)
def test_the_filter_costs_no_more_a_row_in_a_large_brain(
    boards: tuple[Board, Board], typed: str
) -> None:
    least = []
    for board in boards:
        board.typed = typed
        seconds = []
        for _ in range(5):
            begin = time.process_time()
            board.shown()
            seconds.append(time.process_time() - begin)
        least.append(min(seconds))
    small, large = least
    assert large < 3 * TIMES * small
