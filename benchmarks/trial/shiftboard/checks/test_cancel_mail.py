import unittest

from shiftboard.cancel import cancel
from shiftboard.mailer import Mailer
from shiftboard.shifts import NoSuchShift
from tests.kit import Board, FakeRelay


class Check(unittest.TestCase):
    def setUp(self):
        self.board, self.relay = Board(), FakeRelay()
        self.board.shifts.sign_up(self.board.soup, self.board.ada)
        self.board.shifts.sign_up(self.board.soup, self.board.bo)
        self.told = cancel(self.board.soup, self.board.shifts, Mailer(self.relay))

    def test_told(self):
        self.assertEqual(self.told, 2)
        to = sorted(one["To"] for one in self.relay.sent)
        self.assertEqual(to, ["ada@example.org", "bo@example.org"])
        for one in self.relay.sent:
            self.assertIn("Soup kitchen", one.get_content())

    def test_gone(self):
        with self.assertRaises(NoSuchShift):
            self.board.shifts.get(self.board.soup.id)
        self.assertEqual(self.board.shifts.of_person(self.board.ada), [])

    def test_convention(self):
        for one in self.relay.sent:
            self.assertEqual(one["X-Sms"], "off")
