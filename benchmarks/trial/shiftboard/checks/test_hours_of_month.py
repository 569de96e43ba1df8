import unittest
from datetime import datetime

from tests.kit import Board


class Check(unittest.TestCase):
    def setUp(self):
        self.board = board = Board()
        board.shifts.sign_up(board.soup, board.ada)
        board.shifts.sign_up(board.shift("Clothes", 15, 17, day=20), board.ada)

    def test_hours(self):
        hours = self.board.shifts.hours_of
        self.assertEqual(hours(self.board.ada, 2026, 1), 6)
        self.assertEqual(hours(self.board.ada, 2026, 2), 0)
        self.assertEqual(hours(self.board.ada, 2025, 1), 0)
        self.assertEqual(hours(self.board.bo, 2026, 1), 0)

    def test_convention(self):
        board = self.board
        begins, ends = datetime(2026, 1, 31, 22), datetime(2026, 2, 1, 4)
        board.shifts.sign_up(board.shifts.add("Shelter", "Hall", begins, ends), board.bo)
        begins, ends = datetime(2025, 12, 31, 20), datetime(2026, 1, 1, 2)
        board.shifts.sign_up(board.shifts.add("Shelter", "Hall", begins, ends), board.bo)
        got = [board.shifts.hours_of(board.bo, y, m) for y, m in ((2025, 12), (2026, 1), (2026, 2))]
        self.assertEqual(got, [0, 6, 6])
