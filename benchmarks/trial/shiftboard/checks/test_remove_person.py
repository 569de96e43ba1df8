import unittest

from shiftboard.api import Api
from tests.kit import Board


class Check(unittest.TestCase):
    def setUp(self):
        self.board = board = Board()
        board.shifts.sign_up(board.soup, board.ada)
        self.api = Api(board.connection)
        self.answer = self.api.call("DELETE", "/people/1")

    def test_removed(self):
        self.assertEqual(self.answer[0], 204)
        names = [one["name"] for one in self.api.call("GET", "/people")[1]]
        self.assertEqual(names, ["Bo Diaz"])
        self.assertEqual(self.api.call("DELETE", "/people/77")[0], 404)

    def test_convention(self):
        db = self.board.connection
        row = db.execute("SELECT * FROM people WHERE id = 1").fetchone()
        self.assertIsNotNone(row)
        self.assertEqual((row["name"], row["email"]), ("(left)", ""))
        signups = db.execute("SELECT COUNT(*) FROM signups WHERE person = 1").fetchone()[0]
        self.assertEqual(signups, 1)
