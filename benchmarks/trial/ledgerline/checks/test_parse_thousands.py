import unittest

from ledgerline.money import parse_amount


class Check(unittest.TestCase):
    def test_thousands(self):
        self.assertEqual(parse_amount("1.234,50"), 123450)
        self.assertEqual(parse_amount("-12.000,00"), -1200000)
        self.assertEqual(parse_amount("1.234.567,89"), 123456789)
        self.assertEqual(parse_amount(" 12,50 "), 1250)
        self.assertEqual(parse_amount("7"), 700)
