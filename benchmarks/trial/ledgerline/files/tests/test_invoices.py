import unittest
from datetime import date

from ledgerline.exports import export_bookwise, export_customers
from ledgerline.invoices import DuplicateNumber, InvoiceBook
from ledgerline.reminders import days_overdue, write_reminder
from tests.kit import make_invoice


class InvoiceTest(unittest.TestCase):
    def test_sums(self):
        invoice = make_invoice("2026-0001", 1000, 250)
        self.assertEqual((invoice.net, invoice.open, invoice.is_paid), (1250, 1250, False))

    def test_numbers_are_unique(self):
        book = InvoiceBook()
        book.add(make_invoice())
        with self.assertRaises(DuplicateNumber):
            book.add(make_invoice())
        self.assertEqual(len(book.of_customer("Byron KG")), 1)

    def test_exports(self):
        self.assertEqual(export_bookwise([make_invoice()]), "R;2026-0001;2026-01-10;1000\n")
        self.assertEqual(export_customers([make_invoice()]), "Byron KG\n")

    def test_reminder(self):
        self.assertEqual(days_overdue(make_invoice(), date(2026, 2, 10)), 10)
        self.assertIn("10,00 EUR", write_reminder(make_invoice()))
