import unittest
from decimal import Decimal

from invoices.rows import Row
from invoices.totals import gross_total


class Totals(unittest.TestCase):
    def test_gross(self):
        row = Row("A-1", Decimal("10.20"), Decimal("13.09"), Decimal("11.00"))
        self.assertEqual(gross_total([row, row]), Decimal("26.18"))
