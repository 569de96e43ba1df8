import re
import unittest

from shiftboard.ical import feed
from tests.kit import Board


class Check(unittest.TestCase):
    def setUp(self):
        board = Board()
        self.text = feed([board.soup, board.shift("Clothes, shoes", 15, 18)])

    def test_feed(self):
        self.assertTrue(self.text.startswith("BEGIN:VCALENDAR\r\n"))
        self.assertEqual(self.text.count("BEGIN:VEVENT\r\n"), 2)
        self.assertIn("DTSTART:20260110T100000\r\n", self.text)
        self.assertIn("DTEND:20260110T140000\r\n", self.text)
        self.assertIn("SUMMARY:Soup kitchen\r\n", self.text)
        self.assertIn("LOCATION:Hall\r\n", self.text)
        uids = re.findall(r"^UID:(.*)\r$", self.text, re.MULTILINE)
        self.assertEqual(len(set(uids)), 2)

    def test_convention(self):
        for uid in re.findall(r"^UID:(.*)\r$", self.text, re.MULTILINE):
            self.assertTrue(uid.endswith("@hk-4711.bezirk.example"), uid)
