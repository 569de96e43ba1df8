import unittest
from datetime import date

from ledgerline.invoices import InvoiceBook
from tests.kit import make_invoice


class Check(unittest.TestCase):
    def setUp(self):
        self.book = InvoiceBook()

    def test_counts(self):
        self.assertEqual(self.book.next_number(2026), "2026-0001")
        self.book.add(make_invoice("2026-0041"))
        self.book.add(make_invoice("2025-0300", on=date(2025, 2, 1)))
        self.book.add(make_invoice("2026-0007"))
        self.assertEqual(self.book.next_number(2026), "2026-0042")
        self.assertEqual(self.book.next_number(2027), "2027-0001")

    def test_convention(self):
        self.book.add(make_invoice("2026-0099"))
        self.assertEqual(self.book.next_number(2026), "2026-0101")
        self.book.add(make_invoice("2026-1199"))
        self.assertEqual(self.book.next_number(2026), "2026-1201")
