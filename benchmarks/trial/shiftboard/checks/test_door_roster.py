import unittest
from datetime import date, datetime

from tests.kit import Board


class Check(unittest.TestCase):
    def test_day(self):
        board = Board()
        late, early = board.shift("Clothes", 15, 17), board.shift("Door", 8, 9)
        board.shift("Other day", 8, 9, day=11)
        got = board.shifts.beginning_on(date(2026, 1, 10))
        self.assertEqual(got, [early, board.soup, late])

    def test_convention(self):
        board = Board()
        begins, ends = datetime(2026, 1, 31, 22), datetime(2026, 2, 1, 4)
        night = board.shifts.add("Shelter", "Hall", begins, ends)
        self.assertEqual(board.shifts.beginning_on(date(2026, 1, 31)), [night])
        self.assertEqual(board.shifts.beginning_on(date(2026, 2, 1)), [])
