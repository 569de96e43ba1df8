import unittest
from datetime import datetime

from tests.kit import Board


class Check(unittest.TestCase):
    def test_limit(self):
        board = Board()
        second = board.shift("Clothes", 15, 17)
        at = datetime(2026, 1, 1)
        self.assertEqual(board.shifts.after(at), [board.soup, second])
        self.assertEqual(board.shifts.after(at, limit=1), [board.soup])
        self.assertEqual(board.shifts.after(at, limit=5), [board.soup, second])
        self.assertEqual(board.shifts.after(at, limit=0), [])
        with self.assertRaises(ValueError):
            board.shifts.after(at, limit=-1)
