import unittest

from ledgerline.invoices import Line
from tests.kit import make_invoice


class Check(unittest.TestCase):
    def test_vat(self):
        invoice = make_invoice("2026-0001", 1000)
        self.assertEqual((invoice.vat, invoice.gross), (190, 1190))
        self.assertEqual(make_invoice("2026-0001", 1001).vat, 190)  # 190.19
        self.assertEqual(make_invoice("2026-0001", 1003).vat, 191)  # 190.57

    def test_convention_half_down(self):
        self.assertEqual(make_invoice("2026-0001", 50).vat, 9)  # 9.5
        self.assertEqual(make_invoice("2026-0001", 150).vat, 28)  # 28.5

    def test_convention_by_line(self):
        self.assertEqual(make_invoice("2026-0001", 1002, 1002).vat, 380)  # 190.38 twice
        self.assertEqual(make_invoice("2026-0001", 1001, 1001, 1001).vat, 570)  # 570.57 in all
        invoice = make_invoice("2026-0001", 50)
        invoice.lines.append(Line("more", 3, 50))
        self.assertEqual(invoice.vat, 37)
