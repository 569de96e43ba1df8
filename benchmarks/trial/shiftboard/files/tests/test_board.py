import unittest
from datetime import datetime

from shiftboard.api import Api
from shiftboard.clock import from_text, to_text
from shiftboard.db import connect, migrate, version
from shiftboard.mailer import Mailer
from shiftboard.migrations import MIGRATIONS
from shiftboard.people import NoSuchPerson
from shiftboard.shifts import ShiftFull
from tests.kit import Board, FakeRelay


class BoardTest(unittest.TestCase):
    def test_schema(self):
        connection = connect()
        self.assertEqual(version(connection), len(MIGRATIONS))
        self.assertEqual(migrate(connection), 0)

    def test_people(self):
        board = Board()
        self.assertEqual([one.name for one in board.people.all()], ["Ada Byron", "Bo Diaz"])
        with self.assertRaises(NoSuchPerson):
            board.people.get(9)
        with self.assertRaises(ValueError):
            board.people.add(" ")

    def test_sign_up(self):
        board = Board(capacity=1)
        board.shifts.sign_up(board.soup, board.ada)
        board.shifts.sign_up(board.soup, board.ada)
        with self.assertRaises(ShiftFull):
            board.shifts.sign_up(board.soup, board.bo)
        self.assertEqual(board.shifts.of_person(board.ada), [board.soup])
        self.assertEqual(board.shifts.after(datetime(2026, 1, 11)), [])

    def test_api(self):
        board = Board()
        api = Api(board.connection)
        self.assertEqual(api.call("PUT", "/shifts/1/people/1"), (204, None))
        self.assertEqual(api.call("GET", "/shifts/1")[1]["people"], ["Ada Byron"])
        self.assertEqual(api.call("POST", "/people", {"name": ""})[0], 409)
        self.assertEqual(api.call("GET", "/shifts/7")[0], 404)

    def test_mail(self):
        relay = FakeRelay()
        Mailer(relay).send("a@example.org", "Hello", "Text")
        Mailer(relay).send("", "Hello", "Text")
        self.assertEqual([one["To"] for one in relay.sent], ["a@example.org"])

    def test_times(self):
        self.assertEqual(to_text(from_text("2026-01-31T22:00")), "2026-01-31T22:00")
