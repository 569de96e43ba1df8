import unittest
from datetime import date

from ledgerline.reminders import reminders_due
from tests.kit import make_invoice


class Check(unittest.TestCase):
    def setUp(self):
        self.old, self.older = make_invoice("2026-0002"), make_invoice("2026-0001")
        self.older.due = date(2026, 1, 15)
        self.paid = make_invoice("2026-0003")
        self.paid.paid = 10_000
        self.all = [self.old, self.older, self.paid]

    def test_due(self):
        self.assertEqual(list(reminders_due(self.all, date(2026, 2, 20))), [self.older, self.old])
        self.assertEqual(list(reminders_due(self.all, date(2026, 2, 14))), [self.older])
        self.assertEqual(list(reminders_due(self.all, date(2026, 1, 20))), [])
        self.assertEqual(list(reminders_due(self.all, date(2026, 3, 4))), [self.older, self.old])

    def test_convention(self):
        for day in (1, 2, 3):
            self.assertEqual(list(reminders_due(self.all, date(2026, 3, day))), [])
