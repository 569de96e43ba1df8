import unittest

from tests.kit import Board


class Check(unittest.TestCase):
    def test_overlap(self):
        board = Board()
        board.shifts.sign_up(board.soup, board.ada)
        board.shifts.sign_up(board.soup, board.ada)
        for begins, ends in ((9, 11), (11, 12), (13, 15), (9, 15)):
            other = board.shift("Clothes", begins, ends)
            with self.assertRaises(ValueError):
                board.shifts.sign_up(other, board.ada)
            board.shifts.sign_up(other, board.people.add("Somebody"))
        board.shifts.sign_up(board.shift("Clothes", 14, 16), board.ada)
        board.shifts.sign_up(board.shift("Clothes", 8, 10), board.ada)
        self.assertEqual(len(board.shifts.of_person(board.ada)), 3)
