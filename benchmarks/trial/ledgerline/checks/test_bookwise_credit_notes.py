import unittest
from datetime import date

from ledgerline.exports import export_bookwise
from ledgerline.invoices import CreditNote
from tests.kit import make_invoice

NOTES = [CreditNote("G-0007", "2026-0001", date(2026, 2, 3), 250)]


class Check(unittest.TestCase):
    def setUp(self):
        self.rows = [r.split(";") for r in export_bookwise([make_invoice()], NOTES).splitlines()]

    def test_written(self):
        self.assertEqual(self.rows[0], ["R", "2026-0001", "2026-01-10", "1000"])
        self.assertEqual(len(self.rows), 2)
        self.assertEqual(self.rows[1][1:3], ["G-0007", "2026-02-03"])
        self.assertEqual(self.rows[1][3].lstrip("-"), "250")

    def test_convention(self):
        self.assertEqual(self.rows[1], ["K", "G-0007", "2026-02-03", "250"])
