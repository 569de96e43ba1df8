import unittest

from ledgerline.invoices import Line
from tests.kit import make_invoice


class Check(unittest.TestCase):
    def test_discount(self):
        self.assertEqual(Line("x", 1, 1000).net, 1000)
        self.assertEqual(Line("x", 2, 500, discount=10).net, 900)
        invoice = make_invoice()
        invoice.lines[0].discount = 50
        self.assertEqual(invoice.net, 500)

    def test_convention(self):
        self.assertEqual(Line("x", 1, 50, discount=5).net, 47)  # 2.5 -> 3
        self.assertEqual(Line("x", 3, 50, discount=3).net, 145)  # 4.5 -> 5
