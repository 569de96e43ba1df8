import unittest
from datetime import date

from ledgerline.reminders import aging
from tests.kit import make_invoice


class Check(unittest.TestCase):
    def test_aging(self):
        invoices = [make_invoice(str(n), 100) for n in range(6)]
        dues = [(2026, 3, 31), (2026, 3, 1), (2026, 2, 28), (2026, 1, 31), (2026, 1, 1), (2026, 1, 30)]
        for invoice, due in zip(invoices, dues):
            invoice.due = date(*due)
        invoices[4].paid = 100
        # today, 30 and 31 days ago, 59; paid; 60
        got = aging(invoices, date(2026, 3, 31))
        self.assertEqual(got, {"current": 100, "1-30": 100, "31-60": 300, "over 60": 0})
        self.assertEqual(aging([invoices[5]], date(2026, 4, 1))["over 60"], 100)
