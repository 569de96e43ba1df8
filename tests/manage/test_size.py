"""Twelve thousand cards are no more trouble than twenty."""

from __future__ import annotations

import time

import pytest

from lessons_kb.manage.board import Board
from lessons_kb.manage.keys import CARDS
from lessons_kb.manage.rows import card_row
from lessons_kb.model import Card

ENOUGH_SECONDS = 0.05


@pytest.fixture(scope="module")
def board() -> Board:
    board = Board()
    words = ("retry", "token", "timezone", "unicode", "lock", "schema", "교훈", "cache", "webhook")
    rows = []
    for number in range(12_000):
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


@pytest.mark.parametrize(
    "typed", ["e", "retry", "retry token 11", "교훈", "nothing of the sort", ""]
)
def test_a_key_pressed_in_the_filter_is_answered_at_once(board: Board, typed: str) -> None:
    board.typed = typed
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        board.shown()
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < ENOUGH_SECONDS
