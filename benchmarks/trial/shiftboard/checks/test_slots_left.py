import unittest

from shiftboard.api import Api
from tests.kit import Board


class Check(unittest.TestCase):
    def test_slots(self):
        board = Board(capacity=3)
        board.shifts.sign_up(board.soup, board.ada)
        self.assertEqual(board.shifts.slots_left(board.soup), 2)
        self.assertEqual(Api(board.connection).call("GET", "/shifts/1")[1]["free"], 2)
        small = board.shift("Clothes", 15, 17, capacity=1)
        board.shifts.sign_up(small, board.bo)
        self.assertEqual(board.shifts.slots_left(small), 0)

    def test_convention(self):
        board = Board(capacity=5)
        board.shifts.sign_up(board.soup, board.ada)
        self.assertEqual(board.shifts.slots_left(board.soup), 3)
        self.assertEqual(Api(board.connection).call("GET", "/shifts/1")[1]["free"], 3)
        four = board.shift("Clothes", 15, 17, capacity=4)
        self.assertEqual(board.shifts.slots_left(four), 4)
        for n in range(3):
            board.shifts.sign_up(board.soup, board.people.add(f"Helper {n}"))
        self.assertEqual(board.shifts.slots_left(board.soup), 0)
