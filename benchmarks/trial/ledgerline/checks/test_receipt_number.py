import unittest
from datetime import date

from ledgerline.receipts import ReceiptRoll

DAY = date(2026, 1, 2)


class Check(unittest.TestCase):
    def test_add(self):
        roll = ReceiptRoll()
        self.assertEqual(roll.add(DAY, 500).number, "K-0001")
        self.assertEqual(roll.add(DAY, 250).number, "K-0002")
        self.assertEqual((roll.total(DAY), len(roll.receipts)), (750, 2))

    def test_convention(self):
        roll = ReceiptRoll()
        numbers = [roll.add(DAY, 1).number for _ in range(205)]
        self.assertEqual(numbers, [f"K-{n:04d}" for n in range(1, 206)])
